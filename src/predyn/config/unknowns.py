"""Read signals and parameters from a task file."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from predyn.config.findings import Findings
from predyn.config.schema import ParameterTable, SignalGuess, SignalTable
from predyn.problem import Parameter, Signal


def signals_of(tables: list[SignalTable], findings: Findings) -> tuple[Signal, ...]:
    made = []
    for k, table in enumerate(tables):
        guess: Any = table.guess
        if isinstance(guess, SignalGuess):
            try:
                guess = (np.array(guess.s, float), np.array(guess.values, float))
            except ValueError:
                findings.add(("signals", k, "guess", "values"), "rows of different lengths")
                guess = 0.0
        made.append(
            Signal(
                table.name,
                tuple(table.components),
                table.lower,
                table.upper,
                guess,
                table.scale,
                table.unit,
                table.degree,
                table.segments,
                None if table.phases is None else tuple(table.phases),
                table.continuity,
                None if table.knots is None else tuple(table.knots),
            )
        )
    return tuple(made)


def parameters_of(tables: list[ParameterTable], findings: Findings) -> tuple[Parameter, ...]:
    """Parameters; the default guess is the midpoint of the bounds."""
    made = []
    for k, table in enumerate(tables):
        guess = table.guess
        if guess is None:
            guess = 0.5 * (table.min + table.max)
            if not math.isfinite(guess):
                message = "is missing, and infinite bounds have no midpoint"
                findings.add(("parameters", k, "guess"), message)
                guess = 0.0
        given = table.quantity
        quantity = tuple(given) if isinstance(given, list) else given
        made.append(Parameter(table.name, table.min, table.max, guess, table.unit, quantity))
    return tuple(made)
