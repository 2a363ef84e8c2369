"""A solution with everything that belongs to phases: a load, forces over time, a passive joint."""

from dataclasses import replace

import numpy as np

import predyn
from fake_solution import fake_solution
from predyn.curves.bspline import BSpline
from predyn.dynamics.system import Payload, PhaseSystem, loaded_model
from predyn.kernels.forces import ExternalForce
from predyn.solution import Curve, SignalCurves, Solution

LOAD = Payload("tip", 2.5, np.array([0.05, -0.02, 0.0]), np.diag((0.01, 0.02, 0.025)))
WIND = predyn.Profile(
    np.array([0.0, 0.1, 0.35, 0.6]),
    np.array([[0.0, 0.0, 0.0], [4.0, 1.0, 0.0], [-2.0, 3.0, 0.0], [1.0, 1.0, 0.0]]),
)
TWIST = predyn.Profile(np.array([0.0, 0.4, 1.0]), np.diag((0.1, 0.3, -0.5)), "phase")


def loaded_solution(passive: bool = False) -> Solution:
    """The two-link arm in two phases, "reach" and "carry".

    reach: a constant force, and a given curve as another. carry: a payload, the force of the signal
    press on link2 in its axes; with `passive`, joint2 has no motor. Signals: press (3 straight
    components, in carry alone), level (1 stepped component, in both phases).
    """
    base = replace(fake_solution(2), phase_names=("reach", "carry"))
    model, limits = base.model, base.limits
    constant = tuple(ExternalForce(**force) for force in base.forces)
    tight = limits._replace(velocity=0.5 * limits.velocity)
    systems = (
        PhaseSystem(model, (), (*constant, _force("link1", WIND, TWIST)), (), limits, None),
        PhaseSystem(
            loaded_model(model, (LOAD,)),
            (LOAD,),
            (_force("link2", "press", np.zeros(3), "link"),),
            ("joint2",) if passive else (),
            tight,
            np.array([50.0, 60.0]),
        ),
    )
    straight, steps = BSpline.clamped(1, 4), BSpline.clamped(0, 3)
    T = [curve.duration for curve in base.curves]
    press = Curve(1, straight.knots, np.random.default_rng(5).normal(size=(5, 3)) * 6.0, T[1])
    level = [Curve(0, steps.knots, np.array([[1.0], [3.0], [2.0]]) + k, T[k]) for k in range(2)]
    solution = replace(
        base,
        systems=systems,
        signal_curves={
            "press": SignalCurves(("x", "y", "z"), "N", (None, press)),
            "level": SignalCurves(("h",), "1", tuple(level)),
        },
        parameters={"stiffness": 1234.5, "share": 0.25},
        parameter_units={"stiffness": "N/m", "share": "1"},
    )
    samples = {name: np.empty((len(base.t), len(signal.components)))
               for name, signal in solution.signal_curves.items()}  # fmt: skip
    tau, reactions = np.empty_like(base.tau), np.empty_like(base.reactions)
    for row, (t, phase) in enumerate(zip(base.t, base.phase, strict=True)):
        # just inside the phase: at() takes the later one where two meet
        end = phase == 0 and np.isclose(t, T[0])
        inside = t - 1e-9 if end else t
        sample = solution.at(inside)
        tau[row], reactions[row] = sample.tau, sample.reactions
        for name in samples:
            samples[name][row] = solution.channel(f"signal:{name}", inside)
    return replace(solution, tau=tau, reactions=reactions, signals=samples)


def _force(link, force, moment, frame="world"):
    return ExternalForce(link, force, moment, np.array([0.1, 0.05, 0.0]), frame)
