"""A path through way points: as fast as motors allow, then with less energy, then with a load.

You will learn: how to time a given path, how to trade time for energy, which limits decide where,
what a payload and friction change, and how to start a free optimisation from the result.
"""

from dataclasses import replace

import numpy as np

import predyn
from predyn import Cost, Duration, Payload, Phase, Problem, State
from predyn.terms import TotalTime

model = predyn.models.manutec_r3()  # three joints of an industrial robot, with all limits
points = np.array([[-1.2, 0.4, -0.8], [-0.3, -0.5, 0.4], [0.6, 0.2, 0.9], [1.3, -0.3, -0.4]])

fastest = predyn.retime(model, points).check()
print(fastest)

print("\n energy weight   duration   energy")
for weight in (0.0, 0.3, 1.0, 3.0):
    result = predyn.retime(model, points, energy=weight).check()
    tau = (result.tau / model.limits.effort[:, 1]) ** 2
    print(
        f"{weight:14.1f} {result.duration:8.3f} s {np.trapezoid(tau.sum(axis=1), result.t):6.3f} s"
    )

loaded = predyn.retime(model, points, payloads=[Payload(model.link_names[-1], 30.0)]).check()
print(f"\nwith 30 kg: {loaded.duration:.3f} s; limits that decide: {', '.join(loaded.active)}")

sticky = replace(model, coulomb=np.array([80.0, 150.0, 40.0]), damping=np.array([20.0, 40.0, 10.0]))
print(f"with friction: {predyn.retime(sticky, points).check().duration:.3f} s")

# More than the motors can hold
heavy = predyn.retime(model, points, payloads=[Payload(model.link_names[-1], 1500.0)])
print(f"with 1500 kg: {heavy.status}: {heavy.message}")
assert not heavy.success

# Without the path between its ends: a free motion, started from the retimed one.
still = np.zeros(model.n)
phase = Phase(Duration(0.1, 5.0, guess=fastest.duration), State(points[0], still),
              State(points[-1], still))  # fmt: skip
free = predyn.solve(Problem(model, (phase,), (Cost(TotalTime()),)), guess=fastest.to_solution())
print(f"between the same ends without the path: {free.check().duration:.3f} s")
assert free.duration < fastest.duration
