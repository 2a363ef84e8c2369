"""Terms on contacts: where a point stays, the forces on it, their rates, and friction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from predyn.errors import InputError, unknown_name
from predyn.model import Model
from predyn.samples import FRAME_PARTS, Offer, Samples
from predyn.terms.linear import Block, Linear
from predyn.terms.selection import AXES, check_choice, frame_channel, read_positive
from predyn.terms.term import Residual, Term

Floats = NDArray[np.float64]
Summand = tuple[str, int]  # signal, component


@dataclass(frozen=True)
class Place:
    """A coordinate of a place: a number (m) plus factors times parameters."""

    number: float = 0.0
    parameters: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class ContactPlace(Term):
    """Position of a contact point along some axes minus its place there, m, world axes."""

    point: str
    place: Mapping[str, Place]  # by axis

    kind = "contact_place"

    def bind(self, model: Model) -> Linear:
        channel = frame_channel(model, self.point, self.kind)
        axes = np.array([AXES.index(axis) for axis in self.place])
        places = list(self.place.values())
        names = dict.fromkeys(name for place in places for name in place.parameters)
        blocks = [Block(0, channel, FRAME_PARTS["p"].start + axes, np.ones(len(axes)))]
        for name in names:
            factors = np.array([[-place.parameters.get(name, 0.0)] for place in places])
            blocks.append(Block(0, f"parameter:{name}", np.zeros(1, np.int64), factors))
        return Linear(
            tuple(f"{self.point} {axis}" for axis in self.place),
            ("m",) * len(axes),
            np.ones(len(axes)),
            blocks,
            np.array([place.number for place in places]),
        )


class OnContacts(Term):
    """Base of terms on the forces of contact points, which are signals of a problem.

    points  names of contact points or patches; None: all that touch
    """

    points: Sequence[str] | None

    def bind(self, model: Model) -> Residual:
        raise InputError(f"term {self.kind!r}: it needs the contacts of a problem")

    def touching(self, offer: Offer) -> dict[str, list[str]]:
        """Signals of the forces in a phase, by the point or patch that was named."""
        patches = offer.model.patches
        known = (*(point.name for point in offer.model.contact_points), *patches)
        given: Any = self.points
        names = isinstance(given, tuple | list) and all(isinstance(x, str) for x in given)
        if given is not None and not (names and given):
            raise InputError(f"{self.kind}: points: expected a list of names, got {given!r:.40}")
        found: dict[str, list[str]] = {}
        for name in dict.fromkeys(known if given is None else given):
            if name not in known:
                raise unknown_name("contact point or patch", name, dict.fromkeys(known))
            members = (name,) if given is None else (name, *patches.get(name, ()))
            signals = [x for x in dict.fromkeys(members) if f"signal:{x}" in offer.further]
            if signals:
                found[name] = signals
        return found

    def touches(self, offer: Offer) -> bool:
        """Whether any of the points touches in a phase."""
        return bool(self.touching(offer))


def free_components(offer: Offer, signal: str) -> list[int]:
    """Axes (0, 1, 2) along which the force of a contact is an unknown."""
    further = offer.further[f"signal:{signal}"]
    return [k for k, fixed in enumerate(further.fixed) if not fixed]


def sums_of_signals(
    rows: Mapping[str, Sequence[tuple[Summand, float]]], offer: Offer, rate: bool, per: float
) -> Linear:
    """Rows that add up components of signals with factors, each divided by `per`."""
    family, unit = ("rate", "N/s") if rate else ("signal", "N")
    blocks: dict[str, Floats] = {}
    scale = np.zeros(len(rows))
    for r, summands in enumerate(rows.values()):
        for (signal, component), factor in summands:
            further = offer.further[f"signal:{signal}"]
            matrix = blocks.setdefault(signal, np.zeros((len(rows), len(further.components))))
            matrix[r, component] += factor / per
            scale[r] = max(scale[r], abs(factor) / per * further.scale[component])
    return Linear(
        tuple(rows),
        (unit if per == 1.0 else "1/s" if rate else "1",) * len(rows),
        scale,
        [
            Block(0, f"{family}:{signal}", np.arange(matrix.shape[1]), matrix)
            for signal, matrix in blocks.items()
        ],
    )


@dataclass(frozen=True, eq=False)
class ContactForce(OnContacts):
    """Forces of the ground on contact points (None: all), world axes, each divided by `per` (N).

    total=True adds up all points into one row for each axis, such as the force on a foot.
    """

    points: Sequence[str] | None = None
    axes: str = "xyz"
    per: float = 1.0
    total: bool = False

    kind = "contact_force"
    rate = False

    def __post_init__(self) -> None:
        _check_axes(self.axes, f"{self.kind}: axes")

    def bind_to(self, offer: Offer) -> Linear:
        touching = self.touching(offer)
        if not touching:
            names = ", ".join(self.points or ("the contact points",))
            raise InputError(f"term {self.kind!r}: {names:.80} does not touch the ground here")
        per = float(read_positive(self.per, f"{self.kind}: per", ("per",))[0])
        rows: dict[str, list[tuple[Summand, float]]] = {}
        for signal in dict.fromkeys(x for signals in touching.values() for x in signals):
            for k in free_components(offer, signal):
                if AXES[k] in self.axes:
                    name = f"total {AXES[k]}" if self.total else f"{signal} {AXES[k]}"
                    rows.setdefault(name, []).append(((signal, k), 1.0))
        if not rows:
            raise InputError(f"{self.kind}: no force along {self.axes!r} acts on its points")
        return sums_of_signals(rows, offer, self.rate, per)


@dataclass(frozen=True, eq=False)
class ContactForceRate(ContactForce):
    """Rates of change of the forces on contact points, per second; see ContactForce.

    A cost on them makes forces continuous: with effort alone, forces jump where contacts change.
    """

    kind = "contact_force_rate"
    rate = True


@dataclass(frozen=True, eq=False)
class FrictionCone(OnContacts):
    """Margin of friction of each patch: not below zero while it does not slip.

    form "pyramid"  friction Fz - |Fx| and the same for Fy; the friction is divided by sqrt(2) if
                    the patch has forces along both, so that the pyramid is inside the cone
         "cone"     (friction Fz)^2 - Fx^2 - Fy^2; combine it with Fz >= 0
    Forces are the sums over the points of a patch, in world axes.
    """

    points: Sequence[str] | None = None  # patches
    friction: float = 0.8
    form: Literal["pyramid", "cone"] = "pyramid"

    kind = "friction_cone"

    def __post_init__(self) -> None:
        check_choice("form of friction_cone", self.form, ("pyramid", "cone"))

    def bind_to(self, offer: Offer) -> Residual:
        friction = float(read_positive(self.friction, "friction_cone: friction", ("friction",))[0])
        named = self.points if self.points is not None else tuple(offer.model.patches)
        patches = FrictionCone(tuple(named)).touching(offer) if named else {}
        sums: dict[str, list[list[tuple[Summand, float]]]] = {}
        for patch, signals in patches.items():
            along: list[list[tuple[Summand, float]]] = [[], [], []]
            for signal in signals:
                for k in free_components(offer, signal):
                    along[k].append(((signal, k), 1.0))
            if along[0] or along[1]:
                sums[patch] = along
        if not sums:
            raise InputError("friction_cone: no patch with a force along the ground touches here")
        if self.form == "cone":
            return _Cone(sums, friction, offer)
        rows: dict[str, list[tuple[Summand, float]]] = {}
        for patch, (x, y, z) in sums.items():
            share = friction / np.sqrt(2.0) if x and y else friction
            for axis, tangential in (("x", x), ("y", y)):
                for sign, word in ((-1.0, "+"), (1.0, "-")) if tangential else ():
                    normal = [(s, share * f) for s, f in z]
                    rows[f"{patch} {word}{axis}"] = normal + [(s, sign * f) for s, f in tangential]
        residual = sums_of_signals(rows, offer, False, 1.0)
        residual.lower, residual.upper = np.zeros(len(rows)), np.full(len(rows), np.inf)
        return residual


class _Cone(Residual):
    """(friction Fz)^2 - Fx^2 - Fy^2 of each patch, divided by the largest scale of its forces."""

    def __init__(
        self,
        sums: Mapping[str, list[list[tuple[Summand, float]]]],
        friction: float,
        offer: Offer,
    ) -> None:
        self.rows, self.units = tuple(sums), ("N",) * len(sums)
        self.lower, self.upper = np.zeros(len(sums)), np.full(len(sums), np.inf)
        self._signs = (-1.0, -1.0, friction**2)
        self._sums, scale, entries, curved = [], [], [], []
        for r, along in enumerate(sums.values()):
            parts = [[(f"signal:{s}", k) for (s, k), _ in axis] for axis in along]
            sizes = [offer.further[channel].scale[k] for axis in parts for channel, k in axis]
            self._sums.append(parts)
            scale.append(max(sizes))
            for axis in parts:
                entries += [(r, *x) for x in axis]
                curved += [
                    (*x, *y) for i, x in enumerate(axis) for y in axis[i:]
                ]  # each unordered pair once
        self.scale = np.array(scale)
        self.entries = tuple(entries)
        self.curved = tuple(dict.fromkeys(curved))

    def _along(self, s: Samples, axis: Sequence[tuple[str, int]]) -> NDArray | float:
        return sum((s[channel][k] for channel, k in axis), 0.0)

    def value(self, s: Samples, out: NDArray) -> None:
        for r, parts in enumerate(self._sums):
            squares = [
                f * self._along(s, axis) ** 2 for f, axis in zip(self._signs, parts, strict=True)
            ]
            out[r] = sum(squares) / self.scale[r]

    def partials(self, s: Samples, out: NDArray) -> None:
        n = 0
        for r, parts in enumerate(self._sums):
            for factor, axis in zip(self._signs, parts, strict=True):
                out[n : n + len(axis)] = 2.0 * factor / self.scale[r] * self._along(s, axis)
                n += len(axis)

    def curvature(self, s: Samples, weights: NDArray, out: NDArray) -> None:
        out[:] = 0.0
        place = {pair: n for n, pair in enumerate(self.curved)}
        for r, parts in enumerate(self._sums):
            for factor, axis in zip(self._signs, parts, strict=True):
                for i, x in enumerate(axis):
                    for y in axis[i:]:
                        out[place[(*x, *y)]] += weights[r] * (2.0 * factor / self.scale[r])


def _check_axes(axes: Any, what: str) -> None:
    good = isinstance(axes, str) and axes and set(axes) <= set(AXES) and len(set(axes)) == len(axes)
    if not good:
        raise InputError(f"{what}: expected some of 'xyz', such as 'xz', got {axes!r:.40}")
