"""What is asked: phases, states, terms and options as pure data, and what can be wrong in them."""

from predyn.problem.problem import (
    At,
    Constraint,
    Cost,
    Duration,
    Hybrid,
    Phase,
    Problem,
    Spline,
    State,
    row_bounds,
)

__all__ = [
    "At",
    "Constraint",
    "Cost",
    "Duration",
    "Hybrid",
    "Phase",
    "Problem",
    "Spline",
    "State",
    "row_bounds",
]
