"""The six-axis and the seven-axis arm: mass against integration over points, dynamics against
Pinocchio, and postures that keep apart from themselves."""

import numpy as np
import pinocchio as pin
import pytest

import predyn
from oracles.pinocchio_oracle import pinocchio_model
from predyn import models
from predyn.collision import Checker
from predyn.model.mass_check import link_poses
from predyn.models.arms import LINKS_6, LINKS_7, Piece

ARMS = {"six_axis_arm": (LINKS_6, 85.3), "seven_axis_arm": (LINKS_7, 22.4)}
HOME_6 = np.array([0.0, -0.6, 0.5, 0.0, 1.2, 0.0])
HOME_7 = np.array([0.0, -0.6, 0.0, 1.6, 0.0, 0.9, 0.0])
HOMES = {"six_axis_arm": HOME_6, "seven_axis_arm": HOME_7}
GAUSS = 24  # points in each direction: exact, as all integrands are polynomials


def points_of(piece: Piece):
    """Points in a piece and their volumes: discs along the axis, rings in a disc."""
    a, b, r = np.array(piece.a), np.array(piece.b), piece.radius
    length = np.linalg.norm(b - a)
    z = (b - a) / length
    x = np.cross(z, [0.3, 0.5, 0.7])
    x /= np.linalg.norm(x)
    y = np.cross(z, x)
    node, weight = np.polynomial.legendre.leggauss(GAUSS)
    spans = [(0.0, length)] if piece.drum else [(-r, 0.0), (0.0, length), (length, length + r)]
    angles = np.arange(8) * np.pi / 4  # exact: products have at most two sines
    points, volumes = [], []
    for low, high in spans:
        for h, dh in zip(
            low + 0.5 * (node + 1) * (high - low), 0.5 * weight * (high - low), strict=True
        ):
            beyond = max(-h, h - length, 0.0)
            disc = np.sqrt(r**2 - beyond**2)
            for rho, share in zip(0.5 * (node + 1) * disc, 0.5 * weight * disc, strict=True):
                ring = np.outer(np.cos(angles), x) + np.outer(np.sin(angles), y)
                points.append(a + h * z + rho * ring)
                volumes.append(np.full(8, dh * share * rho * np.pi / 4))
    return np.concatenate(points), np.concatenate(volumes)


def pose_of(model, name, q):
    frame, (R, p) = model.frame(name), link_poses(model, q)
    return R[frame.link] @ frame.R, R[frame.link] @ frame.p + p[frame.link]


@pytest.mark.parametrize("name", ARMS)
def test_mass_and_inertia_are_those_of_the_pieces(name):
    model, (links, total) = getattr(models, name)(), ARMS[name]
    assert abs(model.inertia[:, 0].sum() - total) < 1e-12
    for k, link in enumerate(links):
        each = [points_of(piece) for piece in link.pieces]
        p = np.concatenate([x for x, _ in each])
        m = np.concatenate([x for _, x in each])
        m *= link.mass / m.sum()
        about = (p**2).sum(axis=1)[:, None, None] * np.eye(3) - p[:, :, None] * p[:, None, :]
        J = (m[:, None, None] * about).sum(axis=0)
        own = model.inertia[k]
        assert np.abs(own[1:4] - m @ p).max() < 1e-10 * link.mass
        xx, xy, yy, xz, yz, zz = own[4:]
        found = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        assert np.abs(found - J).max() < 1e-10 * np.abs(J).max() + 1e-10


@pytest.mark.parametrize("name", ARMS)
def test_dynamics_equal_those_of_pinocchio(name):
    model, random = getattr(models, name)(), np.random.default_rng(1)
    peer = pinocchio_model(model)
    data = peer.createData()
    low, high = model.limits.position.T
    for _ in range(20):
        q, v, a = random.uniform(low, high), *random.uniform(-2.0, 2.0, (2, model.n))
        theirs = pin.rnea(peer, data, q, v, a)
        ours = predyn.inverse_dynamics(model, q, v, a)
        assert np.abs(ours - theirs).max() < 1e-11 * (1.0 + np.abs(theirs).max())


@pytest.mark.parametrize("name", ARMS)
def test_arms_keep_apart_from_themselves(name):
    model = getattr(models, name)()
    checker = Checker(model)
    assert checker.never_apart == ()
    for q in (np.zeros(model.n), HOMES[name]):
        assert checker.distances(q).min() > 0.005
    # every joint reaches both of its limits from home without the others
    low, high = model.limits.position.T
    for j in range(model.n):
        for end in (low[j], high[j]):
            q = HOMES[name].copy()
            q[j] = end
            assert checker.distances(q).min() > 0.0, (model.joint_names[j], end)


def test_documented_reach_and_flanges():
    six, seven = models.six_axis_arm(), models.seven_axis_arm()
    reach = 0.15 + 0.6 + np.hypot(0.12, 0.62)
    assert abs(reach - 1.38) < 0.005
    stretched = np.array([0.0, np.pi / 2, np.arctan2(0.12, 0.62) - np.pi / 2, 0.0, 0.0, 0.0])
    assert abs(pose_of(six, "wrist", stretched)[1][0] - reach) < 1e-12
    R, p = pose_of(six, "flange", np.zeros(6))
    assert np.abs(R[:, 2] - [1.0, 0.0, 0.0]).max() < 1e-15  # z away from the wrist
    assert (
        np.abs(p - [0.15 + 0.20 + 0.42 + 0.08 + 0.04, 0.0, 0.25 + 0.2 + 0.6 + 0.12]).max() < 1e-14
    )
    R, p = pose_of(seven, "flange", np.zeros(7))
    assert np.abs(R - np.eye(3)).max() < 1e-15
    assert np.abs(p - [0.0, 0.0, 0.16 + 0.18 + 0.93]).max() < 1e-14


@pytest.mark.parametrize("name", ARMS)
def test_arms_hold_themselves_stretched_out(name):
    """The weight at any posture takes at most 60 % of the torque, so that there is some to move."""
    model, random = getattr(models, name)(), np.random.default_rng(2)
    low, high = model.limits.position.T
    q = random.uniform(low, high, (500, model.n))
    hold = predyn.inverse_dynamics(model, q, 0.0 * q, 0.0 * q)
    assert np.abs(hold / model.limits.effort[:, 1]).max() < 0.6
