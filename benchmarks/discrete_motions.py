"""Motions by discrete mechanics beside CasADi: the same equations, guess and tolerance, by IPOPT.

The peer's rows are derivatives of the action of an energy of 4x4 matrices (tests/oracles), as SX
expressions with exact Hessians in CasADi's virtual machine.
"""

from __future__ import annotations

import statistics
import time

import casadi as ca
import numpy as np

from discrete_cases import steps, turn_crank, two_link
from oracles.casadi_discrete import equations_of_motion
from predyn.nlp import SolverOptions
from predyn.problem import Problem
from predyn.solvers.ipopt import solve_nlp
from predyn.solving.single_solve import scale_objective
from predyn.transcribe.guess import first_guess
from predyn.transcribe.methods import transcribe

TOLERANCE, STEPS = 1e-6, 80


def against_casadi(repeats: int) -> list[dict]:
    """Two tasks in milliseconds; the ratio is CasADi's time over predyn's."""
    tasks = {"two links, effort": two_link(steps(STEPS)), "four-bar": turn_crank(steps(STEPS))}
    return [_row(name, problem, max(3, repeats // 3)) for name, problem in tasks.items()]


def _row(name: str, problem: Problem, repeats: int) -> dict:
    program = transcribe(problem)
    x0 = first_guess(program)
    scale_objective(program, x0)
    options = SolverOptions(tolerance=TOLERANCE)
    peer = _peer(program)
    bounds = {"lbx": program.x_lower, "ubx": program.x_upper, "lbg": 0.0, "ubg": 0.0}
    runs = []
    for _ in range(repeats + 1):
        began = time.perf_counter()
        theirs = peer(x0=x0, **bounds)
        between = time.perf_counter()
        ours = solve_nlp(program, x0, options)
        runs.append((between - began, time.perf_counter() - between))
    seconds = [statistics.median(x) for x in zip(*runs[1:], strict=True)]  # the first warms up
    count = peer.stats()["iter_count"]
    return {
        "task": name,
        "variables": program.n,
        "predyn": 1e3 * seconds[1],
        "casadi": 1e3 * seconds[0],
        "ratio": seconds[0] / seconds[1],
        "ratio an iteration": seconds[0] / count / (seconds[1] / ours.iterations),
        "objective": ours.f,
        "casadi's objective": float(theirs["f"]),
        "iterations": ours.iterations,
        "casadi's iterations": count,
        "evaluations, %": 100 * ours.evaluation_seconds / ours.seconds,
    }


def _peer(program: object) -> ca.Function:
    """The program in CasADi: half the integral of squared torques, equations, closed loop."""
    x, (layout,) = ca.SX.sym("x", program.n), program.phases
    (torques,) = (c for c in layout.curves if c.channel == "signal:tau")
    free = torques.columns[torques.columns >= 0]
    objective = 0.5 * layout.T / STEPS * ca.sumsqr(x[free.tolist()])
    rows = [equations_of_motion(program, 0)(x)]
    if program.problem.model.loops:
        rows += [_gap(x, layout, k) for k in range(1, STEPS + 1)]
    options = {
        "print_time": False,
        "ipopt": {"print_level": 0, "sb": "yes", "tol": TOLERANCE, "linear_solver": "mumps"},
    }
    nlp = {"x": x, "f": objective, "g": ca.vertcat(*rows)}
    return ca.nlpsol("peer", "ipopt", nlp, options)


def _gap(x: ca.SX, layout: object, node: int) -> ca.SX:
    """Tip of the coupler minus tip of the rocker at a node, in the plane."""
    at = layout.columns[node + 1]
    given = layout.control[node + 1]
    crank, coupler, rocker = (
        x[int(c)] if c >= 0 else float(v) for c, v in zip(at, given, strict=True)
    )

    def bar(length: float, angle: ca.SX) -> ca.SX:
        return length * ca.vertcat(ca.cos(angle), ca.sin(angle))

    ends = bar(0.3, crank) + bar(0.9, crank + coupler) - bar(0.7, rocker)
    return ends - np.array([0.8, 0.0])
