"""Convert decision variables to a Solution."""

from __future__ import annotations

import math
import platform
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache, partial
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

import predyn
from predyn.curves.profile import Profile
from predyn.dynamics.reactions import joint_reactions
from predyn.dynamics.system import PhaseSystem, jerk_limits
from predyn.model import Limits
from predyn.nlp import Multipliers
from predyn.problem import Problem
from predyn.problem.quantities import unit_of
from predyn.solution import EXCEEDS, MOST_EXCESS, SUCCESS, Solution, Violation
from predyn.solution.ground import GroundPlane
from predyn.solution.later_samples import SAMPLED, LaterSamples
from predyn.solution.repeating import Repeat
from predyn.transcribe.motion import Motion, motion_of
from predyn.transcribe.program import Program
from predyn.transcribe.recheck import dense_violations
from predyn.transcribe.unsmoothed import unsmoothed
from predyn.transcribe.widths import used_widths

Floats = NDArray[np.float64]
MOST_VIOLATIONS, FEW = 20, 5  # few if all are smaller than a solver distinguishes
SMALL = 1e-7  # relative
ACTIVE = 1e-5  # tolerance for active limits, relative to the row's scale


class Imposed:
    """Where the values of constraints and variables are relative to their bounds."""

    def __init__(self, program: Program, motion: Motion, x: Floats, g: Floats) -> None:
        self._program, self._curves = program, motion.curves
        self._value = np.concatenate([g, x])
        self._lower = np.concatenate([program.g_lower, program.x_lower])
        self._upper = np.concatenate([program.g_upper, program.x_upper])
        self._excess = np.maximum(self._lower - self._value, self._value - self._upper)
        self._relative = self._excess / np.concatenate([program.g_scale, program.x_scale])

    def violations(self) -> list[Violation]:
        """Excess of the constraints and variable bounds that are violated most, worst first."""
        program, m = self._program, self._program.m
        outside = np.flatnonzero(self._excess > 0.0)
        most = MOST_VIOLATIONS if self._relative.max(initial=0.0) > SMALL else FEW
        worst = outside[np.argsort(-self._relative[outside], kind="stable")[:most]]
        parts = (self._excess, self._relative, self._value, self._lower, self._upper)
        begin = [*accumulate((curve.duration for curve in self._curves), initial=0.0)]
        result = []
        for i, over, share, value, low, high in zip(
            worst.tolist(), *(part[worst].tolist() for part in parts), strict=True
        ):
            name, where = program.g_place(i) if i < m else (program.x_name(i - m), None)
            t = math.nan
            if where is not None:
                phase, s = where
                t = begin[phase] + s * (begin[phase + 1] - begin[phase])
            result.append(Violation(name, over, share, value, low, high, t))
        return result

    def active(self) -> tuple[str, ...]:
        """Names of the inequalities that hold with equality somewhere, and of bounded variables."""
        program = self._program
        near = (self._relative >= -ACTIVE) & (self._lower < self._upper)
        variables = np.flatnonzero(near[program.m :]).tolist()
        names = [*program.g_quantities(near[: program.m]), *map(program.x_name, variables)]
        return tuple(dict.fromkeys(names))


def block_names(program: Program) -> list[tuple[str, slice]]:
    """Blocks of constraints with names that differ, and their ranges."""
    result: dict[str, slice] = {}
    for name, part in program.g_blocks():
        key = name
        while key in result:
            key += "'"
        result[key] = part
    return list(result.items())


def named_multipliers(program: Program, multipliers: Multipliers) -> dict[str, Floats]:
    """Multipliers by the name of their constraint block, in order, and those of the variables."""
    result = {key: multipliers.g[part].copy() for key, part in block_names(program)}
    return {**result, "x_lower": multipliers.x_lower, "x_upper": multipliers.x_upper}


def multipliers_of(program: Program, solution: Solution) -> Multipliers | None:
    """Multipliers to start from: those of blocks with the same name and size, zero for others.

    None if less than half of the constraints are found.
    """
    given = solution.multipliers
    g, matched = np.zeros(program.m), 0
    for key, part in block_names(program):
        known = given.get(key)
        if known is not None and len(known) == part.stop - part.start:
            g[part] = known
            matched += len(known)
    sides = [given.get(key) for key in ("x_lower", "x_upper")]
    lower, upper = (np.zeros(program.n) if x is None or len(x) != program.n else x for x in sides)
    if not solution.multipliers or matched < 0.5 * program.m:
        return None
    return Multipliers(g, np.array(lower), np.array(upper))


