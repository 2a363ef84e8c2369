"""Residuals on pairs of instants, as rows that depend on one instant each.

Residuals that are linear in both instants are the sum of two halves. Others are lifted: rows
`channel(first) - y = 0` set parameters y to the values at the first instant, and the residual
depends on y and the second instant.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from predyn.problem import Constraint, Parameter, Problem
from predyn.problem.offers import offer_in
from predyn.samples import Offer, Samples, split_side
from predyn.terms.sums import SumTerm
from predyn.terms.term import Residual

Component = tuple[str, int]


@dataclass(eq=False)
class Lift:
    """A constraint on a pair of instants: the start of phase `first`, which is lifted, and the end
    of phase `last`.
    """

    constraint: Constraint
    first: int
    last: int
    residual: Residual
    components: tuple[Component, ...]  # of channels at the first instant
    parameters: tuple[Parameter, ...]  # one for each
    sizes: dict[str, int]  # number of components of these channels

    def is_of(self, constraint: Constraint, first: int, last: int) -> bool:
        """Whether this lifts the given constraint between the given phases."""
        return self.constraint is constraint and (self.first, self.last) == (first, last)


def find_lifts(problem: Problem) -> list[Lift]:
    """Lift all constraints of a problem that are nonlinear in a pair of instants."""
    lifts: list[Lift] = []
    whole = [(constraint, 0, len(problem.phases) - 1) for constraint in problem.constraints]
    parts = [(c, p, p) for p, phase in enumerate(problem.phases) for c in phase.constraints]
    for constraint, first, last in (*whole, *parts):
        if not constraint.term.pairs or isinstance(constraint.term, SumTerm):
            continue
        offer = offer_in(problem, last, anywhere=True)
        residual = constraint.term.bind_to(offer)
        if residual.constant:
            continue
        sides = [(*split_side(channel), x) for _, channel, x in residual.entries]
        components = tuple(dict.fromkeys((name, x) for side, name, x in sides if side == 0))
        label = f"{constraint.term.kind} {len(lifts) + 1}"
        parameters = tuple(
            Parameter(f"{label} {name} {x}", -np.inf, np.inf, 0.0) for name, x in components
        )
        sizes = {name: offer.size(name) for name, _ in components}
        lifts.append(Lift(constraint, first, last, residual, components, parameters, sizes))
    return lifts


class Half(Residual):
    """The part of a linear residual that depends on one side of a pair."""

    constant = True

    def __init__(self, residual: Residual, side: int, offer: Offer) -> None:
        self.rows, self.units, self.scale = residual.rows, residual.units, residual.scale
        zeros = Samples({c: np.zeros((offer.size(c), 1)) for c in residual.channels})
        coefficients = np.empty((len(residual.entries), 1))
        residual.partials(zeros, coefficients)
        here = [
            (k, (r, name, x))
            for k, (r, channel, x) in enumerate(residual.entries)
            for own, name in (split_side(channel),)
            if own == side
        ]
        self.entries = tuple(entry for _, entry in here)
        self._coefficients = coefficients[[k for k, _ in here], 0]
        self._offset = np.zeros((len(self.rows), 1))
        if side == 0:
            residual.value(zeros, self._offset)

    def value(self, s: Samples, out: NDArray) -> None:
        out[:] = self._offset.reshape(-1, *(1,) * (out.ndim - 1))
        for (r, channel, x), factor in zip(self.entries, self._coefficients, strict=True):
            out[r] += factor * s[channel][x]

    def partials(self, s: Samples, out: NDArray) -> None:
        out[:] = self._coefficients.reshape(-1, *(1,) * (out.ndim - 1))


class Copies(Residual):
    """Channel components minus the parameters that are set to their values."""

    constant = True

    def __init__(self, lift: Lift) -> None:
        self.rows = tuple(f"{name} {x}" for name, x in lift.components)
        self.units, self.scale = ("1",) * len(self.rows), np.ones(len(self.rows))
        self._names = tuple(f"parameter:{parameter.name}" for parameter in lift.parameters)
        self._components = lift.components
        self.entries = tuple(
            entry
            for k, (name, x) in enumerate(lift.components)
            for entry in ((k, name, x), (k, self._names[k], 0))
        )

    def value(self, s: Samples, out: NDArray) -> None:
        for k, (name, x) in enumerate(self._components):
            np.subtract(s[name][x], s[self._names[k]][0], out=out[k])

    def partials(self, s: Samples, out: NDArray) -> None:
        out[0::2], out[1::2] = 1.0, -1.0


class Lifted(Residual):
    """A residual on a pair that depends on parameters in place of its first instant."""

    def __init__(self, lift: Lift) -> None:
        residual = self._residual = lift.residual
        self.rows, self.units, self.scale = residual.rows, residual.units, residual.scale
        self.exact, self.lower, self.upper = residual.exact, residual.lower, residual.upper
        self._names = {
            component: f"parameter:{parameter.name}"
            for component, parameter in zip(lift.components, lift.parameters, strict=True)
        }
        self.entries = tuple((r, *self._now(channel, x)) for r, channel, x in residual.entries)
        self.curved = tuple((*self._now(a, x), *self._now(b, y)) for a, x, b, y in residual.curved)
        self._sizes = lift.sizes

    def _now(self, channel: str, x: int) -> Component:
        side, name = split_side(channel)
        return (name, x) if side == 1 else (self._names[name, x], 0)

    def _pair(self, s: Samples) -> Samples:
        channels: dict[str, NDArray] = {}
        for channel in self._residual.channels:
            side, name = split_side(channel)
            if side == 1:
                channels[channel] = s[name]
                continue
            for (own, x), parameter in self._names.items():
                if own == name:
                    value = s[parameter][0]
                    found = channels.setdefault(
                        channel, np.zeros((self._sizes[name], *value.shape))
                    )
                    found[x] = value
        return Samples(channels)

    def value(self, s: Samples, out: NDArray) -> None:
        self._residual.value(self._pair(s), out)

    def partials(self, s: Samples, out: NDArray) -> None:
        self._residual.partials(self._pair(s), out)

    def curvature(self, s: Samples, weights: NDArray, out: NDArray) -> None:
        self._residual.curvature(self._pair(s), weights, out)
