"""Terms: the costs and constraints of a motion."""

from predyn.terms.clearance import Clearance
from predyn.terms.contact import ContactForce, ContactForceRate, FrictionCone
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
from predyn.terms.ground import GroundTorque, ZeroMomentPoint
from predyn.terms.joints import (
    JointAcceleration,
    JointJerk,
    JointPosition,
    JointSum,
    JointTorque,
    JointVelocity,
)
from predyn.terms.momentum import GeneralizedMomentum
from predyn.terms.pairs import Continuity, FrameStep, Periodic, PeriodicSignal, Symmetric
from predyn.terms.patch_wrench import PatchWrench
from predyn.terms.points import FrameDistance, SwingTogether
from predyn.terms.power import MechanicalEnergy
from predyn.terms.reactions import JointReaction
from predyn.terms.signals import ParameterValue, SignalRate, SignalValue
from predyn.terms.smoothness import Smoothness
from predyn.terms.steps import HeightAboveSteps
from predyn.terms.sums import AverageSpeed, WeightedSum
from predyn.terms.term import Term
from predyn.terms.torque_speed import TorqueSpeed
from predyn.terms.tracking import TrackJoints, TrackPoint
from predyn.terms.user import UserTerm

_CLASSES: tuple[type[Term], ...] = (
    AverageSpeed,
    Clearance,
    ContactForce,
    ContactForceRate,
    Continuity,
    Effort,
    ElectricalEnergy,
    FrameAxis,
    FrameDistance,
    FrameOrientation,
    FramePose,
    FramePosition,
    FrameStep,
    FrameVelocity,
    FrictionCone,
    GeneralizedMomentum,
    HeightAboveSteps,
    GroundTorque,
    JointAcceleration,
    JointJerk,
    JointPosition,
    JointReaction,
    JointSum,
    JointTorque,
    JointVelocity,
    MechanicalEnergy,
    ParameterValue,
    PatchWrench,
    Periodic,
    PeriodicSignal,
    SignalRate,
    SignalValue,
    Smoothness,
    SwingTogether,
    Symmetric,
    TorqueSpeed,
    TotalTime,
    TrackJoints,
    TrackPoint,
    UserTerm,
    WeightedSum,
    ZeroMomentPoint,
)
TERMS: dict[str, type[Term]] = {term.kind: term for term in _CLASSES}  # by name in task files

__all__ = [
    "TERMS",
    "AverageSpeed",
    "Clearance",
    "ContactForce",
    "ContactForceRate",
    "Continuity",
    "Effort",
    "ElectricalEnergy",
    "FrameAxis",
    "FrameDistance",
    "FrameOrientation",
    "FramePose",
    "FramePosition",
    "FrameStep",
    "FrameVelocity",
    "FrictionCone",
    "GeneralizedMomentum",
    "GroundTorque",
    "HeightAboveSteps",
    "JointAcceleration",
    "JointJerk",
    "JointPosition",
    "JointReaction",
    "JointSum",
    "JointTorque",
    "JointVelocity",
    "MechanicalEnergy",
    "ParameterValue",
    "PatchWrench",
    "Periodic",
    "PeriodicSignal",
    "SignalRate",
    "SignalValue",
    "Smoothness",
    "SwingTogether",
    "Symmetric",
    "Term",
    "TorqueSpeed",
    "TotalTime",
    "TrackJoints",
    "TrackPoint",
    "UserTerm",
    "WeightedSum",
    "ZeroMomentPoint",
]
