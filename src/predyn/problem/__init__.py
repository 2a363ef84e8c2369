"""Problem definitions: phases, states, terms and options as pure data, and their checks."""

from predyn.problem.contacts import Contact, Cycle, Ground
from predyn.problem.problem import (
    GUESSES,
    At,
    Constraint,
    Cost,
    Dmoc,
    Duration,
    Hybrid,
    Phase,
    Points,
    Problem,
    Spline,
    State,
    duration_of,
    name_of,
    row_bounds,
)
from predyn.problem.system import System, system_of
from predyn.problem.unknowns import Parameter, Signal

__all__ = [
    "GUESSES",
    "At",
    "Constraint",
    "Contact",
    "Cost",
    "Cycle",
    "Dmoc",
    "Duration",
    "Ground",
    "Hybrid",
    "Parameter",
    "Phase",
    "Points",
    "Problem",
    "Signal",
    "Spline",
    "State",
    "System",
    "duration_of",
    "name_of",
    "row_bounds",
    "system_of",
]
