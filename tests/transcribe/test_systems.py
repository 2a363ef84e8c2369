"""Systems of phases: payloads, forces, motors and limits, against Pinocchio."""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
import numpy as np
import pinocchio as pin
import pytest

import predyn
from oracles.casadi_unknowns import SymbolicMotion, dynamics
from oracles.pinocchio_oracle import pinocchio_model
from predyn.dynamics import ExternalForce, mass_matrix
from predyn.model import Model
from predyn.nlp import SolverOptions
from predyn.problem import (
    Constraint,
    Cost,
    Duration,
    Phase,
    Problem,
    Spline,
    State,
    System,
    system_of,
)
from predyn.terms import Effort, GeneralizedMomentum, JointTorque, TotalTime
from predyn.transcribe.methods import transcribe
from predyn.view.report import report_html
from transcribe.problem_cases import _branched
from transcribe.program_values import values
from transcribe.test_unknowns import unlimited

LOAD = predyn.Payload("tool", 1.5, (0.0, 0.02, 0.05), np.diag([0.01, 0.02, 0.015]))
FREE = Duration(0.2, 3.0, 0.8)


@pytest.fixture(scope="module")
def arm() -> Model:
    model = predyn.load_task("arm6-pick").model
    n = model.n  # Pinocchio knows neither springs nor friction
    nothing = {x: np.zeros(n) for x in ("stiffness", "damping", "coulomb")}
    return replace(model, **nothing, armature=np.array(model.armature))


def pick_and_place(arm: Model, **phase: object) -> Problem:
    home, pick, place = np.zeros(6), np.array([0.4, 0.3, 0.2, 0.1, 0.3, 0.0]), np.full(6, -0.3)
    rest = np.zeros(6)
    return Problem(
        arm,
        (
            Phase(FREE, State(home, rest), State(pick), name="reach"),
            Phase(FREE, end=State(place), system="loaded", name="carry", **phase),
            Phase(FREE, end=State(home, rest), name="return"),
        ),
        costs=(Cost(TotalTime()), Cost(Effort(), 1e-4)),
        systems={"loaded": System(payloads=(LOAD,))},
        transcription=Spline(segments=6, limits="everywhere"),
        solver=SolverOptions(tolerance=1e-10),
    )


