"""Messages about invalid terms."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from predyn.errors import InputError
from predyn.models import random_tree
from predyn.terms import (
    Continuity,
    Effort,
    ElectricalEnergy,
    FrameAxis,
    FrameOrientation,
    FramePosition,
    FrameStep,
    FrameVelocity,
    JointPosition,
    JointReaction,
    JointTorque,
    MechanicalEnergy,
    Periodic,
    Smoothness,
    Symmetric,
    Term,
    TorqueSpeed,
    TrackJoints,
    TrackPoint,
)

TREE = random_tree(3, 3)
LINE = np.zeros((3, 3))

BAD: list[tuple[Callable[[], Term], str]] = [
    (lambda: JointPosition(("j7",)), "unknown joint 'j7'"),
    (lambda: JointPosition("j1"), "position: joints: expected a list of names, got 'j1'"),
    (lambda: JointPosition(3), "expected a list of names, got 3"),  # type: ignore[arg-type]
    (lambda: JointPosition(("j1", "j1")), "expected different names"),
    (lambda: JointPosition(()), "expected different names"),
    (lambda: JointTorque(("j1",), (1.0, 2.0)), "torque: target: expected one finite number or 1"),
    (lambda: JointTorque(target=np.nan), "torque: target: expected one finite number"),
    (lambda: JointTorque(target="a lot"), "torque: target: expected numbers, got 'a lot'"),
    (lambda: TorqueSpeed(speed=1.0), "joint 'j0' needs an effort limit above 0, the model has inf"),
    (lambda: TorqueSpeed(speed=0.0, effort=1.0), "speed: expected numbers above 0, got 0 for 'j0'"),
    (lambda: Effort(normalised=True), "'j0' needs an effort limit"),
    (lambda: Effort(normalised=True, per=1.0), "either normalised or per"),
    (lambda: Effort(weights=(1.0, 0.0, 1.0)), "got 0 for 'j1'"),
    (lambda: Effort(form="cube"), "unknown form of effort 'cube'"),  # type: ignore[arg-type]
    (lambda: Effort(width=0.0), "effort: width: expected a number above 0 and at most 1e+12"),
    (lambda: Effort(width=np.nan), "1e+12, got nan"),
    (lambda: Effort(width=1e300), "1e+12, got 1e+300"),
    (lambda: Effort(width="1"), "1e+12, got '1'"),  # type: ignore[arg-type]
    (lambda: ElectricalEnergy(efficiency=0.0), "efficiency: expected numbers above 0"),
    (lambda: ElectricalEnergy(efficiency=80.0), "efficiency: expected shares from 0 to 1"),
    (lambda: ElectricalEnergy(regeneration=-0.1), "regeneration: expected shares from 0 to 1"),
    (lambda: ElectricalEnergy(copper_loss=-1.0), "copper_loss: expected numbers from 0"),
    (lambda: ElectricalEnergy(copper_loss=1.0, gear=2.0), "got copper_loss and gear"),
    (lambda: ElectricalEnergy(resistance=1.0), "torque_constant is missing"),
    (lambda: ElectricalEnergy(gear=1.0), "gear needs resistance and torque_constant"),
    (lambda: ElectricalEnergy(width=-1.0), "electrical_energy: width: expected a number above 0"),
    (lambda: ElectricalEnergy(("elbow",)), "elbow"),
    (lambda: MechanicalEnergy(form="nett"), "did you mean 'net'"),  # type: ignore[arg-type]
    (lambda: FramePosition("l9"), "unknown frame or link 'l9'"),
    (lambda: FramePosition("world"), "'world' is fixed to the world and never moves"),
    (lambda: FramePosition("l1", (None, None, None)), "leaves all axes free"),
    (lambda: FramePosition("l1", (1.0, 2.0)), "target: expected (x, y, z)"),
    (lambda: FrameVelocity("l1", None), "leave everything free"),
    (lambda: FrameOrientation("l1", np.diag([1.0, 1.0, -1.0])), "not a rotation matrix"),
    (lambda: FrameOrientation("l1", 2.0 * np.eye(3)), "differs from the identity by 3.0e+00"),
    (lambda: FrameOrientation("l1", (1.0, 2.0)), "roll, pitch, yaw in radians"),
    (lambda: FrameOrientation("l1", tolerance=0.1), "needs form 'angle'"),
    (lambda: FrameAxis("l1", "w"), "unknown axis 'w'"),  # type: ignore[arg-type]
    (lambda: FrameAxis("l1", direction=(0.0, 0.0, 0.0)), "a nonzero vector"),
    (lambda: FrameAxis("l1", form="angle", tolerance=4.0), "at most pi"),
    (lambda: TrackJoints((0, 1, 1), LINE), "times: expected at least 2 finite, increasing"),
    (lambda: TrackJoints((0, 1, 2), LINE, ("j1",)), "shape (3, 1): one row per time, columns j1"),
    (lambda: TrackJoints((0, 1, 2), LINE * np.nan), "numbers that are not finite"),
    (lambda: TrackPoint("l1", (0, 1, 2), LINE, axes="xyw"), "some of 'xyz', got 'xyw'"),
    (lambda: JointReaction("j7"), "unknown joint 'j7'"),
    (lambda: JointReaction("j1", "forces"), "did you mean 'force'"),
    (lambda: JointReaction("j1", "wrench", "magnitude"), "a magnitude has one unit"),
    (lambda: Smoothness("snap"), "unknown order of smoothness"),  # type: ignore[arg-type]
    (lambda: Periodic("q"), "channels: expected different names, got 'q'"),
    (lambda: Periodic(("q", "frame:l1")), "unknown channel of periodic 'frame:l1'"),
    (lambda: Periodic(("v",), offset=1.0), "an offset belongs to q"),
    (lambda: Symmetric({"j0": "j1", "j2": "j1"}), "'j1' has two mirror images"),
    (lambda: Symmetric({"j0": "j1"}, {"j0": 1, "j1": -1}), "their signs must agree"),
    (lambda: Symmetric(signs={"j0": 2.0}), "sign of 'j0': expected 1 or -1, got 2.0"),
    (lambda: Continuity(4), "order: expected 0 to 3"),
    (lambda: FrameStep("l1", "up"), "unknown frame_step: axis 'up'"),
    (lambda: FrameStep("l1", "x", np.inf), "target: expected one finite number"),
]


@pytest.mark.parametrize(("term", "said"), BAD, ids=[said for _, said in BAD])
def test_refused(term: Callable[[], Term], said: str) -> None:
    with pytest.raises(InputError) as error:
        term().bind(TREE)
    assert said in str(error.value)
