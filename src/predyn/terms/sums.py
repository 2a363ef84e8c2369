"""Quantities of a whole motion: sums of terms on its two ends and of integrals over it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from predyn.errors import InputError
from predyn.model import Model
from predyn.samples import Offer
from predyn.terms.duration import TotalTime
from predyn.terms.linear import Linear
from predyn.terms.pairs import FrameStep
from predyn.terms.term import Residual, Term


class SumTerm(Term):
    """A sum of contributions of one row each: terms on pairs of instants, evaluated at the start
    and the end; parameters, which count once; and other terms, whose losses (the square of effort,
    the time itself) are integrated over time.

    In the constraints of a problem it covers the whole motion, in those of a phase only that phase.
    """

    pairs: ClassVar[bool] = True

    @property
    @abstractmethod
    def parts(self) -> Sequence[tuple[float, Term]]:
        """Factor and term of each contribution."""

    @property
    @abstractmethod
    def row(self) -> tuple[str, str]:
        """Name and unit of the sum."""

    def bind(self, model: Model) -> Residual:
        return self._sum([term.bind(model) for _, term in self.parts])

    def bind_to(self, offer: Offer) -> Residual:
        return self._sum([term.bind_to(offer) for _, term in self.parts])

    def _sum(self, bound: Sequence[Residual]) -> Residual:
        for (_, term), residual in zip(self.parts, bound, strict=True):
            if len(residual.rows) != 1:
                raise InputError(
                    f"{self.kind}: expected terms of one row, but {term.kind!r} has "
                    f"{len(residual.rows)}"
                )
        (name, unit), scale = self.row, np.max([x.scale for x in bound], axis=0)
        return Linear((name,), (unit,), scale, [])


@dataclass(frozen=True, eq=False)
class AverageSpeed(SumTerm):
    """Displacement of a frame's origin along an axis minus speed (m/s) times the duration, in m.

    Zero if the frame moves at that speed on average. Bounds are in m, not in m/s: lower=0 alone
    means at least that speed. axis: "x", "y", "z" or a direction vector.
    """

    frame: str
    speed: float
    axis: str | ArrayLike = "x"

    kind = "average_speed"

    @property
    def parts(self) -> Sequence[tuple[float, Term]]:
        if not _is_finite(self.speed):
            raise InputError(f"average_speed: speed: expected m/s, got {self.speed!r:.40}")
        return (1.0, FrameStep(self.frame, self.axis)), (-float(self.speed), TotalTime())

    @property
    def row(self) -> tuple[str, str]:
        return f"{self.frame} average", "m"


def _is_part(part: Any) -> bool:
    if not isinstance(part, tuple | list) or len(part) != 2:
        return False
    factor, term = part
    return _is_finite(factor) and isinstance(term, Term) and not isinstance(term, SumTerm)


def _is_finite(value: Any) -> bool:
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    return number and bool(np.isfinite(value))


@dataclass(frozen=True, eq=False)
class WeightedSum(SumTerm):
    """A sum of factors times terms of one row each: terms = ((factor, term), ...).

    Terms on pairs of instants are evaluated at the start and the end; the losses of others are
    integrated over time.
    """

    terms: Sequence[tuple[float, Term]]
    name: str = "sum"
    unit: str = "1"

    kind = "weighted_sum"

    @property
    def parts(self) -> Sequence[tuple[float, Term]]:
        given: Any = self.terms
        if not isinstance(given, tuple | list) or not given or not all(map(_is_part, given)):
            raise InputError(
                "weighted_sum: terms: expected pairs of a finite factor and a term that is no sum, "
                f"such as [(1.0, TotalTime())], got {given!r:.60}"
            )
        return tuple((float(factor), term) for factor, term in given)

    @property
    def row(self) -> tuple[str, str]:
        for what, text in (("name", self.name), ("unit", self.unit)):
            given: Any = text
            if not isinstance(given, str) or not given or not given.isprintable():
                raise InputError(f"weighted_sum: {what}: expected printable text, got {text!r:.40}")
        return self.name, self.unit
