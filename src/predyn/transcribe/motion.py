"""The motion defined by decision variables: curves, signals, parameters, and any channel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from predyn.curves.bspline import BSpline
from predyn.curves.node_spline import NodeSpline
from predyn.dynamics.system import PhaseSystem
from predyn.errors import InputError, ModelError
from predyn.kernels.forces import ExternalForce, forces_at
from predyn.problem import Problem, system_of
from predyn.problem.quantities import with_parameters
from predyn.samples import STATES, Samples, split_side
from predyn.samples.registry import TORQUES, implementation
from predyn.solution import Curve, SignalCurves
from predyn.transcribe.curve_states import curve_states
from predyn.transcribe.layout import CurveLayout, PhaseLayout
from predyn.transcribe.program import Program

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Motion:
    """Curves of all phases, evaluated by the public functions of dynamics."""

    problem: Problem  # with the numbers that the parameters stand for
    curves: tuple[Curve, ...]
    systems: tuple[PhaseSystem, ...]
    signals: dict[str, SignalCurves]
    parameters: dict[str, float]
    given_splines: tuple[BSpline, ...]  # of the program; those of the curves may be others
    impossible: str = ""  # why no model has these parameters; `problem` has their guesses then

    @cached_property
    def splines(self) -> tuple[BSpline, ...]:
        """The basis of the joints' motion in each phase."""
        return tuple(
            own if curve.knots is own.knots else BSpline(curve.degree, curve.knots)
            for curve, own in zip(self.curves, self.given_splines, strict=True)
        )

    def signal(self, p: int, name: str, s: Floats, order: int = 0) -> Floats:
        """Values (instants, components) of a signal at normalised times of a phase."""
        curve = self.signals[name].curves[p]
        if curve is None:
            return np.full((len(s), len(self.signals[name].components)), np.nan)
        spline = BSpline(curve.degree, curve.knots)
        values: Floats = spline.evaluate(curve.control, s, curve.duration, order)[order]
        return values

    def forces(self, p: int, s: Floats) -> list[ExternalForce]:
        """External forces as numbers at normalised times of a phase."""
        duration = self.curves[p].duration
        return forces_at(self.systems[p].forces, s, duration, lambda name: self.signal(p, name, s))

    def samples(self, p: int, s: Floats, channels: Sequence[str]) -> Samples:
        """Channels (components, instants) at normalised times of a phase."""
        curve, names = self.curves[p], [split_side(channel)[1] for channel in channels]
        states = curve_states(curve, s, 4 if "jerk" in names else 3)
        found = {name: x.T for name, x in zip(STATES, states, strict=False)}
        found["t"] = s[None] * curve.duration
        forces = self.forces(p, s)
        for name in dict.fromkeys(names):
            if name in found:
                continue
            if name == TORQUES and TORQUES in self.signals:
                found[name] = self.signal(p, TORQUES, s).T
                continue
            family, _, member = name.partition(":")
            if family in ("signal", "rate"):
                found[name] = self.signal(p, member, s, int(family == "rate")).T
            elif family == "parameter":
                found[name] = np.full((1, len(s)), self.parameters[member])
            else:
                module, of = implementation(name)
                model = self.systems[p].model
                found[name] = module.values(model, of, states[:3], forces).T
        return Samples(found)

    def sampled_signals(self, t: Floats, phase: NDArray[np.int64]) -> dict[str, Floats]:
        """Values (times, components) of each signal at times of the motion in the given phases."""
        begin = np.cumsum([0.0, *(curve.duration for curve in self.curves)])
        result = {}
        for name, known in self.signals.items():
            values = np.full((len(t), len(known.components)), np.nan)
            for p, curve in enumerate(self.curves):
                here = phase == p
                s = np.clip((t[here] - begin[p]) / curve.duration, 0.0, 1.0)
                values[here] = self.signal(p, name, s)
            result[name] = values
        return result


def motion_of(program: Program, x: Floats) -> Motion:
    """The motion at decision variables x."""
    parameters = _parameters(program, x)
    (problem, impossible), curves = _with_model(program.problem, parameters), program.curves(x)
    systems = program.systems_of(problem)
    signals = {}
    for signal in problem.signals:
        found: list[Curve | None] = []
        for layout, curve in zip(program.phases, curves, strict=True):
            own = [c for c in layout.curves if c.channel == f"signal:{signal.name}"]
            found.append(_curve(layout, own[0], x, curve.duration) if own else None)
        signals[signal.name] = SignalCurves(tuple(signal.components), signal.unit, tuple(found))
    given = tuple(layout.spline for layout in program.phases)
    return Motion(problem, curves, systems, signals, parameters, given, impossible)


def _parameters(program: Program, x: Floats) -> dict[str, float]:
    """Values of the parameters; solvers exceed bounds by rounding errors."""
    bounds = {p.name: (float(p.min), float(p.max)) for p in program.problem.parameters}
    return {
        name: min(max(float(x[k]), bounds[name][0]), bounds[name][1])
        for name, k in program.parameter_columns().items()
    }


def _with_model(problem: Problem, parameters: dict[str, float]) -> tuple[Problem, str]:
    """The problem with the numbers that parameters stand for; without them, and why, if the model
    is impossible.
    """
    if not parameters:
        return problem, ""
    try:
        changed = with_parameters(problem, parameters)
        for p in range(len(problem.phases)):
            system_of(changed, p)
    except (ModelError, InputError) as error:
        used = [x.name for x in problem.parameters if x.quantities]
        values = ", ".join(f"{name} = {parameters[name]:.6g}" for name in used)
        return problem, f"the model is impossible with {values}: {error}"
    return changed, ""


def _curve(phase: PhaseLayout, own: CurveLayout, x: Floats, duration: float) -> Curve:
    control, free = own.control.copy(), own.columns >= 0
    control[free] = x[own.columns[free]]
    spline, nodes = own.spline, phase.spline
    if isinstance(nodes, NodeSpline) and nodes.degree == 2 and own.channel == f"signal:{TORQUES}":
        spline, control = nodes.parabolas(control)  # as accurate as the motion
    return Curve(spline.degree, spline.knots, control, duration)
