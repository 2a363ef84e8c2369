"""Initial guesses: a straight line, a pose by inverse kinematics, a curve, an earlier solution.

A guess consists of a curve of joint positions over the normalised time of the whole motion and a
duration for each phase. Values fixed by the boundary values are kept.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from predyn.curves.bspline import BSpline
from predyn.curves.node_spline import NodeSpline
from predyn.errors import InputError
from predyn.model import Model
from predyn.problem import GUESSES, Duration, Phase, Problem, duration_of, system_of
from predyn.solution import Curve
from predyn.transcribe.branches import nearest_route, reachable_branches, routes
from predyn.transcribe.guess_unknowns import fill_lifts, fill_unknowns
from predyn.transcribe.layout import PhaseLayout, end_value
from predyn.transcribe.program import Program
from predyn.transcribe.way_points import way_points

if TYPE_CHECKING:
    from predyn.transcribe.shooting.layout import ShootingLayout

Floats = NDArray[np.float64]
Path = Callable[[Floats], Floats]  # joint positions (K, n) at normalised times of a phase


def _has_nodes(phase: PhaseLayout) -> TypeGuard[ShootingLayout]:
    """Whether states between segments are unknowns; does not load the modules of shooting."""
    return hasattr(phase, "node_columns")


def first_guess(program: Program, guess: Any = None) -> Floats:
    """Decision variables from the guess of the problem or the caller (see Problem.guess)."""
    chosen = program.problem.guess if guess is None else guess
    if isinstance(chosen, str):
        search = searches(program, chosen)
        return route_guess(program, nearest_route(program.problem, search), search)
    if hasattr(chosen, "curves"):
        curves, durations = _split_solution(program, chosen)
    else:
        curves, durations = _split_samples(program, chosen), _guessed_durations(program.problem)
        _check_limits(program, curves)
    return pack(program, curves, durations, chosen)


def searches(program: Program, guess: Any = None) -> bool:
    """Whether a guess uses inverse kinematics: if asked to, or by itself for goals in reach."""
    chosen = program.problem.guess if guess is None else guess
    if isinstance(chosen, str) and chosen not in GUESSES:
        raise InputError(
            f"guess: expected {', '.join(map(repr, GUESSES))}, arrays (s, q) or a Solution, such "
            f"as load_solution(path), got {chosen!r:.60}"
        )
    if isinstance(chosen, str) and chosen == "auto":
        return reachable_branches(program.problem)
    return isinstance(chosen, str) and chosen == "inverse_kinematics"


def route_guess(program: Program, route: list[Floats], search: bool = True) -> Floats:
    """Decision variables near straight lines over the way points, with the guessed durations."""
    points = way_points(program.problem, search)
    curves: list[Path] = []
    for p in range(len(program.phases)):
        own = [k for k, point in enumerate(points) if point.phase == p and point.s > 0.0]
        s = np.array([0.0, *(points[k].s for k in own)])
        curves.append(_Polyline(s, np.array([route[k] for k in (own[0] - 1, *own)])))
    return pack(program, curves, _guessed_durations(program.problem))


def motion_guess(program: Program, curves: Sequence[Curve]) -> Floats:
    """Decision variables near the curves of another program of the same problem."""
    paths: list[Path] = [_Exact(BSpline(c.degree, c.knots), c.control) for c in curves]
    return pack(program, paths, [c.duration for c in curves])


def _guessed_durations(problem: Problem) -> list[float]:
    """Fixed durations, and the guesses of free ones, wherever the program has been moved to."""
    given = [duration_of(problem, phase) for phase in problem.phases]
    return [x.guess if isinstance(x, Duration) else float(x) for x in given]


def random_guess(program: Program, seed: int, start: int, guess: Any = None) -> Floats:
    """A branch of the first guess with random smooth perturbations of up to one turn, random way
    points between phases and random durations.

    Start 0 is the first guess itself, the next 20 starts have small and large perturbations, later
    ones only large ones. The result is reproducible for a given seed and start.
    """
    if start == 0:
        return first_guess(program, guess)
    rng = np.random.default_rng([seed, start])
    turn = 2.0 * np.pi
    size = _size(rng, 0.2, turn) if start <= 20 else turn
    x = _perturb(program, _branch(program, start, guess), rng, size, 3, 1.0)
    _move_way_points(program, x, np.random.default_rng([seed, start, 1]), size)
    return x


def _branch(program: Program, start: int, guess: Any) -> Floats:
    """The guess of a start before its perturbation: branches of inverse kinematics in turn, after
    the straight line if that is the guess.
    """
    chosen = program.problem.guess if guess is None else guess
    if not isinstance(chosen, str):
        return first_guess(program, guess)
    candidates: list[list[Floats] | None] = [None] if chosen == "linear" else []
    if reachable_branches(program.problem):
        candidates += [route.points for route in routes(program)]
    route = candidates[start % len(candidates)] if candidates else None
    return first_guess(program, guess) if route is None else route_guess(program, route)


def _move_way_points(program: Program, x: Floats, rng: np.random.Generator, size: float) -> None:
    """Move the positions where phases meet at random, in place, where nothing determines them."""
    ends = [x for x in way_points(program.problem, search=True) if x.s in (0.0, 1.0)]
    shift = np.zeros((len(ends), program.model.n))
    for k in range(1, len(ends) - 1):
        reach = np.minimum(0.5 * (ends[k].high - ends[k].low), size)
        free = np.isnan(ends[k].q) & (ends[k].goal is None)
        shift[k] = np.where(free, reach * rng.uniform(-1.0, 1.0, program.model.n), 0.0)
    if not shift.any():
        return
    for p, phase in enumerate(program.phases):
        low, high = system_of(program.problem, p).limits.position.T
        s = np.clip(phase.spline.greville, 0.0, 1.0)[:, None]
        free = phase.columns >= 0
        moved = x[phase.columns] + shift[p] + s * (shift[p + 1] - shift[p])
        x[phase.columns[free]] = np.clip(moved, low, high)[free]


def neighbour(program: Program, seed: int, start: int, near: Any) -> Floats:
    """A solution with a random perturbation, to search for a better optimum nearby."""
    rng = np.random.default_rng([seed, start])
    return _perturb(program, first_guess(program, near), rng, _size(rng, 0.2, 3.0), 5, 0.25)


def perturbed(program: Program, x: Floats, size: float) -> Floats:
    """Decision variables with a perturbation of the given size, always the same one."""
    return _perturb(program, x, np.random.default_rng(0), size, 3, 0.1)


def _size(rng: np.random.Generator, least: float, most: float) -> float:
    """A random size between the two, uniform in its logarithm."""
    return float(np.exp(rng.uniform(np.log(least), np.log(most))))


def _perturb(
    program: Program,
    x: Floats,
    rng: np.random.Generator,
    size: float,
    waves: int,
    octaves: float,
) -> Floats:
    """Perturb each joint by half waves of up to the given size, within its limits, and durations
    by up to the given octaves (factors of two).
    """
    x = x.copy()
    for p, phase in enumerate(program.phases):
        low, high = system_of(program.problem, p).limits.position.T
        reach = np.minimum(np.where(np.isfinite(high - low), 0.5 * (high - low), size), size)
        s = np.clip(phase.spline.greville, 0.0, 1.0)[:, None]
        sizes = [rng.uniform(-1.0, 1.0, program.model.n) / k for k in range(1, waves + 1)]
        bend = sum(size * np.sin(np.pi * k * s) for k, size in enumerate(sizes, start=1))
        free = phase.columns >= 0
        bent = np.clip(x[phase.columns] + reach * bend, low, high)
        x[phase.columns[free]] = bent[free]
        if phase.T_column >= 0:
            T = x[phase.T_column] * 2.0 ** rng.uniform(-octaves, octaves)
            x[phase.T_column] = np.clip(T, *phase.T_bounds)
        if _has_nodes(phase):
            T = float(x[phase.T_column]) if phase.T_column >= 0 else phase.T
            s, here = phase.spline.breaks[:, None], phase.passive
            waves_at = [(np.pi * k, size[here]) for k, size in enumerate(sizes, start=1)]
            q = sum(size * np.sin(w * s) for w, size in waves_at)
            v = sum(size * w / T * np.cos(w * s) for w, size in waves_at)
            nodes = np.concatenate([reach[here] * q, reach[here] * v], axis=1)
            free = phase.node_columns >= 0
            x[phase.node_columns[free]] += nodes[free]
    return x


def pack(
    program: Program, curves: list[Path], durations: list[float], chosen: Any = None
) -> Floats:
    """Decision variables near curves q(s), one per phase, with durations clipped to their bounds.

    chosen: the guess as given, which may be a solution with signals and parameters.
    """
    x = np.zeros(program.n)
    fill_unknowns(program, x, chosen)
    for phase, curve, T in zip(program.phases, curves, durations, strict=True):
        control = _fit_control(phase, curve)
        free = phase.columns >= 0
        x[phase.columns[free]] = control[free]
        if phase.T_column >= 0:
            x[phase.T_column] = T = float(np.clip(T, *phase.T_bounds))
        if _has_nodes(phase):
            q, v = _states(curve, control, phase, T)
            nodes = np.concatenate([q[:, phase.passive], v[:, phase.passive]], axis=1)
            free = phase.node_columns >= 0
            x[phase.node_columns[free]] = nodes[free]
    x = np.clip(x, program.x_lower, program.x_upper)
    fill_lifts(program, x)
    return x


def _fit_control(phase: PhaseLayout, curve: Path) -> Floats:
    """Control points that fit the curve; exact if the curve is in the spline's space."""
    spline = phase.spline
    if isinstance(spline, NodeSpline):
        return curve.sampled(spline) if isinstance(curve, _Exact) else _at_nodes(spline, curve)
    if isinstance(curve, _Exact) and curve.fits(spline):
        return curve.control_on(spline)
    if isinstance(curve, _Polyline):
        return curve(spline.greville)
    s = np.unique(np.concatenate([spline.limit_points(4), np.clip(spline.greville, 0, 1)]))
    return spline.fit(s, curve(s))


