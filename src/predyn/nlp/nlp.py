"""A nonlinear program as arrays and callbacks, independent of mechanics.

    minimise f(x)   subject to   g_lower <= g(x) <= g_upper,   x_lower <= x <= x_upper

A program is evaluated at one point at a time: `move(x)` sets the point, and the other methods
evaluate lazily there, so that shared quantities are computed once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from numbers import Integral, Real
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from predyn.errors import InputError, unknown_name
from predyn.nlp.differences import DerivativeReport as DerivativeReport
from predyn.nlp.differences import check_derivatives as check_derivatives

Floats = NDArray[np.float64]
Indices = NDArray[np.int32]
Bools = NDArray[np.bool_]

HESSIANS = ("exact", "gauss_newton", "limited_memory")
SCALINGS = ("auto", "none")


class NLP(ABC):
    """The interface that a solver needs. Patterns are (rows, columns) without duplicates.

    The Hessian of sigma f + lambda . g contains only its lower triangle (row >= column). Scales are
    positive: the solver works on x / x_scale, g / g_scale and f / f_scale. Arrays passed to the
    methods are C-contiguous float64.
    """

    x_lower: Floats  # (n,)
    x_upper: Floats
    g_lower: Floats  # (m,)
    g_upper: Floats
    x_scale: Floats
    g_scale: Floats
    f_scale: float
    jacobian_pattern: tuple[Indices, Indices]
    hessian_pattern: tuple[Indices, Indices]
    step_by_step: ClassVar[bool] = False  # whether blocks of variables act on their neighbours only

    @abstractmethod
    def move(self, x: Floats) -> None:
        """Set the point; x is copied."""

    @abstractmethod
    def objective(self) -> float: ...

    @abstractmethod
    def gradient(self, out: Floats) -> None: ...

    @abstractmethod
    def constraints(self, out: Floats) -> None: ...

    @abstractmethod
    def jacobian(self, out: Floats) -> None:
        """Values in the order of the pattern."""

    @abstractmethod
    def hessian(self, sigma: float, multipliers: Floats, out: Floats) -> None:
        """Values in the order of the pattern."""

    @abstractmethod
    def x_name(self, i: int) -> str: ...

    @abstractmethod
    def g_name(self, i: int) -> str: ...

    @property
    def n(self) -> int:
        return len(self.x_lower)

    @property
    def m(self) -> int:
        return len(self.g_lower)

    def check_derivatives(self, x: Floats) -> DerivativeReport:
        """Compare all derivatives at a point with differences; the report names the worst."""
        return check_derivatives(self, x)


class Multipliers(NamedTuple):
    """Multipliers of L = f + g . lambda - z_lower . (x - x_lower) + z_upper . (x - x_upper)."""

    g: Floats  # (m,) positive if the upper bound is active
    x_lower: Floats  # (n,) nonnegative
    x_upper: Floats


@dataclass(frozen=True)
class SolverOptions:
    """Options of a solver. `hessian`: the program computes "exact" and "gauss_newton" itself.

    tolerance bounds the scaled optimality error. mu_init is the initial barrier parameter; None
    means the solver's default. scaling "none" passes the program to the solver in its own units, as
    other tools do.
    """

    tolerance: float = 1e-8
    max_iterations: int = 1000
    max_seconds: float | None = None
    hessian: str = "exact"
    mu_init: float | None = None
    scaling: str = "auto"

    def __post_init__(self) -> None:
        if not _is_number(self.tolerance) or not 1e-13 <= self.tolerance < 1.0:
            raise InputError(
                f"tolerance: expected a number from 1e-13 to below 1, got {self.tolerance!r:.60}"
            )
        if not _is_whole(self.max_iterations) or not 0 <= self.max_iterations < 2**31:
            raise InputError(
                "max_iterations: expected a whole number from 0 to 2147483647, "
                f"got {self.max_iterations!r:.60}"
            )
        for name in ("max_seconds", "mu_init"):
            value = getattr(self, name)
            if value is not None and (not _is_number(value) or not 0.0 < value < np.inf):
                raise InputError(
                    f"{name}: expected a positive, finite number or None, got {value!r:.60}"
                )
        if self.hessian not in HESSIANS:
            raise unknown_name("hessian", self.hessian, HESSIANS)
        if self.scaling not in SCALINGS:
            raise unknown_name("scaling", self.scaling, SCALINGS)


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _is_whole(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


class Violation(NamedTuple):
    """A row or a variable outside its bounds, all in its own unit."""

    name: str
    violation: float
    value: float
    lower: float
    upper: float


def worst_violations(nlp: NLP, x: Floats, g: Floats, count: int = 5) -> list[Violation]:
    """At most `count` rows and variables outside their bounds, worst relative to scale first.

    Values that are not finite come first, with an infinite violation.
    """
    n = nlp.n
    value = np.concatenate([x, g])
    lower = np.concatenate([nlp.x_lower, nlp.g_lower])
    upper = np.concatenate([nlp.x_upper, nlp.g_upper])
    outside = np.maximum(_excess(value, lower, upper), 0.0)
    scaled = outside / np.concatenate([nlp.x_scale, nlp.g_scale])
    order = np.argsort(-scaled, kind="stable")[:count]
    return [
        Violation(
            nlp.x_name(i) if i < n else nlp.g_name(i - n),
            float(outside[i]),
            float(value[i]),
            float(lower[i]),
            float(upper[i]),
        )
        for i in order.tolist()
        if outside[i] > 0.0
    ]


def max_violation(nlp: NLP, x: Floats, g: Floats) -> float:
    """The largest distance of a row or a variable from its bounds, each in its own unit."""
    rows = _excess(g, nlp.g_lower, nlp.g_upper)
    bounds = _excess(x, nlp.x_lower, nlp.x_upper)
    return float(max(rows.max(initial=0.0), bounds.max(initial=0.0)))


def _excess(value: Floats, lower: Floats, upper: Floats) -> Floats:
    finite = np.isfinite(value)
    safe = np.where(finite, value, 0.0)
    excess: Floats = np.where(finite, np.maximum(lower - safe, safe - upper), np.inf)
    return excess


class KktError(NamedTuple):
    """How far a point is from the first-order conditions, in scaled quantities."""

    stationarity: float  # gradient of the Lagrangian, damped where the multipliers are large
    feasibility: float  # distance from the bounds of rows and variables
    complementarity: float  # distance to a bound times its multiplier, at most 1

    @property
    def largest(self) -> float:
        return float(np.max(self))


_LARGE_MULTIPLIER = 100.0  # IPOPT's s_max: the stationarity is divided if their mean is larger


def kkt_error(nlp: NLP, x: Floats, multipliers: Multipliers, relaxation: float = 0.0) -> KktError:
    """The error of x and its multipliers, evaluated again; the program is at x afterwards.

    Scaled as in IPOPT (Wächter and Biegler 2006, equation 5), but multipliers count as at most 1 in
    the complementarity, where IPOPT divides by their mean. Unequal bounds are widened by
    `relaxation` times the larger of the bound and its scale.
    """
    gradient, g = np.empty(nlp.n), np.empty(nlp.m)
    rows, columns = nlp.jacobian_pattern
    jacobian = np.empty(len(rows))
    nlp.move(x)
    nlp.gradient(gradient)
    nlp.constraints(g)
    nlp.jacobian(jacobian)
    value = np.concatenate([x, g])
    lower = np.concatenate([nlp.x_lower, nlp.g_lower])
    upper = np.concatenate([nlp.x_upper, nlp.g_upper])
    scale = np.concatenate([nlp.x_scale, nlp.g_scale])
    unequal = lower < upper
    free = unequal[: nlp.n]
    lower = lower - _margin(lower, scale, relaxation) * unequal
    upper = upper + _margin(upper, scale, relaxation) * unequal
    with np.errstate(over="ignore", invalid="ignore"):
        pull = np.bincount(columns, jacobian * multipliers.g[rows], minlength=nlp.n)
        residual = gradient + pull - multipliers.x_lower + multipliers.x_upper
        down = np.concatenate([multipliers.x_lower, np.maximum(-multipliers.g, 0.0)])
        up = np.concatenate([multipliers.x_upper, np.maximum(multipliers.g, 0.0)])
        down *= scale / nlp.f_scale
        up *= scale / nlp.f_scale
        mean = (np.abs(down).sum() + np.abs(up).sum()) / (nlp.m + 2 * nlp.n)
        damping = max(1.0, float(mean) / _LARGE_MULTIPLIER)
        excess = np.maximum(_excess(value, lower, upper), 0.0)
        return KktError(
            _largest((residual * nlp.x_scale)[free]) / (nlp.f_scale * damping),
            _largest(excess / scale),
            max(
                _complementarity((value - lower) / scale, down, unequal),
                _complementarity((upper - value) / scale, up, unequal),
            ),
        )


def _margin(bound: Floats, scale: Floats, relaxation: float) -> Floats:
    margin: Floats = relaxation * np.maximum(scale, np.where(np.isinf(bound), 0.0, np.abs(bound)))
    return margin


def _complementarity(gap: Floats, multiplier: Floats, used: Bools) -> float:
    """Gap times multiplier; a negative multiplier, or one of a missing bound, counts in full."""
    gap = np.where(np.isposinf(gap), 1.0, np.abs(gap))
    product = np.where(multiplier < 0.0, -multiplier, np.minimum(multiplier, 1.0) * gap)
    return _largest(product[used])


def _largest(values: Floats) -> float:
    return float(np.abs(values).max(initial=0.0))
