"""What speaks against an estimate, in plain words."""

from __future__ import annotations

import numpy as np

from predyn.dynamics.aba import forward_dynamics
from predyn.dynamics.crba import mass_matrix
from predyn.errors import ModelError
from predyn.estimate.channel_doubts import (
    EXCESS,
    going_together,
    listed,
    marker_of,
    misplaced,
    of_channels,
    too_large,
    too_small,
)
from predyn.estimate.driving import acting
from predyn.estimate.observations import Seen
from predyn.estimate.result import BAND, Channel
from predyn.estimate.smoother import Levels, Smoother
from predyn.estimate.spline_grid import Floats, Ints
from predyn.model import Model

FAR, WILD, COARSE = 0.3, 1e4, 10.0  # over the longest link, the usual torques, the torques
MEANINGLESS = 1e100  # N m; an error of the grid beyond it says nothing
OPEN = 1e-10  # information about a direction, over the largest, that is none
FEW = 1.0  # numbers about a torque below which the data say nothing about it
CONSTANT = 0.02  # wandering over a recording, over the torque's size, that is none
NARROW = 0.25  # half width of a band, over the torque's size, below which noise does no harm
MOST_OF = 0.9  # share of the intervals above which noise passes into the torques
SMALL_ERROR = 1e-3  # of the grid, over the torque's size, that does no harm
BURST = 3.5  # estimated change of a torque over its usual size; good data stay below 2


def grid_error(smoother: Smoother, c: Floats) -> Floats:
    """Torques (K, n) by which holding the acceleration, not the torque, over an interval errs.

    From each node the torque is held for one step of RK4; the speed that is missing at the next
    node, times the mass matrix and over the step, is a torque. Where a motion is so wild that the
    step cannot be made, the error is taken to be as large as the torque.
    """
    tau = smoother.driving.torques(c)
    try:
        with np.errstate(all="ignore"):
            error = _missing(smoother, c, tau)
    except ModelError:
        return np.abs(tau)
    return np.where(np.abs(error) < MEANINGLESS, error, np.abs(tau))


def _missing(smoother: Smoother, c: Floats, tau: Floats) -> Floats:
    driving, grid = smoother.driving, smoother.grid
    model, h = driving.model, grid.h
    middle, _, _ = grid.middle(c)
    forces = acting(model, driving.pushes, middle)
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
    what = "acceleration" if smoother.of_motion else "torque"
    tight = levels.scale < 0.999 * bounds[0].scale  # only a given weight is below the bound
    floor = (levels.scale <= 1.01 * bounds[0].scale) & ~tight
    none = active[floor]
    wanders = levels.scale * smoother.grid.K ** max(smoother.order - 0.5, 0.0)
    still = (wanders < CONSTANT * smoother.sizes[0])[floor]
    half, rms = BAND * np.median(tau_sd, axis=0), np.sqrt(np.mean(tau**2, axis=0))
    if still.any():
        idle = none[still & (rms <= half)[none]]
        out.append(
            f"{what} of {listed(names[none[still]])}: found to be "
            f"{('zero', 'constant', 'a straight line')[smoother.order]} throughout; "
            "where it is not, its band is too narrow"
            + (f"; if {listed(names[idle])} has no motor, name it as unactuated" * bool(len(idle)))
        )
    if not still.all():
        out.append(
            f"torque of {listed(names[none[~still]])}: smoother than rounding errors let it be on "
            f"this grid; use a step above {smoother.grid.h:.3g} s"
        )
    known = measured.any()  # not if Ctrl-C came too early, or the equations are singular
    few = active[(tight | (known & (measured < FEW))) & ~floor]
    if len(few):
        cause = "the data hold too little"
        if given_scale:
            usual = float(smoother.sizes[-1][np.isin(active, few)].min())
            cause = (
                f"a weight this small leaves no room, larger ones (about {usual:.2g}) follow the "
                "data"
            )
        elif any(too_large(channel) for channel in channels):
            cause = "the noise given is too large for that"
        out.append(
            f"{what} of {listed(names[few])}: the measurements say nothing about how it changes; "
            f"{cause}; where it does change, its band is too narrow"
        )
    harm = (half > NARROW * rms) | any(too_small(channel) for channel in channels)
    full = active[(measured > MOST_OF * smoother.grid.K) & harm[active]]
    if len(full):
        out.append(
            f"torque of {listed(names[full])}: almost every interval follows the data, so that "
            "their noise passes into it; use a smaller weight, or a longer step"
        )
    wide = np.setdiff1d(active[(half > rms)[active]], (*few, *none))
    if len(wide):
        out.append(
            f"torque of {listed(names[wide])}: its 95 % band is wider than the torque itself; the "
            "data do not tell it from zero"
        )
    lost = np.flatnonzero(np.median(q_sd, axis=0) > 0.5)
    if len(lost):
        out.append(
            f"position of {listed(names[lost])} is known to no better than half a radian or metre; "
            "measure the joint, or a marker that it moves"
        )
    rough = np.sqrt(np.mean(error**2, axis=0))
    coarse = active[
        (rough > np.maximum(np.median(tau_sd, axis=0), SMALL_ERROR * rms))[active] & ~floor
    ]
    if len(coarse):
        out.append(
            f"torque of {listed(names[coarse])}: the error of the grid (rms "
            f"{np.sqrt(np.mean(rough[coarse] ** 2)):.2g}) is larger than that of the data; use a "
            f"step below {smoother.grid.h:.3g} s"
        )
    things = np.array([x.name for x in smoother.observations.observed])
    low = things[(levels.noise <= 1.01 * bounds[0].noise) & np.isfinite(likely)]
    if len(low):
        out.append(f"noise of {listed(low)}: estimated as none; its bands mean little")
    astray = misplaced(model, channels)
    noisy = [
        f"{name} ({noise / before:.2g} times)"
        for name, noise, before in zip(things, levels.noise, likely, strict=True)
        if noise > EXCESS * before and name not in astray
    ]
    if noisy:
        out.append(
            f"residuals of {listed(noisy)} exceed the noise that neighbouring samples show: "
            "the model, places of markers or a long step do not fit; the bands do not count that"
        )
    rest = [x for x in channels if (marker_of(x) or x.name) not in low and not too_small(x)]
    return out + of_channels(channels, astray) + going_together(rest)


