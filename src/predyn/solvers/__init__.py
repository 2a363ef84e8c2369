"""Solvers of nonlinear programs; the only place that knows IPOPT."""
