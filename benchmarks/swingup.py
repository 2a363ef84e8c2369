"""The acrobot swings up, beside CasADi: the same transcription, guess, tolerance, both by IPOPT.

40 segments of 10 RK4 steps in multiple shooting. The peer is an independent formulation
(tests/oracles) in CasADi, expanded to scalar operations: three times faster here than calls of a
mapped function of a segment. Both have their exact Hessian, then the Gauss-Newton one (given to
CasADi as 2 J^T J of the residuals), then none: those runs are cut off early, as both
need more than 600 to come to the same optimum. Building is timed apart, as in predict.py.
"""

from __future__ import annotations

import statistics
import time
from dataclasses import replace
from typing import NamedTuple

import casadi as ca
import numpy as np

from oracles.casadi_hybrid import casadi_hybrid, casadi_residuals
from oracles.casadi_program import Program
from predyn.models import acrobot
from predyn.nlp import SolverOptions
from predyn.problem import Cost, Hybrid, Phase, Problem, State
from predyn.solvers.ipopt import solve_nlp
from predyn.solving.single_solve import scale_objective
from predyn.terms import Effort, JointPosition, JointVelocity
from predyn.transcribe.guess import first_guess
from predyn.transcribe.methods import transcribe

TOLERANCE = 1e-6
SEVERAL = 100  # iterations of a limited-memory run
MOST = 3000
PENALTY = 1000.0
SWINGS = ((0.0, -0.5, 0.0, -0.6), (0.0, 1.0, 0.0, -1.0))  # of the guess: sines added to lines


def swing_up() -> Problem:
    """From q1 = -1 in 3 s; the guess swings back and forth on the way up."""
    s = np.linspace(0.0, 1.0, 61)
    waves = np.sin(np.pi * np.outer(s, np.arange(1, 5)))
    guess = waves @ np.array(SWINGS).T
    guess[:, 0] += -1.0 + s * (np.pi / 2 + 1.0)
    first, free = ("joint1",), np.nan
    return Problem(
        acrobot(),
        (Phase(3.0, State([-1.0, 0.0], [0.0, 0.0]), State([free, 0.0], [free, 0.0])),),
        (
            Cost(Effort(("joint2",)), 0.5),
            Cost(JointPosition(first, np.pi / 2), PENALTY, "end", name="upright"),
            Cost(JointVelocity(first), PENALTY, "end", name="rest"),
        ),
        guess=(s, guess),
        transcription=Hybrid(segments=40, steps=10),
        passive=first,
        name="acrobot swing-up",
    )


class Run(NamedTuple):
    f: float
    iterations: int
    status: str
    seconds: float
    evaluating: float


class Peer:
    """CasADi's IPOPT."""

    def __init__(self, problem: Problem, program: Program, hessian: str, iterations: int) -> None:
        began = time.perf_counter()
        options = {
            "expand": True,
            "print_time": False,
            "record_time": True,
            "ipopt": {
                "tol": TOLERANCE,
                "print_level": 0,
                "sb": "yes",
                "max_iter": iterations,
                "hessian_approximation": "limited-memory" if "mem" in hessian else "exact",
            },
        }
        if hessian == "gauss_newton":
            options["hess_lag"] = _gauss_newton(problem, program)
        parts = {"x": program.x, "f": program.f, "g": program.g}
        self.solver, self.program = ca.nlpsol("solver", "ipopt", parts, options), program
        self.build_seconds = program.build_seconds + time.perf_counter() - began

    def __call__(self, x0: np.ndarray) -> Run:
        p = self.program
        began = time.perf_counter()
        found = self.solver(x0=x0, lbx=p.x_lower, ubx=p.x_upper, lbg=p.g_lower, ubg=p.g_upper)
        seconds = time.perf_counter() - began
        stats = self.solver.stats()
        evaluating = sum(v for k, v in stats.items() if k.startswith("t_wall_nlp_"))
        status = stats["return_status"]
        return Run(float(found["f"]), stats["iter_count"], status, seconds, evaluating)


def _gauss_newton(problem: Problem, program: Program) -> ca.Function:
    """2 J^T J, in place of the Hessian of the Lagrangian."""
    x, r = casadi_residuals(problem)
    z = ca.SX.sym("x", x.numel())
    J = ca.jacobian(ca.Function("r", [x], [r]).expand()(z), z)
    sigma, multipliers = ca.SX.sym("sigma"), ca.SX.sym("multipliers", program.g.numel())
    hessian = ca.triu(2 * sigma * (J.T @ J))
    return ca.Function("hess_lag", [z, ca.SX(0, 1), sigma, multipliers], [hessian])


def against_casadi(repeats: int) -> list[dict]:
    """Each kind of Hessian in milliseconds; the ratio is CasADi's time over predyn's."""
    problem = swing_up()
    program = casadi_hybrid(problem)
    kinds = {"exact": MOST, "gauss_newton": MOST, "limited_memory": SEVERAL}
    return [_row(problem, program, kind, most, repeats) for kind, most in kinds.items()]


def _row(problem: Problem, program: Program, kind: str, most: int, repeats: int) -> dict:
    options = SolverOptions(tolerance=TOLERANCE, hessian=kind, max_iterations=most)
    problem = replace(problem, solver=options)
    peer = Peer(problem, program, kind, most)
    transcribe(problem)  # compiles
    began = time.perf_counter()
    nlp = transcribe(problem)
    build = time.perf_counter() - began
    x0 = first_guess(nlp)
    scale_objective(nlp, x0)  # as predyn.solve does
    peer(x0), solve_nlp(nlp, x0, options)  # once to warm up
    runs = []
    for _ in range(max(3, repeats // 5)):
        theirs = peer(x0)
        began = time.perf_counter()
        ours = solve_nlp(nlp, x0, options)
        seconds = time.perf_counter() - began  # with all that it does before and after IPOPT
        runs.append((theirs.seconds, theirs.evaluating, seconds, ours.evaluation_seconds))
    peer_ms, peer_evaluations, ms, evaluations = (
        1e3 * statistics.median(column) for column in zip(*runs, strict=True)
    )
    return {
        "hessian": kind,
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
        "casadi's evaluations, %": 100 * peer_evaluations / peer_ms,
        "build": 1e3 * build,
        "casadi's build": 1e3 * peer.build_seconds,
    }