def _at_nodes(spline: NodeSpline, curve: Path) -> Floats:
    """The nodes on a curve, at rest at both ends."""
    nodes = curve(spline.breaks)
    rest = np.zeros_like(nodes[:1])
    return np.concatenate([rest, nodes, rest])


def _states(curve: Path, control: Floats, phase: ShootingLayout, T: float) -> tuple[Floats, Floats]:
    """Positions and velocities of all joints where segments meet."""
    breaks = phase.spline.breaks
    if isinstance(curve, _Exact):
        return curve.states(breaks, T)
    q, v = phase.spline.evaluate(control, breaks, T, derivatives=1)
    return q, v


class _Polyline:
    """Straight lines from configuration to configuration (K, n) at normalised times (K,)."""

    def __init__(self, s: Floats, q: Floats) -> None:
        self._s, self._q = s, q

    def __call__(self, s: Floats) -> Floats:
        s = np.clip(s, 0.0, 1.0)
        k = np.clip(np.searchsorted(self._s, s, side="right") - 1, 0, len(self._s) - 2)
        share = ((s - self._s[k]) / (self._s[k + 1] - self._s[k]))[:, None]
        line: Floats = self._q[k] + share * (self._q[k + 1] - self._q[k])
        return line


class _Exact:
    """A spline curve of an earlier solution."""

    def __init__(self, spline: BSpline, control: Floats) -> None:
        self._spline, self._control = spline, control

    def __call__(self, s: Floats) -> Floats:
        values: Floats = self._spline.evaluate(self._control, np.clip(s, 0.0, 1.0))[0]
        return values

    def states(self, s: Floats, T: float) -> tuple[Floats, Floats]:
        q, v = self._spline.evaluate(self._control, s, T, derivatives=1)
        return q, v

    def sampled(self, spline: NodeSpline) -> Floats:
        """Control points of a discrete motion on this curve."""
        return spline.sample(self._spline, self._control)

    def fits(self, spline: BSpline) -> bool:
        """Whether this curve is in the space of the spline."""
        if spline is self._spline:
            return True
        if spline.degree != self._spline.degree:
            return False
        both_clamped = all(
            x.knots[x.degree] == x.knots[0] and x.knots[-1] == x.knots[-x.degree - 1]
            for x in (spline, self._spline)
        )
        return both_clamped and bool(np.isin(self._spline.breaks, spline.breaks).all())

    def control_on(self, spline: BSpline) -> Floats:
        if spline is self._spline or np.array_equal(spline.knots, self._spline.knots):
            return self._control
        finer, control = self._spline.refine(self._control, spline.breaks)
        assert np.array_equal(finer.knots, spline.knots)
        return control


