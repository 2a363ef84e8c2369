"""A Problem on B-splines as a nonlinear program in CasADi: an independent formulation.

Joint motions are B-splines in normalised time (basis from SciPy), torques come from the link-frame
recursion of `casadi_oracle`, and all derivatives are CasADi's. The variables of a phase are
[T if it is free] and the control points, c[k, j] at k * n + j; those that the boundary states
determine are among them with equal bounds (`free` lists the others). Rows of a phase: limits in
the order of LIMITS, instant by instant and joint by joint within a kind; boundary values that fix
no control point; constraints of the problem, then those of the phase. Continuity comes after the
phases, pairs of instants last. Rows on which nothing free acts are left out.
"""

from __future__ import annotations

import itertools
import time
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from oracles.casadi_curve import Curve
from oracles.casadi_pairs import PAIRS
from oracles.casadi_terms import Symbols, bounds_of, loss_of, residual
from predyn.problem import Constraint, Cost, Duration, Phase, Problem, Spline, State

LIMITS = ("position", "velocity", "acceleration", "jerk", "effort")
CHANNELS = ("q", "v", "a", "jerk")


class Row(NamedTuple):
    """What a row of g holds. instant counts within the points that this kind looks at.

    label is the quantity as predyn's program calls it, with the phase if there are several.
    """

    phase: int
    kind: str
    part: str
    instant: int
    label: str

    def __str__(self) -> str:
        return f"{self.kind} {self.part} @ {self.instant}"


class Functions(NamedTuple):
    """CasADi functions of the full x.

    The Hessian is (x, sigma, multipliers) -> lower triangle of that of sigma f + multipliers . g.
    """

    f: ca.Function
    gradient: ca.Function
    g: ca.Function
    jacobian: ca.Function
    hessian: ca.Function


@dataclass(eq=False)
class Program:
    """f and g are MX expressions of x."""

    x: ca.MX
    f: ca.MX
    g: ca.MX
    x_names: list[str]
    x_lower: np.ndarray
    x_upper: np.ndarray
    g_lower: np.ndarray
    g_upper: np.ndarray
    rows: list[Row]
    guess: np.ndarray
    build_seconds: float = 0.0

    @property
    def free(self) -> np.ndarray:
        """Indices of the variables that are not fixed."""
        return np.flatnonzero(self.x_lower < self.x_upper)

    @property
    def row_names(self) -> list[str]:
        return [str(row) for row in self.rows]

    @cached_property
    def functions(self) -> Functions:
        """Expanded to scalar operations, so that the sparsity is that of the formulas."""
        both = ca.Function("both", [self.x], [self.f, self.g]).expand()
        x = ca.SX.sym("x", self.x.numel())
        sigma, multipliers = ca.SX.sym("sigma"), ca.SX.sym("multipliers", self.g.numel())
        f, g = both(x)
        hessian, _ = ca.hessian(sigma * f + ca.dot(multipliers, g), x)
        return Functions(
            ca.Function("f", [x], [f]),
            ca.Function("gradient", [x], [ca.densify(ca.gradient(f, x))]),
            ca.Function("g", [x], [g]),
            ca.Function("jacobian", [x], [ca.jacobian(g, x)]),
            ca.Function("hessian", [x, sigma, multipliers], [ca.tril(hessian)]),
        )


class Rows:
    """Collects the rows of g."""

    def __init__(self, phases: list[str]) -> None:
        self.phases = phases
        self.g: list[ca.MX] = []
        self.lower: list[float] = []
        self.upper: list[float] = []
        self.rows: list[Row] = []
        self.timed: list[bool] = []

    def add(
        self,
        phase: int,
        kind: str,
        parts: list[str],
        g: ca.MX,
        bounds: tuple[ArrayLike, ArrayLike],
        label: str | None = None,
        timed: bool = False,
    ) -> None:
        """g (parts, K); rows go instant by instant.

        label: of a row that is not named by parts. timed: rows that a free duration alone moves.
        """
        prefix = f"{self.phases[phase]}: " if len(self.phases) > 1 else ""
        names = [(part, f"{prefix}{kind} {part}" if label is None else label) for part in parts]
        self.g.append(ca.vec(g))
        self.timed += [timed] * g.numel()
        self.rows += [Row(phase, kind, x, k, y) for k in range(g.shape[1]) for x, y in names]
        for values, bound in zip((self.lower, self.upper), bounds, strict=True):
            values += np.tile(np.broadcast_to(bound, len(parts)), g.shape[1]).tolist()


