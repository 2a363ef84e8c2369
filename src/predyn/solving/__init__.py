"""From a problem to a solution: one solve, several starts, refinement."""

from predyn.solving.solving import solve

__all__ = ["solve"]
