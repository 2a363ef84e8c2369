"""A robot and its scene in the form that the kernels read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from predyn.collision.bodies import Body
from predyn.collision.scene import Obstacle
from predyn.collision.solids import KINDS, ball_radius, planes_of
from predyn.kernels.tree import Tree, placed_tree_of
from predyn.model import Model

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

BOX, SPHERE, CYLINDER, CAPSULE, HALF_SPACE, MESH = range(len(KINDS))


class Keys(NamedTuple):
    """Given motions of obstacles, one after the other."""

    first: Ints  # (M + 1,) where the keys of each start
    time: Floats  # (K,) s
    p: Floats  # (K, 3)
    R: Floats  # (K, 3, 3)
    axis: Floats  # (K, 3) unit vector of the turn to the next key, in the obstacle's frame
    angle: Floats  # (K,) of that turn, rad
    travel: Floats  # (K,) bound on the way of any of its points since the first key, m


class View(NamedTuple):
    """What is checked against what. Row 0 is the world, row i + 1 is link i."""

    parent: Ints  # of the tree
    tree: Tree
    row: Ints  # (C,) row of each capsule
    a: Floats  # (C, 3) its first end, in the joint frame
    u: Floats  # (C, 3) from there to the other
    radius: Floats  # (C,)
    kind: Ints  # (O,) of each obstacle, a number in KINDS
    p: Floats  # (O, 3)
    R: Floats  # (O, 3, 3)
    size: Floats  # (O, 3) box: half edges; others: radius, -, half length
    ball: Floats  # (O,) radius about p; inf for a half-space
    planes: Floats  # (F, 4) of convex meshes
    plane: Ints  # (O + 1,) where the planes of each obstacle start
    slot: Ints  # (O,) number among the moving obstacles, -1 if it is fixed
    keys: Keys
    world: Ints  # (W, 2) pairs: capsule, obstacle
    own: Ints  # (S, 4) pairs: capsule, capsule, rows of the first joints that move each of them
    # relative to the other, 0 if none does


def build_view(
    model: Model,
    bodies: Sequence[Body],
    obstacles: Sequence[Obstacle],
    world: Ints,
    own: Ints,
) -> View:
    """Arrays of a model without couplings; own (S, 2)."""
    tree = placed_tree_of(model)
    link = np.array([body.link for body in bodies], np.int64)
    ends = np.array([(body.a, body.b) for body in bodies])
    turn = np.concatenate([np.eye(3)[None], tree.link])[link + 1]
    ends = np.einsum("cij,cej->cei", turn, ends)
    planes = [
        np.zeros((0, 4)) if x.triangles is None else planes_of(f"obstacle {x.name!r}", x.triangles)
        for x in obstacles
    ]
    ball = np.array([ball_radius(x.kind, x.size, x.triangles) for x in obstacles])
    moving = [x for x in obstacles if x.path is not None]
    return View(
        parent=tree.parent,
        tree=tree,
        row=link + 1,
        a=np.ascontiguousarray(ends[:, 0]),
        u=np.ascontiguousarray(ends[:, 1] - ends[:, 0]),
        radius=np.array([body.radius for body in bodies]),
        kind=np.array([KINDS.index(x.kind) for x in obstacles], np.int64),
        p=np.array([np.zeros(3) if x.position is None else x.position for x in obstacles])
        .reshape(-1, 3),
        R=np.array([x.rotation for x in obstacles], float).reshape(-1, 3, 3),
        size=np.array([_half_sizes(x) for x in obstacles]).reshape(-1, 3),
        ball=ball,
        planes=np.concatenate([np.zeros((0, 4)), *planes]),
        plane=np.cumsum([0, *(len(x) for x in planes)]),
        slot=np.array([moving.index(x) if x in moving else -1 for x in obstacles], np.int64),
        keys=_build_keys(moving),
        world=np.ascontiguousarray(world, np.int64).reshape(-1, 2),
        own=_with_first_joints(tree, link + 1, own),
    )  # fmt: skip


def _half_sizes(obstacle: Obstacle) -> tuple[float, float, float]:
    size = obstacle.size
    if obstacle.kind == "box":
        return 0.5 * size[0], 0.5 * size[1], 0.5 * size[2]
    radius = size[0] if size else 0.0
    return radius, 0.0, 0.5 * size[1] if len(size) > 1 else 0.0


def _with_first_joints(tree: Tree, row: Ints, own: Ints) -> Ints:
    """Add to each pair of capsules the rows just below their links' common ancestor."""
    result = np.zeros((len(own), 4), np.int64)
    for k, (i, j) in enumerate(own):
        paths = []
        for at in (int(row[i]), int(row[j])):
            path = [at]
            while path[-1] > 0:
                path.append(int(tree.parent[path[-1] - 1]))
            paths.append(path[::-1])
        common = 0
        while common < min(map(len, paths)) and paths[0][common] == paths[1][common]:
            common += 1
        result[k] = i, j, *(path[common] if len(path) > common else 0 for path in paths)
    return result


def _build_keys(moving: Sequence[Obstacle]) -> Keys:
    first, rows = [0], []
    for x in moving:
        path = x.path
        assert path is not None
        R = path.rotations
        if R is None:
            R = np.broadcast_to(np.asarray(x.rotation), (len(path.times), 3, 3))
        axis, angle = _turns(np.asarray(R))
        reach = ball_radius(x.kind, x.size, x.triangles)
        step = np.linalg.norm(np.diff(path.positions, axis=0), axis=1)
        turned = angle[:-1] * reach if angle.any() else 0.0  # a half-space has no reach
        travel = np.concatenate([[0.0], np.cumsum(step + turned)])
        rows.append((path.times, path.positions, R, axis, angle, travel))
        first.append(first[-1] + len(path.times))
    empty = (
        np.zeros(0),
        np.zeros((0, 3)),
        np.zeros((0, 3, 3)),
        np.zeros((0, 3)),
        *[np.zeros(0)] * 2,
    )
    columns = [np.concatenate([start, *parts]) for start, *parts in zip(empty, *rows, strict=True)]
    return Keys(np.array(first, np.int64), *columns)


def _turns(R: Floats) -> tuple[Floats, Floats]:
    """Axis and angle from each rotation to the next, in the axes of the former; 0 at the end."""
    from scipy.spatial.transform import Rotation

    axis, angle = np.zeros((len(R), 3)), np.zeros(len(R))
    axis[:, 2] = 1.0
    vectors = Rotation.from_matrix(R[:-1].transpose(0, 2, 1) @ R[1:]).as_rotvec()
    angle[:-1] = np.linalg.norm(vectors, axis=1)
    turning = np.flatnonzero(angle)
    axis[turning] = vectors[turning] / angle[turning, None]
    return axis, angle