def casadi_program(problem: Problem) -> Program:
    """The whole program; the guess is the line from start to end."""
    began = time.perf_counter()
    symbols, spline = Symbols(problem.model, problem.forces), problem.transcription
    joints = list(problem.model.joint_names)
    curves = [Curve(spline, phase, problem.model.n) for phase in problem.phases]
    ends = np.cumsum([0, *(curve.size for curve in curves)]).tolist()
    x = ca.MX.sym("x", ends[-1])
    names: list[str] = []
    lower, upper, guess = (np.empty(ends[-1]) for _ in range(3))
    rows, f = Rows([x.name or f"phase {i + 1}" for i, x in enumerate(problem.phases)]), ca.MX(0)
    for i, (phase, curve) in enumerate(zip(problem.phases, curves, strict=True)):
        curve.take(x[ends[i] : ends[i + 1]])
        if isinstance(phase.duration, Duration):
            names.append("T")
            T = phase.duration
            lower[ends[i]], upper[ends[i]], guess[ends[i]] = T.min, T.max, T.guess
        names += [f"{joint} c{k}" for k in range(curve.n_control) for joint in joints]
        known = _known(curve, phase)
        part = slice(ends[i + 1] - known.size, ends[i + 1])
        lower[part] = np.where(np.isnan(known), -np.inf, known).ravel()
        upper[part] = np.where(np.isnan(known), np.inf, known).ravel()
        guess[part] = np.where(np.isnan(known), _line(curve, phase), known).ravel()
        _add_limits(rows, i, problem, curve, symbols)
        _add_ends(rows, i, phase, curve, joints)
        for cost in (*phase.costs, *problem.costs):
            f += _cost(cost, spline, curve, symbols)
        for constraint in (*problem.constraints, *phase.constraints):
            if not constraint.term.pairs:
                _add_constraint(rows, i, constraint, spline, curve, symbols)
    for i, (before, after) in enumerate(itertools.pairwise(curves)):
        for d in range(problem.continuity + 1):
            jump = after.state(np.zeros(1), d) - before.state(np.ones(1), d)
            for j, joint in enumerate(joints):
                label = f"continuity {rows.phases[i]} to {rows.phases[i + 1]} {joint} {CHANNELS[d]}"
                rows.add(i, f"continuity {d}", [joint], jump[j, :], (0.0, 0.0), label)
    for constraint in problem.constraints:
        if constraint.term.pairs:
            _add_pair(rows, 0, constraint, curves[0], curves[-1], symbols, whole=True)
    for i, (phase, curve) in enumerate(zip(problem.phases, curves, strict=True)):
        for constraint in phase.constraints:
            if constraint.term.pairs:
                _add_pair(rows, i, constraint, curve, curve, symbols, whole=False)
    g = ca.vertcat(ca.MX(0, 1), *rows.g)
    acting = _acted_on(x, g, (lower < upper) & (np.array(names) != "T"))
    kept = np.union1d(acting, np.flatnonzero(rows.timed)).astype(int).tolist()
    bounds = (lower, upper, np.array(rows.lower)[kept], np.array(rows.upper)[kept])
    spent = time.perf_counter() - began
    return Program(x, f, g[kept], names, *bounds, [rows.rows[k] for k in kept], guess, spent)


def _acted_on(x: ca.MX, g: ca.MX, movable: np.ndarray) -> np.ndarray:
    """Rows on which a control point that is not fixed acts."""
    touched, by = ca.Function("g", [x], [g]).jac_sparsity(0, 0).get_triplet()
    return np.unique(np.array(touched, int)[movable[np.array(by, int)]])


def _values(state: State, n: int) -> np.ndarray:
    """(3, n): q, v, a at an end; NaN where free."""
    given = (state.q, state.v, state.a)
    return np.array([np.full(n, np.nan) if x is None else np.asarray(x, float) for x in given])


def _known(curve: Curve, phase: Phase) -> np.ndarray:
    """(n_control, n): control points that the boundary states determine, NaN for the others.

    From an end inwards, and only what holds for any duration if that is free.
    """
    known = np.full((curve.n_control, curve.n), np.nan)
    free_time = isinstance(curve.duration, Duration)
    for s, state, points in ((0.0, phase.start, known), (1.0, phase.end, known[::-1])):
        for d, wanted in enumerate(_values(state, curve.n)):
            basis = curve.basis(np.array([s]), d)[:, 0]
            basis = basis if s == 0.0 else basis[::-1]
            scaled = wanted if d == 0 or free_time else wanted * curve.duration**d
            scaled = np.where((d > 0) & free_time & (wanted != 0.0), np.nan, scaled)
            if curve.clamped:
                reached = np.isnan(points[d])
                points[d, reached] = ((scaled - basis[:d] @ points[:d]) / basis[d])[reached]
    return known


def _line(curve: Curve, phase: Phase) -> np.ndarray:
    """(n_control, n): the line from start to end; where one is free, the other one."""
    start, end = (_values(state, curve.n)[0] for state in (phase.start, phase.end))
    first = np.nan_to_num(np.where(np.isnan(start), end, start))
    last = np.where(np.isnan(end), first, end)
    return first + np.outer(curve.greville, last - first)


