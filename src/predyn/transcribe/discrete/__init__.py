"""Discrete mechanics: positions at nodes, linked by the discrete Euler-Lagrange equations."""