def _split_samples(program: Program, given: Any) -> list[Path]:
    """Curves of all phases from samples (s, q) over the whole motion."""
    try:
        s, q = (np.asarray(x, float) for x in given)
    except (TypeError, ValueError):
        raise InputError(
            "guess: expected 'auto', 'linear', 'inverse_kinematics', arrays (s, q) or a "
            f"Solution, got {type(given).__name__}"
        ) from None
    n = program.model.n
    if s.ndim != 1 or len(s) < 2 or q.shape != (len(s), n):
        raise InputError(f"guess: expected s (K,) and q (K, {n}), got {s.shape} and {q.shape}")
    if not (np.isfinite(s).all() and np.isfinite(q).all() and (np.diff(s) > 0).all()):
        raise InputError("guess: s must increase, and s and q must be finite")
    s = (s - s[0]) / (s[-1] - s[0])
    ends = np.cumsum([0.0, *(phase.T for phase in program.phases)])
    ends /= ends[-1]

    def part(a: float, b: float) -> Path:
        return lambda x: np.stack([np.interp(a + (b - a) * x, s, c) for c in q.T], axis=1)

    return [part(a, b) for a, b in itertools.pairwise(ends)]


def _check_limits(program: Program, curves: list[Path]) -> None:
    """Check that a given curve lies within the position limits."""
    s = np.linspace(0.0, 1.0, 101)
    for p, (phase, curve) in enumerate(zip(program.phases, curves, strict=True)):
        low, high = system_of(program.problem, p).limits.position.T
        q = curve(s)
        outside = np.argwhere((q < low) | (q > high))
        if len(outside):
            k, j = outside[0]
            raise InputError(
                f"guess: {program.model.joint_names[j]} is {q[k, j]:.6g} at {100 * s[k]:.3g} % of "
                f"{phase.name}, outside its limits {low[j]:.6g} .. {high[j]:.6g}; give a curve "
                "within the position limits"
            )