def unpack(
    program: Program,
    x: Floats,
    *,
    status: str,
    message: str,
    objective: float,
    costs: dict[str, float],
    g: Floats | None,
    multipliers: Multipliers,
    history: dict[str, Floats],
    timings: dict[str, float],
    text: str = "",
    recheck: bool = True,
) -> Solution:
    """The solution at x; without g (for a checkpoint), violations are omitted.

    recheck: whether to look for violations between the points, and for exact integrals
    """
    motion = motion_of(program, x)
    if not isinstance(motion.problem.guess, str):  # an earlier solution would be kept alive
        motion = replace(motion, problem=replace(motion.problem, guess="auto"))
    problem, model = motion.problem, motion.problem.model
    if motion.impossible:
        status = "evaluation_error"
        message = f"{motion.impossible}; the model of this result has the guesses of the parameters"
    curves = motion.curves
    curved = bool(np.isfinite(x).all()) and not program.discrete
    at_points = None if g is None else Imposed(program, motion, x, g)
    imposed = at_points.violations() if at_points else []
    sample, search = partial(sample_motion, motion), dense_violations
    if program.discrete:
        from predyn.transcribe.discrete.unpack import node_violations, sample_nodes

        sample, search = partial(sample_nodes, motion), node_violations
    later: dict[str, Any] = dict.fromkeys(SAMPLED, LaterSamples(sample))
    looked_at = recheck and g is not None
    dense = search(program, motion) if looked_at else []
    if status in SUCCESS and dense and dense[0].relative > MOST_EXCESS:
        status = EXCEEDS
    dense = sorted([*dense, *imposed[:5]], key=lambda v: -v.relative) if looked_at else []
    return Solution(
        name=problem.name,
        model=model,
        status=status,
        message=message,
        objective=objective,
        iterations=int(history["iteration"][-1]) if len(history["iteration"]) else 0,
        solve_seconds=timings.get("solve", 0.0),
        max_violation=imposed[0].relative if imposed else 0.0,
        max_violation_dense=dense[0].relative if dense else 0.0 if looked_at else math.nan,
        curves=curves,
        phase_names=tuple(phase.name for phase in program.phases),
        limits=Limits(*(np.array(x, float) for x in problem.limits or model.limits)),
        jerk_limit=jerk_limits(problem.jerk_limit, model.n),
        costs=costs,
        violations=tuple(imposed),
        dense_violations=tuple(dense),
        active=at_points.active() if at_points else (),
        multipliers=named_multipliers(program, multipliers),
        history=history,
        timings=timings,
        jacobian=program.jacobian_pattern,
        n_variables=program.n,
        n_constraints=program.m,
        x=x.copy(),
        forces=_constant_forces(problem),
        passive=tuple(problem.passive),
        signal_curves=motion.signals,
        parameters=motion.parameters,
        parameter_units={x.name: unit_of(problem, x) for x in problem.parameters},
        systems=motion.systems,
        ground=_ground(problem, motion.systems),
        cycle=_repeat(problem, motion.parameters),
        problem=problem,
        unsmoothed=unsmoothed(program, motion, g) if curved and recheck and g is not None else {},
        widths=used_widths(problem),
        provenance=_provenance(problem, text),
        **later,
    )


@cache
def _machine() -> dict[str, str]:
    return {
        "platform": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
    }


def _provenance(problem: Problem, text: str) -> dict[str, str]:
    """What a result was made with."""
    return {
        "predyn_version": predyn.__version__,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        **_machine(),
        "transcription": repr(problem.transcription),
        "task": text,
    }


@np.errstate(all="ignore")  # the status reports what is not finite
def sample_motion(motion: Motion) -> dict[str, Any]:
    """The motion, its forces and its signals at the limit points of all phases."""
    parts: dict[str, list[NDArray]] = {k: [] for k in SAMPLED if k != "signals"}
    begin, per_segment = 0.0, max(motion.problem.transcription.limit_points, 3)
    for p, (curve, spline) in enumerate(zip(motion.curves, motion.given_splines, strict=True)):
        s = spline.limit_points(per_segment)
        samples = motion.samples(p, s, ("tau",))
        q, v, a, tau = (np.ascontiguousarray(samples[c].T) for c in ("q", "v", "a", "tau"))
        wrench = joint_reactions(motion.systems[p].model, q, v, a, forces=motion.forces(p, s))
        phase = np.full(len(s), p, np.int64)
        rows = (begin + s * curve.duration, phase, q, v, a, tau, wrench)
        for name, value in zip(parts, rows, strict=True):
            parts[name].append(value)
        begin += curve.duration
    found = {name: np.concatenate(values) for name, values in parts.items()}
    return {**found, "signals": motion.sampled_signals(found["t"], found["phase"])}


def _constant_forces(problem: Problem) -> tuple[dict[str, Any], ...]:
    """External forces of the problem that are given in numbers."""
    varying = (str, Profile)
    return tuple(
        {
            "link": f.link,
            "force": np.array(f.force, float),
            "moment": np.array(f.moment, float),
            "point": np.array(f.point, float),
            "frame": f.frame,
        }
        for f in problem.forces
        if not isinstance(f.force, varying) and not isinstance(f.moment, varying)
    )


def _ground(problem: Problem, systems: tuple[PhaseSystem, ...]) -> GroundPlane | None:
    """What the motion touches, if it touches anything."""
    points = {point.name for point in problem.model.contact_points}
    if not any(force.link in points for system in systems for force in system.forces):
        return None
    ground = problem.ground
    numbers = (float(x) for x in (ground.friction, ground.slope, ground.height))
    friction, slope, height = numbers
    steps = tuple((float(x), float(z)) for x, z in ground.steps)
    return GroundPlane(friction, ground.cone, slope, height, steps)


def _repeat(problem: Problem, parameters: dict[str, float]) -> Repeat | None:
    """How the motion goes on after its end, in numbers."""
    cycle = problem.cycle
    if cycle is None:
        return None
    x, y, z = (float(parameters[a] if isinstance(a, str) else a) for a in cycle.advance)
    signs = {name: float(sign) for name, sign in cycle.signs.items()}
    return Repeat((x, y, z), dict(cycle.swap), signs, cycle.mirror)
