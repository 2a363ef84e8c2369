"""A robot moves around a post: plan a path, time it, improve the motion and prove it clear.

You will learn: how to describe a scene, how to call each stage by itself, how to solve the same
problem with `predyn.solve`, how to read its certificate, and how to export the motion.
"""

import numpy as np

import predyn
from predyn import Cost, Duration, Obstacle, Phase, Problem, Scene, State
from predyn.terms import Effort, TotalTime

model = predyn.models.six_axis_arm()  # comes with capsules around its links
scene = Scene(
    (
        Obstacle("floor", "half_space"),  # everything below z = 0
        Obstacle("post", "box", (0.1, 0.1, 1.4), position=(0.9, 0.0, 0.7)),
    )
)
start, goal = np.radians([[40, 20, 10, 0, 50, 0], [-40, 20, 10, 0, 50, 0]])
MARGIN = 0.005  # m

# 1. A path, proved at every point of its curve. The straight line would hit the post.
straight = predyn.JointPath([start, goal], "linear")
print("straight line:", predyn.certify(straight, scene, model).status)
plan = predyn.plan(model, scene, start, goal, margin=MARGIN).check()
print("path:", plan.message)

# 2. The best timing along this path: duration + energy, a convex program
timed = predyn.retime(model, plan.curve, energy=1.0).check()
print(f"timed: {timed.duration:.3f} s, objective {timed.objective:.3f}")

# 3. All stages in one call: the path is free to change, and the result is certified
still = np.zeros(model.n)
phase = Phase(Duration(0.1, 5.0, guess=1.0), State(start, still), State(goal, still))
costs = (Cost(TotalTime()), Cost(Effort(normalised=True)))
problem = Problem(model, (phase,), costs, scene=scene, margin=MARGIN, name="around a post")
solution = predyn.solve(problem).check()  # check() raises without a certificate
print(f"improved: {solution.duration:.3f} s, objective {solution.objective:.3f}\n")
print(solution, "\n")

# 4. The certificate belongs to the solution. It can be repeated, here with a smaller margin.
assert solution.certificate is not None
assert solution.certificate.status == "certified"
print(predyn.certify(solution, scene, margin=0.002))

# 5. For a controller: polynomial segments are exact; rows at 250 Hz are close to the motion.
solution.export("around_post.json", format="polynomials")
solution.export("around_post.csv", rate=250.0)
print("\nwrote around_post.json and around_post.csv")