def senseless(
    model: Model, channels: tuple[Channel, ...], tau: Floats, error: Floats, usual: Floats
) -> str:
    """Why an estimate is none, though it converged; empty if it may be one."""
    left = [np.mean((c.measured - c.fitted) ** 2) for c in channels if c.kind == "marker"]
    lengths = np.linalg.norm(model.p[model.parent >= 0], axis=1)
    reach = float(lengths.max(initial=0.0))
    if left and reach > 0.0 and np.sqrt(np.mean(left)) > FAR * reach:
        return (
            f"the markers are {np.sqrt(np.mean(left)):.2g} m (rms) from where the model can have "
            "them; check axes, units, names and lengths"
        )
    most, likely = float(np.abs(tau).max()), float(np.abs(usual).max())
    if most > WILD * likely:
        return (
            f"torques up to {most:.2g} N m, where a low-pass filter finds {likely:.2g}; check "
            "single samples that jump, the guess, the units, and noise and weight if given"
        )
    if (rms(error) > COARSE * rms(tau)).all():
        return (
            "the error of the grid exceeds all torques many times; check the units of the time, or "
            "use a shorter step"
        )
    return ""


def rms(values: Floats) -> Floats:
    """Root mean square of each column."""
    return np.asarray(np.sqrt(np.mean(values**2, axis=0)))


def bursts(model: Model, smoother: Smoother, c: Floats, levels: Levels) -> list[str]:
    """Torques that change far more at one time than elsewhere: one size does not fit them all."""
    smooth = smoother.grid.middle(c)[2] if smoother.of_motion else smoother.driving.torques(c)
    share = np.abs(np.diff(smooth @ smoother.A.T, smoother.order, axis=0)) / levels.scale
    names = np.array(model.joint_names)
    active = np.setdiff1d(np.arange(model.n), smoother.unactuated)
    found = np.flatnonzero(share.max(axis=0) > BURST)
    if not len(found):
        return []
    at = smoother.grid.middles[share[:, found].argmax(axis=0) + (smoother.order + 1) // 2]
    told = [f"{name} (at {t:.4g} s)" for name, t in zip(names[active[found]], at, strict=True)]
    return [
        f"torque of {listed(told)}: changes far more there than elsewhere, and its band is too "
        "narrow there; cut the recording about it, or try total_variation"
    ]


def unseen(
    model: Model, seen: Seen, noise: Floats, unactuated: Ints
) -> tuple[list[str], list[str]]:
    """Joints whose position the measurements leave open, alone or with others: those with a motor,
    and those without."""
    J = seen.J / noise[:, None]
    known = J.T @ J
    size = np.sqrt(np.diagonal(known))
    blind = size == 0.0
    unit = np.where(blind, 1.0, size)
    values, vectors = np.linalg.eigh(known / np.outer(unit, unit))
    loose = (np.abs(vectors[:, values < OPEN * max(values[-1], 1.0)]) > 0.3).any(axis=1)
    free = np.isin(np.arange(model.n), unactuated)
    names = np.array(model.joint_names)
    return names[loose & ~free].tolist(), names[loose & free].tolist()


def carried(joints: list[str]) -> list[str]:
    """What to say of joints that are neither driven nor seen."""
    if not joints:
        return []
    return [
        f"the position of {listed(joints)} is not measured, and no motor tells it: it follows from "
        "the other joints by the laws of motion alone, as a forecast does, and the bands may be "
        "far too narrow; measure it or markers beyond it"
    ]
