"""Signals, parameters, systems and rows over several phases, against CasADi and closed forms."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

import predyn
from oracles.casadi_oracle import frame_expression
from oracles.casadi_unknowns import SymbolicMotion
from predyn.dynamics import ExternalForce
from predyn.model import Limits, Model
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
    System,
)
from predyn.samples import Samples
from predyn.terms import (
    AverageSpeed,
    Effort,
    FramePosition,
    JointReaction,
    JointTorque,
    MechanicalEnergy,
    ParameterValue,
    SignalRate,
    SignalValue,
    TotalTime,
    TrackPoint,
    UserTerm,
    WeightedSum,
)
from predyn.terms.pairs import FrameStep
from predyn.terms.term import Residual, Term
from predyn.transcribe.methods import transcribe
from predyn.transcribe.motion import motion_of
from predyn.transcribe.spline import SplineProgram
from transcribe.problem_cases import _branched
from transcribe.program_values import values

GAUSS = 5
WIDTH = 0.5  # W, of the smooth absolute value


def unlimited(model: Model) -> Model:
    n = model.n
    nothing = np.tile([-np.inf, np.inf], (n, 1))
    return replace(model, limits=Limits(nothing, nothing, nothing, nothing))


def point_function(model: Model, frame: str) -> ca.Function:
    q, _, _, parts = frame_expression(model, frame, (0.0, 0.0, 0.0))
    return ca.Function("p", [q], [parts[1]])


def compare(problem: Problem, f_and_g, seed: int = 0) -> SplineProgram:
    """Value, Jacobian and Hessian at a random point are those of the expressions."""
    program = transcribe(problem)
    assert isinstance(program, SplineProgram)
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1.0, 1.0, program.n)
    for phase in program.phases:
        if phase.T_column >= 0:
            x[phase.T_column] = rng.uniform(0.6, 1.4)
    motion = SymbolicMotion(program)
    f, g = f_and_g(motion)
    lam = rng.standard_normal(program.m)
    motion.compare(f, g, x, values(program, x, 0.7, lam), 0.7, lam)
    return program


# -- an arm that presses on a wall ----------------------------------------------------------------

WALL, LOW, HIGH = 0.8, -0.4, 0.4


def pressing(duration: float | Duration = 1.0) -> Problem:
    """The tip of a two-link arm slides along x = WALL and presses; the force is an unknown."""
    arm = unlimited(predyn.models.two_link())
    press = Signal(
        "press", ("x", "y", "z"), lower=(-50.0, -50.0, 0.0), upper=(50.0, 50.0, 0.0),
        guess=(-5.0, 0.0, 0.0), scale=10.0, unit="N", degree=1, segments=3,
    )  # fmt: skip
    times = np.linspace(0.0, 1.0, 5)
    path = np.stack([np.full(5, WALL), np.linspace(LOW, HIGH, 5), np.zeros(5)], axis=1)
    return Problem(
        arm,
        (Phase(duration, segments=4),),
        costs=(
            Cost(Effort(), 0.01),
            Cost(SignalRate("press"), 1e-3),
            Cost(SignalValue("press", ("x",), target=-20.0), 0.1),
            Cost(TrackPoint("tip", times, path), 10.0),
        ),
        constraints=(Constraint(FramePosition("tip", (WALL, np.nan, np.nan)), name="wall"),),
        forces=(ExternalForce("tip", force="press"),),
        signals=(press,),
        transcription=Spline(degree=3, gauss_points=GAUSS),
    )


@pytest.mark.parametrize("duration", [1.0, Duration(0.5, 2.0, 1.0)])
def test_a_contact_force_is_an_unknown(duration: float | Duration) -> None:
    problem = pressing(duration)
    tip = point_function(problem.model, "tip")

    def f_and_g(m: SymbolicMotion):
        T, f = m.T(0), 0.0
        for s, w in m.gauss(0, GAUSS):
            force, rate = m.signal(0, "press", s), m.signal(0, "press", s, 1)
            p = tip(m.state(0, s, 0))
            goal = ca.vertcat(WALL, LOW + (HIGH - LOW) * s * T, 0.0)
            f += T * w * 0.01 * ca.sumsqr(m.tau(0, s))
            f += T * w * (1e-3 * ca.sumsqr(rate) + 0.1 * (force[0] + 20.0) ** 2)
            f += T * w * 10.0 * ca.sumsqr(p - goal)
        return f, [tip(m.state(0, s, 0))[0] - WALL for s in np.arange(5) / 4]

    compare(problem, f_and_g)


@pytest.mark.parametrize("frame", ["world", "link"])
@pytest.mark.parametrize("degree", [0, 2])
def test_forces_and_moments_as_signals_on_a_tree(frame: str, degree: int) -> None:
    """Curved bounds of a signal of degree 2 are rows; those of steps bound the variables."""
    model = unlimited(_branched(3))
    names = ("x", "y", "z")
    push = Signal("push", names, -30.0, 30.0, degree=degree, knots=(0.0, 0.4, 1.0))
    twist = Signal("twist", names, degree=1)
    last, first = model.link_names[-1], model.link_names[0]
    forces = (
        ExternalForce(last, force="push", moment="twist", point=(0.1, -0.2, 0.3), frame=frame),
        ExternalForce(first, force=(1.0, 2.0, 3.0), moment="twist", frame="world"),
    )
    at, joint = (0.2, 0.9), model.joint_names[0]
    problem = Problem(
        model,
        (Phase(Duration(0.5, 2.0, 1.0), segments=2),),
        costs=(Cost(Effort()), Cost(MechanicalEnergy(), 0.3, loss="square")),
        constraints=(
            Constraint(JointTorque(), -5.0, 5.0, at=at),
            Constraint(JointReaction(joint, form="magnitude"), 0.0, 9.0, at=at),
        ),
        forces=forces,
        signals=(push, twist),
        transcription=Spline(limit_points=2, gauss_points=3),
    )

    def f_and_g(m: SymbolicMotion):
        T, f, g = m.T(0), 0.0, []
        if degree == 2:
            for s in (0.0, 0.2, 0.4, 0.45, 0.5, 0.75, 1.0):  # two in each common piece
                g.append(m.signal(0, "push", s))
        for s, w in m.gauss(0, 3):
            tau, v = m.tau(0, s), m.state(0, s, 1)
            f += T * w * (ca.sumsqr(tau) + 0.3 * ca.sumsqr(tau * v))
        size = [ca.sqrt(ca.sumsqr(m.wrench(0, s)[3:6]) + 0.1**2) for s in at]
        return f, [*g, *(m.tau(0, s) for s in at), *size]

    compare(problem, f_and_g, seed=degree)


def test_a_force_at_rest_is_carried_by_the_transpose_of_the_jacobian() -> None:
    """tau = -J^T F for an arm at rest without weight, by hand."""
    arm = replace(unlimited(predyn.models.two_link()), gravity=np.zeros(3))
    problem = replace(pressing(), model=arm, costs=(Cost(Effort()),), constraints=(
        Constraint(SignalValue("press"), -50.0, 50.0, at="end"),))  # fmt: skip
    program = transcribe(problem)
    q1, q2, F = 0.4, 0.9, np.array([-3.0, 7.0, 0.0])
    x = np.zeros(program.n)
    layout = program.phases[0]
    x[layout.columns] = (q1, q2)
    (curve,) = layout.curves
    x[curve.columns[:, :2]] = F[:2]
    tau = motion_of(program, x).samples(0, np.array([0.1, 0.8]), ("tau",))["tau"]
    ends = [predyn.dynamics.frame_kinematics(arm, name, [q1, q2]).p for name in ("link2", "tip")]
    levers = (ends[1], ends[1] - ends[0])  # from the joints to the tip, both axes along z
    expected = [-(r[0] * F[1] - r[1] * F[0]) for r in levers]
    assert np.allclose(tau, np.array(expected)[:, None], rtol=0, atol=1e-13)


def test_integrals_respect_the_breaks_of_signals() -> None:
    """The signal has many more pieces than the motion; the cost is still the exact integral."""
    force = Signal("push", ("x", "y", "z"), -5.0, 5.0, scale=1.0, degree=2, segments=16)
    problem = Problem(
        predyn.models.two_link(),
        (Phase(1.0, State((0.0, 0.0), (0.0, 0.0)), State((0.5, 0.3), (0.0, 0.0)), segments=2),),
        costs=(Cost(Effort()), Cost(SignalValue("push"), 1e-3)),
        forces=(ExternalForce("tip", force="push"),),
        signals=(force,),
    )
    solution = predyn.solve(problem).check()
    t = np.linspace(0.0, 1.0, 20001)
    cost = (solution.at(t).tau ** 2).sum(axis=1)
    cost += 1e-3 * (solution.channel("signal:push", t) ** 2).sum(axis=1)
    assert solution.objective == pytest.approx(np.trapezoid(cost, t), rel=1e-5)
    most = np.abs(solution.channel("signal:push", t)).max()
    assert most <= 5.0 * (1.0 + 1.05 * solution.max_violation_dense)  # the re-check sees them too


def test_contact_solution_is_consistent() -> None:
    """The tip stays on the wall, and the torques match the optimized force."""
    solution = predyn.solve(pressing()).check()
    press = solution.signals["press"]
    assert press.shape == (len(solution.t), 3)
    assert np.abs(press[:, 2]).max() == 0.0
    assert np.abs(press[:, 0] + 20.0).max() < 5.0  # the goal, mixed with effort
    tip = solution.channel("frame:tip", solution.t)[:, 9:12]
    assert np.abs(tip[:, 0] - WALL).max() < 1e-3
    # torques are those of the same motion under the found force
    forces = [ExternalForce("tip", force=press)]
    tau = predyn.inverse_dynamics(solution.model, solution.q, solution.v, solution.a, forces=forces)
    assert np.allclose(solution.tau, tau, rtol=0, atol=1e-10)


# -- pairs that are curved ------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Distance(Term):
    """Half the squared distance between a frame's positions at two instants, minus a target."""

    frame: str
    target: float

    kind = "distance"
    pairs: ClassVar[bool] = True

    def bind(self, model: Model) -> Residual:
        model.frame(self.frame)
        return _Distance(f"frame:{self.frame}", self.target)


