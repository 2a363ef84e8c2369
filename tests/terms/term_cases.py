"""An instance of every term, on models small and large; the checks run over all of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from floating_biped import floating_biped
from predyn.model import Model
from predyn.models import manutec_r3, random_tree, two_link
from predyn.samples import Samples
from predyn.terms import (
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
    GeneralizedMomentum,
    GroundTorque,
    HeightAboveSteps,
    JointAcceleration,
    JointJerk,
    JointPosition,
    JointReaction,
    JointSum,
    JointTorque,
    JointVelocity,
    MechanicalEnergy,
    Periodic,
    Smoothness,
    SwingTogether,
    Symmetric,
    Term,
    TorqueSpeed,
    TotalTime,
    TrackJoints,
    TrackPoint,
    UserTerm,
    ZeroMomentPoint,
)

# bound to problems, not to models; those on contacts and pairs of signals: test_contacts.py
ON_UNKNOWNS = {
    *("signal", "signal_rate", "parameter"),
    *("contact_force", "contact_force_rate", "friction_cone", "periodic_signal"),
    "patch_wrench",  # test_patch_wrench.py
    "clearance",  # collision/test_clearance.py
}
SUMS = {"average_speed", "weighted_sum"}  # of other terms; see transcribe/test_unknowns.py
TREE = random_tree(5, 3)
TWO = two_link()
MANUTEC = manutec_r3()
BIPED = floating_biped(0.9)
LIMITED = BIPED.with_limits(effort=[(-np.inf, np.inf)] * 6 + [(-20.0, 30.0)] * 7)
EDGES = ((-0.3, -0.1), (0.4, 0.15))


TIMES = np.array([-1.5, -0.5, 0.25, 1.0, 2.5])
CURVES = np.random.default_rng(5).standard_normal((5, 5))


def user_function(s: Samples) -> np.ndarray:
    return np.stack((
        (s["q"] * s["tau"]).sum(axis=0) * s["t"][0],
        np.sin(s["q"] - s["t"]).sum(axis=0) * np.exp(s["tau"].sum(axis=0) / 5),
    ))  # fmt: skip


def user_narrow(s: Samples) -> np.ndarray:
    return np.asarray(s["q"][1] ** 2 * s["q"][4] * np.exp(s["frame:l1"][9] * s["frame:l1"][10]))


class Case(NamedTuple):
    """A term on a model."""

    term: Term
    model: Model


CASES = {
    "position": Case(JointPosition(), TREE),
    "position of some": Case(JointPosition(("j3", "j1"), (0.5, -0.25)), TREE),
    "joint_sum": Case(JointSum({"j3": 1.0, "j1": -0.5}, 0.25, "foot"), TREE),
    "velocity": Case(JointVelocity(("j1", "j2"), 0.5), TREE),
    "acceleration": Case(JointAcceleration(), MANUTEC),
    "jerk": Case(JointJerk(("j4",)), TREE),
    "momentum": Case(GeneralizedMomentum(), TREE),
    "torque": Case(JointTorque(target=(1.0, 2.0)), TWO),
    "torque_speed": Case(TorqueSpeed(speed=3.0, effort=(2.0, 4.0)), TWO),
    "torque_speed from limits": Case(TorqueSpeed(speed=(3.0, 2.0, 5.0)), MANUTEC),
    "effort": Case(Effort(), TREE),
    "effort weighted": Case(Effort(("j2", "j0"), per=(2.0, 5.0), weights=(3.0, 4.0)), TREE),
    "effort abs": Case(Effort(normalised=True, weights=2.0, form="abs"), MANUTEC),
    "time": Case(TotalTime(), TWO),
    "energy": Case(MechanicalEnergy(), TREE),
    "electrical_energy": Case(
        ElectricalEnergy(("j0", "j3"), (0.1, 0.2), (0.7, 0.9), (0.5, 0.0), width=0.5), TREE
    ),
    "electrical_energy of motors": Case(
        ElectricalEnergy(resistance=0.8, torque_constant=0.1, gear=(5.0, 20.0), width=2.0), TWO
    ),
    "energy net": Case(MechanicalEnergy(("j4", "j2"), form="net"), TREE),
    "energy positive": Case(MechanicalEnergy(("j0", "j3"), form="positive", width=0.5), TREE),
    "frame_position": Case(FramePosition("l4", (0.1, None, np.nan)), TREE),
    "height_above_steps": Case(
        HeightAboveSteps("l4", -0.2, ((-0.5, 0.1), (0.4, -0.3), (1.0, 0.2)), 0.8), TREE
    ),
    "frame_velocity": Case(FrameVelocity("l2", angular=(None, 1.0, 2.0)), TREE),
    "frame_velocity angular": Case(FrameVelocity("l2", None, (0.0, 1.0, None)), TREE),
    "frame_orientation": Case(FrameOrientation("l3", (0.3, -0.4, 0.5)), TREE),
    "frame_orientation angle": Case(
        FrameOrientation("l3", np.eye(3)[[1, 2, 0]], form="angle", tolerance=0.1), TREE
    ),
    "frame_pose": Case(FramePose("l3", (1.0, None, 2.0), (np.pi / 2, 0.0, 0.0)), TREE),
    "frame_pose turned only": Case(FramePose("l3", (None, None, None), (0.0, 1.0, 0.0)), TREE),
    "frame_axis": Case(FrameAxis("l1", "x", (1.0, 2.0, 3.0)), TREE),
    "frame_axis angle": Case(FrameAxis("l1", "y", form="angle", tolerance=0.2), TREE),
    "track_joints": Case(TrackJoints(TIMES, CURVES[:, :5]), TREE),
    "track_joints some": Case(TrackJoints(TIMES, CURVES[:, :2], ("j4", "j1")), TREE),
    "track_point": Case(TrackPoint("l2", TIMES[:3], CURVES[:3, :3]), TREE),
    "track_point axes": Case(TrackPoint("l2", TIMES, CURVES[:, :2], axes="zx"), TREE),
    "reaction": Case(JointReaction("j2", "wrench"), TREE),
    "reaction component": Case(JointReaction("j2", "fy"), TREE),
    "reaction force": Case(JointReaction("j2", form="magnitude"), TREE),
    "reaction moment": Case(JointReaction("joint1", "moment", "magnitude", width=0.5), TWO),
    "smoothness": Case(Smoothness(), TREE),
    "smoothness some": Case(Smoothness("acceleration", ("j1", "j3"), per=(2.0, 3.0)), TREE),
    "periodic": Case(Periodic(), TREE),
    "periodic some": Case(Periodic(("tau", "q"), ("j3", "j1"), offset=(1.0, 2.0)), TREE),
    "symmetric": Case(Symmetric({"j1": "j3"}, {"j3": -1, "j0": -1}), TREE),
    "symmetric moved on": Case(
        Symmetric({"j1": "j3"}, {"j3": -1}, ("v", "q"), ("j0", "j3"), {"j0": 0.6, "j3": -0.2}), TREE
    ),
    "continuity": Case(Continuity(), TREE),
    "continuity of jerk": Case(Continuity(3, ("j2",)), TREE),
    "frame_step": Case(FrameStep("l4", target=0.5), TREE),
    "frame_step along": Case(FrameStep("l4", (1.0, 0.0, 2.0)), TREE),
    "frame_distance": Case(FrameDistance("l4", "l2"), TREE),
    "swing_together": Case(SwingTogether(("l0", "l4"), ("l1", "l2")), TREE),
    "swing_together along": Case(SwingTogether(("l0", "l4"), ("l1", "l2"), (1.0, 0.0, 2.0)), TREE),
    "zero_moment_point": Case(
        ZeroMomentPoint("rear_sole", ((0.0, 0.0), (0.2, 0.1), (0.1, 0.3)), height=0.4), BIPED
    ),
    "ground_torque": Case(GroundTorque(("rear_sole",)), BIPED),
    "ground_torque some": Case(GroundTorque("rear_sole", joints=("arm", "knee_rear")), BIPED),
    "ground_torque shared": Case(GroundTorque(("rear_sole", "ankle_front"), EDGES), BIPED),
    "ground_torque shared, turned": Case(
        GroundTorque(
            ("rear_sole", "ankle_front"), EDGES, ("arm", "hip_front", "knee_rear"), True, (2.0, 0.3)
        ),
        LIMITED,
    ),
    "user": Case(UserTerm(user_function, ("q", "tau", "t"), ("power", "swing")), TREE),
    "user narrowed": Case(
        UserTerm(user_narrow, ("q", "frame:l1"), depends={"q": (1, 4), "frame:l1": (9, 10)}), TREE
    ),
}
