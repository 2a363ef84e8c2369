"""Derived channels: torques, reactions and frames as functions of q, v, a, in lanes.

Each has its value, its first partials in packed columns, and the second partials of a weighted
sum, packed by ancestor pairs. `depends` says, component by component, which joints act on it and
in which columns of dq, dv, da their partials are (-1: zero).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from predyn.dynamics.kinematics import FRAME_DERIVATIVES, FRAME_MOTION, target_of
from predyn.dynamics.kinematics_hessian import FRAME_HESSIAN
from predyn.dynamics.reactions import REACTIONS, REACTIONS_DERIVATIVES
from predyn.dynamics.reactions_hessian import REACTIONS_HESSIAN
from predyn.dynamics.rnea import RNEA
from predyn.dynamics.rnea_derivatives import RNEA_DERIVATIVES
from predyn.dynamics.rnea_hessian import RNEA_HESSIAN
from predyn.errors import InputError
from predyn.kernels.batch import Direct, Kernel, aligned
from predyn.kernels.forces import ExternalForce, pack_forces
from predyn.kernels.lanes import WIDTH
from predyn.kernels.tree import ancestor_pairs, tree_of, weightless_tree_of
from predyn.model import Model
from predyn.samples import FRAME_PARTS

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Depends = list[list[tuple[int, int, int, int]]]  # per component: (joint, column in dq, dv, da)


class Derived(ABC):
    """A channel that q, v and a determine, at all instants of one set."""

    value: Floats  # (chunks, components, WIDTH)
    dq: Floats  # (chunks, columns, WIDTH)
    dv: Floats
    da: Floats
    weights: Floats  # (chunks, components, WIDTH) to be filled before curve()
    depends: Depends
    curvature: tuple[Floats, ...]  # qq, qv, vv, qa, packed by ancestor pairs
    pairs: Ints  # (pairs, 2): joint below, joint above

    def leave_out_zeros(self, states: tuple[Floats, Floats, Floats]) -> None:
        """Take partials that are zero wherever the mechanism is out of `depends`."""
        rng = np.random.default_rng(0)
        for x in states:
            x[:] = rng.uniform(-2.0, 2.0, x.shape)
        states[1][..., 0] = 0.0  # dry friction acts near standstill only
        self.derive()
        there = [np.any(x, axis=(0, 2)) for x in (self.dq, self.dv, self.da)]
        for component, joints in enumerate(self.depends):
            kept = []
            for j, *at in joints:
                q, v, a = (k if k >= 0 and on[k] else -1 for k, on in zip(at, there, strict=True))
                if max(q, v, a) >= 0:
                    kept.append((j, q, v, a))
            self.depends[component] = kept

    @abstractmethod
    def evaluate(self) -> None:
        """Fill `value`."""

    @abstractmethod
    def derive(self) -> None:
        """Fill dq, dv, da (and `value` again)."""

    @abstractmethod
    def curve(self) -> None:
        """Fill `curvature` with the second partials of weights . value."""


class ChannelPart:
    """A stretch of chunks of a channel: what one set of instants sees of it."""

    def __init__(self, channel: Derived, chunks: slice) -> None:
        self.value, self.weights = channel.value[chunks], channel.weights[chunks]
        self.dq, self.dv, self.da = channel.dq[chunks], channel.dv[chunks], channel.da[chunks]
        self.curvature = tuple(x[chunks] for x in channel.curvature)
        self.depends, self.pairs = channel.depends, channel.pairs


def _room(kernel: Kernel, tree: object, chunks: int) -> tuple[Floats, ...]:
    return tuple(aligned(chunks, field.packed, WIDTH) for field in kernel.fields(tree))


def _sweep(kernel: Kernel, tree: Any, constants: Any, ins: tuple, outs: tuple) -> Direct:
    return Direct(kernel.again, tree, constants, ins, outs, aligned(*kernel.work(tree), WIDTH))


class _Dynamics(Derived):
    """Torques or reactions: kernels that take external forces."""

    def __init__(
        self,
        model: Model,
        kernels: tuple[Kernel, Kernel, Kernel],
        states: tuple[Floats, Floats, Floats],
        forces: Sequence[ExternalForce],
    ) -> None:
        self._tree = tree_of(model)
        chunks = len(states[0])
        loads, parts = pack_forces(model, self._tree, forces)
        numbers = np.concatenate([*parts, np.zeros(0)])
        values = aligned(chunks, len(numbers), WIDTH)
        values[:] = numbers[:, None]
        self.loads, self.load_values = loads, values
        self.value, self.dq, self.dv, self.da = _room(kernels[1], self._tree, chunks)
        self.curvature = _room(kernels[2], self._tree, chunks)
        self.weights = aligned(chunks, self.value.shape[1], WIDTH)
        ins, weighted = (*states, values), (*states, self.weights, values)
        outs = (self.value, self.dq, self.dv, self.da)
        self._evaluate = _sweep(kernels[0], self._tree, loads, ins, (self.value,))
        self._derive = _sweep(kernels[1], self._tree, loads, ins, outs)
        self._curve = _sweep(kernels[2], self._tree, loads, weighted, self.curvature)
        self.pairs = ancestor_pairs(self._tree)

    def evaluate(self) -> None:
        self._evaluate.run()

    def derive(self) -> None:
        self._derive.run()

    def curve(self) -> None:
        self._curve.run()


class Torques(_Dynamics):
    def __init__(
        self,
        model: Model,
        states: tuple[Floats, Floats, Floats],
        forces: Sequence[ExternalForce],
    ) -> None:
        super().__init__(model, (RNEA, RNEA_DERIVATIVES, RNEA_HESSIAN), states, forces)
        self.depends = [[] for _ in range(model.n)]
        for k, (i, j) in enumerate(self.pairs.tolist()):
            self.depends[j].append((i, 2 * k, 2 * k, k))
            if i != j:
                self.depends[i].append((j, 2 * k + 1, 2 * k + 1, k))
        rotor = self._tree.rotor
        self._rotor = np.zeros(0)
        if len(rotor):
            below, above = self.pairs.T
            self._rotor = rotor[below, above]
            inside = np.zeros((model.n, model.n), bool)
            inside[below, above] = inside[above, below] = True
            if np.any(rotor[~inside]):
                raise InputError(
                    f"model {model.name!r}: its rotor matrix couples joints on different branches; "
                    "predictions take rotors that couple joints of one chain only"
                )

    def derive(self) -> None:
        self._derive.run()
        if len(self._rotor):
            self.da += self._rotor[:, None]


class Reactions(_Dynamics):
    def __init__(
        self,
        model: Model,
        states: tuple[Floats, Floats, Floats],
        forces: Sequence[ExternalForce],
    ) -> None:
        kernels = (REACTIONS, REACTIONS_DERIVATIVES, REACTIONS_HESSIAN)
        super().__init__(model, kernels, states, forces)
        self.depends = [[] for _ in range(6 * model.n)]
        for k, (i, j) in enumerate(self.pairs.tolist()):
            for r in range(6):
                at = 12 * k + r
                self.depends[6 * i + r].append((j, at, at, at))
                if i != j:
                    self.depends[6 * j + r].append((i, at + 6, at + 6, at + 6))


class FrameChannel(Derived):
    """Pose, velocity and acceleration of a frame; see samples.FRAME_PARTS for the order."""

    def __init__(self, model: Model, states: tuple[Floats, Floats, Floats], frame: str) -> None:
        n, chunks = model.n, len(states[0])
        self._n = n
        self._tree = weightless_tree_of(model)
        target = target_of(model, frame, (0.0, 0.0, 0.0))
        self._parts = _room(FRAME_MOTION, self._tree, chunks)
        self._partials = _room(FRAME_DERIVATIVES, self._tree, chunks)
        self.curvature = _room(FRAME_HESSIAN, self._tree, chunks)
        self.value, self.weights = (aligned(chunks, 24, WIDTH) for _ in range(2))
        self._split = tuple(aligned(chunks, s.stop - s.start, WIDTH) for s in FRAME_PARTS.values())
        weighted = (*states, *self._split)
        self._move = _sweep(FRAME_MOTION, self._tree, target, states, self._parts)
        self._derive = _sweep(FRAME_DERIVATIVES, self._tree, target, states, self._partials)
        self._curve = _sweep(FRAME_HESSIAN, self._tree, target, weighted, self.curvature)
        self.dq, self.dv, self.da = (aligned(chunks, m * n, WIDTH) for m in (24, 12, 6))
        self.pairs = ancestor_pairs(self._tree)
        link = model.frame(frame).link
        carriers = []
        while link >= 0:
            carriers.append(link)
            link = int(model.parent[link])
        self.depends = []
        for x in range(24):
            in_v = (x - 12) * n if x >= 12 else -1
            in_a = (x - 18) * n if x >= 18 else -1
            self.depends.append(
                [
                    (j, x * n + j, in_v + j if x >= 12 else -1, in_a + j if x >= 18 else -1)
                    for j in sorted(carriers)
                ]
            )

    def evaluate(self) -> None:
        self._move.run()
        for part, values in zip(FRAME_PARTS.values(), self._parts, strict=True):
            self.value[:, part] = values

    def derive(self) -> None:
        self.evaluate()
        n = self._n
        self._derive.run()
        jacobian, velocity_q, acceleration_q, acceleration_v = self._partials
        turn = jacobian[:, : 3 * n].reshape(-1, 3, n, WIDTH)
        R = self._parts[0].reshape(-1, 3, 3, WIDTH)
        dR = self.dq[:, : 9 * n].reshape(-1, 3, 3, n, WIDTH)
        for r in range(3):  # each column of R turns with the link
            x, y = (r + 1) % 3, (r + 2) % 3
            dR[:, r] = turn[:, None, x] * R[:, y, :, None] - turn[:, None, y] * R[:, x, :, None]
        self.dq[:, 9 * n : 12 * n] = jacobian[:, 3 * n :]
        self.dq[:, 12 * n : 18 * n] = velocity_q
        self.dq[:, 18 * n :] = acceleration_q
        self.dv[:, : 6 * n] = jacobian
        self.dv[:, 6 * n :] = acceleration_v
        self.da[:] = jacobian

    def curve(self) -> None:
        for part, weights in zip(FRAME_PARTS.values(), self._split, strict=True):
            weights[:] = self.weights[:, part]
        self._curve.run()


def derived_channel(
    model: Model,
    name: str,
    states: tuple[Floats, Floats, Floats],
    forces: Sequence[ExternalForce],
) -> Derived:
    """The channel of that name at the instants of the states (chunks, n, WIDTH)."""
    channel: Derived
    if name == "tau":
        channel = Torques(model, states, forces)
    elif name == "reactions":
        channel = Reactions(model, states, forces)
    else:
        channel = FrameChannel(model, states, name.removeprefix("frame:"))
    channel.leave_out_zeros(states)
    return channel