class _Distance(Residual):
    rows, units = ("distance",), ("m^2",)

    def __init__(self, channel: str, target: float) -> None:
        self._sides, self._target = (f"first.{channel}", f"second.{channel}"), target
        self.scale = np.ones(1)
        self.entries = tuple((0, side, 9 + k) for side in self._sides for k in range(3))
        first, second = self._sides
        self.curved = (
            *((side, 9 + k, side, 9 + k) for side in self._sides for k in range(3)),
            *((first, 9 + k, second, 9 + k) for k in range(3)),
        )

    def _way(self, s: Samples) -> NDArray:
        first, second = (s.frame(side, "p") for side in self._sides)
        return second - first

    def value(self, s: Samples, out: NDArray) -> None:
        out[0] = 0.5 * (self._way(s) ** 2).sum(axis=0) - self._target

    def partials(self, s: Samples, out: NDArray) -> None:
        out[:3], out[3:] = -self._way(s), self._way(s)

    def curvature(self, s: Samples, weights: NDArray, out: NDArray) -> None:
        out[:6], out[6:] = weights[0], -weights[0]


@pytest.mark.parametrize("phases", [1, 2])
def test_a_curved_pair_is_lifted(phases: int) -> None:
    model = unlimited(_branched(5))
    frame = model.link_names[-1]
    problem = Problem(
        model,
        tuple(Phase(Duration(0.5, 2.0, 1.0), segments=2) for _ in range(phases)),
        costs=(Cost(Effort(), 1e-3),),
        constraints=(Constraint(Distance(frame, 0.3), 0.0, 1.0),),
        transcription=Spline(limit_points=1, gauss_points=2),
        continuity=0,
    )
    point = point_function(model, frame)

    def f_and_g(m: SymbolicMotion):
        f = 0.0
        for p in range(phases):
            for s, w in m.gauss(p, 2):
                f += 1e-3 * m.T(p) * w * ca.sumsqr(m.tau(p, s))
        y = ca.vertcat(*(m.parameter(f"distance 1 frame:{frame} {9 + k}") for k in range(3)))
        start, end = (point(m.state(p, s, 0)) for p, s in ((0, 0.0), (phases - 1, 1.0)))
        g = [start - y, 0.5 * ca.sumsqr(end - y) - 0.3]
        if phases == 2:
            g.append(m.state(1, 0.0, 0) - m.state(0, 1.0, 0))
        return f, g

    compare(problem, f_and_g)


