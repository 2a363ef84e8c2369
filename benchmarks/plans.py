"""Planned paths on the shared problems (PREDYN_SHARED): how many are solved, and in what time.

Milliseconds of processor time, the median over problems and seeds; `ready` is everything from the
start to the certified curve. Checkers are built before, and kernels compiled.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np
from run import show

import predyn
from planning.shared_problems import load_problem, problem_files
from predyn.collision import Checker

SEEDS = 4


def by_scene(seeds: int = SEEDS) -> list[dict]:
    """One row for each robot and kind of scene."""
    files = problem_files(Path(os.environ["PREDYN_SHARED"]) / "data" / "scenes")
    found: dict[str, list[tuple[float, ...]]] = {}
    tried: dict[str, int] = {}
    for file in files:
        problem = load_problem(file)
        scene, checker = file.stem[:-4], Checker(problem.model, problem.scene)
        ends = problem.start, problem.goal
        predyn.plan(problem.model, checker, *ends)
        for seed in range(seeds):
            began = time.process_time()
            plan = predyn.plan(problem.model, checker, *ends, seed=seed)
            ready = 1e3 * (time.process_time() - began)
            tried[scene] = tried.get(scene, 0) + 1
            if plan.success:
                size = (plan.length, len(plan.path), len(plan.curve.control), plan.iterations)
                stages = [plan.seconds[x] for x in ("search", "shortcut", "spline")]
                share = ready / sum(plan.seconds.values())
                found.setdefault(scene, []).append((ready, share, *stages, *size))
    rows = []
    for scene, values in found.items():
        table = np.array(values)
        table[:, 2:5] *= table[:, 1:2]  # shares of the processor's time
        middle = np.median(table, axis=0)
        names = ("ready", "", "search", "shortcut", "spline", "rad", "points", "control", "tries")
        row = {"scene": scene, "solved": f"{len(values)}/{tried[scene]}"}
        row |= {name: float(x) for name, x in zip(names, middle, strict=True) if name}
        rows.append(row | {"ready 95 %": float(np.percentile(table[:, 0], 95))})
    return rows


if __name__ == "__main__":
    show("Plans of the shared problems, ms", by_scene())
