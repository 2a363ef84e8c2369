"""Nonlinear programs as solvers see them: arrays and callbacks, without mechanics."""

from predyn.nlp.nlp import (
    NLP,
    Floats,
    Indices,
    KktError,
    Multipliers,
    SolverOptions,
    check_derivatives,
    kkt_error,
    max_violation,
    worst_violations,
)

__all__ = [
    "NLP",
    "Floats",
    "Indices",
    "KktError",
    "Multipliers",
    "SolverOptions",
    "check_derivatives",
    "kkt_error",
    "max_violation",
    "worst_violations",
]
