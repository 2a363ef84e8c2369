"""A person lifts a box of 15 kg onto a shelf: how the back is loaded, and a row of snapshots.

You will learn: how to change the options of a movement, how to read the loads of the lower back,
and how to draw a motion in one picture. Needs the extra: pip install 'predyn[pictures]'.
"""

import predyn
from predyn.analysis import lift_loads
from predyn.movements import human_lift_box

problem = human_lift_box(box_mass=15.0, shelf_height=1.2, height=1.70, mass=65.0, sex="female")
solution = predyn.solve(problem).check()

# The compression of the spine is an estimate: docs/lifting.md says what it leaves out.
loads = lift_loads(solution)
print("time     box      L5/S1 moment   compression   knee, right")
for t, z, moment, force, knee in zip(
    loads.t, loads.box_height, loads.back_moment, loads.compression,
    loads.knee_moment["right"], strict=True,
):  # fmt: skip
    print(f"{t:.2f} s  {z:.2f} m{moment:12.0f} N m{force:12.0f} N{knee:10.0f} N m")
print(loads.text())

solution.snapshots("lift.png", count=7, size=(220, 420), view=(-60, 8))
print("wrote lift.png")