def test_a_user_term_on_a_pair_is_lifted() -> None:
    """Distance as a user function, once for the whole motion and once for its phase."""

    def way(s: Samples) -> NDArray:
        step = s["second.frame:tip"][9:12] - s["first.frame:tip"][9:12]
        return 0.5 * (step**2).sum(axis=0) - 0.02

    channels = ("first.frame:tip", "second.frame:tip")
    depends = dict.fromkeys(channels, (9, 10, 11))
    bound = Constraint(UserTerm(way, channels, depends=depends, name="way"), -0.001, 0.001)
    start = State((0.3, -0.6), (0.0, 0.0))
    problem = Problem(
        predyn.models.two_link(),
        (Phase(1.0, start=start, end=State(v=(0.0, 0.0)), constraints=(bound,)),),
        costs=(Cost(Effort()),),
        constraints=(bound,),
        transcription=Spline(segments=6),
    )
    program = transcribe(problem)
    names = [program.g_name(i) for i in range(program.m)]
    assert names.count("way way") == 2
    assert len({program.x_name(i) for i in range(program.n)}) == program.n
    solution = predyn.solve(problem).check()
    step = np.diff(solution.channel("frame:tip", [0.0, 1.0])[:, 9:12], axis=0)
    assert abs(0.5 * (step**2).sum() - 0.02) < 0.001 + 1e-7


