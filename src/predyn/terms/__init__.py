"""Terms: the costs and constraints of a motion."""

from predyn.terms.duration import TotalTime
from predyn.terms.effort import Effort
from predyn.terms.electrical import ElectricalEnergy
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
from predyn.terms.momentum import GeneralizedMomentum
from predyn.terms.pairs import Continuity, FrameStep, Periodic, Symmetric
from predyn.terms.power import MechanicalEnergy
from predyn.terms.reactions import JointReaction
from predyn.terms.signals import ParameterValue, SignalRate, SignalValue
from predyn.terms.smoothness import Smoothness
from predyn.terms.sums import AverageSpeed, WeightedSum
from predyn.terms.term import Term
from predyn.terms.torque_speed import TorqueSpeed
from predyn.terms.tracking import TrackJoints, TrackPoint
from predyn.terms.user import UserTerm

_CLASSES: tuple[type[Term], ...] = (
    AverageSpeed,
    Continuity,
    Effort,
    ElectricalEnergy,
    FrameAxis,
    FrameOrientation,
    FramePose,
    FramePosition,
    FrameStep,
    FrameVelocity,
    GeneralizedMomentum,
    JointAcceleration,
    JointJerk,
    JointPosition,
    JointReaction,
    JointTorque,
    JointVelocity,
    MechanicalEnergy,
    ParameterValue,
    Periodic,
    SignalRate,
    SignalValue,
    Smoothness,
    Symmetric,
    TorqueSpeed,
    TotalTime,
    TrackJoints,
    TrackPoint,
    UserTerm,
    WeightedSum,
)
TERMS: dict[str, type[Term]] = {term.kind: term for term in _CLASSES}  # by name in task files

__all__ = [
    "TERMS",
    "AverageSpeed",
    "Continuity",
    "Effort",
    "ElectricalEnergy",
    "FrameAxis",
    "FrameOrientation",
    "FramePose",
    "FramePosition",
    "FrameStep",
    "FrameVelocity",
    "GeneralizedMomentum",
    "JointAcceleration",
    "JointJerk",
    "JointPosition",
    "JointReaction",
    "JointTorque",
    "JointVelocity",
    "MechanicalEnergy",
    "ParameterValue",
    "Periodic",
    "SignalRate",
    "SignalValue",
    "Smoothness",
    "Symmetric",
    "Term",
    "TorqueSpeed",
    "TotalTime",
    "TrackJoints",
    "TrackPoint",
    "UserTerm",
    "WeightedSum",
]
