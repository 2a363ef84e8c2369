"""A CasADi program solved by CasADi's IPOPT, with a record of where the time went."""

from __future__ import annotations

import time
from typing import NamedTuple

import casadi as ca
import numpy as np

from oracles.casadi_program import Program


class Solved(NamedTuple):
    """Result and where the time went; ipopt_seconds is solve_seconds without evaluations."""

    x: np.ndarray  # full
    f: float
    status: str
    iterations: int
    build_seconds: float  # of nlpsol: derivative expressions and their sparsity
    solve_seconds: float
    ipopt_seconds: float


class Solver:
    """IPOPT with CasADi's exact Hessian on the free variables of a program."""

    def __init__(self, program: Program, tolerance: float = 1e-8, expand: bool = True) -> None:
        began = time.perf_counter()
        free = program.free.tolist()
        y, x = ca.MX.sym("y", len(free)), ca.MX(ca.DM(program.guess))
        x[free] = y
        value = ca.Function("value", [program.x], [program.f, program.g])
        f, g = value(x)
        options = {
            "expand": expand,
            "print_time": False,
            "record_time": True,
            "ipopt": {"tol": tolerance, "print_level": 0, "sb": "yes", "max_iter": 3000},
        }
        self.program, self.free = program, free
        self.solver = ca.nlpsol("solver", "ipopt", {"x": y, "f": f, "g": g}, options)
        self.build_seconds = time.perf_counter() - began

    def __call__(self, x0: np.ndarray) -> Solved:
        p, free = self.program, self.free
        began = time.perf_counter()
        found = self.solver(
            x0=x0[free],
            lbx=p.x_lower[free],
            ubx=p.x_upper[free],
            lbg=p.g_lower,
            ubg=p.g_upper,
        )
        spent = time.perf_counter() - began
        stats = self.solver.stats()
        evaluating = sum(v for k, v in stats.items() if k.startswith("t_wall_nlp_"))
        x = x0.copy()
        x[free] = np.asarray(found["x"]).ravel()
        return Solved(
            x,
            float(found["f"]),
            stats["return_status"],
            stats["iter_count"],
            self.build_seconds,
            spent,
            stats["t_wall_total"] - evaluating,
        )


def solve_casadi(
    program: Program, x0: np.ndarray, tolerance: float = 1e-8, expand: bool = True
) -> Solved:
    """Build a solver and use it once."""
    return Solver(program, tolerance, expand)(x0)