def test_a_lifted_pair_starts_from_the_guess_and_holds() -> None:
    arm = predyn.models.two_link()
    problem = Problem(
        arm,
        (Phase(1.0, start=State((0.3, -0.6), (0.0, 0.0)), end=State(v=(0.0, 0.0))),),
        costs=(Cost(Effort()),),
        constraints=(Constraint(Distance("tip", 0.02)),),
        transcription=Spline(segments=8),
    )
    solution = predyn.solve(problem).check()
    way = np.diff(solution.channel("frame:tip", [0.0, 1.0])[:, 9:12], axis=0)
    assert 0.5 * (way**2).sum() == pytest.approx(0.02, abs=1e-7)


# -- rows over several phases, parameters that phases share ---------------------------------------


def _mix(s: Samples) -> NDArray:
    """A user function of a parameter and the motion."""
    return s["parameter:step"][0] ** 2 * s["v"].sum(axis=0)


def striding() -> Problem:
    """Three phases: the first and the last take the same time, which is a parameter."""
    model = unlimited(_branched(7))
    frame = model.link_names[-1]
    carried = System(payloads=(predyn.Payload(frame, 2.0, (0.1, 0.0, 0.2)),))
    total = WeightedSum(((2.0, FrameStep(frame, "y")), (-0.5, TotalTime()), (0.1, Effort(
        joints=(model.joint_names[0],)))), name="balance")  # fmt: skip
    return Problem(
        model,
        (
            Phase("step", segments=2),
            Phase(Duration(0.5, 2.0, 1.0), segments=1, system="loaded"),
            Phase("step", segments=2, constraints=(Constraint(total, -1.0, 1.0),)),
        ),
        costs=(Cost(Effort(), 1e-3), Cost(ParameterValue("step", target=0.9), 2.0)),
        constraints=(
            Constraint(AverageSpeed(frame, 0.4, "x")),
            Constraint(MechanicalEnergy(width=WIDTH), upper=40.0, integral=True, over="motion",
                       name="work"),
            Constraint(TotalTime(), upper=3.0, integral=True, over="motion", name="total time"),
            Constraint(ParameterValue("step"), 0.1, 5.0),
            Constraint(UserTerm(_mix, ("v", "parameter:step")), -9.0, 9.0, at="end"),
        ),
        parameters=(Parameter("step", 0.3, 2.0, 1.0, "s"),),
        systems={"loaded": carried},
        transcription=Spline(limit_points=1, gauss_points=2),
        continuity=0,
    )  # fmt: skip


