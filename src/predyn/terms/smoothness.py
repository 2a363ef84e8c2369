"""Smooth motions: little acceleration or jerk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from numpy.typing import ArrayLike

from predyn.model import Model
from predyn.terms.linear import Block, Linear
from predyn.terms.selection import (
    check_choice,
    joint_indices,
    joint_names,
    joint_scale,
    joint_units,
    read_positive,
)
from predyn.terms.term import Term

ORDERS = {"acceleration": "a", "jerk": "jerk"}


@dataclass(frozen=True, eq=False)
class Smoothness(Term):
    """Accelerations or jerks of the named joints (None: all), each divided by `per`.

    `per` (default 1) makes revolute and sliding joints comparable.
    """

    order: Literal["acceleration", "jerk"] = "jerk"
    joints: Sequence[str] | None = None
    per: ArrayLike | None = None

    kind = "smoothness"

    def __post_init__(self) -> None:
        check_choice("order of smoothness", self.order, tuple(ORDERS))

    def bind(self, model: Model) -> Linear:
        channel = ORDERS[self.order]
        index = joint_indices(model, self.joints, self.kind)
        names = joint_names(model, index)
        factors = 1.0 / read_positive(
            1.0 if self.per is None else self.per, "smoothness: per", names
        )
        return Linear(
            names,
            joint_units(model, index, channel) if self.per is None else ("1",) * len(index),
            factors * joint_scale(model, index, channel),
            [Block(0, channel, index, factors)],
        )