def _shifted(spline: BSpline, control: Floats, phase: Phase) -> Floats:
    """Control points moved so that the curve meets the given positions at its ends.

    A step in one control point alone would be a jerk. Velocities and accelerations at the ends
    hardly change.
    """
    p, knots = spline.degree, spline.knots
    if knots[0] == knots[p] and knots[-1] == knots[-p - 1]:
        ends = control[[0, -1]]
    else:
        ends = spline.evaluate(control, np.array([0.0, 1.0]))[0]
    given = np.array([end_value(state.q, ends.shape[1]) for state in (phase.start, phase.end)])
    off = np.where(np.isnan(given), 0.0, given - ends)
    if not off.any():
        return control
    s = np.clip(spline.greville, 0.0, 1.0)[:, None]
    rise = s**3 * (10.0 - 15.0 * s + 6.0 * s**2)
    moved: Floats = control + (1.0 - rise) * off[0] + rise * off[1]
    return moved


def _split_solution(program: Program, solution: Any) -> tuple[list[Path], list[float]]:
    """Curves and durations of an earlier solution; phases are matched if their number agrees."""
    model: Model = solution.model
    if model.n != program.model.n:
        raise InputError(
            f"guess: the solution {solution.name!r} has {model.n} joints, the problem has "
            f"{program.model.n}"
        )
    if len(solution.curves) == len(program.phases):
        curves: list[Path] = []
        phases = zip(solution.curves, program.problem.phases, program.phases, strict=True)
        for c, phase, layout in phases:
            same = c.knots is layout.spline.knots
            spline = layout.spline if same else BSpline(c.degree, c.knots)
            curves.append(_Exact(spline, _shifted(spline, c.control, phase)))
        return curves, [c.duration for c in solution.curves]
    total = solution.duration
    s = np.linspace(0.0, 1.0, 1 + 8 * sum(len(c.control) for c in solution.curves))
    curves = _split_samples(program, (s, solution.at(s * total).q))
    share = np.array([phase.T for phase in program.phases])
    return curves, list(share * total / share.sum())
