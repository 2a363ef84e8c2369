"""Robots for collision tests: random trees with capsules, and Panda and UR5 of the shared scenes.

Placements of the joints: Panda, Franka Emika's documentation; UR5, its URDF in ur_description.
Masses and limits: the URDF files of the package example-robot-data (Panda with its hand, fingers
open; UR5 without gripper).
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from predyn import Capsule, Model, ModelBuilder, Obstacle, Scene, load_scene, models
from predyn.model.orientations import rotation_of

H = np.pi / 2
PANDA = [  # xyz and rpy of each joint; all axes are z
    ((0, 0, 0.333), (0, 0, 0)), ((0, 0, 0), (-H, 0, 0)), ((0, -0.316, 0), (H, 0, 0)),
    ((0.0825, 0, 0), (H, 0, 0)), ((-0.0825, 0.384, 0), (-H, 0, 0)), ((0, 0, 0), (H, 0, 0)),
    ((0.088, 0, 0), (H, 0, 0)),
]  # fmt: skip
PANDA_LIMITS = [(-2.8973, 2.8973), (-1.7628, 1.7628), (-2.8973, 2.8973), (-3.0718, -0.0698),
                (-2.8973, 2.8973), (-0.0175, 3.7525), (-2.8973, 2.8973)]  # fmt: skip
UR5 = [  # name, xyz, rpy, axis
    ("shoulder", "shoulder_pan", (0, 0, 0.089159), (0, 0, 0), (0, 0, 1)),
    ("upper_arm", "shoulder_lift", (0, 0.13585, 0), (0, H, 0), (0, 1, 0)),
    ("forearm", "elbow", (0, -0.1197, 0.425), (0, 0, 0), (0, 1, 0)),
    ("wrist_1", "wrist_1", (0, 0, 0.39225), (0, H, 0), (0, 1, 0)),
    ("wrist_2", "wrist_2", (0, 0.093, 0), (0, 0, 0), (0, 0, 1)),
    ("wrist_3", "wrist_3", (0, 0, 0.09465), (0, 0, 0), (0, 1, 0)),
]
SOLIDS = json.loads(Path(__file__).with_name("robot_solids.json").read_text())  # of each link
SPEEDS = {"panda": [2.175] * 4 + [2.61] * 3, "ur5": [3.15] * 3 + [3.2] * 3}
EFFORTS = {"panda": [87.0] * 4 + [12.0] * 3, "ur5": [150.0] * 3 + [28.0] * 3}


def robot(name: str, scenes: Path) -> Model:
    """Panda or UR5 with its gripper, as the shared scenes mean it."""
    builder = ModelBuilder(name)
    solids = [
        {**solid, "velocity": v, "effort": effort}
        for solid, v, effort in zip(SOLIDS[name], SPEEDS[name], EFFORTS[name], strict=True)
    ]
    if name == "panda":
        builder.add_frame("panda_link0", "world")
        parent = "world"
        for k, (xyz, rpy) in enumerate(PANDA):
            link = f"panda_link{k + 1}"
            builder.add_link(link, parent, f"panda_joint{k + 1}", origin=xyz,
                             rotation=rotation_of(rpy, "rpy"), position=PANDA_LIMITS[k],
                             **solids[k])  # fmt: skip
            parent = link
        turned = rotation_of((0.0, 0.0, -np.pi / 4), "rpy")
        builder.add_frame("panda_hand", parent, (0, 0, 0.107), turned)
        for side, y in (("left", 0.065), ("right", -0.065)):
            tip = np.array([0, 0, 0.107]) + turned @ [0.0, y, 0.0584]
            builder.add_frame(f"panda_{side}finger", parent, tip, turned)
    else:
        at, turned = np.array([0, 0, 0.9144]), rotation_of((0.0, 0.0, 1.57), "rpy")
        builder.add_frame("base_link", "world", at, turned)
        parent = "world"
        for k, (link, joint, xyz, rpy, axis) in enumerate(UR5):
            p, R = np.array(xyz), rotation_of(rpy, "rpy")
            if parent == "world":
                p, R = at + turned @ p, turned @ R
            builder.add_link(f"{link}_link", parent, f"{joint}_joint", origin=p, rotation=R,
                             axis=axis, position=2 * np.pi, **solids[k])  # fmt: skip
            parent = f"{link}_link"
    listed = json.loads((scenes / "capsules.json").read_text())["robots"][name]
    return builder.build().with_capsules(
        [Capsule(c["frame"], c["a"], c["b"], c["radius"]) for c in listed]
    )


def shared_scene(path: Path) -> tuple[Scene, np.ndarray, np.ndarray]:
    """A scene with its start and goal."""
    scene = load_scene(path)
    return scene, np.array(scene.extra["start"]), np.array(scene.extra["goal"])


def random_robot(n: int, seed: int) -> Model:
    """A random tree of all joint kinds; each link has one or two capsules."""
    rng = np.random.default_rng([seed, 20])
    model = models.random_tree(n, seed, depth_like=(1.0, 0.7)[seed % 2])
    capsules = []
    for name in ("world", *model.link_names):
        for _ in range(1 + int(rng.random() < 0.4)):
            a, b = rng.uniform(-0.25, 0.25, (2, 3))
            capsules.append(Capsule(name, a, b, rng.uniform(0.01, 0.06)))
    return model.with_capsules(capsules)


def random_scene(seed: int, count: int = 8, spread: float = 1.2) -> Scene:
    """Obstacles of all kinds; the last is a half-space below."""
    from predyn.model.parts import Triangles

    rng = np.random.default_rng([seed, 21])
    kinds = ("box", "sphere", "cylinder", "capsule", "mesh")
    obstacles = []
    for k in range(count):
        kind = kinds[k % len(kinds)]
        size = {"box": rng.uniform(0.05, 0.5, 3), "sphere": rng.uniform(0.05, 0.2, 1),
                "cylinder": rng.uniform(0.05, 0.4, 2), "capsule": rng.uniform(0.05, 0.3, 2),
                "mesh": ()}[kind]  # fmt: skip
        mesh = Triangles(rng.normal(size=(10, 3)) * 0.1, np.zeros((0, 3), int))
        position = rng.normal(size=3)
        position *= rng.uniform(0.4, spread) / np.linalg.norm(position)
        obstacles.append(
            Obstacle(f"o{k}", kind, tuple(size), position, rng.uniform(-3, 3, 3),
                     mesh if kind == "mesh" else None)
        )  # fmt: skip
    obstacles.append(Obstacle("floor", "half_space", (), (0.0, 0.0, -1.0 - spread)))
    return Scene(tuple(obstacles))
