"""The example of Trujillo (2006), sections 4 and 6: torques of two links from their motion.

The rigid model, moved by rectangular torques on its links, gives positions of the links' ends every
10 ms; noise of 1 mm is added; the torques are estimated with natural links. The paper says that it
starts at rest "in the vertical position", which may be hanging or upright: both are here. It gives
no duration; here it is 2 s.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from predyn.errors import InputError, unknown_name
from predyn.models.trujillo import trujillo_two_link
from predyn.published.lcurve import LCurve, corner, lowest
from predyn.published.links_from_model import PlanarLinks, natural_links_of
from predyn.published.links_inverse import LinkEstimate, estimate_link_torques
from predyn.published.natural_links import NaturalLinks
from predyn.published.trapezoidal import LinksMotion, simulate_links
from predyn.simulation import simulate

Floats = NDArray[np.float64]
STEP, DURATION, INNER = 0.01, 2.0, 1e-3  # s: sampling, length, steps of the rigid simulation
NOISE = 1e-3  # m
WEIGHT, STIFFNESS = 1e-4, 1e4  # B, N/m: the paper's choice
STARTS = {"hanging": -math.pi / 2, "upright": math.pi / 2}
ENDS = ("end1", "end2")
WEIGHTS = np.logspace(-9, 1, 31)


class RigidMotion(NamedTuple):
    """Motion of the rigid model at the samples: absolute link angles, and positions x1 y1 x2 y2."""

    t: Floats  # (N + 1,) s
    angles: Floats  # (N + 1, 2) rad, from +x
    rates: Floats  # (N + 1, 2) rad/s
    positions: Floats  # (N + 1, 4) m
    torques: Floats  # (N, 2) N m, on the links, held over the intervals


class Comparison(NamedTuple):
    """Rigid model and natural links under the same torques (the paper's figures 2 to 4)."""

    start: str
    rigid: RigidMotion
    links: LinksMotion
    link_rates: Floats  # (N + 1, 2) rad/s, angular velocities of the natural links


class Reproduction(NamedTuple):
    """Noisy positions and the estimate from them (figures 5 to 7)."""

    start: str
    rigid: RigidMotion
    measured: Floats  # (N + 1, 4) m
    estimate: LinkEstimate
    rmse: float  # N m, over both torques and all intervals
    lcurve: LCurve


def rectangular_torques() -> Floats:
    """The paper's torques on the links, (200, 2): 1 N m on link 1 until 0.5 s, and -1 N m on link 2
    from 1 s to 1.5 s."""
    t = STEP * np.arange(round(DURATION / STEP)) + 0.5 * STEP
    return np.stack([np.where(t < 0.5, 1.0, 0.0), np.where((t > 1.0) & (t < 1.5), -1.0, 0.0)], 1)


def rigid_motion(start: str, torques: ArrayLike | None = None) -> RigidMotion:
    """The rigid model from rest under torques on its links (N, 2), held for 10 ms each; RK4 in
    steps of 1 ms. The paper's torques if None."""
    T = rectangular_torques() if torques is None else np.array(torques, float)
    if T.ndim != 2 or T.shape[1] != 2 or not len(T):
        raise InputError(f"torques: expected (N, 2), got {T.shape}")
    model = trujillo_two_link()
    tau = np.stack([T.sum(axis=1), T[:, 1]], axis=1)  # T1 = tau1 - tau2, T2 = tau2
    q, v = np.zeros((len(T) + 1, 2)), np.zeros((len(T) + 1, 2))
    q[0] = _angle(start), 0.0
    for i, held in enumerate(tau):
        run = simulate(model, q[i], v[i], held, [0.0, STEP], method="rk4", step=INNER)
        q[i + 1], v[i + 1] = run.q[-1], run.v[-1]
    angles, rates = np.cumsum(q, axis=1), np.cumsum(v, axis=1)
    t = np.arange(len(T) + 1, dtype=np.float64) * STEP
    return RigidMotion(t, angles, rates, _positions(angles), T)


def noisy(positions: Floats, seed: int) -> Floats:
    """Positions with noise from a seed."""
    return positions + NOISE * np.random.default_rng(seed).standard_normal(positions.shape)


def two_links(stiffness: float = STIFFNESS, damping: float = 0.0) -> PlanarLinks:
    """The mechanism in natural coordinates, with torques on its links."""
    return natural_links_of(
        trujillo_two_link(), stiffness=stiffness, damping=damping, torques="link"
    )


def compare(start: str, stiffness: float = STIFFNESS) -> Comparison:
    """Compare natural links, by the trapezoidal rule at 10 ms, with the rigid model."""
    rigid = rigid_motion(start)
    links = two_links(stiffness).links
    moved = simulate_links(links, *_at_rest(links, start), rigid.torques, STEP)
    return Comparison(start, rigid, moved, _link_rates(links, moved))


def estimate_torques_of_links(
    start: str,
    measured: ArrayLike,
    *,
    weight: float = WEIGHT,
    order: int = 0,
    stiffness: float = STIFFNESS,
    begin: LinkEstimate | None = None,
) -> LinkEstimate:
    """Apply the published method to positions (N + 1, 4) of the links' ends, from a known rest."""
    links = two_links(stiffness).links
    z0, v0 = _at_rest(links, start)
    return estimate_link_torques(
        links, z0, v0, ENDS, measured, STEP, weight=weight, order=order, start=begin
    )


def rmse(torques: Floats, true: Floats) -> float:
    """Root of the mean square over both torques and all intervals, N m."""
    return float(np.sqrt(np.mean((torques - true) ** 2)))


def links_lcurve(
    start: str,
    measured: ArrayLike,
    weights: ArrayLike = WEIGHTS,
    order: int = 0,
    stiffness: float = STIFFNESS,
) -> LCurve:
    """Misfit and size of the torques for weights in increasing order.

    Each is the lower of two minima, one from the previous estimate and one from the data. If the
    torques of another weight give an even lower sum, it starts again from them. Estimates that have
    not converged, or still are no minimum, do not affect the corner.
    """
    B = np.array(weights, float)

    def estimate(b: float, begin: LinkEstimate | None) -> LinkEstimate:
        return estimate_torques_of_links(
            start, measured, weight=b, order=order, stiffness=stiffness, begin=begin
        )

    found: list[LinkEstimate] = []
    for b in B:
        begins = (None, *found[-1:])
        found.append(min((estimate(b, begin) for begin in begins), key=lambda x: x.total))
    own = np.arange(len(B))
    for _ in B:
        best = lowest(B, *_sums(found))
        if (best == own).all():
            break
        for i in np.flatnonzero(best != own):
            found[i] = estimate(B[i], found[best[i]])
    misfit, size = _sums(found)
    sure = np.array([x.converged for x in found]) & (lowest(B, misfit, size) == own)
    return LCurve(B, misfit, size, corner(np.where(sure, misfit, np.nan), size))


def reproduce(start: str, seed: int = 0) -> Reproduction:
    """Solve the paper's inverse problem for one start and one noise seed."""
    rigid = rigid_motion(start)
    measured = noisy(rigid.positions, seed)
    estimate = estimate_torques_of_links(start, measured)
    return Reproduction(
        start, rigid, measured, estimate, rmse(estimate.u, rigid.torques),
        links_lcurve(start, measured),
    )  # fmt: skip


def _sums(found: list[LinkEstimate]) -> tuple[Floats, Floats]:
    return np.array([x.misfit for x in found]), np.array([x.size for x in found])


def _angle(start: str) -> float:
    if start not in STARTS:
        raise unknown_name("start", start, STARTS)
    return STARTS[start]


def _positions(angles: Floats) -> Floats:
    """x1, y1, x2, y2 of the links' ends at absolute angles."""
    L1, L2 = (link.length for link in two_links().links.links)
    end1 = L1 * np.stack([np.cos(angles[..., 0]), np.sin(angles[..., 0])], axis=-1)
    end2 = end1 + L2 * np.stack([np.cos(angles[..., 1]), np.sin(angles[..., 1])], axis=-1)
    return np.concatenate([end1, end2], axis=-1)


def _at_rest(links: NaturalLinks, start: str) -> tuple[Floats, Floats]:
    x = _positions(np.full(2, _angle(start)))
    return links.placed({"joint2": x[:2], "end2": x[2:]}), np.zeros(links.n)


def _link_rates(links: NaturalLinks, moved: LinksMotion) -> Floats:
    """Angular velocities (d x d') / L^2 of the links."""
    d = np.einsum("lij,kj->kli", links.system.arms, moved.z) + links.system.offset
    e = np.einsum("lij,kj->kli", links.system.arms, moved.v)
    across = d[..., 0] * e[..., 1] - d[..., 1] * e[..., 0]
    return np.asarray(across / (d**2).sum(axis=-1))
