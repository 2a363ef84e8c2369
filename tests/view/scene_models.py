"""Models and results for pictures: an arm with shapes, a person who walks, estimates, payloads."""

from dataclasses import replace

import numpy as np

import predyn
from fake_estimate import fake_estimate
from fake_solution import fake_solution
from loaded_solution import loaded_solution
from predyn import ModelBuilder
from predyn.model.parts import Triangles

WEDGE = Triangles(
    np.array([[0, -1, -1], [0, 1, -1], [0, 1, 1], [0, -1, 1], [6, 0, -1], [6, 0, 1]], float),
    np.array([[0, 2, 1], [0, 3, 2], [0, 1, 4], [3, 5, 2], [0, 4, 5], [0, 5, 3], [1, 2, 5],
              [1, 5, 4]]),
)  # fmt: skip


def shaped_arm():
    """A base, two links with shapes, one with a mesh, a tool, and a box in the way."""
    builder = ModelBuilder("arm", (0.0, 0.0, -9.81))
    builder.add_link("turret", "world", "turn", axis=(0, 0, 1), origin=(0, 0, 0.2), mass=3.0,
                     com=(0, 0, 0.05), inertia=(0.1, 0.1, 0.1))  # fmt: skip
    builder.add_link("upper", "turret", "lift", axis=(0, -1, 0), origin=(0, 0, 0.15), mass=2.0,
                     com=(0.25, 0, 0), inertia=(0.1, 0.1, 0.1))  # fmt: skip
    builder.add_link("lower", "upper", "bend", axis=(0, -1, 0), origin=(0.5, 0, 0), mass=1.0,
                     com=(0.2, 0, 0), inertia=(0.1, 0.1, 0.1))  # fmt: skip
    builder.add_shape("cylinder", "world", (0.12, 0.2), point=(0, 0, 0.1))
    builder.add_shape("box", "world", (0.2, 0.2, 0.3), point=(0.3, -0.6, 0.15))
    builder.add_shape("sphere", "turret", (0.13,), point=(0, 0, 0.06))
    builder.add_shape("capsule", "upper", (0.06, 0.5), point=(0.25, 0, 0),
                      rotation=((0, 0, 1), (0, 1, 0), (-1, 0, 0)))  # fmt: skip
    builder.add_shape("mesh", "lower", (0.06, 0.06, 0.06), mesh="wedge.stl")
    builder.add_frame("tool", "lower", (0.6, 0.0, 0.0))
    model = builder.build()
    shapes = [replace(s, triangles=WEDGE) if s.kind == "mesh" else s for s in model.shapes]
    return replace(model, shapes=tuple(shapes))


def person():
    """Pelvis, trunk, arms and legs on a base of six joints; hips of three hinges."""
    builder = ModelBuilder("person", (0.0, 0.0, -9.81))
    before, axes = "world", np.eye(3)
    for k, name in enumerate("xyz"):
        builder.add_link(f"slide_{name}", before, name, "prismatic", axis=axes[k])
        before = f"slide_{name}"
    for k, name in enumerate("ab"):
        builder.add_link(f"turn_{name}", before, name, axis=axes[k])
        before = f"turn_{name}"
    builder.add_link("trunk", before, "c", axis=axes[2], mass=40.0, com=(0, 0, 0.25),
                     inertia=(1.5, 1.5, 0.4))  # fmt: skip
    builder.add_link("head", "trunk", "neck", axis=axes[1], origin=(0, 0, 0.55), mass=5.0,
                     com=(0, 0, 0.13), inertia=(0.03, 0.03, 0.03))  # fmt: skip
    for side, y in (("left", 0.1), ("right", -0.1)):
        for k in range(2):
            builder.add_link(f"{side}_hip{k}", f"{side}_hip{k - 1}" if k else "trunk",
                             f"{side}_h{k}", axis=axes[k],
                             origin=(0, 0, 0) if k else (0, y, 0))  # fmt: skip
        builder.add_link(f"{side}_thigh", f"{side}_hip1", f"{side}_h2", axis=axes[2], mass=10.0,
                         com=(0, 0, -0.18), inertia=(0.13, 0.13, 0.02))  # fmt: skip
        builder.add_link(f"{side}_shank", f"{side}_thigh", f"{side}_knee", axis=axes[1],
                         origin=(0, 0, -0.42), mass=4.0, com=(0.02, 0, -0.2),
                         inertia=(0.04, 0.04, 0.01))  # fmt: skip
        builder.add_frame(f"{side}_heel", f"{side}_shank", (0, 0, -0.43))
        builder.add_link(f"{side}_arm", "trunk", f"{side}_shoulder", axis=axes[1],
                         origin=(0, 2.2 * y, 0.48), mass=3.0, com=(0, 0, -0.25),
                         inertia=(0.06, 0.06, 0.01))  # fmt: skip
        builder.add_frame(f"{side}_hand", f"{side}_arm", (0, 0, -0.55))
    return builder.build()


def steps(model, times):
    """Joint positions (F, n) of the person walking along x."""
    q, phase = np.zeros((len(times), model.n)), 2 * np.pi * times
    q[:, model.joint_index("x")] = 1.5 * times
    q[:, model.joint_index("z")] = 0.84
    for side, sign in (("left", 1.0), ("right", -1.0)):
        q[:, model.joint_index(f"{side}_h1")] = 0.45 * sign * np.sin(phase)
        q[:, model.joint_index(f"{side}_knee")] = 0.3 - 0.3 * sign * np.cos(phase)
        q[:, model.joint_index(f"{side}_shoulder")] = -0.5 * sign * np.sin(phase)
    return q


def walking():
    """A solution whose curves are those of the walking person."""
    solution = fake_solution(model=person())
    model, curve = solution.model, solution.curves[0]
    s = np.linspace(0.0, 1.0, len(curve.control))
    return replace(solution, curves=(curve._replace(control=steps(model, curve.duration * s)),))


RESULTS = {
    "arm": lambda: fake_solution(model=shaped_arm()),
    "acrobot": lambda: replace(fake_solution(model=predyn.models.acrobot()), passive=("joint1",)),
    "floating": walking,
    "estimate": fake_estimate,
    "phases": loaded_solution,
}
