"""Standing up from a squat, beside the torque-driven example of OpenSim Moco.

Moco's numbers are recorded: exampleSquatToStand of opensim-core, part 1, with the wheel of
opensim 4.6, one thread, on a shared machine with two cores. Its model may not be copied: the folder
that the variable PREDYN_SHARED names has it. Without it, only a similar body of three segments is
timed. The time of predyn is that of predyn.solve with compiled kernels, with all that it checks.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from pathlib import Path

import predyn

sys.path.append(str(Path(__file__).resolve().parents[1] / "examples"))

from squat_to_stand import squat_to_stand, three_segments

FILE = "data/muscles/squatToStand_3dof9musc.osim"
MOCO = {"objective": 0.229299, "iterations": 67, "seconds": 52.0}


def squats(repeats: int) -> list[dict]:
    """CPU seconds of each body; the ratio is Moco's time over predyn's."""
    rows = []
    path = Path(os.environ.get("PREDYN_SHARED", "."), FILE)
    if path.is_file():
        rows.append(_row("Moco's body", predyn.load_osim(path, functions="smooth"), repeats, MOCO))
    rows.append(_row("three segments", three_segments(), repeats, {}))
    return rows


def _row(name: str, model: predyn.Model, repeats: int, peer: dict[str, float]) -> dict:
    problem = squat_to_stand(model)
    predyn.solve(problem)  # compiles
    times = []
    for _ in range(max(3, repeats // 3)):
        began = time.process_time()
        solution = predyn.solve(problem)
        times.append(time.process_time() - began)
    seconds = statistics.median(times)
    theirs = peer.get("seconds")
    return {
        "body": name,
        "predyn": seconds,
        "moco": theirs,
        "ratio": None if theirs is None else theirs / seconds,
        "objective": f"{solution.objective:.6f}",
        "moco's objective": f"{peer['objective']:.6f}" if peer else None,
        "iterations": solution.iterations,
        "moco's iterations": peer.get("iterations"),
    }
