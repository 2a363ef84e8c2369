"""Derivatives of optima: against closed forms and against differences of re-solves."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import predyn
from predyn.config import load_task
from predyn.dynamics import ExternalForce
from predyn.errors import InputError, NotConverged
from predyn.model import Limits
from predyn.problem import (
    Constraint,
    Cost,
    Duration,
    Parameter,
    Phase,
    Problem,
    Signal,
    Spline,
    State,
)
from predyn.problem.task_quantities import with_number
from predyn.solution import Solution
from predyn.terms import (
    Effort,
    JointVelocity,
    MechanicalEnergy,
    ParameterValue,
    SignalValue,
    TotalTime,
)
from solving.resolving import check_sensitivities

# Two parameters of built-in tasks that keep the active set. Left out: cells with obstacles, whose
# clearance rows these re-solves do not have, and walks, whose contacts are written out first.
TWO = {
    "two-link-time-optimal": ("effort limit of joint1", "mass of link2"),
    "two-link-lifting": ("force.y of link2", "end q of joint2"),
    "two-link-pick-place": ("payload of tip", "length of link1"),
    "prismatic-revolute": ("mass of link2", "end q of joint1"),
    "arm-2r-min-effort": ("duration of phase 1", "mass of link2"),
    "manutec-min-time": ("velocity limit of joint1", "end q of joint1"),
    "manutec-min-energy": ("duration of phase 1", "start q of joint2"),
    "arm6-pick": ("acceleration limit of wrist_yaw", "effort limit of shoulder_pan"),
    "acrobot-swingup": ("duration of phase 1", "weight of effort"),
    "acrobot-swingup-far": ("duration of phase 1", "weight of effort"),
    "branched-acrobot-swingup": ("duration of phase 1", "weight of effort"),
    "cart-pole-swingup": ("duration of phase 1", "end q of slide"),
    "gymnast-swing": ("duration of phase 1", "end q of hip"),
    "planar-walker": ("mass of trunk", "duration of toe"),
    "human-sit-to-stand": ("duration of rising", "weight of effort"),
    "human-lift-box": ("duration of lift", "weight of effort"),
    "quadruped-stand-up": ("duration of phase 1", "weight of effort"),
}
QUICK = ("two-link-time-optimal", "two-link-lifting", "two-link-pick-place", "cart-pole-swingup")


@pytest.mark.parametrize("name", QUICK)
def test_differences_of_solves(name: str) -> None:
    problem = load_task(name)
    solution = predyn.solve(problem).check()
    check_sensitivities(problem, solution, predyn.sensitivities(solution, TWO[name]))


@pytest.mark.verify
@pytest.mark.parametrize("name", TWO)
def test_differences_of_solves_of_all_tasks(name: str) -> None:
    test_differences_of_solves(name)


# -- closed forms -------------------------------------------------------------------------------

J, D, T = 0.7, 0.9, 1.3  # kg m^2, rad, s


def disc(inertia: float = J) -> predyn.Model:
    """A joint with an inertia and nothing else."""
    builder = predyn.ModelBuilder("disc", gravity=(0.0, 0.0, 0.0))
    return builder.add_link("disc", mass=1.0, inertia=(inertia,) * 3).build()


def turn(duration: float | Duration = T, cost: Cost | None = None, **options: object) -> Problem:
    """The disc turns from rest to rest."""
    phase = Phase(duration, State([0.0], [0.0]), State([D], [0.0]))
    costs = (cost or Cost(Effort()),)
    return Problem(disc(), (phase,), costs, transcription=Spline(segments=8), **options)  # type: ignore[arg-type]


def test_least_effort() -> None:
    """The optimum is a cubic, which the spline contains: E = 12 J^2 D^2 / T^3."""
    solution = predyn.solve(turn()).check()
    names = ("inertia.zz of disc", "end q of joint1", "duration of phase 1", "start v of joint1")
    joint = solution.model.joint_names[0]
    names = tuple(name.replace("joint1", joint) for name in names)
    found = predyn.sensitivities(solution, names)
    E = 12.0 * J**2 * D**2 / T**3
    # the effort from (0, v0) to (D, 0) is J^2 (12 D^2/T^3 - 12 D v0/T^2 + 4 v0^2/T)
    wanted = [2.0 * E / J, 2.0 * E / D, -3.0 * E / T, -12.0 * J**2 * D / T**2]
    assert found.objective == pytest.approx(wanted, rel=1e-9)
    assert found.duration[:, 0] == pytest.approx([0.0, 0.0, 1.0, 0.0], abs=1e-10)
    assert not found.duration[[0, 1, 3], 0].any()  # a given duration does not change at all
    s = solution.t / solution.duration
    # q = D (3 s^2 - 2 s^3), tau = 6 J D (1 - 2 s) / T^2
    assert found.q[0, :, 0] == pytest.approx(0.0 * s, abs=1e-9)
    assert found.q[1, :, 0] == pytest.approx(3 * s**2 - 2 * s**3, abs=1e-9)
    assert found.tau[0, :, 0] == pytest.approx(6 * D * (1 - 2 * s) / T**2, abs=1e-8)
    assert found.tau[2, :, 0] == pytest.approx(-12 * J * D * (1 - 2 * s) / T**3, abs=1e-8)
    assert found.q[3, :, 0] == pytest.approx(T * (s - 2 * s**2 + s**3), abs=1e-9)
    assert found.active == found.weak == found.undetermined == ()
    assert np.isinf(found.interval).all()


def test_time_and_effort() -> None:
    """w T + 12 J^2 D^2 / T^3 is least at T^4 = 36 J^2 D^2 / w; a start speed of 0 has a slope."""
    w = 5.0
    problem = turn(Duration(0.1, 9.0, 1.0))
    problem = replace(problem, costs=(Cost(TotalTime(), w, name="clock"), Cost(Effort())))
    solution = predyn.solve(problem).check()
    joint = solution.model.joint_names[0]
    names = ("weight of clock", "inertia.zz of disc", f"end q of {joint}", f"start v of {joint}")
    found = predyn.sensitivities(solution, names)
    best = (36.0 * J**2 * D**2 / w) ** 0.25
    assert solution.duration == pytest.approx(best, rel=1e-6)
    E = 12.0 * J**2 * D**2 / best**3
    slopes = [best, 2.0 * E / J, 2.0 * E / D, -12.0 * J**2 * D / best**2]
    assert found.objective == pytest.approx(slopes, rel=1e-9)
    # v0 shifts the optimum by -(d^2 E/dT dv0) / (d^2 E/dT^2) = -24 J^2 D/T^3 / (144 J^2 D^2/T^5)
    shifts = [-best / (4.0 * w), best / (2.0 * J), best / (2.0 * D), -(best**2) / (6.0 * D)]
    assert found.duration[:, 0] == pytest.approx(shifts, rel=1e-8)


def test_time_optimal_with_a_torque_limit() -> None:
    """T^2 = 4 J D / tau on splines that can switch in the middle, up to their smoothing of it.

    By dimensions the duration on any spline is C sqrt(J D / tau).
    """
    limits = Limits(*(np.array([[-x, x]]) for x in (np.inf, np.inf, np.inf, 2.0)))
    problem = turn(Duration(0.1, 9.0, 1.0), Cost(TotalTime()), limits=limits)
    solution = predyn.solve(problem).check()
    joint = solution.model.joint_names[0]
    names = (f"effort limit of {joint}", "inertia.zz of disc", f"end q of {joint}")
    found = predyn.sensitivities(solution, names)
    t = found.objective * np.array([2.0, J, D]) * 2.0  # T p / (2 p), from each
    assert t == pytest.approx([-t[1], t[1], t[1]], rel=1e-9)
    assert t[1] == pytest.approx(solution.duration, rel=1e-6)
    assert found.tau[0].max() == pytest.approx(1.0, abs=1e-8)  # at the limit, in its own unit
    assert len(found.active) > 10
    assert all("effort" in name for name in found.active)


# -- what is assumed and refused ------------------------------------------------------------------


def test_optimum_that_is_not_unique() -> None:
    """Nothing is minimised for the second joint: its motion is NaN, the rest is right."""
    builder = predyn.ModelBuilder("discs", gravity=(0.0, 0.0, 0.0))
    for name in ("one", "two"):
        builder.add_link(name, joint=f"{name} joint", mass=1.0, inertia=(J, J, J))
    phase = Phase(T, State([0.0, 0.0], [0.0, 0.0]), State([D, D], [0.0, 0.0]))
    cost = Cost(Effort(joints=["one joint"]))
    problem = Problem(builder.build(), (phase,), (cost,), transcription=Spline(segments=8))
    found = predyn.sensitivities(predyn.solve(problem).check(), "end q of one joint")
    assert found.objective[0] == pytest.approx(24.0 * J**2 * D / T**3, rel=1e-9)
    assert found.undetermined
    assert all("two joint" in name for name in found.undetermined)
    assert np.isfinite(found.q[0, :, 0]).all()
    inside = slice(5, -5)
    assert np.isnan(found.q[0, inside, 1]).all()
    assert "not determined" in str(found)


def test_rows_that_depend_on_each_other() -> None:
    """A constant speed on a spline meets more limits than it has freedom to."""
    limits = Limits(*(np.array([[-x, x]]) for x in (np.inf, 1.0, np.inf, np.inf)))
    problem = turn(Duration(0.1, 9.0, 1.0), limits=limits)
    problem = replace(
        problem,
        costs=(Cost(TotalTime(), 5.0), Cost(Effort(), 1e-3)),
        transcription=Spline(segments=12),
    )
    solution = predyn.solve(problem).check()
    joint = solution.model.joint_names[0]
    found = predyn.sensitivities(solution, (f"velocity limit of {joint}", "inertia.zz of disc"))
    assert sum("velocity" in name for name in found.active) > 13  # points, on 13 free numbers
    check_sensitivities(problem, solution, found)


def test_limit_that_is_just_touched() -> None:
    """The largest speed of the cubic, 1.5 D / T, is its limit: the optimum has a kink there."""
    limits = Limits(*(np.array([[-x, x]]) for x in (np.inf, 1.5 * D / T, np.inf, np.inf)))
    problem = replace(turn(limits=limits), transcription=Spline(segments=8, limit_points=2))
    solution = predyn.solve(problem).check()
    joint = solution.model.joint_names[0]
    found = predyn.sensitivities(solution, (f"end q of {joint}", f"velocity limit of {joint}"))
    assert found.weak == (f"velocity {joint} at 50 %",)
    assert "weakly active" in str(found)
    assert found.objective == pytest.approx([24.0 * J**2 * D / T**3, 0.0], abs=1e-5)


@pytest.fixture(scope="module")
def lifting() -> Solution:
    return predyn.solve("two-link-lifting").check()


def test_table_and_shapes(lifting: Solution) -> None:
    found = predyn.sensitivities(lifting, ["mass of link2", "mass of link1"])
    K, n = lifting.q.shape
    assert found.q.shape == found.v.shape == found.a.shape == found.tau.shape == (2, K, n)
    assert found.duration.shape == (2, 1)
    assert (found.interval[:, 0] < found.values).all()
    assert (found.values < found.interval[:, 1]).all()
    text = str(found)
    assert "mass of link2" in text
    assert "0.5 kg" in text
    assert "effort joint1 (5 points)" in text
    assert found.message == ""
    # parameters one by one give the same
    alone = predyn.sensitivities(lifting, "mass of link1")
    assert alone.objective[0] == pytest.approx(found.objective[1], rel=1e-12)


def test_parameters_stand_for_quantities(lifting: Solution) -> None:
    both = Parameter("both", 0.1, 1.0, 0.5, "kg", ("mass of link1", "mass of link2"))
    names = ("mass of link1", "mass of link2")
    found = predyn.sensitivities(lifting, [*names, both])
    assert found.parameters == (*names, "both")
    assert found.objective[2] == pytest.approx(found.objective[:2].sum(), rel=1e-8)
    assert found.q[2] == pytest.approx(found.q[:2].sum(axis=0), abs=1e-6)


def test_saved_solutions(lifting: Solution, tmp_path: Path) -> None:
    """The task in the file is read again."""
    lifting.save(tmp_path / "solution.h5")
    loaded = predyn.load_solution(tmp_path / "solution.h5")
    assert loaded.problem is None
    found = predyn.sensitivities(loaded, "mass of link2")
    wanted = predyn.sensitivities(lifting, "mass of link2")
    assert found.objective[0] == pytest.approx(wanted.objective[0], rel=1e-9)
    bare = replace(loaded, provenance={})
    with pytest.raises(InputError, match="holds no task; give the problem"):
        predyn.sensitivities(bare, "mass of link2")
    problem = load_task("two-link-lifting")
    found = predyn.sensitivities(bare, "mass of link2", problem=problem)
    assert found.objective[0] == pytest.approx(wanted.objective[0], rel=1e-9)
    with pytest.raises(InputError, match="does not belong to the solution"):
        predyn.sensitivities(bare, "mass of link2", problem=load_task("arm-2r-min-effort"))


def test_widths_that_were_chosen(tmp_path: Path) -> None:
    """The problem leaves the width of a kink open; the solution has one."""
    problem = replace(load_task("arm-2r-min-effort"), costs=(Cost(MechanicalEnergy()),))
    problem = replace(problem, costs=(*problem.costs, Cost(Effort(), 1e-3)))
    solution = predyn.solve(problem).check()
    solution.save(tmp_path / "solution.h5")
    loaded = predyn.load_solution(tmp_path / "solution.h5")
    wanted = predyn.sensitivities(solution, "mass of link2")
    found = predyn.sensitivities(loaded, "mass of link2", problem=problem)
    assert found.objective[0] == pytest.approx(wanted.objective[0], rel=1e-9)


def test_refined_solutions(tmp_path: Path) -> None:
    solution = predyn.solve("prismatic-revolute", refine=True).check()
    solution.save(tmp_path / "solution.h5")
    loaded = predyn.load_solution(tmp_path / "solution.h5")
    found = [predyn.sensitivities(x, "mass of link2").objective[0] for x in (solution, loaded)]
    assert found[1] == pytest.approx(found[0], rel=1e-9)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("mas of link2", r"unknown quantity 'mas'.*'mass'"),
        ("mass of link7", "link7"),
        ("mass", "expected text such as"),
        (7, "expected names of quantities, got int"),
        ([], "got none"),
        (["mass of link1", "mass of link1"], "'mass of link1' twice"),
        ("end a of joint1", "leaves it free"),
        ("end q of joint9", "unknown joint 'joint9'"),
        ("end q of joint1 in lift", "unknown phase 'lift'"),
        ("duration of phase 1", "it is free"),
        ("duration of phase 2", "unknown phase 'phase 2'"),
        ("weight of tim", "unknown cost 'tim'.*'time'"),
        ("velocity limit of joint1", "no velocity limit"),
        (Parameter("k", 0.0, 1.0, 0.5), "expected a quantity that it stands for"),
        (
            Parameter("k", 0.0, 1.0, 0.5, "1", ("mass of link1", "end q of joint1")),
            "same value, got mass of link1 = 0.5, end q of joint1 = 2.8",
        ),
    ],
)
def test_refusals(lifting: Solution, given: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        predyn.sensitivities(lifting, given)  # type: ignore[arg-type]


def test_refused_solutions(lifting: Solution) -> None:
    with pytest.raises(InputError, match="solution: expected a Solution, got str"):
        predyn.sensitivities("two-link-lifting", "mass of link2")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="problem: expected a Problem, got str"):
        predyn.sensitivities(lifting, "mass of link2", problem="two-link-lifting")  # type: ignore[arg-type]
    with pytest.raises(NotConverged):
        predyn.sensitivities(replace(lifting, status="infeasible"), "mass of link2")
    free = replace(load_task("arm-2r-min-effort"), transcription=Spline(segments=6, knots="free"))
    with pytest.raises(InputError, match="knots are free"):
        predyn.sensitivities(predyn.solve(free).check(), "mass of link2")
    heavier = with_number(load_task("two-link-lifting"), "mass of link2", 0.7)
    with pytest.raises(InputError, match=r"nearest optimum of the problem is .*, not 0.844"):
        predyn.sensitivities(lifting, "mass of link2", problem=heavier)


def test_values_at_the_edge_of_what_is_possible() -> None:
    """A stiffness cannot be negative: the derivative is taken from the other side."""
    solution = predyn.solve("arm-2r-min-effort").check()
    joint = solution.model.joint_names[1]
    problem = solution.problem
    assert problem is not None
    found = predyn.sensitivities(solution, f"stiffness of {joint}")
    # to first order, the spring adds its torque k q to that of the motor: E = sum tau^2 / 2
    t = np.linspace(0.0, solution.duration, 20001)
    motion = solution.at(t)
    wanted = np.trapezoid(motion.tau[:, 1] * motion.q[:, 1], t)
    assert found.objective[0] == pytest.approx(wanted, rel=1e-5)
    slope = (
        predyn.solve(with_number(problem, f"stiffness of {joint}", 1e-3), guess=solution).objective
        - solution.objective
    ) / 1e-3
    assert found.objective[0] == pytest.approx(slope, rel=1e-2)


def test_free_parameters_and_bounds() -> None:
    """A duration that several phases share, and one that is at its bound."""
    w = 5.0
    costs = (Cost(TotalTime(), w, name="clock"), Cost(Effort()))
    free = replace(turn(), costs=costs, parameters=(Parameter("T", 0.1, 9.0, 1.0, "s"),))
    free = replace(free, phases=(replace(free.phases[0], duration="T"),))
    found = predyn.sensitivities(predyn.solve(free).check(), "inertia.zz of disc")
    best = (36.0 * J**2 * D**2 / w) ** 0.25
    assert found.free["T"][0] == pytest.approx(best / (2.0 * J), rel=1e-8)
    bound = replace(turn(Duration(0.1, 1.0, 0.8)), costs=costs)  # shorter than the best
    found = predyn.sensitivities(predyn.solve(bound).check(), "inertia.zz of disc")
    assert found.objective[0] == pytest.approx(24.0 * J * D**2, rel=1e-9)
    assert found.duration[0, 0] == pytest.approx(0.0, abs=1e-10)
    assert found.active == ("duration",)
    # the multiplier 36 J^2 D^2 / T^4 - w of the bound is zero for a smaller inertia
    assert found.interval[0, 0] == pytest.approx(J - (36 * J**2 * D**2 - w) / (72 * J * D**2))


def test_numbers_that_the_solve_chooses() -> None:
    free = Parameter("m", 0.5, 2.0, 1.0, "kg", "mass of disc")
    costs = (Cost(Effort()), Cost(ParameterValue("m"), 1e-3))
    solution = predyn.solve(replace(turn(), costs=costs, parameters=(free,))).check()
    with pytest.raises(InputError, match="parameter 'm' stands for it"):
        predyn.sensitivities(solution, "mass of disc")


def test_best_springs() -> None:
    """d(best stiffness)/dp, against re-solves."""
    model = disc()
    spring = Parameter("k", 0.0, 50.0, 1.0, "N m/rad", f"stiffness of {model.joint_names[0]}")
    swing = Phase(T, State([-D], [0.0]), State([D], [0.0]))
    problem = replace(turn(), phases=(swing,), parameters=(spring,))
    problem = replace(problem, costs=(Cost(Effort()), Cost(ParameterValue("k"), 1e-3)))
    solution = predyn.solve(problem).check()
    found = predyn.sensitivities(solution, ("inertia.zz of disc", "duration of phase 1"))
    check_sensitivities(problem, solution, found)
    for k, name in enumerate(found.parameters):
        low, high = (
            predyn.solve(with_number(problem, name, found.values[k] + d)).parameters["k"]
            for d in (-1e-3, 1e-3)
        )
        assert found.free["k"][k] == pytest.approx((high - low) / 2e-3, rel=1e-4)


def test_signals() -> None:
    """A moment u helps the motor: tau = J a - u, and tau^2 + w u^2 is least for u = J a/(1 + w)."""
    w = 3.0
    help_ = Signal("u", ("x", "y", "z"), (0.0, 0.0, -50.0), (0.0, 0.0, 50.0), unit="N m")
    problem = replace(
        turn(),
        signals=(help_,),
        forces=(ExternalForce("disc", moment="u"),),
        costs=(Cost(Effort()), Cost(SignalValue("u", ("z",)), w)),
    )
    found = predyn.sensitivities(predyn.solve(problem).check(), "inertia.zz of disc")
    a = 6.0 * D * (1.0 - 2.0 * found.t / T) / T**2
    assert found.signals["u"][0, :, 2] == pytest.approx(a / (1.0 + w), abs=1e-7)
    assert found.tau[0, :, 0] == pytest.approx(w * a / (1.0 + w), abs=1e-7)
    assert found.objective[0] == pytest.approx(24.0 * w / (1.0 + w) * J * D**2 / T**3, rel=1e-9)


def test_limits_that_cannot_stay_active() -> None:
    """The same limit twice, of which one changes."""
    limits = Limits(*(np.array([[-x, x]]) for x in (np.inf, 1.0, np.inf, np.inf)))
    problem = turn(limits=limits)
    again = Constraint(JointVelocity(), upper=1.0, name="again")
    solution = predyn.solve(replace(problem, constraints=(again,))).check()
    joint = solution.model.joint_names[0]
    found = predyn.sensitivities(solution, (f"velocity limit of {joint}", "inertia.zz of disc"))
    assert np.isnan(found.objective[0])
    assert np.isnan(found.q[0]).all()
    assert "cannot all stay active: again" in found.message
    assert found.objective[1] == pytest.approx(2.0 * solution.objective / J, rel=1e-6)


def test_single_shooting() -> None:
    problem = load_task("acrobot-swingup-far")
    single = replace(problem.transcription, shooting="single")
    slopes = [
        predyn.sensitivities(predyn.solve(x).check(), "weight of effort").objective[0]
        for x in (problem, replace(problem, transcription=single))
    ]
    assert slopes[1] == pytest.approx(slopes[0], rel=1e-7)


def test_a_number_without_effect() -> None:
    solution = predyn.solve(turn()).check()
    found = predyn.sensitivities(solution, "inertia.xx of disc")
    assert not np.any([found.objective[0], found.duration[0, 0]])
