"""Transcription by discrete mechanics: positions at nodes and torques between them are unknowns."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from predyn.curves.node_spline import NodeSpline
from predyn.problem import Dmoc, Duration, Problem, Signal, duration_of, system_of
from predyn.problem.offers import name_in
from predyn.samples.registry import TORQUES
from predyn.solution import Curve
from predyn.terms.joints import JointTorque
from predyn.transcribe.arrange import Arrangement
from predyn.transcribe.discrete.arrange import DiscreteArrangement
from predyn.transcribe.layout import Ints, PhaseLayout
from predyn.transcribe.program import Program, require_valid
from predyn.transcribe.sizes import Sizes
from predyn.transcribe.spline import SplineProgram

Floats = NDArray[np.float64]


class DmocProgram(SplineProgram):
    """Program of the discrete Euler-Lagrange equations."""

    discrete = True
    step_by_step = True

    def __init__(self, problem: Problem) -> None:
        require_valid(problem)
        self._build(with_torques(problem))

    def arrange(self, total: tuple[float, float] | None) -> Arrangement:
        return DiscreteArrangement(self.problem, self.phases, self.lifts, total)

    def retarget(self, problem: Problem) -> None:
        Program.retarget(self, problem)

    def _variable_bounds(self, count: int) -> None:
        super()._variable_bounds(count)
        for p, phase in enumerate(self.phases):
            nodes = phase.columns[1:-1]
            limits = system_of(self.problem, p).limits
            for side, bound in enumerate((self.x_lower, self.x_upper)):
                limit = np.broadcast_to(limits.position[:, side], nodes.shape)
                bound[nodes[nodes >= 0]] = limit[nodes >= 0]
            effort = np.where(
                np.isin(self.model.joint_names, system_of(self.problem, p).passive)[:, None],
                0.0,
                limits.effort,
            )
            torques = self._torques(phase)
            for side, bound in enumerate((self.x_lower, self.x_upper)):
                limit = np.broadcast_to(effort[:, side], torques.shape)
                bound[torques[torques >= 0]] = limit[torques >= 0]

    def _torques(self, phase: PhaseLayout) -> Ints:
        """Places of the torques in x, (steps or nodes, n)."""
        (found,) = (x.columns for x in phase.curves if x.channel == f"signal:{TORQUES}")
        return found

    def with_typical_torques(self, x: Floats) -> Floats:
        x = x.copy()
        for phase in self.phases:
            columns = self._torques(phase)
            free = columns[columns >= 0]
            typical = np.clip(self.x_scale[free], self.x_lower[free], self.x_upper[free])
            x[free] = np.where(np.abs(x[free]) > typical, x[free], typical)
        return x

    def curves(self, x: Floats) -> tuple[Curve, ...]:
        """Cubic splines through the nodes."""
        curves = []
        for phase in self.phases:
            assert isinstance(phase.spline, NodeSpline)
            given, free = phase.control.copy(), phase.columns >= 0
            given[free] = x[phase.columns[free]]
            spline, control = phase.spline.smooth(given)
            T = float(x[phase.T_column]) if phase.T_column >= 0 else phase.T
            curves.append(Curve(spline.degree, spline.knots, control, T))
        return tuple(curves)

    def x_name(self, i: int) -> str:
        for p, phase in enumerate(self.phases):
            at = np.argwhere(phase.columns == i)
            if len(at):
                k, j = at[0]
                last = len(phase.columns) - 1
                what = {0: "velocity at the start", last: "velocity at the end"}.get(
                    int(k), f"node {k - 1}"
                )
                return name_in(self.problem, p, f"{self.model.joint_names[j]}, {what}")
        return super().x_name(i).replace("control point", "value")


def with_torques(problem: Problem) -> Problem:
    """The problem with the torques as a signal: a number in each step, or one at each node."""
    if any(signal.name == TORQUES for signal in problem.signals):
        return problem
    method = problem.transcription
    assert isinstance(method, Dmoc)
    model, systems = problem.model, [system_of(problem, p) for p in range(len(problem.phases))]
    motors = np.array([~np.isin(model.joint_names, x.passive) for x in systems]).any(axis=0)
    residual = JointTorque().bind(model)
    duration = duration_of(problem, problem.phases[0])
    T = duration.guess if isinstance(duration, Duration) else duration
    scale = Sizes(systems[0], T).scale(residual)
    free = np.where(motors, np.inf, 0.0)
    torques = Signal(
        TORQUES,
        model.joint_names,
        -free,
        free,
        scale=scale,
        unit="N m",
        degree=0 if method.order == 2 else 1,
    )
    return replace(problem, signals=(*problem.signals, torques))
