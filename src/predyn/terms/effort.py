"""Effort: small joint torques."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from predyn.errors import InputError
from predyn.model import Model
from predyn.terms.kinked import Kinked
from predyn.terms.linear import Block, Linear
from predyn.terms.selection import (
    check_choice,
    effort_limits,
    joint_indices,
    joint_names,
    joint_scale,
    joint_units,
    read_positive,
)


@dataclass(frozen=True, eq=False)
class Effort(Kinked):
    """Torques of the named joints (None: all), each divided by `per` and weighted.

    form "square" costs the sum of weight (tau / per)^2, "abs" the sum of weight |tau / per|,
    rounded off within `width` of zero (None: chosen from the task). per: N m or N, default 1;
    normalised=True uses the model's effort limits, the larger of the two sides.
    """

    joints: Sequence[str] | None = None
    normalised: bool = False
    per: ArrayLike | None = None
    weights: ArrayLike = 1.0
    form: Literal["square", "abs"] = "square"
    width: float | None = None

    kind = "effort"

    def __post_init__(self) -> None:
        if not isinstance(self.normalised, bool | np.bool_):
            raise InputError(f"effort: normalised: expected true or false, got {self.normalised!r}")
        check_choice("form of effort", self.form, ("square", "abs"))
        self.check_width()
        object.__setattr__(self, "loss", self.form)

    @property
    def kinked(self) -> bool:
        return self.form == "abs"

    def bind(self, model: Model) -> Linear:
        index = joint_indices(model, self.joints, self.kind)
        names = joint_names(model, index)
        weights = read_positive(
            self.weights, "effort: weights (use joints= to exclude joints)", names
        )
        per = np.ones(len(index))
        if self.normalised:
            if self.per is not None:
                raise InputError("effort: expected either normalised or per, got both")
            per = effort_limits(model, index, "effort: normalised")
        elif self.per is not None:
            per = read_positive(self.per, "effort: per", names)
        factors = (np.sqrt(weights) if self.form == "square" else weights) / per
        plain = not self.normalised and self.per is None
        return Linear(
            names,
            joint_units(model, index, "tau") if plain else ("1",) * len(index),
            factors * joint_scale(model, index, "tau"),
            [Block(0, "tau", index, factors)],
        )
