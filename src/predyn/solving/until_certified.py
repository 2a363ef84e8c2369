"""Ordinary programs with clearance rows, solved again with more rows until the motion is proved.

For problems that cannot be planned: loops, floating bases, contacts, moving obstacles, starts that
are not given.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from predyn.collision.certificate import Certificate, certify
from predyn.collision.checker import Checker
from predyn.problem import Constraint, Problem
from predyn.solution import (
    CONVERGED,
    EXCEEDS,
    MOST_EXCESS,
    NOT_CERTIFIED,
    SUCCESS,
    Solution,
    Stage,
)
from predyn.solution.later_samples import revised
from predyn.solving.continuation import solve_in_stages
from predyn.solving.denser_points import with_more_points
from predyn.solving.single_solve import Output
from predyn.solving.totals import Totals
from predyn.terms.clearance import Clearance
from predyn.transcribe.layout import end_values

Floats = NDArray[np.float64]
Pair = tuple[int, int]  # phase, and number among the pairs of its Checker
KEEP_CLEAR = "keep clear"  # name of the rows added here
ROUNDS = 6  # programs at most
NEAR = 0.05  # m beyond the margin; nearer pairs get rows
SPARE, MORE_SPARE = 1e-3, 2.0  # m that rows keep beyond the margin; growth in each round


def solve_until_certified(
    problem: Problem, guess: Any, checkers: Sequence[Checker], output: Output, why: str
) -> Solution:
    """The optimum of the ordinary program, with pairs kept apart at its limit points.

    why: what prevents planning; the message says so.
    """
    totals, pairs, spare = Totals(), set[Pair](), SPARE
    dense = problem
    assert problem.scene is not None
    margin, most = float(problem.margin), _most_at_ends(problem, checkers)
    for round_ in range(ROUNDS):
        output.announce(f"round {round_ + 1}")
        left = totals.seconds_left(problem.solver)
        if left is not None:
            solver = replace(dense.solver, max_seconds=max(left, 1e-3))
            dense = replace(dense, solver=solver)
        solution = solve_in_stages(_with_rows(dense, pairs, margin + spare, most), guess, output)
        totals.add(solution)
        if not solution.finite:
            return _completed(problem, totals.of(solution), None, f"not planned: {why}")
        certificate = certify(solution, problem.scene, margin=margin)
        proved = certificate.status == "certified"
        ended = solution.status in ("interrupted", "time_limit") or round_ == ROUNDS - 1
        if proved or ended:
            break
        more = _near_pairs(checkers, solution, margin + NEAR)
        if certificate.pair is not None:
            more |= _pair_at(checkers, solution, certificate)
        if more <= pairs:
            dense, spare = with_more_points(dense), MORE_SPARE * spare
        pairs |= more
        guess = solution if solution.status in CONVERGED else guess
    note = f"not planned, since {why}: {round_ + 1} ordinary programs"
    solution = _without_rows(problem, totals.of(solution))
    output.note(f"improve: {solution.status}, {note}, {certificate.status}")
    return _completed(problem, solution, certificate, note)


def _near_pairs(checkers: Sequence[Checker], solution: Solution, near: float) -> set[Pair]:
    """Pairs that come near at the samples of a motion."""
    found: set[Pair] = set()
    for p, checker in enumerate(checkers):
        here = solution.phase == p
        if checker.pairs:
            times = solution.t[here] if checker.moving else None
            distance = checker.distances(solution.q[here], times)
            found |= {(p, k) for k in np.flatnonzero((distance < near).any(axis=0)).tolist()}
    return found


def _pair_at(
    checkers: Sequence[Checker], solution: Solution, certificate: Certificate
) -> set[Pair]:
    """The pair that was not proved, in the phases that it may belong to."""
    ends = np.cumsum([curve.duration for curve in solution.curves])
    p = int(np.searchsorted(ends, certificate.time).clip(0, len(ends) - 1))
    near = {p, min(p + 1, len(ends) - 1)} if certificate.time == ends[p] else {p}
    pair = certificate.pair
    known = [(k, checkers[k].pairs) for k in near]
    return {(k, pairs.index(pair)) for k, pairs in known if pair in pairs}


def _with_rows(problem: Problem, pairs: set[Pair], least: float, most: list[Floats]) -> Problem:
    """The problem with pairs kept `least` apart, or as far as `most` (pairs) of each phase allow.

    A single constraint holds for pairs with the same distance.
    """
    phases = list(problem.phases)
    for p in sorted({p for p, _ in pairs}):
        together: dict[float, list[int]] = {}
        for k in sorted(k for q, k in pairs if q == p):
            together.setdefault(min(least, float(most[p][k])), []).append(k)
        rows = (
            Constraint(Clearance(tuple(between), minimum), name=KEEP_CLEAR)
            for minimum, between in together.items()
        )
        phases[p] = replace(phases[p], constraints=(*phases[p].constraints, *rows))
    return replace(problem, phases=tuple(phases))


def _most_at_ends(problem: Problem, checkers: Sequence[Checker]) -> list[Floats]:
    """Of each phase (pairs): m that rows may ask for where the positions at an end are given.

    What these leave beyond the margin is halved: no row may ask for more than there is.
    """
    found, margin, n = [], float(problem.margin), problem.model.n
    before = problem.phases[0].start
    for phase, checker in zip(problem.phases, checkers, strict=True):
        most = np.full(len(checker.pairs), np.inf)
        for state in (before, phase.start, phase.end):
            q = end_values(state, n)[0]
            if np.isfinite(q).all() and checker.pairs:
                time = 0.0 if checker.moving else None
                most = np.minimum(most, checker.distances(q, time))
        before = phase.end
        found.append(np.where(most > margin, margin + 0.5 * (most - margin), np.inf))
    return found


def _without_rows(problem: Problem, solution: Solution) -> Solution:
    """The solution without what is said of the rows added here: the certificate is what counts."""
    own = [x for x in solution.dense_violations if KEEP_CLEAR not in x.name]
    worst = max((x.relative for x in own), default=0.0)
    status, message = solution.status, solution.message
    if status == EXCEEDS and worst <= MOST_EXCESS:
        status = "acceptable"
        message = "within all limits"
    return revised(
        solution,
        status=status,
        message=message,
        problem=problem,
        dense_violations=tuple(own),
        max_violation_dense=worst,
        active=tuple(x for x in solution.active if KEEP_CLEAR not in x),
    )


def _completed(
    problem: Problem, solution: Solution, certificate: Certificate | None, note: str
) -> Solution:
    status = solution.status
    if status in SUCCESS and (certificate is None or certificate.status != "certified"):
        status = NOT_CERTIFIED
    stage = Stage(
        "improve",
        status,
        solution.solve_seconds,
        duration=solution.duration,
        objective=solution.objective,
        clearance=float("nan") if certificate is None else certificate.clearance,
        message=note,
        motion=solution.curves,
    )
    return revised(
        solution,
        status=status,
        message=f"{solution.message}; {note}",
        scene=problem.scene,
        certificate=certificate,
        stages=(stage,),
    )
