"""The built-in step in the plane with other options, for predyn."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from oracles.casadi_walker import SHARES, Statement, Walker
from predyn.config import read_task
from predyn.problem import Contact, Duration, Parameter, Problem
from predyn.transcribe.spline import SplineProgram


def walking(statement: Statement) -> Problem:
    """The problem of a statement."""
    problem = read_task("planar-walker").problem
    assert problem.cycle is not None
    spline = replace(problem.transcription, segments=statement.segments)
    ground = replace(
        problem.ground, slope=statement.slope, cone="cone" if statement.cone else "pyramid"
    )
    parameters, cycle, phases = [], problem.cycle, list(problem.phases)
    if statement.free_step:
        parameters.append(Parameter("step", 0.3, 0.9, statement.step, "m"))
        cycle = replace(cycle, advance=("step", 0.0, 0.0))
    if statement.free_place:
        heel, *others = phases[0].contacts
        anywhere = Contact(heel.point, heel.push, heel.hold, None, heel.shared)
        phases[0] = replace(phases[0], contacts=(anywhere, *others))
    if statement.free_durations:
        phases = [
            replace(x, duration=Duration(0.05, 0.5, share * statement.duration))
            for x, share in zip(phases, SHARES, strict=True)
        ]
    return replace(
        problem,
        phases=tuple(phases),
        parameters=tuple(parameters),
        cycle=cycle,
        ground=ground,
        transcription=spline,
    )


def columns(program: SplineProgram, walker: Walker) -> np.ndarray:
    """Where the variables of the statement are among those of the program."""
    place: dict[tuple, int] = {}
    for p, layout in enumerate(program.phases):
        for (k, j), column in np.ndenumerate(layout.columns):
            place["q", p, k, j] = int(column)
        for curve in layout.curves:
            family, _, name = curve.channel.partition(":")
            for (k, axis), column in np.ndenumerate(curve.columns):
                if column >= 0 and family == "signal":
                    place[name, p, k, axis] = int(column)
                elif family == "parameter":
                    place["place" if name == "place of right_heel x" else name,] = int(column)
        if layout.T_column >= 0:
            place["T", p] = int(layout.T_column)
    assert len(set(place.values())) == program.n == len(walker.keys)
    return np.array([place[key] for key in walker.keys])
