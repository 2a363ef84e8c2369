"""Small valid solutions without solving: the two-link arm lifts along smooth curves."""

import math

import numpy as np

import predyn
from predyn.curves.bspline import BSpline
from predyn.kernels.forces import ExternalForce
from predyn.model import Model
from predyn.solution import Curve, Solution, Violation

DURATION = 1.2  # s
SEGMENTS, LIMIT_POINTS, ITERATIONS = 6, 3, 5
START, END = (1.32, -2.37), (2.80, -1.10)
LOAD = {
    "link": "tip",
    "force": np.array([0.0, -10.0, 0.0]),
    "moment": np.zeros(3),
    "point": np.zeros(3),
    "frame": "world",
}


def fake_solution(phases: int = 1, status: str = "optimal", model: Model | None = None) -> Solution:
    """A motion from rest to rest; any status; another model moves all joints by 1 without load."""
    lifting = model is None
    model = predyn.models.two_link() if model is None else model
    start = np.array(START) if lifting else np.zeros(model.n)
    end = np.array(END) if lifting else np.ones(model.n)
    forces = (LOAD,) if lifting else ()
    loads = [ExternalForce(**force) for force in forces]
    curves, t, phase, states = [], [], [], []
    for k in range(phases):
        spline, T = BSpline.clamped(3, SEGMENTS), DURATION / phases
        s = np.linspace(0.0, 1.0, 60)
        position, slope = _smooth_step((k + s) / phases)
        control = spline.fit(
            s,
            start + position[:, None] * (end - start),
            start=start + position[0] * (end - start),
            end=start + position[-1] * (end - start),
            start_slope=slope[0] / phases * (end - start),
            end_slope=slope[-1] / phases * (end - start),
        )
        curves.append(Curve(3, spline.knots, control, T))
        instants = spline.limit_points(LIMIT_POINTS)
        t.append(k * T + T * instants)
        phase.append(np.full(len(instants), k))
        states.append(spline.evaluate(control, instants, T, derivatives=2))
    q, v, a = (np.concatenate([state[d] for state in states]) for d in range(3))
    tau = predyn.inverse_dynamics(model, q, v, a, forces=loads)
    x = np.concatenate([*(curve.control.ravel() for curve in curves), [T] * phases])
    largest = np.abs(tau).max(axis=0)
    limit = f"effort of {model.joint_names[int(np.argmax(largest))]}"
    failed = status not in ("optimal", "acceptable")
    rows = np.arange(2 * tau.size)
    return Solution(
        name="two-link-lifting" if lifting else f"move-{model.name}",
        model=model,
        status=status,
        message="Converged." if not failed else "The limits contradict each other: widen them.",
        objective=0.845,
        iterations=ITERATIONS,
        solve_seconds=0.0123,
        max_violation=0.25 if failed else 1e-12,
        max_violation_dense=0.26 if failed else 4e-4,
        curves=tuple(curves),
        phase_names=tuple(f"phase {k + 1}" for k in range(phases)),
        t=np.concatenate(t),
        phase=np.concatenate(phase),
        q=q,
        v=v,
        a=a,
        tau=tau,
        reactions=predyn.joint_reactions(model, q, v, a, forces=loads),
        limits=model.limits._replace(effort=np.stack((-largest, largest), axis=1)),
        costs={"time": 0.512, "effort": 0.333},
        violations=(
            Violation(limit, 2.5, 0.25, 12.5, -10.0, 10.0, 0.4) if failed
            else Violation(limit, 1e-11, 1e-12, 10.0, -10.0, 10.0, 0.4),
            Violation("continuity of v", 1e-13, 1e-13, 1e-13, 0.0, 0.0, math.nan),
        ),
        dense_violations=(Violation(limit, 4e-3, 4e-4, 10.004, -10.0, 10.0, 0.1),),
        active=(limit,),
        multipliers={
            "effort": np.linspace(-1.0, 1.0, tau.size),
            "x_lower": np.zeros(len(x)),
            "x_upper": np.zeros(len(x)),
        },
        history={
            "iteration": np.arange(ITERATIONS + 1.0),
            "objective": 0.845 + 0.5 ** np.arange(ITERATIONS + 1.0),
            "violation": 0.1 ** np.arange(1.0, ITERATIONS + 2),
            "step": np.ones(ITERATIONS + 1),
        },
        timings={"transcribe": 0.001, "solve": 0.0123, "evaluate": 0.004, "check": 0.002},
        jacobian=(rows.astype(np.int32), (rows % len(x)).astype(np.int32)),
        n_variables=len(x),
        n_constraints=2 * tau.size,
        x=x,
        forces=forces,
        starts=(
            {"status": "optimal", "objective": 0.845},
            {"status": "infeasible", "objective": math.nan},
        ),
        provenance={"predyn_version": predyn.__version__, "date": "2026-01-31T12:00:00+00:00",
                    "task": 'name = "two-link-lifting"\n', "platform": "Linux x86_64"},
    )  # fmt: skip


def _smooth_step(s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """From 0 to 1 with zero slope and curvature at both ends; the value and the slope."""
    return s**3 * (10.0 - 15.0 * s + 6.0 * s**2), 30.0 * s**2 * (1.0 - s) ** 2
