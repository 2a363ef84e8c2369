"""Parameters of the model where passive joints are integrated, against CasADi.

The CasADi program has the numbers of the model as constants. Its values and derivatives in the
motion are compared at one model, and derivatives in the parameters with differences of fourth order
between its values and first derivatives at neighbouring models.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import predyn
from predyn.dynamics import ExternalForce
from predyn.model import Frame, Model
from predyn.models import acrobot
from predyn.problem import Constraint, Cost, Duration, Hybrid, Parameter, Phase, Problem, State
from predyn.problem.quantities import quantity_value, with_parameters
from predyn.terms import Effort, FramePosition, ParameterValue
from predyn.transcribe.methods import transcribe
from transcribe.hybrid_oracle import HybridOracle
from transcribe.program_values import Values, values

QUANTITIES = ("mass of {l2}", "stiffness of {j1}", "rest of {j1}", "length of {l1}",
              "force.x of {l2}")  # fmt: skip
STEP = 1e-3  # differences of fourth order: errors of STEP^4 and of rounding / STEP


def springy() -> Model:
    model = acrobot()
    frames = (*model.frames, Frame("end", 1, np.eye(3), np.array([0.3, 0.1, -0.2])))
    return replace(model, stiffness=np.array([0.7, 0.0]), rest=np.array([0.2, 0.0]), frames=frames)


def plain(shooting: str) -> Problem:
    model = springy()
    n = model.n
    return Problem(
        model,
        (Phase(Duration(0.5, 2.0, 1.2), State(np.zeros(n), np.zeros(n)), segments=2),),
        costs=(Cost(Effort(model.joint_names[1:]), 0.1),),
        constraints=(Constraint(FramePosition("end", (0.1, 0.2, 0.3)), -9.0, 9.0, at=(0.5, 1.0)),),
        forces=(ExternalForce(model.link_names[1], (0.5, 0.2, 0.1), (0.1, 0.2, 0.3)),),
        passive=model.joint_names[:1],
        transcription=Hybrid(steps=2, shooting=shooting),
    )


def with_free(problem: Problem) -> Problem:
    names = {f"{x[0]}{k + 1}": name for x in ("link", "joint") for k, name in
             enumerate(getattr(problem.model, f"{x}_names"))}  # fmt: skip
    found = []
    count = 5 if problem.transcription.shooting == "multiple" else 2  # the same stages
    for k, text in enumerate(QUANTITIES[:count]):
        quantity = text.format(**names)
        value = quantity_value(problem, quantity)
        found.append(Parameter(f"p{k}", 0.5 * value, 2.0 * value, value, quantity=quantity))
    return replace(problem, parameters=tuple(found))


def fourth(f, x: float, h: float):
    """d/dx by differences of fourth order."""
    return (8.0 * (f(x + h) - f(x - h)) - (f(x + 2 * h) - f(x - 2 * h))) / (12.0 * h)


@pytest.mark.parametrize("shooting", ["multiple", "single"])
def test_derivatives_against_casadi(shooting: str) -> None:
    problem = with_free(plain(shooting))
    ours = transcribe(problem)
    columns = ours.parameter_columns()
    names, rng = list(columns), np.random.default_rng(3)
    n = ours.n - len(names)
    x = 0.3 * rng.standard_normal(ours.n)
    x[ours.phases[0].T_column] = 1.1
    at = {p.name: p.guess * rng.uniform(0.8, 1.2) for p in problem.parameters}
    for name, value in at.items():
        x[columns[name]] = value
    lam = rng.standard_normal(ours.m)

    def oracle(changed: dict[str, float]) -> Values:
        fixed = replace(with_parameters(problem, at | changed), parameters=())
        return HybridOracle(fixed, transcribe(fixed)).values(x[:n], 0.7, lam)

    found, wanted = values(ours, x, 0.7, lam), oracle({})
    close(found.f, wanted.f, 1e-10)
    close(found.g, wanted.g, 1e-10)
    close(found.gradient[:n], wanted.gradient, 1e-8)
    close(found.jacobian[:, :n], wanted.jacobian, 1e-8)
    close(found.hessian[:n, :n], wanted.hessian, 1e-8)
    for name in names:
        k = columns[name]

        def near(value: float, name: str = name) -> np.ndarray:
            v = oracle({name: value})
            lagrangian = 0.7 * v.gradient + lam @ v.jacobian
            return np.concatenate([[v.f], v.g, lagrangian])

        slope = fourth(near, at[name], STEP * abs(at[name]))
        close(found.gradient[k], slope[0], 1e-8)
        close(found.jacobian[:, k], slope[1 : ours.m + 1], 1e-8)
        close(found.hessian[k, :n], slope[ours.m + 1 :], 1e-8)

        def here(value: float, k: int = k) -> np.ndarray:
            moved = x.copy()
            moved[k] = value
            v = values(ours, moved, 0.7, lam)
            return (0.7 * v.gradient + lam @ v.jacobian)[n:]

        close(found.hessian[k, n:], fourth(here, at[name], STEP * abs(at[name])), 1e-8)


def close(a: np.ndarray, b: np.ndarray, share: float) -> None:
    assert np.abs(np.asarray(a) - b).max() <= share * max(1e-2, np.abs(b).max())


def test_two_wheels_on_a_free_spring() -> None:
    """Without outer torque they swing in opposite directions: k = J/2 (pi/P)^2, effort zero."""
    period, inertia = 1.5, 0.3
    builder = predyn.ModelBuilder("wheels", gravity=(0.0, 0.0, 0.0))
    thin = (inertia / 2, inertia / 2, inertia)
    builder.add_link("first", joint="drive", mass=1.0, inertia=thin)
    builder.add_link("second", "first", joint="spring", mass=1.0, inertia=thin)
    best = inertia / 2 * (np.pi / period) ** 2
    rest = (0.0, 0.0)
    problem = Problem(
        builder.build(),
        (Phase(period, State((0.5, -1.0), rest), State((-0.5, 1.0), rest)),),
        costs=(Cost(Effort(("drive",))), Cost(ParameterValue("u", 2.0))),
        parameters=(
            Parameter("k", 0.1 * best, 10.0 * best, 0.7 * best, quantity="stiffness of spring"),
            Parameter("u", 0.0, 5.0, 1.0),
        ),
        passive=("spring",),
        transcription=Hybrid(segments=8, steps=4),
    )
    solution = predyn.solve(problem).check()
    assert solution.parameters["u"] == pytest.approx(2.0, abs=1e-6)
    assert solution.parameters["k"] == pytest.approx(best, rel=1e-4)
    assert solution.objective < 1e-4 * best**2  # cubic splines: accelerations to 1 %
    assert solution.system(0).model.stiffness[1] == solution.parameters["k"]
    verified = predyn.verify(solution).verification
    assert verified is not None
    assert verified.replay is not None
    assert verified.replay.max_dq.max() < 1e-3  # with the optimal spring
