"""Plots and a film: curves of a motion with matplotlib, and the motion as a GIF.

You will learn: how to plot channels by name, how to combine plots with your own, and how to write a
film. Needs the extra: pip install 'predyn[pictures]'.
"""

from pathlib import Path

import matplotlib

import predyn

matplotlib.use("agg")  # files only; leave this line out to see windows

solution = predyn.solve("two-link-pick-place").check()

# One axes for each quantity and unit; they are matplotlib's own, so everything can be changed.
axes = solution.plot("q", "tau", "frame:tip", degrees=True)
axes[1].axhline(0.0, color="black", linewidth=0.8)
axes[0].figure.savefig("curves.png")

# Slow motion, seen from the side and above.
solution.animate("motion.gif", fps=10, speed=0.5, size=(320, 240), view=(-60, 25))
for name in ("curves.png", "motion.gif"):
    print(f"wrote {name}, {Path(name).stat().st_size / 1e3:.0f} kB")
