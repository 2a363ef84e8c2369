"""Drives whose available torque falls with speed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from predyn.model import Model
from predyn.terms.linear import Block, Linear
from predyn.terms.selection import effort_limits, joint_indices, joint_names, read_positive
from predyn.terms.term import Term


@dataclass(frozen=True, eq=False)
class TorqueSpeed(Term):
    """tau / effort + v / speed, which a drive keeps between -1 and 1 (the default bounds).

    The driving torque of a joint then falls linearly from `effort` (N m or N; None: the model's
    limit, the larger of the two sides) at rest to zero at `speed` (rad/s or m/s), so that the drive
    cannot accelerate beyond it. Braking torques are limited only by the model's constant limit,
    which also applies.
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
            effort = read_positive(self.effort, f"{self.kind}: effort", names)
        speed = read_positive(self.speed, f"{self.kind}: speed", names)
        ones = np.ones(len(index))
        return Linear(
            names,
            ("1",) * len(index),
            ones,
            [Block(0, "tau", index, 1.0 / effort), Block(0, "v", index, 1.0 / speed)],
            lower=-ones,
            upper=ones,
        )
