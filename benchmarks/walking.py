"""People who walk: a planar step against CasADi, and what an iteration of a person costs."""

from __future__ import annotations

import time

import casadi as ca
from timing import exponent

from oracles.casadi_walker import Statement, casadi_walker
from planar_steps import columns, walking
from predyn.movements.walking import LOCKED, human_walk
from predyn.nlp import SolverOptions
from predyn.problem.contact_program import written_out
from predyn.solvers.ipopt import solve_nlp
from predyn.solving.single_solve import scale_objective
from predyn.transcribe.guess import first_guess
from predyn.transcribe.methods import transcribe

TOLERANCE = 1e-8
ITERATIONS = 10  # of a person's step, from the guess
SEGMENTS = (4, 8, 16)


def against_casadi(repeats: int) -> list[dict]:
    """The planar step with 8 segments in each phase, milliseconds; both with IPOPT and MUMPS."""
    statement = Statement(8)
    walker = casadi_walker(statement)
    began = time.perf_counter()
    program = transcribe(walking(statement))
    build = time.perf_counter() - began
    x0 = first_guess(program, None)
    scale_objective(program, x0)
    g = ca.vertcat(*(row[1] for row in walker.rows))
    options = {
        "print_time": False,
        "ipopt": {"tol": TOLERANCE, "print_level": 0, "sb": "yes", "max_iter": 500},
    }
    began = time.perf_counter()
    peer = ca.nlpsol("walker", "ipopt", {"x": walker.x, "f": walker.f, "g": g}, options)
    peer_build = time.perf_counter() - began
    bounds = {"lbg": [row[2] for row in walker.rows], "ubg": [row[3] for row in walker.rows]}
    began = time.perf_counter()
    found = peer(x0=x0[columns(program, walker)], **bounds)
    peer_seconds = time.perf_counter() - began
    runs = [solve_nlp(program, x0, SolverOptions(tolerance=TOLERANCE)) for _ in range(3)]
    ours = min(runs, key=lambda run: run.seconds)
    return [
        {
            "task": "planar walker, 8 segments",
            "variables": program.n,
            "rows": program.m,
            "predyn": 1e3 * ours.seconds,
            "casadi": 1e3 * peer_seconds,
            "ratio": peer_seconds / ours.seconds,
            "objective": ours.f,
            "casadi's objective": float(found["f"]),
            "iterations": ours.iterations,
            "casadi's iterations": peer.stats()["iter_count"],
            "evaluations, %": 100 * ours.evaluation_seconds / ours.seconds,
            "build": 1e3 * build,
            "casadi's build": 1e3 * peer_build,
        }
    ]


def iterations(repeats: int) -> list[dict]:
    """Milliseconds an iteration of a person's step: by segments, then by coordinates."""
    rows = [_row(segments, ()) for segments in SEGMENTS]
    slopes = {
        name: exponent([row["segments"] for row in rows], [row[name] for row in rows])
        for name in ("iteration", "evaluations")
    }
    rows.append({"coordinates": "exponent", "segments": "in segments", **slopes})
    arms = tuple(f"{x}_{s}" for s in "rl" for x in ARM)
    spine = tuple(f"spine{k}_{x}" for k in (1, 2) for x in ("bending", "flexion", "rotation"))
    by_size = [_row(4, (*arms, *spine)), _row(4, arms), _row(4, ())]
    sizes = [row["coordinates"] for row in by_size]
    slopes = {
        name: exponent(sizes, [row[name] for row in by_size])
        for name in ("iteration", "evaluations")
    }
    return [*rows, *by_size, {"coordinates": "exponent", "segments": "in coordinates", **slopes}]


ARM = ("shoulder_flexion", "shoulder_adduction", "shoulder_rotation", "elbow_flexion",
       "forearm_pronation")  # fmt: skip


def _row(segments: int, held: tuple[str, ...]) -> dict:
    problem = human_walk(segments=segments, lock=(*LOCKED, *held))
    program = transcribe(written_out(problem))
    x0 = first_guess(program, None)
    scale_objective(program, x0)
    options = SolverOptions(tolerance=1e-6, max_iterations=ITERATIONS)
    runs = [solve_nlp(program, x0, options) for _ in range(2)]
    return {
        "coordinates": problem.model.n,
        "segments": segments,
        "variables": program.n,
        "rows": program.m,
        "iteration": 1e3 * min(r.seconds / r.iterations for r in runs),
        "evaluations": 1e3 * min(r.evaluation_seconds / r.iterations for r in runs),
    }
