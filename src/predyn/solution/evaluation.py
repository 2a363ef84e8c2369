"""The curves of a solution in numbers, phase by phase: each has its own model and forces."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from predyn.curves.bspline import BSpline
from predyn.errors import InputError, unknown_name
from predyn.samples.registry import CHANNELS, STATES, TORQUES, implementation
from predyn.solution.channel_names import channel_info
from predyn.solution.external_loads import external_load
from predyn.solution.parts import ROUNDING, Curve, Floats, Sample
from predyn.solution.whole_body import QUANTITIES

if TYPE_CHECKING:
    from predyn.kernels.forces import ExternalForce
    from predyn.solution.solution import Solution


class Part(NamedTuple):
    """Those of some instants that lie in one phase."""

    phase: int
    rows: NDArray[np.bool_]  # of all instants
    s: Floats  # normalised times


def checked_times(solution: Solution, t: ArrayLike) -> Floats:
    """Seconds within the motion, or an InputError."""
    try:
        times = np.asarray(t)
    except ValueError:
        raise InputError(f"t: expected seconds, got {t!r:.60}") from None
    if times.size and times.dtype.kind not in "fiu":
        raise InputError(f"t: expected seconds (numbers), got {t!r:.60}")
    times = times.astype(np.float64)
    rounding = ROUNDING * solution.duration
    outside = ~((times >= -rounding) & (times <= solution.duration + rounding))
    if outside.any():
        raise InputError(
            f"t: expected seconds from 0 to {solution.duration!r}, the duration of "
            f"{solution.name!r}, got {float(times[outside][0])!r}"
        )
    return times


def phase_starts(solution: Solution) -> Floats:
    """s, when each phase begins."""
    return np.cumsum([0.0, *(curve.duration for curve in solution.curves[:-1])])


def parts_of(
    solution: Solution, times: Floats, phases: NDArray[np.int64] | None = None
) -> Iterator[Part]:
    """The phases that times (K,) fall into, or the given ones."""
    if phases is None:
        phases = solution.phase_at(times)
    for k, (curve, start) in enumerate(zip(solution.curves, phase_starts(solution), strict=True)):
        rows = phases == k
        if rows.any():
            yield Part(k, rows, np.clip((times[rows] - start) / curve.duration, 0.0, 1.0))


def sample_at(solution: Solution, times: Floats) -> Sample:
    """The motion and its forces at times of any shape."""
    return samples_of(solution, times, None)


def samples_of(solution: Solution, times: Floats, phases: NDArray[np.int64] | None) -> Sample:
    """The motion and its forces at times of any shape; in given phases, or those at the times."""
    from predyn.dynamics.reactions import joint_reactions

    _require_motion(solution, "dynamics")
    flat, n = times.ravel(), solution.model.n
    states, tau = np.empty((4, flat.size, n)), np.empty((flat.size, n))
    reactions = np.empty((flat.size, len(solution.model.parent), 6))
    for part in parts_of(solution, flat, phases):
        states[:, part.rows] = _values(solution.curves[part.phase], part.s, 3)
        model, forces = solution.system(part.phase).model, forces_in(solution, part)
        q, v, a = states[:3, part.rows]
        tau[part.rows] = _torques_in(solution, part, (q, v, a), forces)
        reactions[part.rows] = joint_reactions(model, q, v, a, forces=forces)
    arrays = (x.reshape(*times.shape, *x.shape[1:]) for x in (*states, tau, reactions))
    return Sample(times, *arrays)


def torques_needed(solution: Solution, times: Floats) -> Floats:
    """Torques (K, n) that the curves need at times (K,), also where torques are a signal."""
    from predyn.dynamics.rnea import inverse_dynamics

    tau = np.empty((times.size, solution.model.n))
    for part in parts_of(solution, times):
        q, v, a = _values(solution.curves[part.phase], part.s, 2)
        model, forces = solution.system(part.phase).model, forces_in(solution, part)
        tau[part.rows] = inverse_dynamics(model, q, v, a, forces=forces)
    return tau


def _torques_in(
    solution: Solution, part: Part, states: tuple[Floats, ...], forces: list[ExternalForce]
) -> Floats:
    """The torques of the solver where they are a signal, otherwise those that the curves need."""
    from predyn.dynamics.rnea import inverse_dynamics

    if TORQUES in solution.signal_curves:
        return _signal_in(solution, TORQUES, part)[0]
    model = solution.system(part.phase).model
    return np.asarray(inverse_dynamics(model, *states, forces=forces))


def channel_at(
    solution: Solution, name: str, times: Floats, phases: NDArray[np.int64] | None = None
) -> Floats:
    """A channel at times (...): (..., components); in given phases, or those at the times."""
    size, flat = len(channel_info(solution, name).components), times.ravel()
    if name not in ("t", *STATES) and not name.startswith("parameter:"):
        _require_motion(solution, f"channel {name!r}")
    out = np.empty((flat.size, size))
    for part in parts_of(solution, flat, phases):
        if name == "t":
            out[part.rows, 0] = flat[part.rows] - phase_starts(solution)[part.phase]
        else:
            out[part.rows] = _channel_in(solution, name, part)
    return out.reshape(*times.shape, size)


def _require_motion(solution: Solution, what: str) -> None:
    if not solution.finite:
        raise InputError(
            f"{what}: {solution.name!r} (status {solution.status!r}) has no motion: its last "
            "iterate is not finite; see its message"
        )


def _channel_in(solution: Solution, name: str, part: Part) -> Floats | float:
    """A channel at the instants of a phase: (K, components), or a constant."""
    family, colon, member = name.partition(":")
    if family + colon == "parameter:":
        return solution.parameters[member]
    if family + colon in ("signal:", "rate:"):
        return _signal_in(solution, member, part)[family == "rate"]
    states = _values(solution.curves[part.phase], part.s, 3)
    if name in STATES:
        return states[STATES.index(name)]
    model, forces = solution.system(part.phase).model, forces_in(solution, part)
    q, v, a, _ = states
    if family + colon == "force:":
        return external_load(model, member, q, forces)
    if name in ("tau", "power"):
        tau = _torques_in(solution, part, (q, v, a), forces)
        return tau if name == "tau" else tau * v
    if name in QUANTITIES and name not in CHANNELS:
        return QUANTITIES[name].values(model, (q, v, a), forces)
    module, member = implementation(name)
    return np.asarray(module.values(model, member, (q, v, a), forces))


def forces_in(solution: Solution, part: Part) -> list[ExternalForce]:
    """The external forces at the instants of a phase, in numbers."""
    from predyn.kernels.forces import forces_at

    def signal(name: str) -> Floats:
        if name not in solution.signal_curves:
            raise unknown_name("signal", name, solution.signal_curves)
        if solution.signal_curves[name].curves[part.phase] is None:
            phase = solution.phase_names[part.phase]
            raise InputError(f"signal {name!r} drives a force in phase {phase!r}, but is not there")
        return _signal_in(solution, name, part)[0]

    duration = solution.curves[part.phase].duration
    return forces_at(solution.system(part.phase).forces, part.s, duration, signal)


def _signal_in(solution: Solution, name: str, part: Part) -> tuple[Floats, ...]:
    """A signal and its rate (K, components); NaN in a phase without it."""
    signal = solution.signal_curves[name]
    curve = signal.curves[part.phase]
    if curve is None:
        nothing = np.full((len(part.s), len(signal.components)), np.nan)
        return nothing, nothing
    return _values(curve, part.s, 1)


def _values(curve: Curve, s: Floats, derivatives: int) -> tuple[Floats, ...]:
    spline = BSpline(curve.degree, curve.knots)
    return spline.evaluate(curve.control, s, curve.duration, derivatives)


def passive_joints(solution: Solution) -> tuple[str, ...]:
    """Names of the joints that have no motor in some phase."""
    if not solution.systems:
        return solution.passive
    return tuple(dict.fromkeys(name for system in solution.systems for name in system.passive))


def has_motor(solution: Solution, phase: ArrayLike) -> NDArray[np.bool_]:
    """(..., n) whether a joint is driven in these phases (...)."""
    passive = (
        [system.passive for system in solution.systems]
        if solution.systems
        else [solution.passive] * len(solution.curves)
    )
    driven = np.stack([~np.isin(solution.model.joint_names, names) for names in passive])
    return np.asarray(driven[np.asarray(phase)])