def pinocchio_torques(model: Model, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
    theirs = pinocchio_model(model)
    data = theirs.createData()
    return np.array([pin.rnea(theirs, data, *x) for x in zip(q, v, a, strict=True)])


@pytest.fixture(scope="module")
def picked(arm: Model) -> predyn.Solution:
    return predyn.solve(pick_and_place(arm)).check()


def test_a_payload_acts_in_its_phase_only(arm: Model, picked: predyn.Solution) -> None:
    solution = picked
    t = np.sort(np.random.default_rng(0).uniform(0.0, solution.duration, 200))
    at, phase = solution.at(t), solution.phase_at(t)
    loaded = arm.attach_payload(LOAD.link, LOAD.mass, LOAD.point, LOAD.inertia)
    assert len(np.unique(phase)) == 3
    for k, model in enumerate((arm, loaded, arm)):
        here = phase == k
        expected = pinocchio_torques(model, at.q[here], at.v[here], at.a[here])
        assert np.abs(at.tau[here] - expected).max() < 1e-10
        stored = solution.phase == k
        states = (x[stored] for x in (solution.q, solution.v, solution.a))
        assert np.abs(solution.tau[stored] - pinocchio_torques(model, *states)).max() < 1e-10
    # the motion is continuous, the torque is not
    before, after = (np.flatnonzero(solution.phase == k)[x] for k, x in ((0, -1), (1, 0)))
    for x in (solution.q, solution.v, solution.a):
        assert np.allclose(x[before], x[after], atol=1e-6)
    assert np.abs(solution.tau[before] - solution.tau[after]).max() > 0.1


def test_a_plastic_impact_keeps_the_momentum(arm: Model) -> None:
    """The load is at rest when it is gripped: M(q) v jumps in v, not in momentum."""
    solution = predyn.solve(pick_and_place(arm, impact=True)).check()
    before, after = (np.flatnonzero(solution.phase == k)[x] for k, x in ((0, -1), (1, 0)))
    loaded = arm.attach_payload(LOAD.link, LOAD.mass, LOAD.point, LOAD.inertia)
    M = []
    for model, k in ((arm, before), (loaded, after)):
        theirs = pinocchio_model(model)
        M.append(pin.crba(theirs, theirs.createData(), solution.q[k]))
    p = [m @ solution.v[k] for m, k in zip(M, (before, after), strict=True)]
    assert np.abs(solution.q[before] - solution.q[after]).max() < 1e-12
    assert np.abs(p[1] - p[0]).max() <= 1e-12 * max(np.abs(p[0]).max(), 1.0)
    assert np.abs(solution.v[before] - solution.v[after]).max() > 1e-3
    # put down with continuous velocity
    before, after = (np.flatnonzero(solution.phase == k)[x] for k, x in ((1, -1), (2, 0)))
    assert np.allclose(solution.v[before], solution.v[after], atol=1e-8)


def test_rows_of_momentum_against_casadi() -> None:
    """Value, Jacobian and Hessian of an impact, with rotors, springs and branches."""
    model = unlimited(_branched(11))
    load = predyn.Payload(model.link_names[-1], 3.0, (0.1, 0.2, 0.3))
    problem = Problem(
        model,
        (
            Phase(Duration(0.5, 2.0, 1.0), segments=1),
            Phase(Duration(0.5, 2.0, 1.0), segments=1, system="loaded", impact=True),
        ),
        constraints=(Constraint(GeneralizedMomentum(), -1.0, 1.0, at=(0.3,)),),
        costs=(Cost(Effort(), 1e-3),),
        systems={"loaded": System(payloads=(load,))},
        transcription=Spline(limit_points=1, gauss_points=1),
    )
    program = transcribe(problem)
    motion = SymbolicMotion(program)
    rng = np.random.default_rng(2)
    x = rng.uniform(-1.0, 1.0, program.n)
    for phase in program.phases:
        x[phase.T_column] = 1.1
    models = (model, model.attach_payload(load.link, load.mass, load.point))
    momenta = [_momentum(m) for m in models]

    def momentum(p: int, s: float):
        return momenta[p](motion.state(p, s, 0), motion.state(p, s, 1))

    f = 0.0
    for p in range(2):
        for s, w in motion.gauss(p, 1):
            tau = motion.tau(p, s)
            f += 1e-3 * motion.T(p) * w * (tau.T @ tau)
    g = [momentum(0, 0.3), momentum(1, 0.3), motion.state(1, 0.0, 0) - motion.state(0, 1.0, 0)]
    g.append(momentum(1, 0.0) - momentum(0, 1.0))
    lam = rng.standard_normal(program.m)
    motion.compare(f, g, x, values(program, x, 0.7, lam), 0.7, lam)


def test_the_built_in_pick_and_place_against_casadi() -> None:
    problem = predyn.load_task("two-link-pick-place")
    problem = replace(problem, transcription=replace(problem.transcription, segments=4))
    program = transcribe(problem)
    motion = SymbolicMotion(program)
    rng = np.random.default_rng(4)
    x = rng.uniform(-1.0, 1.0, program.n)
    for phase in program.phases:
        x[phase.T_column] = rng.uniform(0.5, 1.5)
    names = [phase.name for phase in program.phases]
    states = {"position": 0, "velocity": 1, "acceleration": 2, "q": 0, "v": 1, "a": 2}

    def row(i: int):
        quantity, where = program.g_quantity(i), program.g_instant(i)
        if where is None:  # continuity NAME to NAME JOINT STATE
            _, first, _, second, joint, state = quantity.split()
            j, d = problem.model.joint_index(joint), states[state]
            last, begin = names.index(first), names.index(second)
            return motion.state(begin, 0.0, d)[j] - motion.state(last, 1.0, d)[j]
        kind, joint = quantity.split(": ")[1].split()
        j = problem.model.joint_index(joint)
        if kind == "effort":
            return motion.tau(*where)[j]
        return motion.state(*where, states[kind])[j]

    f = 0.0
    for p in range(len(names)):
        for s, w in motion.gauss(p, problem.transcription.gauss_points):
            tau = motion.tau(p, s)
            for cost in problem.costs:
                loss = 1.0 if isinstance(cost.term, TotalTime) else tau.T @ tau
                f += cost.weight * motion.T(p) * w * loss
    assert {type(cost.term) for cost in problem.costs} == {TotalTime, Effort}
    lam = rng.standard_normal(program.m)
    g = [row(i) for i in range(program.m)]
    motion.compare(f, g, x, values(program, x, 0.7, lam), 0.7, lam)


def _momentum(model: Model):
    """d(kinetic energy)/dv, by CasADi: torques for accelerations v at rest, without gravity."""
    springs = {"stiffness": np.zeros(model.n), "ligaments": np.zeros((model.n, 2, 3))}
    still = replace(model, gravity=np.zeros(3), **springs)
    both, q, v = dynamics(still, ()), ca.SX.sym("q", model.n), ca.SX.sym("v", model.n)
    return ca.Function("p", [q, v], [both(q, ca.SX(model.n, 1), v, ca.SX(0, 1))[0]])


def test_momentum_channel_is_mass_matrix_times_velocity(
    arm: Model, picked: predyn.Solution
) -> None:
    solution = picked
    t = np.linspace(0.0, solution.duration, 20)
    at, phase = solution.at(t), solution.phase_at(t)
    p = solution.channel("momentum", t)
    loaded = arm.attach_payload(LOAD.link, LOAD.mass, LOAD.point, LOAD.inertia)
    for k, x in enumerate(t):
        model = loaded if phase[k] == 1 else arm
        expected = mass_matrix(model, at.q[k]) @ at.v[k]
        assert np.allclose(p[k], expected, rtol=0, atol=1e-11), x


def test_forces_passive_joints_and_limits_of_a_system() -> None:
    """A push that is a curve of time, a motor that is off, a lower limit: in one phase each."""
    model = predyn.models.two_link()
    push = predyn.Profile((0.0, 0.2, 0.6), [(0.0, 0.0, 0.0), (5.0, 1.0, 0.0), (0.0, 2.0, 0.0)])
    tight = model.limits._replace(effort=np.array([[-4.0, 4.0], [-3.0, 3.0]]))
    rest = (0.0, 0.0)
    problem = Problem(
        model,
        (
            Phase(0.6, State((0.0, 0.0), rest), system="pushed"),
            Phase(FREE, system="weak"),
            Phase(0.5, end=State(v=(np.nan, 0.0)), system="off"),
        ),
        costs=(Cost(Effort()),),
        constraints=(Constraint(JointTorque(), -9.0, 9.0, at="start"),),
        systems={
            "pushed": System(forces=(ExternalForce("tip", force=push),)),
            "weak": System(limits=tight),
            "off": System(passive=("joint1",)),
        },
        transcription=Spline(degree=5, segments=8),
    )
    solution = predyn.solve(problem).check()
    for p, effort in ((0, 10.0), (1, 4.0)):
        assert np.abs(solution.tau[solution.phase == p]).max() <= effort + 1e-6
    here = solution.phase == 0
    forces = [ExternalForce("tip", force=push.at(solution.t[here]))]
    states = (x[here] for x in (solution.q, solution.v, solution.a))
    tau = predyn.inverse_dynamics(model, *states, forces=forces)
    assert np.allclose(solution.tau[here], tau, atol=1e-10)
    last = solution.phase == 2
    assert np.abs(solution.tau[last, 0]).max() < 0.05


def test_an_inertia_of_three_numbers_reaches_file_and_report(tmp_path) -> None:
    problem = predyn.load_task("two-link-pick-place")
    load = predyn.Payload("tip", 0.5, inertia=(0.01, 0.02, 0.03))
    system = System(payloads=(load,))
    solution = predyn.solve(replace(problem, systems={"loaded": system})).check()
    solution.save(tmp_path / "a.h5")
    again = predyn.load_solution(tmp_path / "a.h5")
    (stored,) = again.system(1).payloads
    assert np.array_equal(stored.inertia, np.diag([0.01, 0.02, 0.03]))
    assert "0.01, 0.02, 0.03" in report_html(again)


def test_replaced_system_takes_effect() -> None:
    """Problems hold no copy: the current contents of the mapping are solved."""
    problem = predyn.load_task("two-link-pick-place")
    systems = dict(problem.systems)
    problem = replace(problem, systems=systems)
    light = transcribe(problem).problem
    assert light.systems["loaded"].payloads[0].mass == 0.5
    systems["loaded"] = System(payloads=(predyn.Payload("tip", 0.9),))
    assert system_of(problem, 1).payloads[0].mass == 0.9
