"""Improve a motion among obstacles by spline programs whose results are proved.

Rows keep pairs apart at instants; a certificate says whether that suffices. Where it does not, rows
are added there and the program is solved again. At first each solve may move anywhere (`bold`): it
may pass through an obstacle and come out on a better side. If that ends nowhere, control points
stay near the last motion (`careful`). Only motions that are proved and keep all limits count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from time import monotonic

import numpy as np
from numpy.typing import NDArray

from predyn.collision.certificate import Certificate, certify_pieces
from predyn.collision.checker import Checker
from predyn.collision.motions import Spans
from predyn.curves.bezier import bezier_spans
from predyn.curves.bspline import BSpline
from predyn.nlp import Multipliers, SolverOptions
from predyn.solution import SUCCESS, Curve, Violation
from predyn.solvers.ipopt import SolverResult, solve_nlp
from predyn.solving.clear_places import (
    MANY,
    failed_places,
    least_distance,
    most_distances,
    near_places,
)
from predyn.solving.clearance_rows import ClearProgram, Places, free_places
from predyn.solving.single_solve import Output
from predyn.transcribe.motion import motion_of
from predyn.transcribe.program import Program
from predyn.transcribe.recheck import dense_violations

Floats = NDArray[np.float64]
NEAR, WIDER = 0.02, 0.05  # m beyond the margin; nearer pairs get rows at first, and when careful
SPARE, MORE_SPARE, MOST_SPARE = 5e-4, 1.5, 3e-3  # m that rows keep beyond the margin; growth
LOOSE = 1e-4  # tolerance until a motion is proved, if the solver's is less
BARRIER = 1e-4  # barrier parameter of a start with multipliers
LONGEST = 80  # iterations of one solve
BOLD, CAREFUL, AGAIN, FINAL = 7, 10, 3, 4  # solves at most
STEPS, WORTH = 3, 0.01  # careful steps, and the relative gain that another one must promise
PATIENCE = 300  # iterations after which no further step begins
RADIUS, SMALLEST = 0.5, 0.02  # rad or m; how far control points may move when careful
DEEP = 0.02  # m; a motion that overlaps more is no start
EXCESS = 0.004  # of a bound between the points; rows are tightened above it
AT_BOUND = 1e-3  # of a radius
CLOSE = 1e-3  # relative; an optimum replaces a loosely converged motion that is this much better
TIGHTER = 0.02  # of the distance of two bounds; how far a bound may move at once
STRICT = 1e-7  # of its scale; how far within its bounds a row is kept, against rounding


@dataclass(frozen=True, eq=False)
class Candidate:
    """A motion that was proved and keeps all limits."""

    result: SolverResult
    certificate: Certificate
    optimal: bool  # an optimum of the problem, to its tolerance, and not of its surroundings only
    confined: bool  # the radius around the start, not the problem, ended its way


@dataclass(eq=False)
class Improvement:
    """The best motion found, and how."""

    best: Candidate | None = None
    rounds: int = 0  # programs solved
    iterations: int = 0
    interrupted: bool = False
    last: SolverResult | None = None  # proved or not
    certificate: Certificate | None = None  # of the last
    excess: list[Violation] = field(default_factory=list)  # of the last


class Improver:
    """Solves the program of a problem with rows for pairs, again and again."""

    def __init__(
        self, program: Program, checkers: Sequence[Checker], output: Output, until: float = np.inf
    ) -> None:
        """checkers: one of each phase; they are the same object where scenes are equal.

        until: when to stop, on the clock of `monotonic`
        """
        self.program, self.checkers, self.output = program, checkers, output
        problem = program.problem
        self.margin, self.solver = float(problem.margin), problem.solver
        self.places, self.found = Places.none(), Improvement()
        self._target = np.inf
        self._bounds = _strict_bounds(program)
        self._spare = SPARE
        self._rows: dict[int, tuple[SolverResult, Places]] = {}  # of each result
        self._until = until

    def run(self, x: Floats, target: float, multipliers: Multipliers | None = None) -> Improvement:
        """Improve from variables x; motions with an objective of `target` or more are no use.

        multipliers: of the rows of the program, if x is an earlier optimum. Ctrl-C ends the
        search; what was found is kept.
        """
        self._target = target
        try:
            curves = self.program.curves(x)
            near, least = self.margin + NEAR, self.margin + SPARE
            self._most = most_distances(self.checkers, curves, self.margin)
            self.places = near_places(self.checkers, curves, near, least)
            known = None if multipliers is None else self._extended(multipliers)
            start = self._bold(x, target, BOLD, known)
            if start is None:
                start = self._step_by_step(x, target)
            if start is not None and not self._stopped():
                self._finish(start)
        except KeyboardInterrupt:
            self.found.interrupted = True
        return self.found

    # -- ways to search -------------------------------------------------------------------------

    def _step_by_step(self, x: Floats, target: float) -> SolverResult | None:
        """The last of motions that are proved one after the other; None without any."""
        best: SolverResult | None = None
        for _ in range(STEPS):
            if self._tired():
                break
            self._spare, curves = SPARE, self.program.curves(x)
            near, least = self.margin + WIDER, self.margin + SPARE
            more = near_places(self.checkers, curves, near, least, MANY)
            self.places = self.places.with_more(more)
            step = self._careful(x, target)
            if step is None:
                break
            best = step
            free = None if self._tired() else self._bold(step.x, step.f, AGAIN)
            if free is not None:
                return free
            x, target = step.x, (1.0 - WORTH) * step.f
        return best

    def _bold(
        self, x: Floats, target: float, rounds: int, multipliers: Multipliers | None = None
    ) -> SolverResult | None:
        """The first proved motion, from one result to the next; None if it is no use."""
        failures = 0
        for _ in range(rounds):
            result, proved = self._round(x, multipliers, LOOSE)
            converged = result.status in SUCCESS
            failures += not converged
            # with more rows, the objective only rises
            useless = (converged or proved) and result.f >= target
            if useless or failures > 1 or self._stopped():
                return None
            if proved:
                return result
            x, multipliers = result.x, self._known(result) if converged else None
        return None

    def _careful(self, start: Floats, target: float) -> SolverResult | None:
        """The first proved motion within a radius of the start; None if it is no use."""
        x, radius, multipliers = start, RADIUS, None
        for _ in range(CAREFUL):
            result, proved = self._round(x, multipliers, LOOSE, start, radius)
            if proved and result.f < target:
                return result
            if self._stopped() or radius < SMALLEST:
                break
            if result.status in SUCCESS and self._shallow(result.x):
                x, multipliers = result.x, self._known(result)
            else:
                x, radius, multipliers = start, 0.5 * radius, None
        return None

    def _finish(self, result: SolverResult) -> None:
        """Solve to the tolerance of the problem from a proved motion."""
        for _ in range(FINAL):
            known = self._known(result) if result.status in SUCCESS else None
            result, proved = self._round(result.x, known, self.solver.tolerance)
            if proved or self._stopped():
                return

    # -- one program ----------------------------------------------------------------------------

    def _round(
        self,
        x: Floats,
        multipliers: Multipliers | None,
        tolerance: float,
        centre: Floats | None = None,
        radius: float = np.inf,
    ) -> tuple[SolverResult, bool]:
        """Solve, and prove the result; if that fails, add rows for the next round."""
        nlp = ClearProgram(self.program, self.checkers, self.places.at_most(self._most))
        m = self.program.m
        nlp.g_lower[:m], nlp.g_upper[:m] = self._bounds
        if centre is not None:
            self._stay_near(nlp, centre, radius)
        self.output.announce(f"improve, round {self.found.rounds + 1}")
        options = SolverOptions(
            tolerance=max(tolerance, self.solver.tolerance),
            max_iterations=min(LONGEST, self.solver.max_iterations),
            max_seconds=max(self._until - monotonic(), 1e-3) if self._until < np.inf else None,
            hessian=self.solver.hessian,
            mu_init=BARRIER if multipliers is not None else None,
        )
        result = solve_nlp(nlp, x, options, multipliers, self.output.report)
        self._rows[id(result)] = result, nlp.places
        self.found.rounds += 1
        self.found.iterations += result.iterations
        proved, kept = self._judge(result)
        if kept:
            confined = centre is not None and self._is_confined(result.x, centre, radius)
            tight = options.tolerance <= self.solver.tolerance and result.status == "optimal"
            self._keep(result, tight and not confined, confined)
        return result, proved

    def _judge(self, result: SolverResult) -> tuple[bool, bool]:
        """Whether a motion is proved and keeps its limits between the points, and whether it keeps
        all; what to do about it if it does not.
        """
        found, curves = self.found, self.program.curves(result.x)
        found.last, found.interrupted = result, result.status == "interrupted"
        certificate = found.certificate = certify_curves(self.checkers, curves, self.margin)
        found.excess = []
        if certificate.status != "certified":
            more = failed_places(self.checkers, curves, certificate, self.margin, self._spare)
            self.places = self.places.with_more(more).at_least(self.margin + self._spare)
            self._spare = min(MORE_SPARE * self._spare, MOST_SPARE)
            return False, False
        self.program.move(result.x)
        found.excess = dense_violations(self.program, motion_of(self.program, result.x))
        over = [x for x in found.excess if x.relative > EXCESS]
        self._tighten(over)
        return not over, not over and within(result.g, self.program)

    def _tighten(self, over: list[Violation]) -> None:
        """Move bounds that are exceeded between the points inwards by the excess."""
        lower, upper = self._bounds
        by_name = {x.name: x for x in over}
        for rows, (_, part) in zip(self.program.rows, self.program.g_blocks(), strict=False):
            for i in range(part.start, part.stop) if rows.throughout and by_name else ():
                violation = by_name.get(self.program.g_quantity(i))
                if violation is None:
                    continue
                # limits that are exceeded by more cannot be kept at all
                by = min(violation.excess, TIGHTER * (violation.upper - violation.lower))
                if violation.value > violation.upper:
                    upper[i] = max(upper[i] - by, 0.5 * (lower[i] + upper[i]))
                else:
                    lower[i] = min(lower[i] + by, 0.5 * (lower[i] + upper[i]))

    def _keep(self, result: SolverResult, optimal: bool, confined: bool) -> None:
        best = self.found.best
        most = np.inf if best is None else best.result.f
        if optimal and result.f < self._target:
            most *= 1.0 + CLOSE
        if result.f < most:
            assert self.found.certificate is not None
            self.found.best = Candidate(result, self.found.certificate, optimal, confined)

    def _is_confined(self, x: Floats, centre: Floats, radius: float) -> bool:
        """Whether a control point is as far from the centre as it may be."""
        own = np.concatenate([phase.columns[phase.columns >= 0] for phase in self.program.phases])
        return bool(np.abs(x[own] - centre[own]).max(initial=0.0) > (1.0 - AT_BOUND) * radius)

    def _stay_near(self, nlp: ClearProgram, centre: Floats, radius: float) -> None:
        for phase in self.program.phases:
            own = phase.columns[phase.columns >= 0]
            nlp.x_lower[own] = np.maximum(nlp.x_lower[own], centre[own] - radius)
            nlp.x_upper[own] = np.minimum(nlp.x_upper[own], centre[own] + radius)

    def _known(self, result: SolverResult) -> Multipliers:
        """Multipliers of a result for the rows that there are now."""
        given, m = result.multipliers, self.program.m
        rows = free_places(self.program, self.places)
        keys = zip(*(x.tolist() for x in self._rows[id(result)][1][:3]), strict=True)
        known = dict(zip(keys, given.g[m:].tolist(), strict=True))
        wanted = zip(*(x.tolist() for x in rows[:3]), strict=True)
        more = np.array([known.get(key, 0.0) for key in wanted])
        return Multipliers(np.concatenate([given.g[:m], more]), given.x_lower, given.x_upper)

    def _extended(self, given: Multipliers) -> Multipliers:
        """Multipliers of the program, with zeros for the rows of places."""
        count = len(free_places(self.program, self.places).s)
        return given._replace(g=np.concatenate([given.g[: self.program.m], np.zeros(count)]))

    def _shallow(self, x: Floats) -> bool:
        return least_distance(self.checkers, self.program.curves(x)) > -DEEP

    def _tired(self) -> bool:
        return self._stopped() or self.found.iterations > PATIENCE

    def _stopped(self) -> bool:
        return self.found.interrupted or monotonic() > self._until


def certify_curves(
    checkers: Sequence[Checker], curves: tuple[Curve, ...], margin: float
) -> Certificate:
    """The certificate of a motion in phases."""
    found, begin = [], 0.0
    for curve in curves:
        breaks, control = bezier_spans(BSpline(curve.degree, curve.knots), curve.control)
        times = begin + curve.duration * np.stack([breaks[:-1], breaks[1:]], axis=1)
        found.append(Spans(np.ascontiguousarray(control), times))
        begin += curve.duration
    return certify_pieces(checkers, found, margin=margin)


def _strict_bounds(program: Program) -> tuple[Floats, Floats]:
    """Bounds a little within those of the program: a solver may exceed them by rounding."""
    spare = STRICT * program.g_scale
    wide = program.g_upper - program.g_lower > 4.0 * spare
    lower, upper = program.g_lower.copy(), program.g_upper.copy()
    lower[wide] += spare[wide]
    upper[wide] -= spare[wide]
    return lower, upper


def within(g: Floats, program: Program) -> bool:
    """Whether the rows of a program hold; equations up to a share of their scale."""
    g = g[: program.m]
    off = np.maximum(program.g_lower - g, g - program.g_upper) / program.g_scale
    return bool((off <= STRICT).all())