def test_rows_over_several_phases_and_a_shared_duration() -> None:
    problem = striding()
    frame = problem.model.link_names[-1]
    point = point_function(problem.model, frame)

    def f_and_g(m: SymbolicMotion):
        f, work, effort = 0.0, 0.0, 0.0
        step = m.parameter("step")
        for p in range(3):
            T = m.T(p)
            for s, w in m.gauss(p, 2):
                tau = m.tau(p, s)
                f += T * w * 1e-3 * ca.sumsqr(tau)
                power = tau * m.state(p, s, 1)
                work += T * w * ca.sum1(ca.sqrt(power**2 + WIDTH**2) - WIDTH)
                if p == 2:
                    effort += T * w * tau[0] ** 2
        f += 2.0 * (step - 0.9) ** 2  # once, not over time
        total = m.T(0) + m.T(1) + m.T(2)
        at = {(p, s): point(m.state(p, s, 0)) for p in range(3) for s in (0.0, 1.0)}
        mixes = [step**2 * ca.sum1(m.state(p, 1.0, 1)) for p in range(3)]
        speed = at[2, 1.0][0] - at[0, 0.0][0] - 0.4 * total
        balance = 2.0 * (at[2, 1.0][1] - at[2, 0.0][1]) - 0.5 * m.T(2) + 0.1 * effort
        pointwise = [speed, step, *mixes, balance]
        joined = [m.state(p + 1, 0.0, 0) - m.state(p, 1.0, 0) for p in range(2)]
        return f, [*pointwise, *joined, work, total]

    program = compare(problem, f_and_g)
    assert program.phases[0].T_column == program.phases[2].T_column
    names = [program.g_name(i) for i in range(program.m)]
    assert names[-2:] == ["work", "total time"]


def test_a_parameter_in_a_sum_counts_once() -> None:
    """k - duration = 0 over two phases: k is the duration of the motion."""
    rest = (0.0, 0.0)
    same = WeightedSum(((1.0, ParameterValue("k")), (-1.0, TotalTime())), name="same", unit="s")
    problem = Problem(
        predyn.models.two_link(),
        (
            Phase(Duration(0.2, 2.0, 0.5), State((0.0, 0.0), rest), segments=4),
            Phase(0.7, end=State((0.6, 0.4), rest), segments=4),
        ),
        costs=(Cost(Effort()), Cost(TotalTime(), 5.0)),
        constraints=(Constraint(same),),
        parameters=(Parameter("k", 0.0, 9.0, 1.0, "s"),),
    )
    solution = predyn.solve(problem).check()
    assert solution.parameters["k"] == pytest.approx(solution.duration, abs=1e-8)


def test_solution_has_its_parameters() -> None:
    arm = predyn.models.two_link()
    rest = (0.0, 0.0)
    problem = Problem(
        arm,
        (
            Phase("half", start=State((0.0, 0.0), rest), segments=4),
            Phase("half", end=State((0.6, 0.4), rest), segments=4),
        ),
        costs=(Cost(Effort()), Cost(TotalTime(), 5.0)),
        parameters=(Parameter("half", 0.2, 2.0, 0.5, "s"),),
    )
    solution = predyn.solve(problem).check()
    first, second = (curve.duration for curve in solution.curves)
    assert first == second == solution.parameters["half"]
