"""Warnings about the torques of an estimate, and checks that they are plausible."""

from __future__ import annotations

import numpy as np

from predyn.dynamics.aba import forward_dynamics
from predyn.dynamics.crba import mass_matrix
from predyn.errors import ModelError
from predyn.estimate.channel_warnings import (
    EXCESS,
    find_misplaced,
    join_names,
    marker_name,
    noise_too_large,
    noise_too_small,
    warn_of_common_noise,
    warn_of_residuals,
)
from predyn.estimate.driving import acting
from predyn.estimate.observations import Seen
from predyn.estimate.result import BAND, OF_TIME, WHITE, Channel
from predyn.estimate.smoother import Levels, Smoother
from predyn.estimate.spline_grid import Floats, Ints
from predyn.model import Model

FAR, WILD, COARSE = 0.3, 1e4, 10.0  # over the longest link, the usual torques, the torques
MEANINGLESS = 1e100  # N m; a larger grid error has no meaning
OPEN = 1e-10  # information about a direction, over the largest, that counts as none
FEW = 1.0  # measured numbers about a torque below which the data do not determine it
CONSTANT = 0.02  # drift over a recording, over the torque's size, that counts as none
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
            error = _missing_torque(smoother, c, tau)
    except ModelError:
        return np.abs(tau)
    return np.where(np.abs(error) < MEANINGLESS, error, np.abs(tau))


def _missing_torque(smoother: Smoother, c: Floats, tau: Floats) -> Floats:
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


