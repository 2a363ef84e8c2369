"""An instance of every term, on models small and large; the checks run over all of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from predyn.model import Model
from predyn.models import manutec_r3, random_tree, two_link
from predyn.terms import (
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
    Term,
    TorqueSpeed,
    TotalTime,
)

TREE = random_tree(5, 3)
TWO = two_link()
MANUTEC = manutec_r3()


class Case(NamedTuple):
    """A term on a model, and whether second partials are exact."""

    term: Term
    model: Model


CASES = {
    "position": Case(JointPosition(), TREE),
    "position of some": Case(JointPosition(("j3", "j1"), (0.5, -0.25)), TREE),
    "velocity": Case(JointVelocity(("j1", "j2"), 0.5), TREE),
    "acceleration": Case(JointAcceleration(), MANUTEC),
    "jerk": Case(JointJerk(("j4",)), TREE),
    "torque": Case(JointTorque(target=(1.0, 2.0)), TWO),
    "torque_speed": Case(TorqueSpeed(speed=3.0, effort=(2.0, 4.0)), TWO),
    "torque_speed from limits": Case(TorqueSpeed(speed=(3.0, 2.0, 5.0)), MANUTEC),
    "effort": Case(Effort(), TREE),
    "effort weighted": Case(Effort(("j2", "j0"), per=(2.0, 5.0), weights=(3.0, 4.0)), TREE),
    "effort abs": Case(Effort(normalised=True, weights=2.0, form="abs"), MANUTEC),
    "time": Case(TotalTime(), TWO),
    "energy": Case(MechanicalEnergy(), TREE),
    "energy net": Case(MechanicalEnergy(("j4", "j2"), form="net"), TREE),
    "energy positive": Case(MechanicalEnergy(("j0", "j3"), form="positive", width=0.5), TREE),
    "frame_position": Case(FramePosition("l4", (0.1, None, np.nan)), TREE),
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
}
