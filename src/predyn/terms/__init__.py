"""Terms: what a motion costs and what it must keep to."""

from predyn.terms.duration import TotalTime
from predyn.terms.effort import Effort
from predyn.terms.frames import (
    FrameAxis,
    FrameOrientation,
    FramePose,
    FramePosition,
    FrameVelocity,
)
from predyn.terms.joints import (
    JointAcceleration,
    JointJerk,
    JointPosition,
    JointTorque,
    JointVelocity,
)
from predyn.terms.power import MechanicalEnergy
from predyn.terms.term import Term
from predyn.terms.torque_speed import TorqueSpeed

_CLASSES: tuple[type[Term], ...] = (
    Effort,
    FrameAxis,
    FrameOrientation,
    FramePose,
    FramePosition,
    FrameVelocity,
    JointAcceleration,
    JointJerk,
    JointPosition,
    JointTorque,
    JointVelocity,
    MechanicalEnergy,
    TorqueSpeed,
    TotalTime,
)
TERMS: dict[str, type[Term]] = {term.kind: term for term in _CLASSES}  # by name in task files

__all__ = ["TERMS", "Term", *sorted(term.__name__ for term in _CLASSES)]
