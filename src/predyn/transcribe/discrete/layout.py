"""Layout of a discrete motion: nodes, and the velocities at both ends of a phase."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from predyn.curves.node_spline import NodeSpline
from predyn.dynamics.system import PhaseSystem
from predyn.model.floating_base import floating_base
from predyn.problem import (
    Dmoc,
    Duration,
    Parameter,
    Phase,
    Problem,
    duration_of,
    system_of,
)
from predyn.problem.accelerations import needs_accelerations
from predyn.problem.offers import phase_name
from predyn.transcribe.layout import (
    CurveLayout,
    End,
    Ints,
    PhaseLayout,
    end_values,
    parameter_layout,
)

Floats = NDArray[np.float64]
DURATION = "duration of the phase"  # a parameter for rows that are products with T


def lay_out_nodes(problem: Problem, p: int, first: int) -> PhaseLayout:
    """Fix what the boundary values of phase p determine, number the rest from `first` on.

    Velocities of a floating base at the end follow from momentum, if nothing acts on the mechanism
    from outside: they stay unknown even if they are given, because their rows would be dependent.
    """
    phase, system, options = problem.phases[p], system_of(problem, p), problem.transcription
    assert isinstance(options, Dmoc)
    duration = duration_of(problem, phase)
    free_T, n = isinstance(duration, Duration), len(system.model.joint_names)
    own_T = free_T and not isinstance(phase.duration, str)
    spline = NodeSpline(options.order // 2, options.steps_of(phase.segments))
    count = spline.n_control
    T = float(duration.guess if isinstance(duration, Duration) else duration)
    bounds = (duration.min, duration.max) if isinstance(duration, Duration) else (T, T)
    control, fixed = np.zeros((count, n)), np.zeros((count, n), bool)
    open_ends: list[tuple[End, str, Ints, Floats]] = []
    sides: tuple[tuple[End, int, int], ...] = (("start", 1, 0), ("end", -2, -1))
    for end, node, slope in sides:
        q, v, a = end_values(getattr(phase, end), n)
        given = np.isfinite(q)
        fixed[node, given], control[node, given] = True, q[given]
        given = np.isfinite(v)
        if end == "end" and np.isfinite(end_values(phase.start, n)[1]).all():
            given[_conserved(system)] = False
        sure = given & ((v == 0.0) | (not free_T))
        fixed[slope, sure], control[slope, sure] = True, v[sure] * T
        rest = np.flatnonzero(given & ~sure)
        if len(rest):
            open_ends.append((end, "v", rest, v[rest]))
        given = np.flatnonzero(np.isfinite(a))
        if len(given):
            open_ends.append((end, "a", given, a[given]))
    free = ~fixed
    columns = np.full((count, n), -1)
    columns[free] = first + int(own_T) + np.arange(free.sum())
    powers = (1.0, 1 / T, 1 / T**2, 1 / T**3)
    layout = PhaseLayout(
        phase_name(problem, p),
        *(spline, control, columns, T, powers, first if own_T else -1, bounds, open_ends),
        least_points=4 if needs_accelerations(problem) else 0,  # of cubics
    )
    if own_T:
        layout.curves = [_duration(layout)]
    return layout


def duration_channel(phase: Phase) -> str:
    """The channel of a free duration."""
    return f"parameter:{phase.duration if isinstance(phase.duration, str) else DURATION}"


def _duration(layout: PhaseLayout) -> CurveLayout:
    low, high = layout.T_bounds
    return parameter_layout(Parameter(DURATION, low, high, layout.T), layout.T_column)


def _conserved(system: PhaseSystem) -> list[int]:
    """Joints of a floating base whose momentum does not change."""
    model, base = system.model, floating_base(system.model)
    if base is None or model.gravity.any() or system.forces:
        return []
    j = [int(x) for x in base]
    passive = {model.joint_names[x] for x in j} <= {*system.passive}
    held = [model.damping, model.coulomb, model.stiffness, model.ligaments]
    return j if passive and not any(np.any(x[j]) for x in held) else []
