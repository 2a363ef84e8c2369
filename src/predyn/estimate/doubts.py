"""What speaks against an estimate, in plain words."""

from __future__ import annotations

import numpy as np

from predyn.dynamics.aba import forward_dynamics
from predyn.dynamics.crba import mass_matrix
from predyn.estimate.driving import acting
from predyn.estimate.result import BAND, Channel
from predyn.estimate.smoother import Levels, Smoother
from predyn.estimate.spline_grid import Floats
from predyn.model import Model

COLOURED = 0.5  # lag-1 correlation of residuals that is told
FEW = 1.0  # numbers about a torque below which the data say nothing about it
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
) -> list[str]:
    """One sentence for each thing that a reader must know before using the torques."""
    names = np.array(model.joint_names)
    active = np.setdiff1d(np.arange(model.n), smoother.unactuated)
    out = []
    none = active[levels.scale <= 1.01 * bounds[0].scale]
    if len(none) and not given_scale:
        out.append(
            f"torque of {_list(names[none])}: found to be constant throughout; if these joints "
            "have no motor, name them as unactuated"
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
    low = levels.noise <= 1.01 * bounds[0].noise
    free = np.array([c.estimated for c in _firsts(channels)])
    if (low & free).any():
        out.append(
            "noise of "
            + _list(np.array([c.name for c in _firsts(channels)])[low & free])
            + ": estimated as none; its bands mean little"
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


def _firsts(channels: tuple[Channel, ...]) -> list[Channel]:
    """One channel per noise level: components of a marker share theirs."""
    seen: dict[str, Channel] = {}
    for channel in channels:
        name = channel.name.rsplit(".", 1)[0] if channel.kind == "marker" else channel.name
        seen.setdefault(name, channel)
    return list(seen.values())


def _list(names: Floats) -> str:
    shown = [str(name) for name in names[:6]]
    return ", ".join(shown) + (f" and {len(names) - 6} more" if len(names) > 6 else "")
