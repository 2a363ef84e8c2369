"""predyn beside its peers, in one process and one thread: prints tables, writes bench.json.

    make bench                    everything
    python benchmarks/run.py --quick     fewer repeats, no cold start

Batch 512, medians of interleaved bursts of calls. Ratios above 1 mean that predyn is faster.
Numbers depend on the machine; no test looks at them.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from pathlib import Path

os.environ.setdefault("PREDYN_THREADS", "1")
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"
HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "tests")]

import against_casadi  # noqa: E402
import against_pinocchio  # noqa: E402
import cold_start  # noqa: E402
import collisions  # noqa: E402
import discrete  # noqa: E402
import discrete_motions  # noqa: E402
import growth  # noqa: E402
import hybrid  # noqa: E402
import moco  # noqa: E402
import neighbours  # noqa: E402
import predict  # noqa: E402
import retiming  # noqa: E402
import swingup  # noqa: E402
import variational  # noqa: E402
import walking  # noqa: E402

import estimate  # noqa: E402
import simulation  # noqa: E402


def show(title: str, rows: list[dict]) -> None:
    """One table; columns are the keys of the first row."""
    print(f"\n{title}")
    columns = list(rows[0])
    cells = [[_text(row.get(key)) for key in columns] for row in rows]
    widths = [max(len(c), *(len(r[k]) for r in cells)) for k, c in enumerate(columns)]
    for line in (columns, *cells):
        print("  " + "  ".join(x.rjust(w) for x, w in zip(line, widths, strict=True)))
    sys.stdout.flush()


def _text(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.3g}" if abs(value) < 100 else f"{value:.0f}"
    return "-" if value is None else str(value)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer repeats, no cold start")
    parser.add_argument("--out", type=Path, default=HERE.parent / "bench.json")
    options = parser.parse_args()
    repeats = 5 if options.quick else 25
    sections = {
        "Inverse dynamics, microseconds a sample, against Pinocchio's rnea": (
            against_pinocchio.inverse_dynamics
        ),
        "Partials, dense into reused arrays, against computeRNEADerivatives with results kept": (
            against_pinocchio.partials_dense
        ),
        "Partials in lanes, ancestor pairs only, against computeRNEADerivatives": (
            against_pinocchio.partials_in_lanes
        ),
        "Partials of hybrid dynamics, against Pinocchio's computeABADerivatives": (
            hybrid.derivatives
        ),
        "Weighted second derivatives, against CasADi SX (virtual machine, and compiled C)": (
            against_casadi.second_derivatives
        ),
        "Discrete inverse dynamics, microseconds a sample, against CasADi SX": (
            discrete.against_casadi
        ),
        "Distances of all pairs of a robot, microseconds a configuration, against Pinocchio": (
            collisions.against_pinocchio
        ),
        "Certificates of paths, milliseconds, against dense checks": collisions.against_dense,
        "Growth of the gradients of energies with the number of links": discrete.chains,
        "Three formulations of inverse dynamics and its partials on DH chains": (
            growth.three_formulations
        ),
        "Growth with the number of links": growth.chains,
        "RK4 simulation, microseconds a step of one trajectory, against MuJoCo's rollout": (
            simulation.against_mujoco
        ),
        "Variational simulation, microseconds a step, against Newton steps with SciPy": (
            variational.against_scipy
        ),
        "Optimal motions, milliseconds, against CasADi with IPOPT": predict.solves,
        "Neighbouring problems in one program, milliseconds a solve, in and outside the solver": (
            neighbours.loops
        ),
        "Motions by discrete mechanics, milliseconds, against CasADi with IPOPT": (
            discrete_motions.against_casadi
        ),
        "Swing-up of an acrobot by multiple shooting, milliseconds, against CasADi with IPOPT": (
            swingup.against_casadi
        ),
        "A step in the plane with contact forces, milliseconds, against CasADi with IPOPT": (
            walking.against_casadi
        ),
        "A step of a person, milliseconds an iteration": walking.iterations,
        "Standing up from a squat, seconds of CPU, against recorded runs of OpenSim Moco": (
            moco.squats
        ),
        "Timing along a path, 200 intervals, milliseconds, against IPOPT and TOPP-RA": (
            retiming.speed
        ),
        "Timing along a path, differences of durations on equal grids": retiming.durations,
        "Growth with control points per joint, milliseconds an iteration": predict.growth,
        "Torques from a noisy motion, milliseconds, against CasADi with IPOPT": (
            estimate.least_squares
        ),
        "Whole estimates of torques, seconds": estimate.estimates,
    }
    results: dict[str, list[dict]] = {}
    for title, section in sections.items():
        results[title] = section(repeats)
        show(title, results[title])
    if not options.quick:
        title = "Cold start and memory, each in a process of its own"
        results[title] = cold_start.measure()
        show(title, results[title])
    options.out.write_text(json.dumps({"machine": _machine(), "results": results}, indent=1))
    print(f"\nwritten: {options.out}")


def _machine() -> dict:
    import casadi
    import mujoco
    import numba
    import numpy
    import pinocchio

    import predyn
    from predyn.kernels.lanes import WIDTH

    return {
        "processor": platform.processor() or platform.machine(),
        "python": platform.python_version(),
        "lanes": WIDTH,
        "predyn": predyn.__version__,
        "numpy": numpy.__version__,
        "numba": numba.__version__,
        "pinocchio": pinocchio.__version__,
        "casadi": casadi.__version__,
        "mujoco": mujoco.__version__,
    }


if __name__ == "__main__":
    main()
