"""A stationary autoregressive process with one root, (1 - phi B)^p x_k, from its first value on.

The first p rows are those of shorter predictions: row j is x_j less its best prediction from
x_0 .. x_{j-1}, over its error sigma_j, by the step-down recursion of Levinson

    a^(j-1)_i = (a^(j)_i - k a^(j)_{j-i}) / (1 - k^2),  sigma_{j-1}^2 = sigma_j^2 / (1 - k^2),
    k = a^(j)_j,  sigma_p = 1.

The variance of x is gamma_0 = sigma_0^2, and T_0, the matrix of the first rows, has
log det T_0 = -sum log sigma_j.
"""

from __future__ import annotations

from math import comb
from typing import Any, NamedTuple

import numpy as np


class Filter(NamedTuple):
    """(1 - phi B)^p and its first rows; of complex numbers too, for derivatives."""

    steady: Any  # (p + 1,) factor of x_{k-i}
    start: Any  # (p, p) lower triangular: factor of x_i in row j
    log_start: Any  # log det of it
    log_variance: Any  # log gamma_0


def autoregression(order: int, phi: complex) -> Filter:
    """Rows of the process of an order p >= 1 with the p-fold root phi < 1."""
    kind = np.complex128 if isinstance(phi, complex) else np.float64
    steady = np.array([comb(order, i) * (-phi) ** i for i in range(order + 1)], kind)
    start = np.zeros((order, order), kind)
    a, log_sigma, total = steady, kind(0.0), kind(0.0)
    for j in range(order - 1, -1, -1):
        k = a[-1]
        log_sigma = log_sigma - 0.5 * np.log1p(-k * k)
        a = (a[:-1] - k * a[:0:-1]) / (1.0 - k * k)
        start[j, : j + 1] = a[::-1] * np.exp(-log_sigma)
        total = total - log_sigma
    return Filter(steady, start, total, 2.0 * log_sigma)
