"""Springs that an optimization chooses: closed form, and an independent statement in CasADi."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from scipy.interpolate import BSpline

import predyn
from predyn.model import Model
from predyn.nlp import SolverOptions
from predyn.problem import (
    Constraint,
    Cost,
    Parameter,
    Phase,
    Problem,
    Spline,
    State,
    System,
)
from predyn.terms import Effort, Periodic

EXACT = SolverOptions(tolerance=1e-10)


def wheel(inertia: float) -> Model:
    builder = predyn.ModelBuilder("wheel", gravity=(0.0, 0.0, 0.0))
    thin = (inertia / 2, inertia / 2, inertia)
    return builder.add_link("disc", joint="axle", mass=1.0, inertia=thin).build()


@pytest.mark.parametrize(("inertia", "period"), [(0.5, 2.0), (3e-4, 0.08)])
def test_a_wheel_between_two_stops_swings_freely(inertia: float, period: float) -> None:
    """k = J (2 pi/P)^2: the spring does all the work, and the motor none."""
    best = inertia * (2.0 * np.pi / period) ** 2
    problem = Problem(
        wheel(inertia),
        (
            Phase(period / 2, State((-1.0,), (0.0,)), State((1.0,), (0.0,)), segments=10),
            Phase(period / 2, end=State((-1.0,), (0.0,)), segments=10),
        ),
        costs=(Cost(Effort()),),
        constraints=(Constraint(Periodic(("a",))),),
        parameters=(Parameter("k", 0.0, 10.0 * best, 0.2 * best, quantity="stiffness of axle"),),
        transcription=Spline(degree=5),
        solver=EXACT,
    )
    solution = predyn.solve(problem).check()
    # the splines approximate a cosine to (pi/10)^6/6!: torques to about 1e-5 of their size
    assert solution.parameters["k"] == pytest.approx(best, rel=1e-6)
    assert np.abs(solution.tau).max() < 1e-4 * best
    assert solution.objective < 1e-8 * best**2 * period
    assert solution.parameter_units == {"k": "N m/rad"}
    assert solution.model.stiffness[0] == solution.parameters["k"]
    assert solution.system(0).model.stiffness[0] == solution.parameters["k"]
    again = predyn.solve(problem, guess=solution)
    assert again.parameters["k"] == pytest.approx(best, rel=1e-6)


def test_the_best_spring_for_a_given_motion() -> None:
    """Nothing but the spring is free: k = -J int a q / int q^2, a linear regression."""
    inertia, rest = 0.4, (0.0,)
    spring = Parameter("k", 0.0, 100.0, 1.0, quantity="stiffness of axle")
    given = Phase(0.8, State((-1.0,), rest), State((1.0,), rest), segments=1)
    problem = Problem(wheel(inertia), (given,), (Cost(Effort()),), parameters=(spring,))
    solution = predyn.solve(problem).check()
    # q = -1 + 6 s^2 - 4 s^3 is odd about the middle: with u = 2 s - 1, q = (3 u - u^3)/2
    a_q = -((2.0 / 0.8) ** 2) * 3.0 * (1.0 / 2.0 - 1.0 / 10.0)  # mean of q'' q = -3 u (3 u - u^3)/2
    q_q = (9.0 / 3.0 - 6.0 / 5.0 + 1.0 / 7.0) / 4.0
    assert solution.parameters["k"] == pytest.approx(-inertia * a_q / q_q, rel=1e-7)


# -- pick and place -------------------------------------------------------------------------------

LENGTH, MASS, INERTIA, GRAVITY, LOAD = 0.4, 0.5, 0.1, 9.8062, 0.6
PICK, PLACE, DURATION, SEGMENTS, GAUSS = (2.2, -1.9), (0.7, -1.4), 0.7, 5, 5
GUESS = np.array([5.0, 5.0, 1.0, -1.0])  # stiffness of both joints, rest of both


def torques() -> ca.Function:
    """(q, v, a, springs, load) -> tau of two rods in a vertical plane, by Lagrange's equations."""
    q, v, a, springs = (ca.SX.sym(x, m) for x, m in (("q", 2), ("v", 2), ("a", 2), ("k", 4)))
    load = ca.SX.sym("load")

    def point(r1: float, r2: float) -> ca.SX:
        direction = [ca.vertcat(ca.cos(x), ca.sin(x)) for x in (q[0], q[0] + q[1])]
        return r1 * direction[0] + r2 * direction[1]

    bodies = [(MASS, point(LENGTH / 2, 0)), (MASS, point(LENGTH, LENGTH / 2))]
    bodies.append((load, point(LENGTH, LENGTH)))
    kinetic = 0.5 * INERTIA * (v[0] ** 2 + (v[0] + v[1]) ** 2)
    potential = 0.5 * ca.dot(springs[:2], (q - springs[2:]) ** 2)
    for mass, x in bodies:
        kinetic += 0.5 * mass * ca.sumsqr(ca.jtimes(x, q, v))
        potential += mass * GRAVITY * x[1]
    momentum = ca.gradient(kinetic, v)
    rate = ca.jtimes(momentum, q, v) + ca.jtimes(momentum, v, a)
    tau = rate - ca.gradient(kinetic, q) + ca.gradient(potential, q)
    return ca.Function("tau", [q, v, a, springs, load], [tau])


