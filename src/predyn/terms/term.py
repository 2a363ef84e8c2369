"""The interface of terms: a residual of samples, its exact first and contracted second partials.

A Term is what a user writes; bound to a model it becomes a Residual, which names its rows and
declares, in one place, the channel components each row depends on. The same term serves as a cost
or as a constraint, and does not know where samples come from.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from predyn.model import Model
from predyn.samples import Offer, Samples

Entry = tuple[int, str, int]  # row, channel, component
Curved = tuple[str, int, str, int]  # channel, component, channel, component
Loss = Literal["linear", "square", "abs"]
LOSSES: tuple[Loss, ...] = ("linear", "square", "abs")


class Residual(ABC):
    """A term on one model.

    rows     name of each residual, such as "joint2" or "tip x"
    units    unit of each residual, such as "N m"
    scale    (rows,) typical size of each residual, for scaling
    entries  the first partials that may be nonzero, each (row, channel, component) once
    curved   the second partials that may be nonzero, each unordered pair once
    constant whether the first partials are the same everywhere (then curved is empty)
    exact    whether the partials are exact to rounding
    lower, upper  default bounds of a constraint; None means zero
    """

    rows: tuple[str, ...]
    units: tuple[str, ...]
    scale: NDArray[np.float64]
    entries: tuple[Entry, ...]
    curved: tuple[Curved, ...] = ()
    constant: bool = False
    exact: bool = True
    lower: NDArray[np.float64] | None = None
    upper: NDArray[np.float64] | None = None

    @abstractmethod
    def value(self, s: Samples, out: NDArray) -> None:
        """out (rows, ...)."""

    @abstractmethod
    def partials(self, s: Samples, out: NDArray) -> None:
        """out (entries, ...), in the order of `entries`."""

    def curvature(  # noqa: B027 - no-op without curved pairs
        self, s: Samples, weights: NDArray, out: NDArray
    ) -> None:
        """out (curved, ...): second partials of the sum over rows of weights * residual.

        An off-diagonal pair is d2/(dx dy), not twice that.
        """

    @cached_property
    def channels(self) -> tuple[str, ...]:
        """The channels it depends on, each once."""
        return tuple(dict.fromkeys(channel for _, channel, _ in self.entries))


class Term(ABC):
    """A quantity to make small or to keep within bounds.

    kind    its name in task files
    loss    default function of each residual r in a cost: r, r^2 or a smooth |r|
    width   where the smooth |r| changes from round to straight, in the unit of r
    pairs   whether it compares pairs of instants
    """

    kind: ClassVar[str]
    loss: Loss = "square"
    width: float | None = 1e-3
    pairs: ClassVar[bool] = False

    @abstractmethod
    def bind(self, model: Model) -> Residual:
        """The residual on a model; an InputError if a name or a size does not fit."""

    def bind_to(self, offer: Offer) -> Residual:
        """The residual on what a method provides; an InputError names what is missing."""
        residual = self.bind(offer.model)
        offer.require(self.kind, residual.channels)
        return residual

    def bind_summed(self, offer: Offer) -> tuple[Residual, Smoothed]:
        """The residual and its loss in a sum or an integral."""
        assert self.width is not None
        return self.bind_to(offer), Smoothed(self.loss, self.width)


@dataclass(frozen=True)
class Smoothed:
    """A loss. "abs" is straight r + bent (sqrt(r^2 + width^2) - width), |r| by default; the two
    factors are numbers, or arrays with one number for each row.
    """

    loss: Loss
    width: float
    straight: NDArray[np.float64] | float = 0.0
    bent: NDArray[np.float64] | float = 1.0
