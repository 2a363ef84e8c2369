"""Phases and via points: up to a via point, over an obstacle's height, then down to the goal.

You will learn: how to join phases of free duration, how to pass a via point, how to give one phase
a constraint of its own, and how to use a solution as the guess of a finer one.
"""

from dataclasses import replace

import numpy as np

import predyn
from predyn import Constraint, Cost, Duration, Phase, Problem, Spline, State
from predyn.terms import Effort, FramePosition, FrameVelocity, TotalTime

model = predyn.models.two_link()  # moves in the x-y plane, gravity along -y
still = np.zeros(2)

problem = Problem(
    model=model,
    phases=(
        Phase(
            Duration(0.05, 3.0, guess=0.5),
            start=State(q=[0.3, -1.2], v=still),
            # The tip passes this point (m), and the end of the phase is when it does.
            constraints=(
                Constraint(FramePosition("tip", (0.2, 0.6, None)), at="end", name="via"),
            ),
            name="up",
        ),
        Phase(
            Duration(0.05, 3.0, guess=0.5),
            end=State(q=[2.0, -0.6], v=still),
            # Never faster than 3 m/s along x, at every limit point of this phase.
            constraints=(
                Constraint(
                    FrameVelocity("tip", linear=(0.0, None, None)), lower=-3.0, upper=3.0,
                    name="careful",
                ),
            ),
            name="down",
        ),
    ),
    costs=(Cost(TotalTime(), 0.9), Cost(Effort(), 0.1)),
    continuity=2,  # q, v and a agree where the phases meet
    transcription=Spline(segments=8),
    name="over",
)  # fmt: skip

coarse = predyn.solve(problem).check()
fine = predyn.solve(replace(problem, transcription=Spline(segments=16)), guess=coarse).check()
for solution in (coarse, fine):
    lengths = ", ".join(
        f"{name} {curve.duration:.4f} s"
        for name, curve in zip(solution.phase_names, solution.curves, strict=True)
    )
    print(f"{solution.objective:.6f} in {solution.iterations} iterations: {lengths}")

meet = fine.curves[0].duration
tip = predyn.dynamics.frame_kinematics(model, "tip", fine.at(meet).q).p
print("tip where the phases meet:", tip.round(6))
assert np.allclose(tip[:2], [0.2, 0.6], atol=1e-6)
