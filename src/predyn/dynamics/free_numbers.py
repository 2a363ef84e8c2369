"""Numbers of a model that follow free parameters, updated in place in the trees of kernels.

All numbers that a parameter may stand for (rows of the inertia, placements of joints and frames,
springs, friction, payloads, forces) are affine in the parameters: theta = theta_0 + D x. What the
kernels read follows from theta: payloads add to the inertia of their link at the present place of
their frame, and inertia moves to the centre of mass.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from predyn.dynamics.system import Payload
from predyn.kernels.tree import Tree, inertia_in_joint_frames
from predyn.model import Model
from predyn.model.parts import inertia_matrix, move_inertia, pack_inertia

Floats = NDArray[np.float64]
AXES = "xyz"
INERTIA = ("mass", *(f"first_moment.{x}" for x in AXES)) + tuple(
    f"inertia.{x}" for x in ("xx", "xy", "yy", "xz", "yz", "zz")
)  # in the order of the rows of model.inertia
PER_JOINT = ("stiffness", "rest", "damping", "coulomb", "armature")
PLACING = ("length", "origin")


class FreeNumber(NamedTuple):
    """A number of the model or of its loads, and the parameter whose value it takes."""

    kind: str  # as in problem/quantities.py
    owner: int  # number of the link, joint, payload or force
    parameter: int


class ModelParameters(NamedTuple):
    """The parameters that act on the model in a phase."""

    model: Model  # without payloads
    payloads: tuple[Payload, ...]
    forces: int  # how many
    free: tuple[FreeNumber, ...]
    components: tuple[int, ...]  # of the parameters in the states
    sizes: tuple[float, ...]  # typical sizes of the parameters

    def families(self, parameter: int) -> set[str]:
        """How values depend on a parameter: linear in "load" numbers and in "rest" positions if
        all others stay, quadratic in placements ("place").
        """
        kinds = (x.kind.split(".")[0] for x in self.free if x.parameter == parameter)
        return {"place" if k in PLACING else "rest" if k == "rest" else "load" for k in kinds}


class PointOn(NamedTuple):
    """A point that moves with a frame: where kernels read it."""

    frame: str
    offset: ArrayLike  # (3,) in the axes of the frame
    place: Floats  # (3,) in the joint frame of its link, updated in place


class FreeNumbers:
    """The free numbers in the trees, points and load values of one channel.

    load_values (chunks, 6 forces, WIDTH): moment and force of each external force.
    """

    def __init__(
        self,
        given: ModelParameters,
        trees: Sequence[Tree],
        points: Sequence[PointOn],
        load_values: Floats,
    ) -> None:
        self._trees, self._load_values = trees, load_values
        model, self._payloads = given.model, [_Unit(x, model=given.model) for x in given.payloads]
        self._frames = {frame.name: k for k, frame in enumerate(model.frames)}
        self._lay_out(model, given)
        self._now: tuple[float, ...] | None = None
        moves, tree = self._moves, trees[0]
        self._joints = [name for name in PER_JOINT if moves(name).any()]
        self._armature = tree.armature - model.expanded.armature  # rotors
        links = np.array(moves("inertia").any(axis=1))
        for k, unit in enumerate(self._payloads):
            links[unit.link] |= moves("payload")[k] | self._displaced(unit.frame)
        self._links = np.flatnonzero(links)
        self._A = tree.link[self._links].transpose(0, 2, 1)
        self._placed = bool(moves("p").any())
        self._points = [x for x in points if self._displaced(x.frame)]
        self._anchors = [(model.frame(x.frame), np.asarray(x.offset, float)) for x in self._points]
        self._forces = np.flatnonzero(moves("forces").reshape(-1)[: load_values.shape[1]])
        tree.body[self._links] = 1
        for name in ("stiffness", "damping", "coulomb", "armature"):
            tree.loaded[moves(name)] = 1
        parent = tree.parent - 1
        world = (parent < 0)[:, None, None]
        self._to_parent = np.where(world, np.eye(3), tree.link[parent])

    def _lay_out(self, model: Model, given: ModelParameters) -> None:
        """theta_0 and D, with views of theta by name."""
        frames = np.array([frame.p for frame in model.frames]).reshape(-1, 3)
        parts: dict[str, NDArray] = {
            "inertia": model.inertia,
            "p": model.p,
            "frames": frames,
            **{name: getattr(model.expanded, name) for name in PER_JOINT},
            "payload": np.array([load.mass for load in given.payloads], float),
            "forces": np.zeros((given.forces, 2, 3)),
        }
        self._theta = np.concatenate([x.ravel() for x in parts.values()])
        count = len(given.components)
        self._D = np.zeros((len(self._theta), count))
        self._view, self._rows = {}, {}
        first = 0
        for name, x in parts.items():
            here = slice(first, first := first + x.size)
            self._view[name] = self._theta[here].reshape(x.shape)
            self._rows[name] = self._D[here].reshape(*x.shape, count)
        masses_first = sorted(given.free, key=lambda x: x.kind != "mass")
        for free in masses_first:  # numbers that are parameters do not scale with the mass
            for name, at, slope in self._effects(model, free):
                self._view[name][at] = 0.0
                self._rows[name][at] = 0.0
                self._rows[name][at][..., free.parameter] = slope
        self._theta_0 = self._theta.copy()

    def _effects(
        self, model: Model, free: FreeNumber
    ) -> list[tuple[str, tuple[int, ...], ArrayLike]]:
        """Places in theta that a number determines, and their slopes."""
        kind, _, axis = free.kind.partition(".")
        i = free.owner
        if kind == "mass":  # centre of mass and radii of gyration stay
            return [("inertia", (i,), model.inertia[i] / model.inertia[i, 0])]
        if free.kind in INERTIA:
            return [("inertia", (i, INERTIA.index(free.kind)), 1.0)]
        if kind == "origin":
            return [("p", (i, AXES.index(axis)), 1.0)]
        if kind == "length":
            name = model.link_names[i]
            length = 2.0 * max(float(np.linalg.norm(x)) for x in (*model.p, *self._view["frames"]))
            longer = model.with_length(name, length)
            found: list[tuple[str, tuple[int, ...], ArrayLike]] = []
            for j in np.flatnonzero((longer.p != model.p).any(axis=1)):
                found.append(("p", (int(j),), longer.p[j] / length))
            for k, (old, new) in enumerate(zip(model.frames, longer.frames, strict=True)):
                if (old.p != new.p).any():
                    found.append(("frames", (k,), new.p / length))
            return found
        if kind in ("moment", "force"):
            return [("forces", (i, int(kind == "force"), AXES.index(axis)), 1.0)]
        return [(kind, (i,), 1.0)]  # of a joint or a payload

    def _moves(self, name: str) -> NDArray[np.bool_]:
        """Which numbers of a part of theta depend on parameters."""
        return np.asarray(self._rows[name].any(axis=-1))

    def _displaced(self, frame: str) -> bool:
        k = self._frames.get(frame)
        return k is not None and bool(self._moves("frames")[k].any())

    def set(self, x: tuple[float, ...]) -> None:
        """Update what the kernels read to these values of the parameters."""
        if x == self._now:
            return
        self._now, view, tree = x, self._view, self._trees[0]
        np.add(self._theta_0, self._D @ np.array(x), out=self._theta)
        for name in self._joints:
            getattr(tree, name)[:] = view[name]
            if name == "armature":
                tree.armature[:] += self._armature
        if len(self._links):
            self._set_inertia(tree)
        if self._placed:
            near, placed = self._trees[0].p, self._trees[1].p
            np.einsum("nij,nj->ni", self._to_parent, view["p"], out=placed)
            near[:] = placed
            near[tree.parent == 0] -= placed[0]
        for point, (frame, offset) in zip(self._points, self._anchors, strict=True):
            p = view["frames"][self._frames[frame.name]]
            point.place[:] = tree.link[frame.link] @ (p + frame.R @ offset)
        values = view["forces"].reshape(-1)
        for k in self._forces:
            self._load_values[:, k] = values[k]

    def _set_inertia(self, tree: Tree) -> None:
        rows, links = self._view["inertia"].copy(), self._links
        for mass, load in zip(self._view["payload"], self._payloads, strict=True):
            k = self._frames.get(load.frame)
            p = load.p if k is None else self._view["frames"][k]
            rows[load.link] += mass * move_inertia(load.row, load.R, p)
        found = inertia_in_joint_frames(rows[links], self._A)
        tree.mass[links], tree.com[links], tree.Ic[links] = found


class _Unit:
    """A payload with a mass of 1 kg."""

    def __init__(self, load: Payload, model: Model) -> None:
        frame = model.frame(load.link)
        inertia = inertia_matrix(load.inertia, "payload inertia")
        if load.mass > 0.0:  # it scales with the mass
            inertia = inertia / load.mass
        self.frame, self.link, self.R, self.p = frame.name, frame.link, frame.R, frame.p
        self.row = pack_inertia(1.0, np.asarray(load.point, float), inertia)
