"""Optimal motions beside CasADi: the same program, guess and tolerance, both solved by IPOPT.

The peer is an independent formulation (tests/oracles) in CasADi's MX, expanded to scalar operations
(expand=True), with its exact Hessian; no generated C. The two scale differently, and where a task
has several optima they may end in different ones: the objectives say so. Building is timed apart:
for CasADi the expressions and their derivatives, for predyn the transcription with its kernels
already compiled.
"""

from __future__ import annotations

import statistics
import time
from functools import partial

from timing import exponent

from oracles.casadi_ipopt import Solver
from oracles.casadi_program import casadi_program
from predyn.nlp import SolverOptions
from predyn.problem import Problem
from predyn.solvers.ipopt import solve_nlp
from predyn.solving.single_solve import scale_objective
from predyn.transcribe.methods import transcribe
from reference_tasks import reference_task, six_axis

TOLERANCE = 1e-6
SEGMENTS = (37, 77, 157, 317)  # 40, 80, 160, 320 control points per joint
ITERATIONS = 20  # of each size of the growth


def solves(repeats: int) -> list[dict]:
    """Each task in milliseconds; the ratio is CasADi's time over predyn's."""
    tasks = {
        "two-link-time-optimal": partial(reference_task, "two-link-time-optimal"),
        "two-link-lifting": partial(reference_task, "two-link-lifting"),
        "prismatic-revolute": partial(reference_task, "prismatic-revolute"),
        "six-axis, effort": partial(six_axis, speed=False),
        "six-axis, effort and speed": six_axis,
    }
    return [_row(name, make(), max(3, repeats // 3)) for name, make in tasks.items()]


def _row(name: str, problem: Problem, repeats: int) -> dict:
    program = casadi_program(problem)
    peer = Solver(program, TOLERANCE)
    transcribe(problem)  # compiles
    began = time.perf_counter()
    nlp = transcribe(problem)
    build = time.perf_counter() - began
    x0 = program.guess[program.free]
    options = SolverOptions(tolerance=TOLERANCE)
    scale_objective(nlp, x0)  # as predyn.solve does
    peer(program.guess), solve_nlp(nlp, x0, options)  # once to warm up
    runs = []
    for _ in range(repeats):
        theirs = peer(program.guess)
        began = time.perf_counter()
        ours = solve_nlp(nlp, x0, options)
        seconds = time.perf_counter() - began  # with all that it does before and after IPOPT
        runs.append((theirs.solve_seconds, theirs.ipopt_seconds, seconds, ours.evaluation_seconds))
    peer_ms, peer_ipopt, ms, evaluations = (
        1e3 * statistics.median(column) for column in zip(*runs, strict=True)
    )
    return {
        "task": name,
        "variables": nlp.n,
        "rows": nlp.m,
        "predyn": ms,
        "casadi": peer_ms,
        "ratio": peer_ms / ms,
        "ratio an iteration": peer_ms / theirs.iterations / (ms / ours.iterations),
        "objective": ours.f,
        "casadi's objective": theirs.f,
        "iterations": ours.iterations,
        "casadi's iterations": theirs.iterations,
        "evaluations, %": 100 * evaluations / ms,
        "casadi's evaluations, %": 100 * (1 - peer_ipopt / peer_ms),
        "build": 1e3 * build,
        "casadi's build": 1e3 * (program.build_seconds + peer.build_seconds),
    }


def growth(repeats: int) -> list[dict]:
    """Milliseconds an iteration of the six-axis arm, by control points; exponents at the end."""
    options = SolverOptions(tolerance=TOLERANCE, max_iterations=ITERATIONS)
    transcribe(six_axis())  # compiles
    rows, programs = [], []
    for segments in SEGMENTS:
        problem = six_axis(segments, torque_points=3 * segments + 1)
        began = time.perf_counter()
        nlp = transcribe(problem)
        build = time.perf_counter() - began
        program = casadi_program(problem)  # for its guess alone
        programs.append((nlp, program.guess[program.free]))
        row = {"control points": segments + 3, "variables": nlp.n, "rows": nlp.m}
        rows.append(row | {"build": 1e3 * build})
    rounds = [
        [solve_nlp(nlp, x0, options) for nlp, x0 in programs] for _ in range(max(3, repeats // 5))
    ]
    for row, runs in zip(rows, zip(*rounds, strict=True), strict=True):
        for name, field in (("iteration", "seconds"), ("evaluations", "evaluation_seconds")):
            row[name] = 1e3 * statistics.median(getattr(r, field) / r.iterations for r in runs)
    sizes = [row["control points"] for row in rows]
    names = ("build", "iteration", "evaluations")
    slopes = {name: exponent(sizes, [row[name] for row in rows]) for name in names}
    return [*rows, {"control points": "exponent", "variables": None, "rows": None, **slopes}]
