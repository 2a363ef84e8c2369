"""Drives whose torque falls with speed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from predyn.model import Model
from predyn.terms.linear import Block, Linear
from predyn.terms.selection import effort_limits, joint_indices, joint_names, positive
from predyn.terms.term import Term


@dataclass(frozen=True, eq=False)
class TorqueSpeed(Term):
    """tau / effort + v / speed, which a drive keeps within -1 and 1 (its bounds unless told).

    The torque that drives a joint then falls linearly from `effort` (N m or N; None: the model's
    limit, the larger of both sides) at rest to zero at `speed` (rad/s or m/s), and none is left for
    going faster. It says nothing new about a braking torque: the flat limit of the model holds
    along with it.
    """

    speed: ArrayLike
    effort: ArrayLike | None = None
    joints: Sequence[str] | None = None

    kind = "torque_speed"

    def bind(self, model: Model) -> Linear:
        index = joint_indices(model, self.joints, self.kind)
        names = joint_names(model, index)
        if self.effort is None:
            effort = effort_limits(model, index, self.kind)
        else:
            effort = positive(self.effort, f"{self.kind}: effort", names)
        speed = positive(self.speed, f"{self.kind}: speed", names)
        ones = np.ones(len(index))
        return Linear(
            names,
            ("1",) * len(index),
            ones,
            [Block(0, "tau", index, 1.0 / effort), Block(0, "v", index, 1.0 / speed)],
            lower=-ones,
            upper=ones,
        )
