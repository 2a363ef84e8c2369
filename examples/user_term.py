"""User term: a residual of your own, in NumPy.

You will learn: what a user term sees, how to write one, and what it costs. Here it is the distance
of the tip from a wall that leans, which no built-in term describes.
"""

import numpy as np

import predyn
from predyn import Constraint, Cost, Duration, Phase, Problem, State
from predyn.samples import Samples
from predyn.terms import Effort, TotalTime, UserTerm

normal, offset = np.array([0.8, 0.6, 0.0]), 0.45  # the wall: points p with normal . p = offset (m)


def room(samples: Samples) -> np.ndarray:
    """How far the tip is from the wall, m. samples: component first, then K instants."""
    p = samples.frame("frame:tip", "p")  # (3, K)
    return offset - normal @ p


model = predyn.models.two_link()
still = np.zeros(2)
free = Problem(
    model=model,
    phases=(
        Phase(Duration(0.1, 3.0, 1.0), State([-0.9, 0.6], still), State([1.8, -0.3], still)),
    ),
    costs=(Cost(TotalTime(), 0.9), Cost(Effort(), 0.1)),
    name="past the wall",
)  # fmt: skip
# depends: of the 24 numbers of a frame only its position (9, 10, 11) matters. Saves time.
wall = UserTerm(room, channels=["frame:tip"], depends={"frame:tip": (9, 10, 11)}, name="wall")
walled = Problem(**vars(free) | {"constraints": (Constraint(wall, lower=0.0, name="room"),)})

for problem in (free, walled):
    solution = predyn.solve(problem).check()
    times = np.linspace(0.0, solution.duration, 500)
    tip = predyn.dynamics.frame_kinematics(model, "tip", solution.at(times).q).p
    nearest = (offset - tip @ normal).min()
    print(
        f"{len(problem.constraints)} constraints: objective {solution.objective:.4f}, "
        f"nearest to the wall {1000 * nearest:.2f} mm, {solution.solve_seconds:.2f} s"
    )
