"""Check the loops of a problem before they are written out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from predyn.dynamics.loop_kinematics import describe_gap, gaps_of, loop_equations
from predyn.errors import unknown_name
from predyn.model.parts import Array
from predyn.problem.check_phases import Finding, Path, numbers
from predyn.problem.independent_loops import loops_of
from predyn.problem.loop_program import force_names
from predyn.problem.offers import phase_name
from predyn.samples.registry import TORQUES

if TYPE_CHECKING:
    from predyn.problem.problem import Problem

OPEN = 1e-6  # m or rad; a larger gap of a given posture is an error
MOVING = 1e-6  # m/s or rad/s


def loop_problems(problem: Problem) -> Iterator[Finding]:
    """Unknown loops, methods without loops, and given postures or velocities that open them."""
    known = [loop.name for loop in problem.model.loops]
    wrong = False
    for p, phase in enumerate(problem.phases):
        names: Any = phase.loops
        if names is None:
            continue
        where: Path = ("phases", p, "loops")
        if isinstance(names, str) or not isinstance(names, tuple | list):
            wrong = True
            yield where, f"expected a list of loops of the model, got {names!r:.60}"
            continue
        for name in names:
            if not isinstance(name, str) or name not in known:
                wrong = True
                hint = "" if known else "; the model has none: add them with close_loop"
                yield where, f"{unknown_name('loop', name, known)}{hint}"
    closed = not wrong and any(loops_of(problem, p) for p in range(len(problem.phases)))
    if closed:
        method = list(_method(problem))
        yield from method or [*_names(problem), *_impacts(problem), *_ends(problem)]


def _method(problem: Problem) -> Iterator[Finding]:
    from predyn.problem.problem import Dmoc, Hybrid

    method = problem.transcription
    for k, parameter in enumerate(problem.parameters if isinstance(method, Dmoc) else ()):
        if getattr(parameter, "quantity", ()):
            yield (
                ("parameters", k, "quantity"),
                f"method 'dmoc' does not combine unknown numbers of the model, such as "
                f"{parameter.quantity!r:.60}, with closed loops; use method 'spline'",
            )
    if isinstance(method, Hybrid):
        yield (
            ("transcription",),
            f"method 'hybrid' does not support closed loops (model {problem.model.name!r}); use "
            "method 'dmoc' or 'spline'",
        )
    elif isinstance(method.knots, str) and method.knots in ("free", "uniform"):
        yield (
            ("transcription", "knots"),
            f"{method.knots!r} cannot be combined with closed loops; use 'clamped'",
        )


def _names(problem: Problem) -> Iterator[Finding]:
    """Names of loops that their forces, which are signals, cannot have."""
    taken = {signal.name: "signal" for signal in problem.signals}
    taken |= {parameter.name: "parameter" for parameter in problem.parameters}
    taken |= {TORQUES: "signal of the torques"}
    for loop in problem.model.loops:
        what = f"loop {loop.name!r:.60}"
        if loop.name.startswith("-"):
            yield ("model", "loops"), f"{what}: the name of its force must not begin with a minus"
        for name in force_names(loop):
            if name in taken:
                yield (
                    ("model", "loops"),
                    f"{name!r:.60} is the name of a force of {what} and of a {taken[name]}; rename "
                    "one of them",
                )
            taken[name] = f"force of {what}"


def _impacts(problem: Problem) -> Iterator[Finding]:
    """Impacts whose impulses closed loops would pass on, which no equation describes."""
    for p, phase in enumerate(problem.phases):
        loops = [*loops_of(problem, p), *(loops_of(problem, p - 1) if p else ())]
        if phase.impact and loops:
            yield (
                ("phases", p, "impact"),
                f"loop {loops[0].name!r:.60} is closed, and an impact cannot be combined with the "
                "impulses of loops; leave it out, so that the load has the velocity of the link",
            )


def _ends(problem: Problem) -> Iterator[Finding]:
    """Given postures in which loops are open, and velocities that open them."""
    n = problem.model.n
    for p, phase in enumerate(problem.phases):
        loops = loops_of(problem, p)
        for end in ("start", "end") if loops else ():
            state = getattr(phase, end)
            rest = all(_complete(x, n) and not np.any(x) for x in (state.v, state.a))
            known = rest or all(_complete(x, n) for x in (state.q, state.v))
            if _complete(state.a, n) and not known:
                yield (
                    ("phases", p, end, "a"),
                    "accelerations of all joints are given, but not all positions and velocities, "
                    "on which those that keep loops closed depend; give these too, or leave "
                    "accelerations free",
                )
            if not _complete(state.q, n):
                continue
            q = np.broadcast_to(np.asarray(state.q, float), (n,))
            at = f"at the {end} of {phase_name(problem, p)!r}"
            gaps = gaps_of(problem.model, loops, q[None])
            open_ = [x for x in zip(loops, gaps, strict=True) if x[1].largest[0] > OPEN]
            for loop, gap in open_:
                yield (
                    ("phases", p, end, "q"),
                    f"{describe_gap(loop, gap, 0)} {at}; give a posture with closed loops, such as "
                    "predyn.close_loops(model, q)",
                )
            v, a = (_of_joints(x, n) for x in (state.v, state.a))
            if open_ or v is None:
                continue
            moves = np.isfinite(v).all()
            names = [loop.name for loop in loops]
            found = loop_equations(problem.model, q, v if moves else None, loops=names)
            moving = _fastest(found.names, _least_rates(found.jacobian, 0.0 * found.values, v))
            if moving:
                yield (
                    ("phases", p, end, "v"),
                    f"the given velocities open a loop: {moving}/s or rad/s {at}; project them "
                    "with predyn.dynamics.project_velocities(model, q, v)",
                )
            elif moves and a is not None:
                moving = _fastest(found.names, _least_rates(found.jacobian, found.bias, a))
                if moving:
                    yield (
                        ("phases", p, end, "a"),
                        f"the given accelerations open a loop: {moving}/s^2 or rad/s^2 {at}; leave "
                        "those of joints free that the loop moves",
                    )


def _of_joints(value: Any, n: int) -> Array | None:
    """Given numbers (n,), NaN where they are free; None if there are none."""
    array = numbers(value)
    return array if array is not None and array.shape == (n,) else None


def _fastest(names: Sequence[str], rates: Array) -> str:
    """The equation that changes most, up to the unit; empty if all stay as they are."""
    worst = int(np.argmax(np.abs(rates)))
    if not abs(rates[worst]) > MOVING:
        return ""
    return f"{names[worst]} changes at {rates[worst]:.3g} m"


def _least_rates(jacobian: Array, bias: Array, v: Array) -> Array:
    """Rates (m,) of the equations at velocities (n,); those that are NaN reduce them."""
    free = ~np.isfinite(v)
    rates = jacobian @ np.where(free, 0.0, v) + bias
    others = np.linalg.lstsq(jacobian[:, free], -rates, rcond=1e-9)[0]
    return np.asarray(rates + jacobian[:, free] @ others)


def _complete(value: Any, n: int) -> bool:
    """Whether values of all joints are given as numbers."""
    try:
        array = np.broadcast_to(np.asarray(value, float), (n,))
    except (TypeError, ValueError):
        return False
    return value is not None and bool(np.isfinite(array).all())
