"""Swing-up: a motion of a mechanism with a joint that has no motor, and its check by simulation.

You will learn: how to name passive joints, how to price where they end, how to change between the
two methods, and how to see by a replay which of them can be trusted.
"""

from dataclasses import replace

import numpy as np

import predyn
from predyn import Cost, Hybrid, Phase, Problem, Spline, State
from predyn.terms import Effort, JointPosition, JointVelocity

# A rod on a free hinge with a driven rod at its end: from q1 = -1 (-pi/2 hangs) to upright.
free = np.nan  # nothing is imposed
swing_up = Problem(
    predyn.models.acrobot(),
    (Phase(3.0, State(q=[-1.0, 0.0], v=[0.0, 0.0]), State(q=[free, 0.0], v=[free, 0.0])),),
    costs=(
        Cost(JointPosition(["joint1"], target=np.pi / 2), 1000.0, at="end", name="end position"),
        Cost(JointVelocity(["joint1"]), 1000.0, at="end", name="end speed"),
        Cost(Effort(["joint2"]), 0.5),
    ),
    passive=("joint1",),
    guess=predyn.load_task("acrobot-swingup").guess,  # a curve drawn by hand
)

print("method  segments  status          objective  replay ends off by")
for transcription in (Spline(segments=40), Spline(segments=160), Hybrid()):
    motion = predyn.solve(replace(swing_up, transcription=transcription))
    replay = predyn.replay(motion)  # its torques, in an independent forward simulation
    kind = type(transcription).__name__.lower()
    print(
        f"{kind:<6}  {transcription.segments:8d}  {motion.status:<14}  {motion.objective:9.4f}  "
        f"{replay.end_position_error:.1e} rad, {replay.end_velocity_error:.1e} rad/s"
    )
motion.check()  # on splines, the passive joint has a torque between the points where it is zero
assert replay.end_position_error < 0.02
