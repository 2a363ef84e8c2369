"""A channel of a model whose numbers depend on free parameters.

Torques, reactions, momenta and motions of frames are polynomials in the numbers of the model:
linear in masses, first moments, inertia, springs, friction and loads, linear in rest positions, at
most quadratic in placements. Differences of polynomials over steps of any length are exact if they
have enough points, so that the partials here are accurate to rounding errors: they compare the
channel's own values and first partials at the present model with those at a few distant ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import combinations_with_replacement, pairwise

import numpy as np
from numpy.typing import NDArray

from predyn.channels.derived import Derived, Floats, Ints, States
from predyn.dynamics.free_numbers import FreeNumbers, ModelParameters
from predyn.errors import InputError
from predyn.kernels.batch import aligned
from predyn.kernels.lanes import WIDTH
from predyn.model import Model
from predyn.model.coupled import changed

# d/dx of a polynomial by its degree: (offset in steps, weight), for a step of 1. Masses only grow:
# where one and that of a payload added up to zero, there would be no centre of mass.
FIRST = {
    1: ((0, -1.0), (1, 1.0)),
    2: ((-1, -0.5), (1, 0.5)),
    3: ((0, -11 / 6), (1, 3.0), (2, -1.5), (3, 1 / 3)),
}
SECOND = {
    2: ((-1, 1.0), (0, -2.0), (1, 1.0)),
    3: ((0, 2.0), (1, -5.0), (2, 4.0), (3, -1.0)),
}
# to find out what is zero: in an order in which equal values cancel exactly, and without offset 0,
# whose values come from another kernel and differ by rounding
WHETHER = {
    1: FIRST[2],
    2: FIRST[2],
    3: ((-1, -8 / 12), (1, 8 / 12), (-2, 1 / 12), (2, -1 / 12)),
}
SEPARATE = ({"load"}, {"rest"})  # families in which values are linear jointly


class Parametric(Derived):
    """A channel with columns and pairs for the parameters, after those it has without them.

    own    the channel at the present model
    probe  another instance, for the models in comparison
    """

    def __init__(
        self, name: str, own: Derived, probe: Derived, states: States, parameters: ModelParameters
    ) -> None:
        if not (hasattr(own, "trees") and hasattr(probe, "trees")):
            raise InputError(
                f"channel {name!r}: it does not support parameters that stand for numbers of the "
                "model; set its trees, points and load_values (see channels/derived.py)"
            )
        self.own, self._probe, self._states = own, probe, states
        self._numbers, self._others = (
            FreeNumbers(parameters, x.trees, x.points, x.load_values) for x in (own, probe)
        )
        self._at, self._sizes = list(parameters.components), np.array(parameters.sizes)
        count = len(self._at)
        self._families = [parameters.families(k) for k in range(count)]
        # of the polynomial in one parameter
        self._degrees = [3 if len(x) > 1 else 2 if "place" in x else 1 for x in self._families]
        self._stencils = [WHETHER[degree] for degree in self._degrees]
        self.value, self.weights = own.value, own.weights
        chunks, inputs, outputs = len(own.dq), own.dq.shape[1], own.value.shape[1]
        self.dq, self.dv, self.da = aligned(chunks, inputs + count * outputs, WIDTH), own.dv, own.da
        self.depends = [
            [*joints, *((c, inputs + k * outputs + x, -1, -1) for k, c in enumerate(self._at))]
            for x, joints in enumerate(own.depends)
        ]
        self._moved = [np.arange(outputs)] * count  # outputs that each parameter acts on
        self.pairs, self.curvature = own.pairs, own.curvature

    def _present(self) -> tuple[Floats, Floats]:
        """Values of the parameters, which are the same at all instants, and steps."""
        x = self._states[0][0, self._at, 0]
        return x, np.maximum(np.abs(x), self._sizes)

    def install(self) -> None:
        """Set the numbers of the model to the present values of the parameters."""
        self._numbers.set(tuple(self._present()[0].tolist()))

    def _compare(self, x: Floats, steps: Floats, offsets: dict[int, int]) -> None:
        """Set the numbers of the probe: values x, some of them moved by whole steps."""
        x = x.copy()
        for k, offset in offsets.items():
            x[k] += offset * steps[k]
        self._others.set(tuple(x.tolist()))

    def evaluate(self) -> None:
        self.install()
        self.own.evaluate()

    def derive(self) -> None:
        self.install()
        self.own.derive()
        first, outputs = self.own.dq.shape[1], self.value.shape[1]
        self.dq[:, :first] = self.own.dq
        for k, on in enumerate(self._moved):
            if len(on):
                slopes = self._slope(k, self._probe.evaluate, partial(_outputs, on))
                self.dq[:, first + k * outputs + on] = slopes

    def _slope(
        self, k: int, update: Callable[[], None], read: Callable[[Derived], Floats]
    ) -> Floats:
        """d/d(parameter k) of what is read from the channel; update: computes it for the probe."""
        x, steps = self._present()
        parts = []
        for offset, weight in self._stencils[k]:
            if offset:
                self._compare(x, steps, {k: offset})
                update()
            parts.append(weight / steps[k] * read(self._probe if offset else self.own))
        total: Floats = sum(parts[1:], parts[0])
        return total

    # -- second partials ------------------------------------------------------------------------

    def leave_out_zeros(self, states: States) -> None:
        """Remove partials that are zero in every state and for all values of the parameters."""
        super().leave_out_zeros(states)
        acting = [
            {component for component, *_ in joints} & set(self._at) for joints in self.depends
        ]
        self._moved = [np.array([x for x, on in enumerate(acting) if c in on]) for c in self._at]
        self._lengthen_steps()
        entries = [
            (order, component, x, column)
            for x, joints in enumerate(self.own.depends)
            for component, *columns in joints
            for order, column in enumerate(columns)
            if column >= 0
        ]
        every = _Mixed(sorted(entries))
        pairs, self._mixed = [self.own.pairs], []
        count = len(self.own.pairs)
        for k, component in enumerate(self._at):
            slopes = self._slope(k, self._probe.derive, every.read)
            chosen = every.part(np.any(slopes, axis=(0, 2)))
            partners = np.unique(chosen.components)
            chosen.pairs = count + np.searchsorted(partners, chosen.components)
            pairs.append(np.stack([np.full_like(partners, component), partners], axis=1))
            count += len(partners)
            self._mixed.append(chosen)
        self._stencils = [FIRST[degree] for degree in self._degrees]
        self._products = self._list_products()
        both = [(self._at[a], self._at[b]) for a, b in self._products]
        self.pairs = np.concatenate([*pairs, np.array(both, np.int64).reshape(-1, 2)])
        chunks, count = len(self.dq), len(self.pairs)
        self.curvature = tuple(aligned(chunks, m * count, WIDTH) for m in (1, 2, 1, 2))
        for x in self.curvature:
            x[:] = 0.0

    def _lengthen_steps(self) -> None:
        """Make steps of linear parameters as long as the channel is large, against rounding."""
        first, outputs = self.own.dq.shape[1], self.value.shape[1]
        for k, on in enumerate(self._moved):
            if self._degrees[k] == 1 and len(on):
                slope = np.abs(self.dq[:, first + k * outputs + on]).max()
                size = np.abs(self.value[:, on]).max()
                self._sizes[k] = max(self._sizes[k], float(size / slope))

    @property
    def varies(self) -> bool:
        """Whether any parameter acts on the channel; call leave_out_zeros first."""
        return any(len(on) for on in self._moved)

    def _list_products(self) -> list[tuple[int, int]]:
        """Pairs of parameters, the first not before the second, with a second partial."""
        found = []
        acting = [k for k, on in enumerate(self._moved) if len(on)]
        for b, a in combinations_with_replacement(acting, 2):
            joint = self._families[a] | self._families[b]
            if self._degrees[a] > 1 if a == b else joint not in SEPARATE:
                found.append((a, b))
        return found

    def curve(self) -> None:
        self.own.curve()
        for mine, own in zip(self.curvature, self.own.curvature, strict=True):
            mine[:, : own.shape[1]] = own
        qq, qv, _, qa = self.curvature
        for k, mixed in enumerate(self._mixed):
            if len(mixed.pairs):
                slopes = self._slope(k, self._probe.derive, mixed.read)
                mixed.put(mixed.sums(self.weights, slopes), qq, qv, qa)
        first = len(self.pairs) - len(self._products)
        for pair, (a, b) in enumerate(self._products, start=first):
            qq[:, pair] = self._product(a, b)

    def _product(self, a: int, b: int) -> Floats:
        """(chunks, WIDTH): the second partial of weights . value in two parameters."""
        x, steps = self._present()
        one, other = FIRST[self._degrees[a]], FIRST[self._degrees[b]]
        if a == b:
            terms = [({a: i}, u) for i, u in SECOND[self._degrees[a]]]
        else:
            terms = [({a: i, b: j}, u * v) for i, u in one for j, v in other]
        total: Floats = np.zeros((len(self.value), WIDTH))
        for offsets, weight in terms:
            value = self.value
            if any(offsets.values()):
                self._compare(x, steps, offsets)
                self._probe.evaluate()
                value = self._probe.value
            weight /= steps[a] * steps[b]
            total += weight * np.einsum("cxw,cxw->cw", self.weights, value)
        return total


def twin(model: Model) -> Model:
    """A copy of a model, not checked again, with trees of its own whose numbers may change."""
    return changed(model)


def _outputs(chosen: Ints, channel: Derived) -> Floats:
    return channel.value[:, chosen]


class _Mixed:
    """Second partials in a parameter and the states, from first partials of the channel.

    entries: (order, component, output, column of dq, dv or da), sorted
    """

    def __init__(self, entries: Sequence[tuple[int, int, int, int]]) -> None:
        self._entries = entries
        table = np.array(entries, np.int64).reshape(-1, 4)
        order, self._outputs = table[:, 0], table[:, 2]
        self._columns = [table[order == o, 3] for o in range(3)]
        sums, self._start = np.unique(table[:, :2], axis=0, return_index=True)
        self.components = sums[:, 1]  # one for each sum; sums of one order follow each other
        ends = np.searchsorted(sums[:, 0], range(4))
        self._of_order = [slice(a, b) for a, b in pairwise(ends)]
        self.pairs: Ints = np.zeros(0, np.int64)  # places of the sums

    def part(self, chosen: NDArray[np.bool_]) -> _Mixed:
        return _Mixed([x for x, on in zip(self._entries, chosen, strict=True) if on])

    def read(self, channel: Derived) -> Floats:
        """(chunks, entries, WIDTH): first partials."""
        q, v, a = self._columns
        parts = (channel.dq[:, q], channel.dv[:, v], channel.da[:, a])
        return np.concatenate(parts, axis=1)

    def sums(self, weights: Floats, slopes: Floats) -> Floats:
        """(chunks, sums, WIDTH): sums over the outputs."""
        sums: Floats = np.add.reduceat(weights[:, self._outputs] * slopes, self._start, axis=1)
        return sums

    def put(self, sums: Floats, qq: Floats, qv: Floats, qa: Floats) -> None:
        """Write the sums to their pairs; the parameter is the first of a pair."""
        q, v, a = self._of_order
        qq[:, self.pairs[q]] = sums[:, q]
        qv[:, 2 * self.pairs[v] + 1] = sums[:, v]
        qa[:, 2 * self.pairs[a] + 1] = sums[:, a]
