"""Internal forces at hip, knee and ankle during the published gait, with the ground forces.

You will learn: how to compute ground forces from a motion alone, and how to apply them to the feet
to get what the joints transmit.

The task human-walk-published computes the ground forces from the motion alone, by the two-step
algorithm. Here they are computed again from its solution and applied to the feet. The step and its
mirror image make one stride.

    python examples/published_gait.py                   solves the task, then draws three figures
    python examples/published_gait.py result.h5         uses a saved solution
"""

import sys

import numpy as np

import predyn
from predyn.dynamics import Foot, two_step_dynamics

BALLS = Foot("ball_medial_r", (0.0, -0.03, 0.0))  # middle of the rear foot's balls
HEEL = Foot("heel_l")
FEET = {"double support": [BALLS, HEEL], "flat foot": [HEEL], "forefoot": [Foot("toe_l")]}
JOINTS = {"hip": "hip_flexion", "knee": "knee_flexion", "ankle": "ankle_dorsiflexion"}
POINTS = 60  # per phase


def step_curves(solution: predyn.Solution) -> dict[str, np.ndarray]:
    """Curves of one step: angles (deg), ground forces and internal forces (body weights), zmp."""
    model, start, rows = solution.model, 0.0, []
    weight = 9.81 * model.inertia[:, 0].sum()
    for phase in solution.summary()["phases"]:
        t = np.linspace(start, start + phase["duration"], POINTS)
        start = t[-1]
        inside = np.clip(t, t[0] + 1e-9, t[-1] - 1e-9)  # torques may jump where phases meet
        s = solution.at(inside)
        feet = FEET[phase["name"]]
        found = two_step_dynamics(model, s.q, s.v, s.a, feet)
        forces = found.forces(feet)
        reactions = predyn.joint_reactions(model, s.q, s.v, s.a, forces=forces) / weight
        ground = np.zeros((2, len(t), 3))  # right, left
        for k, foot in enumerate(feet):
            ground[int(foot.link.endswith("_l"))] += found.wrenches[:, k, 3:] / weight
        row = {"t": t, "zmp": found.zmp, "residual": found.residual}
        row |= {"ground_r": ground[0], "ground_l": ground[1], "tau": found.tau}
        for side in "rl":
            for name, joint in JOINTS.items():
                j = model.joint_index(f"{joint}_{side}")
                row[f"{name}_{side}"] = np.degrees(s.q[:, j])
                row[f"{name}_force_{side}"] = np.linalg.norm(reactions[:, j, 3:], axis=1)
        rows.append(row)
    return {key: np.concatenate([row[key] for row in rows]) for key in rows[0]}


def stride_of(curves: dict[str, np.ndarray], name: str) -> tuple[np.ndarray, np.ndarray]:
    """Percent of the stride from the left heel strike on, and a curve of the left leg over it.

    In the second step, the left leg does what the right one does in the first.
    """
    t, end = curves["t"], curves["t"][-1]
    later = curves[f"{name}_r"].copy()
    if later.ndim == 2:
        later[:, 1] *= -1.0  # sideways in the mirror
    percent = 50.0 * np.concatenate([t, t + end]) / end
    return percent, np.concatenate([curves[f"{name}_l"], later])


def draw(curves: dict[str, np.ndarray], folder: str = ".") -> None:
    """Three figures, like 5.3 to 5.5 of the source."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figures = {
        "published-gait-angles.png": [(f"{x} angle, deg", x, None) for x in JOINTS],
        "published-gait-ground.png": [
            (f"{axis} ground force, body weights", "ground", k)
            for axis, k in (("lateral", 1), ("vertical", 2), ("fore-aft", 0))
        ],
        "published-gait-internal.png": [
            (f"{x} internal force, body weights", f"{x}_force", None) for x in JOINTS
        ],
    }
    for file, panels in figures.items():
        figure, axes = plt.subplots(1, 3, figsize=(11, 3), constrained_layout=True)
        for ax, (label, name, component) in zip(axes, panels, strict=True):
            percent, values = stride_of(curves, name)
            ax.plot(percent, values if component is None else values[:, component])
            ax.set(xlabel="stride, %", ylabel=label, xlim=(0, 100))
            ax.axhline(0.0, color="0.7", linewidth=0.8)
        figure.savefig(f"{folder}/{file}", dpi=110)
        plt.close(figure)


def peaks(values: np.ndarray) -> list[float]:
    """Local maxima of a curve, without its ends."""
    inner = (values[1:-1] > values[:-2]) & (values[1:-1] >= values[2:])
    return [float(x) for x in values[1:-1][inner]]


if __name__ == "__main__":
    given = sys.argv[1:]
    solution = predyn.load_solution(given[0]) if given else predyn.solve("human-walk-published")
    curves = step_curves(solution)
    _, vertical = stride_of(curves, "ground")
    print("status:", solution.status)
    print("largest force or moment left at the base:", f"{np.abs(curves['residual']).max():.1e}")
    print("peaks of the vertical force:", [round(x, 2) for x in peaks(vertical[:, 2])])
    for name in JOINTS:
        print(
            f"largest {name} force, body weights:",
            round(stride_of(curves, f"{name}_force")[1].max(), 2),
        )
    draw(curves, given[1] if len(given) > 1 else ".")
