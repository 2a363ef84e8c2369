"""Channels of coupled models: those of the tree, chained to the coordinates.

States of the tree's joints follow from those of the coordinates (dynamics/expansion.py; A, B, C, D,
E, f'' and f''' are named there). First partials in a coordinate are sums over the joints j that
follow it,

    d/dq = A_j d/dq_j + B_j d/dv_j + C_j d/da_j     d/dv = A_j d/dv_j + 2 B_j d/da_j
    d/da = A_j d/da_j

and second partials likewise, with the first partials times f'', D and E added on the diagonal.
Forces of the joints become forces of the coordinates, tau = sum of A_k tau_k, where A_k depends on
q: their first partials also hold f''_k tau_k, and the second partials of weights . tau the products
f''_k d tau_k and f'''_k tau_k.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from predyn.channels.derived import Depends, Derived, Ints, States, derived_channel
from predyn.channels.parametric import Parametric
from predyn.dynamics.chain_kernels import (
    AHEAD,
    BEHIND,
    OWN,
    SAME,
    add_bends,
    add_forces,
    add_turns,
    chain_first,
    chain_second,
)
from predyn.dynamics.expansion import A, expand, expansion_of
from predyn.dynamics.free_numbers import PER_JOINT, ModelParameters
from predyn.dynamics.hybrid_reduced import Reduced
from predyn.errors import InputError
from predyn.kernels.batch import aligned
from predyn.kernels.forces import ExternalForce, UnknownForce
from predyn.kernels.lanes import WIDTH
from predyn.kernels.tree import Tree
from predyn.model import Model
from predyn.model.couplings import independent
from predyn.samples.registry import implementation

OF_JOINTS = (*PER_JOINT, "origin")


def coupled_channel(
    model: Model,
    name: str,
    states: States,
    forces: Sequence[ExternalForce],
    parameters: ModelParameters | None,
) -> Derived:
    """A channel of a coupled model by name, at the instants of the states."""
    per_joint = getattr(implementation(name)[0], "PER_JOINT", None)
    if per_joint is None:
        raise InputError(
            f"channel {name!r}: model {model.name!r:.60} has joints that follow others, which it "
            "does not support; set PER_JOINT in its module (see channels/torques.py)"
        )
    # partials that are always zero are left out in the tree's channel; here they could be zero at
    # random states only, where a curve is flat
    return Coupled(model, name, states, forces, parameters, per_joint)


class Coupled(Derived):
    """A channel in the coordinates of a coupled model.

    per_joint: whether its components are forces of the joints, which are then those of the
    coordinates
    """

    def __init__(
        self,
        model: Model,
        name: str,
        states: States,
        forces: Sequence[ExternalForce],
        parameters: ModelParameters | None,
        per_joint: bool,
    ) -> None:
        self._n, self._links = model.n, len(model.parent)
        self._states, self._per_joint = states, per_joint
        chunks, count = len(states[0]), states[0].shape[1] + self._links - self._n
        self._full: States = tuple(aligned(chunks, count, WIDTH) for _ in range(3))  # type: ignore[assignment]
        for x in self._full:
            x[:] = 0.0
        self._slopes = np.zeros((7, chunks, count, WIDTH))
        self._slopes[A] = 1.0
        self._functions, _, bent = expansion_of(model)
        self._bent = np.append(bent, np.zeros(count - self._links, bool))
        more = np.arange(self._n, states[0].shape[1])
        self._place = np.append(self._functions.source, more)  # coordinate of each joint
        inner = self.inner = derived_channel(
            model.expanded,
            name,
            self._full,
            [self._shifted(force) for force in forces],
            None if parameters is None else self._in_tree(model, parameters),
        )
        self.value, self.weights = inner.value, inner.weights
        if per_joint:
            self.value, self.weights = (aligned(chunks, self._n, WIDTH) for _ in range(2))
        self._lay_out_first(chunks)
        self._lay_out_second(chunks)
        self._is_derived = False

    def _shifted(self, force: ExternalForce) -> ExternalForce:
        """A force whose unknown components follow the joints of the tree."""
        if not isinstance(force, UnknownForce):
            return force
        more = self._links - self._n
        moment, vector = (tuple(k + more for k in x) for x in (force.moment_at, force.force_at))
        return replace(force, moment_at=moment, force_at=vector)

    def _in_tree(self, model: Model, given: ModelParameters) -> ModelParameters:
        """The parameters, with joints and components numbered as in the tree."""
        at = independent(model)
        free = tuple(
            x._replace(owner=int(at[x.owner])) if x.kind.partition(".")[0] in OF_JOINTS else x
            for x in given.free
        )
        more = self._links - self._n
        return given._replace(free=free, components=tuple(k + more for k in given.components))

    # -- which numbers go where -------------------------------------------------------------------

    def _inner_components(self, component: int) -> list[int]:
        """The components of the tree's channel that a component is the sum of."""
        if not self._per_joint:
            return [component]
        return np.flatnonzero(self._functions.source == component).tolist()

    def _lay_out_first(self, chunks: int) -> None:
        """Columns of first partials, and which of the tree's partials they are sums of."""
        columns = [0, 0, 0]
        table, own = [], []
        self.depends: Depends = []
        for component in range(self.value.shape[1]):
            at: dict[int, list[int]] = {}
            parts = [
                (k, *entry)
                for k in self._inner_components(component)
                for entry in self.inner.depends[k]
            ]
            for _, j, *given in parts:
                mine = at.setdefault(int(self._place[j]), [-1, -1, -1])
                for order in range(3):
                    # slower orders see the faster ones through curves
                    seen = given[order:] if self._bent[j] else given[order : order + 1]
                    if mine[order] < 0 and max(seen) >= 0:
                        mine[order] = columns[order]
                        columns[order] += 1
            if self._per_joint:
                for k in self._inner_components(component):
                    if self._bent[k]:
                        mine = at.setdefault(component, [-1, -1, -1])
                        if mine[0] < 0:
                            mine[0] = columns[0]
                            columns[0] += 1
                        own.append((k, mine[0]))
            for k, j, *given in parts:
                factor = k if self._per_joint else -1
                table.append((factor, j, *given, *at[int(self._place[j])]))
            self.depends.append([(j, q, v, a) for j, (q, v, a) in sorted(at.items())])
        self._first = _table(table, 8)
        self._own = _table(own, 2)
        self.dq, self.dv, self.da = (aligned(chunks, x, WIDTH) for x in columns)

    def _lay_out_second(self, chunks: int) -> None:
        """Pairs of coordinates, and which of the tree's second partials they are sums of."""
        inner, place = self.inner, self._place
        wanted = [(place[i], place[j]) for i, j in inner.pairs.tolist()]
        bends, turns = [], []
        for k, entries in enumerate(inner.depends):
            for j, *columns in entries:
                if self._bent[j]:
                    bends.append((k, j, *columns))
                    wanted.append((place[j], place[j]))
                if self._per_joint and self._bent[k]:
                    turns.append((k, j, *columns))
                    wanted.append((place[k], place[j]))
            if self._per_joint and self._bent[k]:
                wanted.append((place[k], place[k]))
        found = sorted({(int(max(x)), int(min(x))) for x in wanted})
        number = {pair: k for k, pair in enumerate(found)}

        def pair_of(i: int, j: int) -> int:
            s, t = int(place[i]), int(place[j])
            return number[max(s, t), min(s, t)]

        def form(i: int, j: int) -> int:
            if place[i] == place[j]:
                return OWN if i == j else SAME
            return AHEAD if place[i] > place[j] else BEHIND

        pairs = [(i, j, pair_of(i, j), form(i, j)) for i, j in inner.pairs.tolist()]
        self._pairs = _table(pairs, 4)
        self._bends = _table([(*x, pair_of(x[1], x[1])) for x in bends], 6)
        self._turns = _table([(*x, pair_of(*x[:2]), form(*x[:2])) for x in turns], 7)
        of_torque = range(self._links) if self._per_joint else ()
        self._thirds = _table([(k, pair_of(k, k)) for k in of_torque if self._bent[k]], 2)
        self.pairs = _table(found, 2)
        count = len(found)
        self.curvature = tuple(aligned(chunks, m * count, WIDTH) for m in (1, 2, 1, 2))

    # -- evaluation -------------------------------------------------------------------------------

    def _expand(self) -> None:
        expand(self._functions, *self._states, *self._full, self._slopes)
        self._copy_more()

    def _copy_more(self) -> None:
        """Copy the components that are not joints."""
        for mine, given in zip(self._full, self._states, strict=True):
            mine[:, self._links :] = given[:, self._n :]

    def install(self) -> None:
        """Set the numbers of the tree to the present values of the parameters, if any."""
        if isinstance(self.inner, Parametric):
            self._copy_more()
            self.inner.install()

    def reduced(self, tree: Tree) -> Reduced:
        """What hybrid dynamics reads and writes, for torques: the arrays of this channel."""
        arrays = (self._full, self._slopes, self._slopes[A], self.inner.value)
        return Reduced(tree, self._functions, *arrays)

    def _sum_forces(self) -> None:
        if self._per_joint:
            add_forces(self._functions.source, self._slopes, self.inner.value, self.value)

    def evaluate(self) -> None:
        self._is_derived = False
        self._expand()
        self.inner.evaluate()
        self._sum_forces()

    def derive(self) -> None:
        self._expand()
        self.inner.derive()
        self._sum_forces()
        inner = (self.inner.value, self.inner.dq, self.inner.dv, self.inner.da)
        chain_first(self._first, self._own, self._slopes, inner, (self.dq, self.dv, self.da))
        self._is_derived = True

    def curve(self) -> None:
        if not self._is_derived:
            self.derive()
        inner = self.inner
        if self._per_joint:
            source = self._functions.source
            inner.weights[:] = self.weights[:, source] * self._slopes[A, :, : self._links]
        inner.curve()
        chain_second(self._pairs, self._slopes, inner.curvature, self.curvature)
        partials = (inner.dq, inner.dv, inner.da)
        add_bends(self._bends, self._slopes, inner.weights, partials, self.curvature)
        if self._per_joint:
            given = (self.weights, inner.value)
            tables = (self._turns, self._thirds, self._functions.source)
            add_turns(tables, self._slopes, given, partials, self.curvature)


def _table(rows: Sequence[tuple], columns: int) -> Ints:
    return np.array(rows, np.int64).reshape(-1, columns)
