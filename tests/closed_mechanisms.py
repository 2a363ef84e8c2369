"""Mechanisms with closed loops for tests: random ones, closed at a known pose, and linkages."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from predyn import Frame, Loop, Model, ModelBuilder, models
from predyn.dynamics import frame_kinematics
from predyn.model.parts import turn

MECHANISMS = 20
KINDS = ("point", "hinge", "weld", "distance")


def random_rotation(random: np.random.Generator) -> np.ndarray:
    axis = random.standard_normal(3)
    return turn(axis / np.linalg.norm(axis), random.uniform(-np.pi, np.pi))


def random_mechanism(seed: int) -> tuple[Model, np.ndarray]:
    """A random tree with one or two loops of all kinds, and a pose at which they are closed.

    Frames are on links of different branches if the tree has any, some in the world.
    """
    random = np.random.default_rng([seed, 5])
    tree = models.random_tree(9 + seed % 6, seed, depth_like=(0.9, 0.6)[seed % 2])
    q = random.uniform(-1.5, 1.5, tree.n)
    frames, loops = list(tree.frames), []
    for k in range(1 + seed % 2):
        kind = KINDS[(seed + k) % 4]
        a = tree.n - 1 - 2 * k
        b = -1 if seed % 5 == 0 else _other_branch(tree, a)
        frame = Frame(f"a{k}", a, random_rotation(random), 0.3 * random.standard_normal(3))
        pose = frame_kinematics(replace(tree, frames=(frame,)), frame.name, q)
        R, p, distance = pose.R, pose.p, None
        if kind == "point":
            R = random_rotation(random)
        elif kind == "hinge":
            R = R @ turn((0.0, 0.0, 1.0), random.uniform(-3.0, 3.0))
        elif kind == "distance":
            p = p + random.standard_normal(3)
            distance = float(np.linalg.norm(p - pose.p))
        if b >= 0:
            base = frame_kinematics(tree, tree.link_names[b], q)
            R, p = base.R.T @ R, base.R.T @ (p - base.p)
        frames += [frame, Frame(f"b{k}", b, R, p)]
        loops.append(Loop(f"{kind}{k}", kind, f"a{k}", f"b{k}", distance))
    gravity = 9.81 * random_rotation(random)[0]
    armature = random.uniform(0.0, 0.5, tree.n) * (seed % 3 == 0)
    edits = {"frames": tuple(frames), "loops": tuple(loops), "gravity": gravity}
    return replace(tree, armature=armature, **edits), q


def _other_branch(tree: Model, link: int) -> int:
    """The last link that neither carries nor is the link; the first root if there is none."""
    above = {link}
    while tree.parent[min(above)] >= 0:
        above.add(int(tree.parent[min(above)]))
    others = [j for j in range(link) if j not in above]
    return others[-1] if others else 0


BAR = {"mass": 1.0, "com": (0.25, 0.05, 0.02), "inertia": (0.001, 0.02, 0.02)}


def four_bar(**options) -> Model:
    """A crank that turns fully, a coupler and a rocker in the x-y plane."""
    builder = ModelBuilder("four-bar", gravity=(0.0, -9.81, 0.0))
    builder.add_link("crank", joint="motor", **BAR, **options)
    builder.add_link("coupler", "crank", joint="elbow", origin=(0.3, 0, 0), **BAR)
    builder.add_frame("coupler end", "coupler", (0.9, 0, 0))
    builder.add_link("rocker", joint="pivot", origin=(1.0, 0, 0), **BAR)
    builder.add_frame("rocker end", "rocker", (0.7, 0, 0))
    return builder.close_loop("pin", "hinge", "coupler end", "rocker end").build()


FOUR_BAR_POSE = (0.5, 0.2, 1.6)


def bennett() -> Model:
    """Four skew hinges that move although their equations allow no motion in general."""
    a, alpha, b = 1.0, 0.6, 0.7
    beta = np.arcsin(b / a * np.sin(alpha))
    x = (1.0, 0.0, 0.0)
    builder = ModelBuilder("bennett").add_link("l1", joint="j1", **BAR)
    builder.add_link("l2", "l1", joint="j2", origin=(a, 0, 0), rotation=turn(x, alpha), **BAR)
    builder.add_link("l3", "l2", joint="j3", origin=(b, 0, 0), rotation=turn(x, beta), **BAR)
    builder.add_frame("end", "l3", (a, 0, 0), turn(x, alpha))
    builder.add_frame("ground", "world", (-b, 0, 0), turn(x, -beta))
    return builder.close_loop("hinge", "hinge", "end", "ground").build()


def bennett_pose(angle: float) -> np.ndarray:
    """Closed at any angle of the first joint."""
    alpha = 0.6
    beta = np.arcsin(0.7 * np.sin(alpha))
    ratio = np.sin((alpha + beta) / 2) / np.sin((alpha - beta) / 2)
    return np.array([angle, -2.0 * np.arctan2(ratio, np.tan(angle / 2)), -angle])
