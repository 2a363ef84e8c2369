"""Own problem: an arm made in Python brings its hand to a place.

You will learn: how to build a model and a Problem, how to ask for a place of a frame instead of
joint angles, and how to find out what limits the motion.
"""

import numpy as np

import predyn
from predyn import Constraint, Cost, Duration, Phase, Problem, State
from predyn.terms import Effort, FramePosition, TotalTime

# Shoulder and elbow of an arm that moves in the vertical x-z plane; lengths in m, masses in kg.
arm = (
    predyn.ModelBuilder("arm")
    .add_link(
        "upper", axis=(0, 1, 0), mass=2.0, com=(0.15, 0, 0), inertia=(0.002, 0.02, 0.02),
        position=(-2.5, 2.5), velocity=6.0, effort=30.0,
    )
    .add_link(
        "fore", "upper", axis=(0, 1, 0), origin=(0.3, 0, 0), mass=1.2, com=(0.12, 0, 0),
        inertia=(0.001, 0.008, 0.008), position=(-2.4, 0.0), velocity=6.0, effort=15.0,
    )
    .add_frame("hand", "fore", (0.27, 0, 0))
    .build()
    .attach_payload("hand", mass=1.0)
)  # fmt: skip

goal = (0.35, None, 0.25)  # m, world axes; None leaves an axis free: this arm never leaves y = 0
hanging = np.array([np.pi / 2, 0.0])  # both links down

problem = Problem(
    model=arm,
    phases=(
        Phase(
            duration=Duration(min=0.1, max=3.0, guess=0.8),
            start=State(q=hanging, v=np.zeros(2)),
            end=State(v=np.zeros(2)),  # q is left free: the hand decides
        ),
    ),
    costs=(Cost(TotalTime(), weight=0.5), Cost(Effort(normalised=True), weight=0.5)),
    constraints=(Constraint(FramePosition("hand", goal), at="end"),),
    name="reach",
)
assert not problem.validate()  # a list of everything that is wrong

solution = predyn.solve(problem, refine=True).check()
print(solution)
hand = predyn.dynamics.frame_kinematics(arm, "hand", solution.q)
print("\nhand from", hand.p[0].round(4), "to", hand.p[-1].round(4))
print("limits that are reached:", ", ".join(solution.active) or "none")
assert np.allclose(hand.p[-1][[0, 2]], [0.35, 0.25], atol=1e-6)
