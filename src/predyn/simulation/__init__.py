"""Forward in time, independently of programs and solvers, and the replay of a solution."""

from predyn.simulation.simulation import positive, simulate

__all__ = ["positive", "simulate"]
