"""What speaks against an estimate, in plain words."""

from __future__ import annotations

import numpy as np

from predyn.dynamics.aba import forward_dynamics
from predyn.dynamics.crba import mass_matrix
from predyn.estimate.driving import acting
from predyn.estimate.observations import Seen
from predyn.estimate.result import BAND, Channel
from predyn.estimate.smoother import Levels, Smoother
from predyn.estimate.spline_grid import Floats, Ints
from predyn.model import Model

EXCESS = 3.0  # estimated noise over that of third differences
OPEN = 1e-10  # information about a direction, over the largest, that is none
COLOURED = 0.5  # lag-1 correlation of residuals that is told
FEW = 1.0  # numbers about a torque below which the data say nothing about it
CONSTANT = 0.02  # wandering over a recording, over the torque's size, that is none
NARROW = 0.25  # half width of a band, over the torque's size, below which noise does no harm
MOST_OF = 0.9  # share of the intervals above which noise passes into the torques


def grid_error(smoother: Smoother, c: Floats) -> Floats:
    """Torques (K, n) by which holding the acceleration, not the torque, over an interval errs.

    From each node the torque is held for one step of RK4; the speed that is missing at the next
    node, times the mass matrix and over the step, is a torque.
    """
    driving, grid = smoother.driving, smoother.grid
    model, h = driving.model, grid.h
    middle, _, _ = grid.middle(c)
    tau, forces = driving.torques(c), acting(model, driving.pushes, middle)
    q, v = grid.at_nodes(c)

    def a(q: Floats, v: Floats) -> Floats:
        return forward_dynamics(model, q, v, tau, forces=forces)

    q0, v0 = q[:-1], v[:-1]
    a1 = a(q0, v0)
    v2 = v0 + 0.5 * h * a1
    a2 = a(q0 + 0.5 * h * v0, v2)
    v3 = v0 + 0.5 * h * a2
    a3 = a(q0 + 0.5 * h * v2, v3)
    a4 = a(q0 + h * v3, v0 + h * a3)
    end = v0 + h * (a1 + 2 * a2 + 2 * a3 + a4) / 6
    return np.asarray(np.einsum("kij,kj->ki", mass_matrix(model, middle), v[1:] - end) / h)


def told(
    model: Model,
    smoother: Smoother,
    levels: Levels,
    bounds: tuple[Levels, Levels],
    measured: Floats,
    given_scale: bool,
    tau: Floats,
    tau_sd: Floats,
    q_sd: Floats,
    error: Floats,
    channels: tuple[Channel, ...],
    likely: Floats,
) -> list[str]:
    """One sentence for each thing that a reader must know before using the torques."""
    names = np.array(model.joint_names)
    active = np.setdiff1d(np.arange(model.n), smoother.unactuated)
    out = []
    none = active[levels.scale <= 1.01 * bounds[0].scale]
    wanders = levels.scale * smoother.grid.K ** max(smoother.order - 0.5, 0.0)
    still = (wanders < CONSTANT * smoother.sizes[0])[levels.scale <= 1.01 * bounds[0].scale]
    if still.any() and not given_scale:
        out.append(
            f"torque of {_list(names[none[still]])}: found to be constant throughout; if these "
            "joints have no motor, name them as unactuated"
        )
    if not still.all() and not given_scale:
        out.append(
            f"torque of {_list(names[none[~still]])}: smoother than rounding errors let it be on "
            f"this grid; use a step above {smoother.grid.h:.3g} s"
        )
    few = np.setdiff1d(active[measured < FEW], none)
    if len(few):
        cause = "a weight this small leaves no room" if given_scale else "the data hold too little"
        out.append(
            f"torque of {_list(names[few])}: the measurements say nothing about how it changes; "
            f"{cause}"
        )
    half, rms = BAND * np.median(tau_sd, axis=0), np.sqrt(np.mean(tau**2, axis=0))
    full = active[(measured > MOST_OF * smoother.grid.K) & (half > NARROW * rms)[active]]
    if len(full):
        out.append(
            f"torque of {_list(names[full])}: almost every interval follows the data, so that "
            "their noise passes into it; use a smaller weight, or a longer step"
        )
    wide = np.setdiff1d(active[(half > rms)[active]], (*few, *none))
    if len(wide):
        out.append(
            f"torque of {_list(names[wide])}: its 95 % band is wider than the torque itself; the "
            "data do not tell it from zero"
        )
    lost = np.flatnonzero(np.median(q_sd, axis=0) > 0.5)
    if len(lost):
        out.append(
            f"position of {_list(names[lost])} is known to no better than half a radian or metre; "
            "measure the joint, or a marker that it moves"
        )
    things = np.array([x.name for x in smoother.observations.observed])
    low = things[(levels.noise <= 1.01 * bounds[0].noise) & np.isfinite(likely)]
    if len(low):
        out.append(f"noise of {_list(low)}: estimated as none; its bands mean little")
    noisy = [
        f"{name} ({noise / before:.2g} times)"
        for name, noise, before in zip(things, levels.noise, likely, strict=True)
        if noise > EXCESS * before
    ]
    if noisy:
        out.append(
            f"residuals of {', '.join(noisy[:6])} exceed the noise that neighbouring samples show: "
            "the model, places of markers or a long step do not fit; the bands do not count that"
        )
    rough = [
        j for j in active
        if np.sqrt(np.mean(error[:, j] ** 2)) > max(np.median(tau_sd[:, j]), 1e-12)
    ]  # fmt: skip
    if rough:
        out.append(
            f"torque of {_list(names[rough])}: the error of the grid (rms "
            f"{np.sqrt(np.mean(error[:, rough] ** 2)):.2g}) is larger than that of the data; use a "
            f"step below {smoother.grid.h:.3g} s"
        )
    for channel in channels:
        left = channel.measured - channel.fitted
        share = float(np.sqrt(np.mean(left**2))) / channel.sd
        if not channel.estimated and not 0.5 < share < 1.6:
            out.append(
                f"{channel.name}: residuals are {share:.2g} times the noise given; check that, or "
                "leave it to be estimated"
            )
        if len(left) > 20 and correlation(left) > COLOURED:
            out.append(
                f"{channel.name}: neighbouring residuals are alike (correlation "
                f"{correlation(left):.2f}): not only noise is left, or it is filtered already; the "
                "bands are too narrow"
            )
    return out


def correlation(left: Floats) -> float:
    """Of neighbouring residuals."""
    away = left - left.mean()
    total = float(away @ away)
    return float(away[1:] @ away[:-1]) / total if total > 0.0 else 0.0


def unseen(model: Model, seen: Seen, noise: Floats, unactuated: Ints) -> list[str]:
    """Actuated joints whose position the measurements leave open, alone or with others."""
    J = seen.J / noise[:, None]
    known = J.T @ J
    size = np.sqrt(np.diagonal(known))
    blind = size == 0.0
    unit = np.where(blind, 1.0, size)
    values, vectors = np.linalg.eigh(known / np.outer(unit, unit))
    loose = (np.abs(vectors[:, values < OPEN * max(values[-1], 1.0)]) > 0.3).any(axis=1)
    loose[unactuated] = False
    return [name for name, open_ in zip(model.joint_names, loose, strict=True) if open_]


def _list(names: Floats) -> str:
    shown = [str(name) for name in names[:6]]
    return ", ".join(shown) + (f" and {len(names) - 6} more" if len(names) > 6 else "")
