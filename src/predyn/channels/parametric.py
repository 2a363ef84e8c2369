"""A channel of a model whose numbers depend on free parameters.

Torques, reactions, momenta and motions of frames are polynomials in the numbers of the model:
linear in masses, first moments, inertia, springs, friction and loads, linear in rest positions, at
most quadratic in placements. Differences of polynomials over steps of any length are exact if they
have enough points, so that the partials here are accurate to rounding errors: they compare the
channel's own values and first partials at the present model with those at a few distant ones.
"""

from __future__ import annotations

from dataclasses import fields
from itertools import combinations_with_replacement

import numpy as np

from predyn.channels.derived import Depends, Derived, Floats, Ints, States
from predyn.dynamics.free_numbers import FreeNumbers, ModelParameters
from predyn.errors import InputError
from predyn.kernels.batch import aligned
from predyn.kernels.lanes import WIDTH
from predyn.model import Model

# d/dx of a polynomial by its degree: (offset in steps, weight), for a step of 1
FIRST = {
    1: ((0, -1.0), (1, 1.0)),
    2: ((-1, -0.5), (1, 0.5)),
    4: ((-2, 1 / 12), (-1, -8 / 12), (1, 8 / 12), (2, -1 / 12)),
}
SECOND = {
    2: ((-1, 1.0), (0, -2.0), (1, 1.0)),
    4: ((-2, -1 / 12), (-1, 16 / 12), (0, -30 / 12), (1, 16 / 12), (2, -1 / 12)),
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
        families = [parameters.families(k) for k in range(count)]
        # of the polynomial in one parameter
        self._degrees = [4 if len(x) > 1 else 2 if "place" in x else 1 for x in families]
        self._products = [
            (a, b)
            for b, a in combinations_with_replacement(range(count), 2)
            if (self._degrees[a] > 1 if a == b else families[a] | families[b] not in SEPARATE)
        ]
        self.value, self.weights = own.value, own.weights
        chunks, inputs, outputs = len(own.dq), own.dq.shape[1], own.value.shape[1]
        self.dq, self.dv, self.da = aligned(chunks, inputs + count * outputs, WIDTH), own.dv, own.da
        self.depends = [
            [*joints, *((c, inputs + k * outputs + x, -1, -1) for k, c in enumerate(self._at))]
            for x, joints in enumerate(own.depends)
        ]
        self._sums = [_WeightedSum(own.depends, order) for order in range(3)]
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
        x, steps = self._present()
        for k, degree in enumerate(self._degrees):
            columns = self.dq[:, first + k * outputs : first + (k + 1) * outputs]
            columns[:] = 0.0
            for offset, weight in FIRST[degree]:
                columns += weight / steps[k] * self._value_at(x, steps, {k: offset})

    def _value_at(self, x: Floats, steps: Floats, offsets: dict[int, int]) -> Floats:
        """The channel with some parameters moved by whole steps."""
        if not any(offsets.values()):
            return self.value
        self._compare(x, steps, offsets)
        self._probe.evaluate()
        return self._probe.value

    # -- second partials ------------------------------------------------------------------------

    def leave_out_zeros(self, states: States) -> None:
        """Remove partials that are zero in every state and for all values of the parameters."""
        super().leave_out_zeros(states)
        self.weights[:] = np.random.default_rng(1).uniform(-2.0, 2.0, self.weights.shape)
        pairs = [self.own.pairs]
        self._mixed: list[tuple[int, int, Ints, Ints]] = []  # parameter, order, sums, their pairs
        count = len(self.own.pairs)
        for k, sums in enumerate(self._mixed_partials()):
            used = [np.flatnonzero(np.any(x, axis=(0, 2))) for x in sums]
            acting = [x.component[on] for x, on in zip(self._sums, used, strict=True)]
            partners = np.unique(np.concatenate(acting))
            for order, (on, components) in enumerate(zip(used, acting, strict=True)):
                place = count + np.searchsorted(partners, components)
                self._mixed.append((k, order, on, place))
            pairs.append(np.stack([np.full_like(partners, self._at[k]), partners], axis=1))
            count += len(partners)
        both = [(self._at[a], self._at[b]) for a, b in self._products]
        self.pairs = np.concatenate([*pairs, np.array(both, np.int64).reshape(-1, 2)])
        chunks, count = len(self.dq), len(self.pairs)
        self.curvature = tuple(aligned(chunks, m * count, WIDTH) for m in (1, 2, 1, 2))
        for x in self.curvature:
            x[:] = 0.0
        self.weights[:] = 0.0

    def curve(self) -> None:
        self.own.curve()
        for mine, own in zip(self.curvature, self.own.curvature, strict=True):
            mine[:, : own.shape[1]] = own
        qq, qv, _, qa = self.curvature
        found = self._mixed_partials()
        for k, order, on, place in self._mixed:
            if order == 0:
                qq[:, place] = found[k][0][:, on]
            else:  # in the value of a parameter and the rate of another component
                (qv if order == 1 else qa)[:, 2 * place + 1] = found[k][order][:, on]
        x, steps = self._present()
        first = len(self.pairs) - len(self._products)
        for pair, (a, b) in enumerate(self._products, start=first):
            qq[:, pair] = self._product(x, steps, a, b)

    def _mixed_partials(self) -> list[list[Floats]]:
        """For each parameter and order, the partials of weights . (partials in the states)."""
        x, steps = self._present()
        here = [sums(self.weights, self.own) for sums in self._sums]
        found = []
        for k, degree in enumerate(self._degrees):
            total = [np.zeros_like(sums) for sums in here]
            for offset, weight in FIRST[degree]:
                there = here
                if offset:
                    self._compare(x, steps, {k: offset})
                    self._probe.derive()
                    there = [sums(self.weights, self._probe) for sums in self._sums]
                for mine, part in zip(total, there, strict=True):
                    mine += weight / steps[k] * part
            found.append(total)
        return found

    def _product(self, x: Floats, steps: Floats, a: int, b: int) -> Floats:
        """(chunks, WIDTH): the second partial of weights . value in two parameters."""
        one, other = FIRST[self._degrees[a]], FIRST[self._degrees[b]]
        if a == b:
            terms = [({a: i}, u) for i, u in SECOND[self._degrees[a]]]
        else:
            terms = [({a: i, b: j}, u * v) for i, u in one for j, v in other]
        total: Floats = np.zeros((len(self.value), WIDTH))
        for offsets, weight in terms:
            value = self._value_at(x, steps, offsets)
            weight /= steps[a] * steps[b]
            total += weight * np.einsum("cxw,cxw->cw", self.weights, value)
        return total


def twin(model: Model) -> Model:
    """A copy of a model, not checked again, with trees of its own whose numbers may change."""
    copy = object.__new__(Model)
    for field in fields(Model):
        object.__setattr__(copy, field.name, getattr(model, field.name))
    return copy


class _WeightedSum:
    """weights . (partials in the states of one order), for each component that acts."""

    def __init__(self, depends: Depends, order: int) -> None:
        entries = sorted(
            (component, x, at[order])
            for x, joints in enumerate(depends)
            for component, *at in joints
            if at[order] >= 0
        )
        table = np.array(entries, np.int64).reshape(-1, 3)
        self.component, self._start = np.unique(table[:, 0], return_index=True)
        self._order, self._output, self._column = order, table[:, 1].copy(), table[:, 2].copy()

    def __call__(self, weights: Floats, channel: Derived) -> Floats:
        """(chunks, components that act, WIDTH)."""
        if not len(self._start):
            return np.zeros((len(weights), 0, WIDTH))
        partials = (channel.dq, channel.dv, channel.da)[self._order]
        products = weights[:, self._output] * partials[:, self._column]
        sums: Floats = np.add.reduceat(products, self._start, axis=1)
        return sums