def casadi_pick_and_place() -> tuple[float, np.ndarray, np.ndarray]:
    """Objective, springs, and q in the middle of both phases."""
    breaks = np.linspace(0.0, 1.0, SEGMENTS + 1)
    knots = np.concatenate([[0.0] * 3, breaks, [1.0] * 3])
    count = SEGMENTS + 3

    def row(s: float, d: int) -> ca.DM:
        basis = [float(BSpline(knots, e, 3)(s, nu=d)) for e in np.eye(count)]
        return ca.DM(basis).T / DURATION**d

    tau, springs = torques(), ca.MX.sym("springs", 4)
    c = [ca.MX.sym(f"c{p}", count, 2) for p in range(2)]
    state = [[lambda s, d, x=x: (row(s, d) @ x).T for x in c][p] for p in range(2)]
    nodes, weights = np.polynomial.legendre.leggauss(GAUSS)
    f, g = 0.0, []
    for p, load in enumerate((LOAD, 0.0)):
        for k in range(SEGMENTS):
            for x, w in zip(nodes, weights, strict=True):
                s = breaks[k] + (x + 1) / 2 / SEGMENTS
                found = tau(*(state[p](s, d) for d in range(3)), springs, load)
                f += DURATION * w / 2 / SEGMENTS * ca.sumsqr(found)
        ends = (PICK, PLACE) if p == 0 else (PLACE, PICK)
        for s, q in zip((0.0, 1.0), ends, strict=True):
            g += [state[p](s, 0) - ca.DM(q), state[p](s, 1)]
    g += [state[1](0.0, 2) - state[0](1.0, 2), state[1](1.0, 2) - state[0](0.0, 2)]
    x = ca.vertcat(*(ca.vec(y) for y in c), springs)
    lines = [np.linspace(a, b, count) for a, b in ((PICK, PLACE), (PLACE, PICK))]
    start = np.concatenate([*(line.T.ravel() for line in lines), GUESS])
    low, high = np.full(len(start), -np.inf), np.full(len(start), np.inf)
    low[-4:], high[-4:] = (0.0, 0.0, -3.0, -3.0), (100.0, 100.0, 3.0, 3.0)
    options = {"ipopt.tol": 1e-11, "ipopt.print_level": 0, "print_time": False}
    solver = ca.nlpsol("solver", "ipopt", {"x": x, "f": f, "g": ca.vertcat(*g)}, options)
    result = solver(x0=start, lbx=low, ubx=high, lbg=0.0, ubg=0.0)
    assert solver.stats()["success"]
    middle = ca.Function("middle", [x], [state[p](0.5, 0) for p in range(2)])(result["x"])
    values = np.asarray(result["x"]).ravel()
    return float(result["f"]), values[-4:], np.array([np.asarray(y).ravel() for y in middle])


def test_pick_and_place_with_springs_against_casadi() -> None:
    arm = predyn.models.two_link()
    first, second = arm.joint_names
    names = ("k1", "k2", "r1", "r2")
    quantities = [f"{kind} of {j}" for kind in ("stiffness", "rest") for j in (first, second)]
    bounds = [(0.0, 100.0)] * 2 + [(-3.0, 3.0)] * 2
    rest = (0.0, 0.0)
    problem = Problem(
        arm.with_limits(effort=np.inf),
        (
            Phase(DURATION, State(PICK, rest), State(PLACE, rest), name="carry", system="loaded"),
            Phase(DURATION, end=State(PICK, rest), name="return"),
        ),
        costs=(Cost(Effort()),),
        constraints=(Constraint(Periodic(("a",))),),
        systems={"loaded": System(payloads=(predyn.Payload("tip", LOAD),))},
        parameters=tuple(
            Parameter(name, *pair, guess, quantity=quantity)
            for name, pair, guess, quantity in zip(names, bounds, GUESS, quantities, strict=True)
        ),
        transcription=Spline(segments=SEGMENTS, gauss_points=GAUSS),
        solver=EXACT,
    )
    solution = predyn.solve(problem).check()
    objective, springs, middle = casadi_pick_and_place()
    assert solution.objective == pytest.approx(objective, rel=1e-6)
    assert [solution.parameters[name] for name in names] == pytest.approx(springs, rel=1e-6)
    at = solution.at(np.array([0.5, 1.5]) * DURATION)
    assert np.abs(at.q - middle).max() < 1e-6
    plain = predyn.solve(predyn.Problem(**{**vars(problem), "parameters": ()})).check()
    assert solution.objective < 0.8 * plain.objective  # springs save effort