def _add_limits(rows: Rows, i: int, problem: Problem, curve: Curve, symbols: Symbols) -> None:
    limits = problem.limits or problem.model.limits
    jerk = np.inf if problem.jerk_limit is None else np.asarray(problem.jerk_limit, float)
    jerk = np.broadcast_to(jerk, curve.n)
    given = {**limits._asdict(), "jerk": np.stack((-jerk, jerk), axis=1)}
    s = curve.limit_points(problem.transcription.limit_points)
    for kind in LIMITS:
        lower, upper = np.asarray(given[kind]).T
        kept = np.flatnonzero(np.isfinite(lower) | np.isfinite(upper)).tolist()
        if not kept:
            continue
        if kind == "effort":
            g = curve.at(s, symbols, symbols.tau[kept])
        else:
            g = curve.state(s, LIMITS.index(kind))[kept, :]
        parts = [problem.model.joint_names[j] for j in kept]
        rows.add(i, kind, parts, g, (lower[kept], upper[kept]))


def _add_ends(rows: Rows, i: int, phase: Phase, curve: Curve, joints: list[str]) -> None:
    """All boundary values; those that the known control points see to are dropped later."""
    for end, state, s in (("start", phase.start, 0.0), ("end", phase.end, 1.0)):
        for d, wanted in enumerate(_values(state, curve.n)):
            left = np.flatnonzero(~np.isnan(wanted)).tolist()
            if left:
                g = curve.state(np.array([s]), d)[left, :]
                parts = [joints[j] for j in left]
                rows.add(i, f"{end} {CHANNELS[d]}", parts, g, (wanted[left], wanted[left]))


def _instants(at: Any) -> np.ndarray:
    named = {"start": (0.0,), "end": (1.0,)}
    return np.array(named[at] if isinstance(at, str) else at, float)


def _integral(rho: ca.SX, spline: Spline, curve: Curve, symbols: Symbols) -> ca.MX:
    s, w = curve.gauss_points(spline.gauss_points)
    return curve.T * (curve.at(s, symbols, rho) @ ca.DM(w))


def _cost(cost: Cost, spline: Spline, curve: Curve, symbols: Symbols) -> ca.MX:
    _, r = residual(cost.term, symbols)
    rho = loss_of(cost.loss or cost.term.loss, cost.term, r)
    if cost.at == "throughout":
        return cost.weight * _integral(rho, spline, curve, symbols)
    return cost.weight * ca.sum2(curve.at(_instants(cost.at), symbols, rho))


def _add_constraint(
    rows: Rows, i: int, constraint: Constraint, spline: Spline, curve: Curve, symbols: Symbols
) -> None:
    parts, r = residual(constraint.term, symbols)
    kind = constraint.name or constraint.term.kind
    if constraint.integral:
        rho = loss_of(constraint.term.loss, constraint.term, r)
        prefix = f"{rows.phases[i]}: " if len(rows.phases) > 1 else ""
        label = prefix + (constraint.name or f"integral of {constraint.term.kind}")
        low = -np.inf if constraint.lower is None else constraint.lower
        high = np.inf if constraint.upper is None else constraint.upper
        g = _integral(rho, spline, curve, symbols)
        rows.add(i, kind, ["integral"], g, (low, high), label)
        return
    if constraint.at == "throughout":
        s = curve.limit_points(spline.limit_points)
    else:
        s = _instants(constraint.at)
    timed = isinstance(curve.duration, Duration) and ca.depends_on(r, symbols.t)
    bounds = bounds_of(constraint, len(parts))
    rows.add(i, kind, parts, curve.at(s, symbols, r), bounds, timed=timed)


def _add_pair(
    rows: Rows,
    i: int,
    constraint: Constraint,
    before: Curve,
    after: Curve,
    symbols: Symbols,
    whole: bool,
) -> None:
    """Start of the one and end of the other; `whole`: of the whole motion, not of a phase."""
    second = Symbols(symbols.model, symbols.forces)
    parts, r = PAIRS[constraint.term.kind](constraint.term, symbols, second)
    function = ca.Function("pair", [*symbols.inputs, *second.inputs], [ca.densify(r)])
    g = function(*before.inputs(np.zeros(1)), *after.inputs(np.ones(1)))
    kind = constraint.name or constraint.term.kind
    low, high = bounds_of(constraint, len(parts))
    prefix = "" if whole or len(rows.phases) == 1 else f"{rows.phases[i]}: "
    for k, part in enumerate(parts):
        rows.add(i, kind, [part], g[k], (low[k], high[k]), f"{prefix}{kind} {part}")
