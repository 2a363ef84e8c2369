"""Terms with a kink, such as |r| at zero, that is rounded off within a width.

A narrow width is close to the kink but hard on a solver; a wide one counts too little. A term
without a width takes one from the task: solving/continuation.py starts wide and ends narrow.
"""

from __future__ import annotations

import numbers
from copy import copy
from typing import Any, Self

from numpy.typing import NDArray

from predyn.errors import InputError
from predyn.samples import Offer
from predyn.terms.term import Residual, Smoothed, Term

NARROW = 3e-3  # final width over the size of the rounded quantity, summed over the rows
LARGEST = 1e12  # a width; squares of larger ones overflow


class Kinked(Term):
    """A term that rounds off a kink within `width`, in the unit of its rows; None: automatic."""

    @property
    def kinked(self) -> bool:
        """Whether there is a kink in the form that was chosen."""
        return True

    def check_width(self) -> None:
        """Raise an InputError unless the width is None or above zero."""
        width: Any = self.width
        number = isinstance(width, numbers.Real) and not isinstance(width, bool)
        if width is not None and not (number and 0.0 < width <= LARGEST):
            raise InputError(
                f"{self.kind}: width: expected a number above 0 and at most {LARGEST:g}, got "
                f"{width!r:.60}"
            )

    def width_for(self, scale: NDArray) -> float:
        """The given width, or a small part of the rows' scales outside of a solve."""
        return NARROW * float(scale.sum()) if self.width is None else float(self.width)

    def with_width(self, width: float) -> Self:
        """The same term with another width."""
        changed = copy(self)
        object.__setattr__(changed, "width", width)  # dataclasses.replace needs a field
        return changed

    def bind_summed(self, offer: Offer) -> tuple[Residual, Smoothed]:
        residual = self.bind_to(offer)
        return residual, self.loss_on(residual)

    def loss_on(self, residual: Residual, **factors: Any) -> Smoothed:
        """The loss of the term, with its width."""
        return Smoothed(self.loss, self.width_for(residual.scale), **factors)
