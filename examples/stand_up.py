"""A person rises from a squat: feet on the ground, with unknown ground forces.

You will learn: how to state which points of a model touch the ground and what they hold, which
costs a motion with contacts needs, and how to read ground forces and the balance between points.
"""

import numpy as np

import predyn
from predyn import Contact, Cost, Ground, Phase, Problem, Spline, State
from predyn.terms import ContactForceRate, Effort, Smoothness

model = predyn.models.planar_walker()  # heels and toes are contact points
motors = [f"{side}_{joint}" for side in ("right", "left") for joint in ("hip", "knee", "ankle")]
weight = 75.0 * 9.81


def posture(trunk: float, thigh: float, shank: float) -> State:
    """At rest on flat feet with the ankles over x = 0; angles to the vertical, rad."""
    x = -0.4244 * np.sin(thigh) - 0.4426 * np.sin(shank)
    z = 0.07 + 0.4244 * np.cos(thigh) + 0.4426 * np.cos(shank)
    leg = [thigh - trunk, shank - thigh, -shank]  # hip, knee, ankle
    return State(q=[x, z, trunk, *leg, *leg], v=np.zeros(9))


# A foot in the plane has three freedoms. The heel holds two, the toe one, and so do the forces.
feet = [
    contact
    for side in ("right", "left")
    for contact in (
        Contact(f"{side}_heel", push="xz", hold="xz", place=(-0.06, None, 0.0)),
        Contact(f"{side}_toe", push="z", hold="z"),
    )
]
problem = Problem(
    model,
    (Phase(1.0, posture(-0.75, 1.25, -0.45), posture(0.0, 0.1, -0.1), contacts=feet),),
    costs=(
        Cost(Effort(motors, normalised=True)),
        Cost(Smoothness(joints=motors), 1e-6),  # effort alone is not enough with contacts
        Cost(ContactForceRate(per=weight), 1e-3),
    ),
    ground=Ground(friction=0.8),
    transcription=Spline(degree=5, segments=8),
    name="stand up",
)
solution = predyn.solve(problem).check()

print("time    force of the ground on a foot, body weights    pressure point")
for t in np.linspace(0.0, 1.0, 6):
    heel, toe = (solution.channel(f"signal:right_{point}", t) / weight for point in ("heel", "toe"))
    x = -0.06 + 0.21 * toe[2] / (heel[2] + toe[2])  # between heel and toe
    print(f"{t:.1f} s   along {heel[0]:6.3f}, up {heel[2] + toe[2]:.3f}{x:33.3f} m")
worst = max(x.excess for x in solution.dense_violations if "passive" in x.name)
print(f"between the points, the body is off balance by {worst:.2g} N of {weight:.0f} N at most")
