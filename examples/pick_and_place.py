"""Pick and place: an arm fetches a load, carries it to another place and returns without it.

You will learn: how to give one phase a payload, how phases can share a duration, how to bound the
time of the whole motion, how to pick up a load by an impact, and how to read the torques before and
after.
"""

from dataclasses import replace

import numpy as np

import predyn
from predyn import Constraint, Cost, Duration, Parameter, Payload, Phase, Problem, State, System
from predyn.terms import Effort, TotalTime

model = predyn.models.two_link()  # moves in the x-y plane, gravity along -y
still = np.zeros(2)

stopping = Problem(
    model=model,
    phases=(
        Phase("empty", State([1.32, -2.37], still), State([2.3, -2.0], still), name="reach"),
        Phase(Duration(0.1, 2.0, guess=0.6), end=State([0.6, -1.6], still), name="carry",
              system="loaded"),
        Phase("empty", end=State([1.32, -2.37], still), name="return"),
    ),
    systems={"loaded": System(payloads=(Payload("tip", mass=0.5),))},
    parameters=(Parameter("empty", min=0.1, max=2.0, guess=0.5, unit="s"),),
    costs=(Cost(Effort()),),
    constraints=(Constraint(TotalTime(), upper=1.8, integral=True, over="motion"),),
    name="pick and place",
)  # fmt: skip

# The same without a stop: the resting load is picked up in passing, and velocities jump.
reach, carry, back = stopping.phases
passing = replace(
    stopping,
    phases=(replace(reach, end=State([2.3, -2.0])), replace(carry, impact=True), back),
    name="pick up in passing",
)

for problem in (stopping, passing):
    solution = predyn.verify(predyn.solve(problem).check())
    print(f"{problem.name}: effort {solution.objective:.3f} in {solution.duration:.3f} s")
    after = np.flatnonzero(solution.phase == 1)[0]  # the first sample with the load
    for k, when in ((after - 1, "before"), (after, "after")):
        v, tau = solution.v[k].round(3) + 0.0, solution.tau[k].round(2)
        print(f"  {when:6}  v {v} rad/s  tau {tau} N m")
    assert solution.t[after - 1] == solution.t[after]
    assert solution.verification.replay.max_dq.max() < 1e-6
    assert not solution.verification.warnings(model)
