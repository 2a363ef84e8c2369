"""Coupled coordinates: joints whose position is a function of another joint's position.

A joint k that follows joint s has q_k = f(q_s), and so

    v_k = f' v_s,      a_k = f' a_s + f'' v_s^2,      tau_s gains f' tau_k.

Every coordinate is the position of an independent joint. A coordinate that moves several axes, none
of which equals it, gets a joint of its own on a link without mass (ModelBuilder.add_coordinate),
which all of these axes follow.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from predyn.errors import InputError
from predyn.model.parts import LARGEST, Array, dimensions, frozen, rebuilt, text

if TYPE_CHECKING:
    from predyn.model.model import Model

ORDERS = 5  # a value and its first four derivatives
MOST_TERMS = 24  # coefficients of a piece
JUMP = 1e-9  # largest jump between pieces, relative to the largest value at a break


class Pieces(NamedTuple):
    """A function as the kernels read it, with linear pieces outside the breaks."""

    start: Array  # (pieces - 1,) where each piece but the first starts
    origin: Array  # (pieces,) what its powers are about
    terms: Array  # (ORDERS, pieces, terms) coefficients of the value and of each derivative


@dataclass(frozen=True, eq=False)
class PiecewisePolynomial:
    """A function of one variable, polynomial between breaks.

    breaks        (m + 1,) increasing; piece i is between breaks i and i + 1. Empty, (), for one
                  polynomial that holds everywhere
    coefficients  (m, terms) of the powers 0, 1, ... of x - breaks[i]; (1, terms) of the powers of x
                  if there are no breaks

    Outside the breaks, the function continues as a straight line with the value and slope of the
    end. The value must be continuous. Torques jump where the second derivative does, and their
    first and second derivatives where the third and fourth do; this is not checked.
    """

    breaks: Array
    coefficients: Array

    def __post_init__(self) -> None:
        count = np.size(self.breaks)
        breaks = frozen(self.breaks if count else np.zeros(0), "breaks", (count,))
        if dimensions(self.coefficients, "coefficients") != 2:
            raise InputError("coefficients: expected one row for each piece (pieces, terms)")
        rows, terms = np.shape(self.coefficients)
        coefficients = frozen(self.coefficients, "coefficients", (rows, terms))
        if count == 1 or rows != max(count - 1, 1) or not 1 <= terms <= MOST_TERMS:
            raise InputError(
                f"expected one row of 1 to {MOST_TERMS} coefficients for each piece between two "
                f"breaks (one row without breaks), got {count} breaks and {rows} rows of {terms}"
            )
        for what, values in (("breaks", breaks), ("coefficients", coefficients)):
            if not (np.abs(values) <= LARGEST).all():
                raise InputError(f"{what}: expected finite numbers of magnitude up to {LARGEST:g}")
        if (np.diff(breaks) <= 0.0).any():
            raise InputError(f"breaks: expected increasing numbers, got {breaks.tolist()!r:.60}")
        object.__setattr__(self, "breaks", breaks)
        object.__setattr__(self, "coefficients", coefficients)
        self._check_continuity()

    __reduce__ = rebuilt

    @classmethod
    def linear(cls, multiplier: float, offset: float = 0.0) -> PiecewisePolynomial:
        """multiplier * x + offset."""
        return cls.polynomial((offset, multiplier))

    @classmethod
    def polynomial(cls, coefficients: ArrayLike) -> PiecewisePolynomial:
        """The sum of coefficients[i] * x**i, for all x."""
        row = frozen(coefficients, "coefficients", (np.size(coefficients),))
        return cls(np.zeros(0), row[None])

    def __call__(self, x: ArrayLike, order: int = 0) -> Array:
        """The function, or its derivative of an order up to 4, at x of any shape."""
        if not isinstance(order, int | np.integer) or order not in range(ORDERS):
            raise InputError(f"order: expected 0 to {ORDERS - 1}, got {order!r:.60}")
        try:
            at = np.asarray(x, dtype=float)
        except (TypeError, ValueError):
            raise InputError(f"x: expected numbers, got {x!r:.60}") from None
        start, origin, terms = self.pieces
        piece = np.searchsorted(start, at, side="right")
        local, rows = at - origin[piece], terms[order]
        value = np.zeros(at.shape)
        for k in range(rows.shape[1] - 1, -1, -1):
            value = value * local + rows[piece, k]
        return value

    @cached_property
    def pieces(self) -> Pieces:
        """The function in the form that the kernels read."""
        terms = [np.array(self.coefficients)]
        for _ in range(1, ORDERS):
            powers = np.arange(1, terms[0].shape[1])
            slope = np.zeros_like(terms[0])
            slope[:, :-1] = terms[-1][:, 1:] * powers
            terms.append(slope)
        if not len(self.breaks):
            return Pieces(np.zeros(0), np.zeros(1), np.array(terms))
        count = max(terms[0].shape[1], 2)
        last = self.breaks[-1] - self.breaks[-2]
        full = np.zeros((ORDERS, len(self.breaks) + 1, count))
        full[:, 1:-1, : terms[0].shape[1]] = terms
        for k in range(2):  # value and slope at both ends
            full[k, 0, 0] = terms[k][0, 0]
            full[k, -1, 0] = np.polynomial.polynomial.polyval(last, terms[k][-1])
        full[0, [0, -1], 1] = full[1, [0, -1], 0]
        origin = np.concatenate((self.breaks[:1], self.breaks[:-1], self.breaks[-1:]))
        start = self.breaks.copy()
        start[-1] = np.nextafter(start[-1], np.inf)  # the last break belongs to the last piece
        return Pieces(start, origin, full)

    @property
    def line(self) -> tuple[float, float] | None:
        """(multiplier, offset) if this is one straight line, else None."""
        row = self.coefficients[0]
        if len(self.breaks) or row[2:].any():
            return None
        return (float(row[1]) if len(row) > 1 else 0.0), float(row[0])

    def _check_continuity(self) -> None:
        if len(self.breaks) > 2:
            width = np.diff(self.breaks)
            powers = width[:, None] ** np.arange(self.coefficients.shape[1])
            ends = (self.coefficients * powers).sum(axis=1)
            jumps = np.abs(ends[:-1] - self.coefficients[1:, 0])
            worst = int(np.argmax(jumps))
            size = np.abs(self.coefficients * powers).max()
            if not jumps[worst] <= JUMP * size:
                raise InputError(
                    f"coefficients: the function jumps by {jumps[worst]:.3g} at the break "
                    f"{self.breaks[worst + 1]:.6g}; expected pieces that meet"
                )


@dataclass(frozen=True, eq=False)
class Coupling:
    """The joint `joint` follows the joint `source`: its position is function(position of source).

    function  a PiecewisePolynomial, or a pair (multiplier, offset)
    """

    joint: str
    source: str
    function: PiecewisePolynomial = field(repr=False)

    def __post_init__(self) -> None:
        what = f"coupling of joint {text(self.joint, 'coupled joint')!r}"
        text(self.source, f"{what}: source")
        given: Any = self.function
        if not isinstance(given, PiecewisePolynomial):
            pair = frozen(given, f"{what}: function (multiplier, offset)", (2,))
            try:
                object.__setattr__(self, "function", PiecewisePolynomial.linear(*pair.tolist()))
            except InputError as error:
                raise InputError(f"{what}: {error}") from None

    __reduce__ = rebuilt

    @property
    def is_linear(self) -> bool:
        """Whether the ratio of the two joints is constant."""
        function = self.function
        return not len(function.breaks) and not function.coefficients[0, 2:].any()


def find_problems(joints: tuple[str, ...], couplings: tuple[Coupling, ...]) -> list[str]:
    """What is wrong with couplings of a tree that has these joints."""
    problems = []
    followers = [coupling.joint for coupling in couplings]
    for k, coupling in enumerate(couplings):
        what = f"joint {coupling.joint!r:.60} follows {coupling.source!r:.60}"
        known = ", ".join(map(repr, joints[:12])) + (", ..." if len(joints) > 12 else "")
        for name in (coupling.joint, coupling.source):
            if name not in joints:
                problems.append(f"{what}, but there is no joint {name!r:.60}; joints: {known}")
        if coupling.joint in followers[:k]:
            problems.append(f"{what}, but it already follows another joint: expected one source")
        elif coupling.source in followers:
            problems.append(
                f"{what}, which itself follows a joint: expected an independent joint as source"
            )
    return problems


def independent(model: Model) -> NDArray[np.int64]:
    """(n,) numbers of the links whose joints are the coordinates of a model."""
    followers = {coupling.joint for coupling in model.couplings}
    names = enumerate(model.expanded.joint_names)
    return np.array([k for k, name in names if name not in followers], np.int64)


def sources(model: Model) -> NDArray[np.int64]:
    """(links,) number of the coordinate that drives each joint."""
    names = {coupling.joint: coupling.source for coupling in model.couplings}
    place = {name: k for k, name in enumerate(model.joint_names)}
    joints = model.expanded.joint_names
    return np.array([place[names.get(name, name)] for name in joints], np.int64)


def joint_positions(model: Model, q: ArrayLike, order: int = 0) -> Array:
    """Positions (..., links) of all joints at coordinates q (..., n).

    order: of their derivatives, each in the coordinate that drives it.
    """
    at = np.asarray(q, dtype=float)[..., sources(model)]
    full = at if order == 0 else np.full(at.shape, 1.0 if order == 1 else 0.0)
    place = {name: k for k, name in enumerate(model.expanded.joint_names)}
    for coupling in model.couplings:
        k = place[coupling.joint]
        full[..., k] = coupling.function(at[..., k], order)
    return full