def collect_warnings(
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
    """One sentence for each thing to know before using the torques."""
    names = np.array(model.joint_names)
    active = np.setdiff1d(np.arange(model.n), smoother.unactuated)
    out = []
    what = "acceleration" if smoother.of_motion else "torque"
    tight = levels.scale < 0.999 * bounds[0].scale  # only a given weight is below the bound
    # the forces of a floating base are small by assumption
    motors = np.ones(len(active), bool)
    if smoother.small is not None:
        motors = ~np.isin(active, smoother.small.joints)
    floor = (levels.scale <= 1.01 * bounds[0].scale) & ~tight & motors
    none = active[floor]
    wanders = levels.scale * smoother.grid.K ** max(smoother.order - 0.5, 0.0)
    still = (wanders < CONSTANT * smoother.sizes[0])[floor]
    half, rms = BAND * np.median(tau_sd, axis=0), np.sqrt(np.mean(tau**2, axis=0))
    if still.any():
        idle = none[still & (rms <= half)[none]]
        out.append(
            f"{what} of {join_names(names[none[still]])}: estimated as "
            f"{('zero', 'constant', 'a straight line')[smoother.order]} throughout; "
            "where this is not true, its band is too narrow"
            + (
                f"; if {join_names(names[idle])} has no motor, list it as unactuated"
                * bool(len(idle))
            )
        )
    if not still.all():
        out.append(
            f"torque of {join_names(names[none[~still]])}: smoother than rounding errors allow on "
            f"this grid; use a step longer than {smoother.grid.h:.3g} s"
        )
    known = measured.any()  # not if Ctrl-C came too early, or the equations are singular
    few = active[(tight | (known & (measured < FEW))) & ~floor & motors]
    if len(few):
        cause = "the data contain too little information"
        if given_scale:
            usual = float(smoother.sizes[-1][np.isin(active, few)].min())
            cause = (
                "the weight is too small for it to follow the data; try a larger one (about "
                f"{usual:.2g})"
            )
        elif any(noise_too_large(channel) for channel in channels):
            cause = "the given noise is too large"
        out.append(
            f"{what} of {join_names(names[few])}: the measurements do not determine how it "
            f"changes; {cause}; where it does change, its band is too narrow"
        )
    harm = (half > NARROW * rms) | any(noise_too_small(channel) for channel in channels)
    full = active[(measured > MOST_OF * smoother.grid.K) & harm[active] & motors]
    if len(full):
        out.append(
            f"torque of {join_names(names[full])}: almost every interval follows the data, so "
            "measurement noise passes into it; use a smaller weight or a longer step"
        )
    wide = np.setdiff1d(active[(half > rms)[active] & motors], (*few, *none))
    if len(wide):
        out.append(
            f"torque of {join_names(names[wide])}: its 95 % band is wider than the torque itself; "
            "the data do not distinguish it from zero"
        )
    lost = np.flatnonzero(np.median(q_sd, axis=0) > 0.5)
    if len(lost):
        out.append(
            f"position of {join_names(names[lost])} is uncertain by more than half a radian or "
            "metre; measure the joint, or a marker that it moves"
        )
    rough = np.sqrt(np.mean(error**2, axis=0))
    coarse = active[
        (rough > np.maximum(np.median(tau_sd, axis=0), SMALL_ERROR * rms))[active] & ~floor & motors
    ]
    if len(coarse):
        out.append(
            f"torque of {join_names(names[coarse])}: the grid error (rms "
            f"{np.sqrt(np.mean(rough[coarse] ** 2)):.2g}) exceeds the uncertainty from the data; "
            f"use a step shorter than {smoother.grid.h:.3g} s"
        )
    things = np.array([x.name for x in smoother.observations.observed])
    low = things[(levels.noise <= 1.01 * bounds[0].noise) & np.isfinite(likely)]
    if len(low):
        out.append(f"noise of {join_names(low)}: estimated as zero; the bands are not reliable")
    astray = find_misplaced(model, channels)
    if 2 * len(astray) > len({marker_name(x) for x in channels}):
        out = []  # what is odd about torques follows from that
    lasting = smoother.observations.noise_model == OF_TIME
    noisy = [
        f"{name} ({noise / before:.2g} times)"
        for name, noise, before in zip(things, levels.noise, likely, strict=True)
        if noise > EXCESS * before and name not in astray and not lasting
    ]
    if noisy:
        out.append(
            f"residuals of {join_names(noisy)} exceed the noise between neighbouring samples: the "
            "model, the marker positions or the step size does not fit; the bands do not account "
            "for this"
        )
    rest = [x for x in channels if (marker_name(x) or x.name) not in low and not noise_too_small(x)]
    out += warn_of_residuals(channels, astray, not lasting)
    white = smoother.observations.noise_model == WHITE
    return out + warn_of_common_noise(rest) if white else out


def check_plausibility(
    model: Model, channels: tuple[Channel, ...], tau: Floats, error: Floats, usual: Floats
) -> str:
    """Why an estimate is implausible although it converged; empty if it is plausible."""
    left = [np.mean((c.measured - c.fitted) ** 2) for c in channels if c.kind == "marker"]
    lengths = np.linalg.norm(model.p[model.parent >= 0], axis=1)
    reach = float(lengths.max(initial=0.0))
    if left and reach > 0.0 and np.sqrt(np.mean(left)) > FAR * reach:
        return (
            f"the markers are {np.sqrt(np.mean(left)):.2g} m (rms) from where the model can place "
            "them; check axes, units, names and link lengths"
        )
    most, likely = float(np.abs(tau).max()), float(np.abs(usual).max())
    if most > WILD * likely:
        return (
            f"torques reach {most:.2g} N m, but a low-pass filter gives {likely:.2g}; check for "
            "single samples that jump, the guess, the units, and noise and weight if given"
        )
    if (rms(error) > COARSE * rms(tau)).all():
        return (
            "the grid error is many times larger than all torques; check the unit of time, or use "
            "a shorter step"
        )
    return ""


def rms(values: Floats) -> Floats:
    """Root mean square of each column."""
    return np.asarray(np.sqrt(np.mean(values**2, axis=0)))


def warn_of_bursts(model: Model, smoother: Smoother, c: Floats, levels: Levels) -> list[str]:
    """Torques that change far more at one time than elsewhere: one weight does not fit all."""
    rows = smoother.about(c).changes.rows.value
    share = np.abs(rows.reshape(-1, len(levels.scale))) / levels.scale
    names = np.array(model.joint_names)
    active = np.setdiff1d(np.arange(model.n), smoother.unactuated)
    large = np.flatnonzero(share.max(axis=0) > BURST)
    if not len(large):
        return []
    place = share[:, large].argmax(axis=0)
    if not smoother.corner:
        place += (smoother.order + 1) // 2  # a difference is between intervals
    at = smoother.grid.middles[place]
    places = [f"{name} (at {t:.4g} s)" for name, t in zip(names[active[large]], at, strict=True)]
    return [
        f"torque of {join_names(places)}: changes far more there than elsewhere, so its band is "
        "too narrow there; split the recording around that time, or try total_variation"
    ]


def find_unmeasured_joints(
    model: Model, seen: Seen, noise: Floats, unactuated: Ints
) -> tuple[list[str], list[str]]:
    """Joints whose position the measurements do not determine, alone or together with others:
    those with a motor, and those without."""
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


def warn_of_unmeasured_passive(joints: list[str]) -> list[str]:
    """Joints that are neither driven nor measured."""
    if not joints:
        return []
    return [
        f"the position of {join_names(joints)} is neither measured nor driven by a motor: it "
        "follows from the other joints by the equations of motion alone, like a forecast, and the "
        "bands may be far too narrow; measure the joint or markers beyond it"
    ]
