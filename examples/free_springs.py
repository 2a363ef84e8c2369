"""Free springs: an arm carries loads back and forth all day; which springs save its motors work?

You will learn: how a parameter stands for numbers of the model, how to read the optimal values, and
that the model of the solution has them.
"""

from dataclasses import replace

import numpy as np

import predyn
from predyn import Constraint, Cost, Parameter, Payload, Phase, Problem, State, System
from predyn.terms import Effort, Periodic

still = np.zeros(2)
pick, place = State([2.2, -1.9], still), State([0.7, -1.4], still)
plain = Problem(
    model=predyn.models.two_link(),  # moves in the x-y plane, gravity along -y
    phases=(
        Phase(0.7, pick, place, name="carry", system="loaded"),
        Phase(0.7, end=pick, name="return"),
    ),
    systems={"loaded": System(payloads=(Payload("tip", mass=0.5),))},
    costs=(Cost(Effort()),),
    constraints=(Constraint(Periodic(("a",))),),
    name="without springs",
)
springs = tuple(
    Parameter(f"{kind} {k}", low, high, guess, quantity=f"{kind} of joint{k}")
    for k in (1, 2)
    for kind, low, high, guess in (("stiffness", 0.0, 50.0, 5.0), ("rest", -3.0, 3.0, 0.0))
)

efforts = []
for problem in (plain, replace(plain, parameters=springs, name="with springs")):
    solution = predyn.verify(predyn.solve(problem).check())
    efforts.append(solution.objective)
    print(f"{problem.name}: effort {solution.objective:.2f} in {solution.iterations} iterations")
    for name, value in solution.parameters.items():
        print(f"  {name}: {value:.3f} {solution.parameter_units[name]}")
    assert solution.verification.replay.max_dq.max() < 1e-6

assert efforts[1] < 0.5 * efforts[0]
assert list(solution.model.stiffness) == [solution.parameters[f"stiffness {k}"] for k in (1, 2)]
