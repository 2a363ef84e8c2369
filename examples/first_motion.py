"""First motion: solve a built-in task, look at the numbers, write the report.

You will learn: how to solve a task by name, what a solution holds, how to evaluate the motion at
any time, and how to write the report.
"""

import numpy as np

import predyn

solution = predyn.solve("two-link-lifting").check()  # check() raises if there is no success
print(solution)

# The motion is a curve, so it can be evaluated anywhere; t, q, v, a, tau are samples of it.
t = np.linspace(0.0, solution.duration, 5)
motion = solution.at(t)
print("\ntime [s]  torques [N m]")
for time, tau in zip(t, motion.tau, strict=True):
    print(f"{time:8.3f}  {tau.round(3)}")

print("\nlimits that are reached:", ", ".join(solution.active))
solution.report("first_motion.html")
print("wrote first_motion.html")
