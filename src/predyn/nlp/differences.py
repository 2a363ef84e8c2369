"""Compare the derivatives of a nonlinear program with central differences."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from predyn.errors import InputError

if TYPE_CHECKING:
    from predyn.nlp.nlp import NLP, Floats, Indices

_DENSE = 300  # up to this many variables every entry is differenced, beyond it random directions
_DIRECTIONS = 12
_ROUNDING = 100.0 * np.finfo(float).eps  # of a function value, relative to its terms


class DerivativeEntry(NamedTuple):
    """The worst entry of one derivative, with the largest error / tolerance.

    For many variables, `given` and `expected` are the row's change along a random direction, and
    `column` is the variable that contributes most of the error.
    """

    row: str
    column: str
    given: float
    expected: float
    tolerance: float
    in_pattern: bool

    @property
    def ok(self) -> bool:
        return bool(abs(self.given - self.expected) <= self.tolerance)

    def __str__(self) -> str:
        where = "" if self.in_pattern else ", which is not in the pattern"
        return (
            f"{self.row} by {self.column}{where}: given {self.given:.9g}, differences "
            f"{self.expected:.9g} +- {self.tolerance:.1g}"
        )


class DerivativeReport(NamedTuple):
    """The worst entry of each derivative; None where there is nothing to check."""

    gradient: DerivativeEntry | None
    jacobian: DerivativeEntry | None
    hessian: DerivativeEntry | None

    @property
    def ok(self) -> bool:
        return all(entry is None or entry.ok for entry in self)

    def __str__(self) -> str:
        lines = [
            f"{name}: {'right' if entry.ok else 'WRONG'}, worst {entry}"
            for name, entry in zip(self._fields, self, strict=True)
            if entry is not None
        ]
        return "\n".join(lines)


class _Matrix(NamedTuple):
    """Given derivatives: entries of a matrix, and the size of the terms of each function."""

    rows: Indices
    columns: Indices
    values: Floats
    size: Floats

    def times(self, direction: Floats) -> Floats:
        moved = self.values * direction[self.columns]
        return np.asarray(np.bincount(self.rows, moved, minlength=len(self.size)), dtype=float)


def check_derivatives(
    nlp: NLP,
    x: ArrayLike,
    *,
    multipliers: ArrayLike | None = None,
    hessian: bool = True,
    step: float = 1e-5,
    seed: int = 0,
) -> DerivativeReport:
    """Difference f, g and the gradient of f / f_scale + multipliers . g around x.

    The step is in units of x_scale; the multipliers are random by default. Two steps, one twice the
    other, are extrapolated; their difference and the rounding of the values are the tolerance.
    Entries outside the patterns must be zero. hessian=False skips the Hessian, as needed for
    Gauss-Newton, which is not an exact derivative.
    """
    point = np.array(x, dtype=float)
    if point.shape != (nlp.n,) or not np.isfinite(point).all():
        raise InputError(f"x: expected {nlp.n} finite numbers, got shape {point.shape}")
    random = np.random.default_rng(seed)
    weights = random.uniform(-1.0, 1.0, nlp.m) / nlp.g_scale
    if multipliers is not None:
        weights = np.array(multipliers, dtype=float)
        if weights.shape != (nlp.m,):
            raise InputError(f"multipliers: expected shape ({nlp.m},), got {weights.shape}")
    sigma = 1.0 / nlp.f_scale

    def values(at: Floats) -> Floats:
        g = np.empty(nlp.m)
        nlp.move(at)
        nlp.constraints(g)
        return np.append(g, nlp.objective())

    def first(at: Floats) -> tuple[Floats, Floats]:
        gradient, jacobian = np.empty(nlp.n), np.empty(len(nlp.jacobian_pattern[0]))
        nlp.move(at)
        nlp.gradient(gradient)
        nlp.jacobian(jacobian)
        return gradient, jacobian

    def lagrangian_gradient(at: Floats) -> Floats:
        gradient, jacobian = first(at)
        rows, columns = nlp.jacobian_pattern
        pull = np.bincount(columns, jacobian * weights[rows], minlength=nlp.n)
        total: Floats = sigma * gradient + pull
        return total

    def name(i: int) -> str:
        return nlp.g_name(i) if i < nlp.m else "the objective"

    gradient, jacobian = first(point)
    rows, columns = nlp.jacobian_pattern
    everything = np.arange(nlp.n, dtype=np.int32)
    size = np.abs(values(point)) + np.append(nlp.g_scale, nlp.f_scale)
    both = _Matrix(
        np.append(rows, np.full(nlp.n, nlp.m, dtype=np.int32)),
        np.append(columns, everything),
        np.append(jacobian, gradient),
        size,
    )
    directions = _Directions(nlp, point, step, random)
    of_g, of_f = (
        directions.worst(values, both, part, name)
        for part in (slice(0, nlp.m), slice(nlp.m, nlp.m + 1))
    )
    if not hessian:
        return DerivativeReport(of_f, of_g, None)
    lower, left = nlp.hessian_pattern
    entries = np.empty(len(lower))
    nlp.move(point)
    nlp.hessian(sigma, weights, entries)
    off = lower != left
    terms = np.bincount(columns, np.abs(jacobian * weights[rows]), minlength=nlp.n)
    symmetric = _Matrix(
        np.append(lower, left[off]),
        np.append(left, lower[off]),
        np.append(entries, entries[off]),
        terms + sigma * np.abs(gradient) + 1.0 / nlp.x_scale,
    )
    whole = slice(0, nlp.n)
    return DerivativeReport(
        of_f, of_g, directions.worst(lagrangian_gradient, symmetric, whole, nlp.x_name)
    )


class _Directions:
    """Unit vectors in units of x_scale for a few variables, random signs for many."""

    def __init__(self, nlp: NLP, x: Floats, step: float, random: np.random.Generator) -> None:
        self.nlp, self.x, self.step = nlp, x, step
        self.signs = random.choice([-1.0, 1.0], size=(_DIRECTIONS, nlp.n))

    def __iter__(self) -> Iterator[Floats]:
        if self.nlp.n > _DENSE:
            yield from self.signs * self.nlp.x_scale
            return
        for i in range(self.nlp.n):
            direction = np.zeros(self.nlp.n)
            direction[i] = self.nlp.x_scale[i]
            yield direction

    def worst(
        self,
        function: Callable[[Floats], Floats],
        given: _Matrix,
        part: slice,
        name: Callable[[int], str],
    ) -> DerivativeEntry | None:
        """The worst entry of the function's rows in `part` over all directions."""
        worst, entry = -1.0, None
        for direction in self:
            expected, tolerance = self._differences(function, given, direction)
            change = given.times(direction)
            ratio = np.abs(change - expected) / tolerance
            ratio = np.where(np.isfinite(ratio), ratio, np.inf)[part]
            if not ratio.size or ratio.max() <= worst:
                continue
            worst = float(ratio.max())
            row = part.start + int(ratio.argmax())
            column, unit = self._column(function, given, direction, row)
            entry = DerivativeEntry(
                name(row),
                self.nlp.x_name(column),
                float(change[row] / unit),
                float(expected[row] / unit),
                float(tolerance[row] / abs(unit)),
                bool(np.any((given.rows == row) & (given.columns == column))),
            )
        return entry

    def _differences(
        self, function: Callable[[Floats], Floats], given: _Matrix, direction: Floats
    ) -> tuple[Floats, Floats]:
        def slope(step: float) -> Floats:
            ahead, behind = self.x + step * direction, self.x - step * direction
            change: Floats = (function(ahead) - function(behind)) / (2.0 * step)
            return change

        near, far = slope(self.step), slope(2.0 * self.step)
        at = np.abs(direction[given.columns]) * np.abs(given.values)
        moved = np.abs(self.x[given.columns]) * (at > 0.0) * np.abs(given.values)
        rounding = given.size + np.bincount(given.rows, moved, minlength=len(given.size))
        return (4.0 * near - far) / 3.0, np.abs(near - far) + _ROUNDING * rounding / self.step

    def _column(
        self,
        function: Callable[[Floats], Floats],
        given: _Matrix,
        direction: Floats,
        row: int,
    ) -> tuple[int, float]:
        """Halve a direction until one variable is left; returns it and the unit of the result."""
        used = np.flatnonzero(direction)
        unit = float(direction[used[0]]) if len(used) == 1 else 1.0
        while len(used) > 1:
            errors = []
            halves = np.array_split(used, 2)
            for half in halves:
                masked = np.zeros_like(direction)
                masked[half] = direction[half]
                expected, _ = self._differences(function, given, masked)
                errors.append(abs(given.times(masked)[row] - expected[row]))
            used = halves[int(errors[1] > errors[0])]
        return int(used[0]), unit
