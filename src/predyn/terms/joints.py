"""Joint positions, velocities, accelerations, jerks and torques, minus targets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from predyn.errors import InputError
from predyn.model import Model
from predyn.terms.linear import Block, Linear
from predyn.terms.selection import (
    joint_indices,
    joint_names,
    joint_scale,
    joint_units,
    read_numbers,
)
from predyn.terms.term import Term


@dataclass(frozen=True, eq=False)
class JointTerm(Term):
    """A channel of the named joints (None: all) minus targets, one for all or one for each."""

    joints: Sequence[str] | None = None
    target: ArrayLike = 0.0
    channel: ClassVar[str]

    def bind(self, model: Model) -> Linear:
        index = joint_indices(model, self.joints, self.kind)
        names = joint_names(model, index)
        return Linear(
            names,
            joint_units(model, index, self.channel),
            joint_scale(model, index, self.channel),
            [Block(0, self.channel, index, np.ones(len(index)))],
            read_numbers(self.target, f"{self.kind}: target", names),
        )


@dataclass(frozen=True, eq=False)
class JointPosition(JointTerm):
    """Joint positions minus targets, rad or m."""

    kind = "position"
    channel = "q"


@dataclass(frozen=True, eq=False)
class JointSum(Term):
    """A weighted sum of joint positions minus a target, such as the angle of a foot in the plane.

    factors  {"hip": 1.0, "knee": -1.0, ...}
    """

    factors: Mapping[str, float]
    target: float = 0.0
    name: str = "sum"

    kind = "joint_sum"

    def bind(self, model: Model) -> Linear:
        if not isinstance(self.factors, Mapping) or not self.factors:
            raise InputError(
                f"joint_sum: factors: expected a table of joints, got {self.factors!r:.60}"
            )
        index = joint_indices(model, tuple(self.factors), self.kind)
        units = {*joint_units(model, index, "q")}
        if len(units) > 1:
            raise InputError("joint_sum: factors: expected hinges or slides, got both")
        names = joint_names(model, index)
        factors = read_numbers(list(self.factors.values()), "joint_sum: factors", names)
        return Linear(
            (self.name,),
            (*units,),
            np.abs(factors * joint_scale(model, index, "q")).max(keepdims=True),
            [Block(0, "q", index, factors[None])],
            read_numbers(self.target, "joint_sum: target", (self.name,)),
        )


@dataclass(frozen=True, eq=False)
class JointVelocity(JointTerm):
    """Joint velocities minus targets, rad/s or m/s."""

    kind = "velocity"
    channel = "v"


@dataclass(frozen=True, eq=False)
class JointAcceleration(JointTerm):
    """Joint accelerations minus targets, rad/s^2 or m/s^2."""

    kind = "acceleration"
    channel = "a"


@dataclass(frozen=True, eq=False)
class JointJerk(JointTerm):
    """Joint jerks minus targets, rad/s^3 or m/s^3."""

    kind = "jerk"
    channel = "jerk"


@dataclass(frozen=True, eq=False)
class JointTorque(JointTerm):
    """Joint torques (N m) or forces (N) minus targets."""

    kind = "torque"
    channel = "tau"
