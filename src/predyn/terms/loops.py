"""Terms on closed loops: equations, their rates, false roots, and the directions of forces.

The equations are those of model/loops.py. With axes x, y, z of frame b, rotations of frame a
relative to it at a rate w change them by

    weld    turn x, y, z:  w.x, w.y, w.z        hinge   tilt x, y:  w.y, -w.x

while the loop is closed. A force that holds a loop does no work on motions that keep it closed: the
moment of a hinge is mu_x y - mu_y x, and the force of a distance is along the line of its points.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from predyn.errors import InputError, unknown_name
from predyn.model import Model
from predyn.model.loops import EQUATIONS, POSITION, PRODUCTS, Loop, named_loops
from predyn.samples import FRAME_PARTS, Offer
from predyn.terms.bilinear import Bilinear, Component, Summand
from predyn.terms.term import Residual, Term

TURNS = {  # axis of frame b about which a rotation changes each product, and the sign
    "hinge": ((1, 1.0), (0, -1.0)),
    "weld": ((0, 1.0), (1, 1.0), (2, 1.0)),
}
SIDES = {"hinge": (2,), "weld": (0, 1)}  # axes that tell closed loops from false roots


class _Number:
    """A number of a frame: a component of its channel, or a constant of a frame in the world."""

    def __init__(self, model: Model, frame: str) -> None:
        known = model.frame(frame)
        self._channel = f"frame:{frame}"
        self._fixed = known if known.link < 0 else None

    def __call__(self, part: str, k: int) -> tuple[float, tuple[Component, ...]]:
        if self._fixed is None:
            return 1.0, ((self._channel, FRAME_PARTS[part].start + k),)
        values = {"R": self._fixed.R.ravel(), "p": self._fixed.p}.get(part, np.zeros(3))
        return float(values[k]), ()


def _product(row: int, factor: float, *of: tuple[float, tuple[Component, ...]]) -> Summand:
    components: tuple[Component, ...] = ()
    for number, own in of:
        factor, components = factor * number, components + own
    return Summand(row, factor, components)


@dataclass(frozen=True, eq=False)
class _OnLoop(Term):
    """Some equations (None: all) of a loop of the model, by their names such as "x"."""

    loop: str
    equations: Sequence[str] | None = None

    def _chosen(self, model: Model) -> tuple[Loop, list[int]]:
        (loop,) = named_loops(model, self.loop)
        known = EQUATIONS[loop.kind]
        names = known if self.equations is None else self.equations
        for name in names:
            if name not in known:
                raise unknown_name(f"equation of loop {loop.name!r}", name, known)
        return loop, [known.index(name) for name in names]

    def _residual(
        self, model: Model, loop: Loop, chosen: list[int], summands: Iterator[Summand], unit: str
    ) -> Residual:
        place = {k: row for row, k in enumerate(chosen)}
        own = [x._replace(row=place[x.row]) for x in summands if x.row in place]
        names = tuple(loop.equations[k] for k in chosen)
        return Bilinear(names, (unit,) * len(names), np.ones(len(names)), own)


@dataclass(frozen=True, eq=False)
class LoopClosure(_OnLoop):
    """The equations of a loop: zero where it is closed."""

    kind = "loop_closure"

    def bind(self, model: Model) -> Residual:
        loop, chosen = self._chosen(model)
        return self._residual(model, loop, chosen, self._summands(model, loop), "m")

    def _summands(self, model: Model, loop: Loop) -> Iterator[Summand]:
        a, b = (_Number(model, frame) for frame in (loop.frame_a, loop.frame_b))
        if loop.distance is not None:
            half = 0.5 / loop.distance
            for k in range(3):
                yield _product(0, half, a("p", k), a("p", k))
                yield _product(0, half, b("p", k), b("p", k))
                yield _product(0, -2.0 * half, a("p", k), b("p", k))
            yield Summand(0, -0.5 * loop.distance, ())
            return
        for k in range(3):
            yield _product(k, 1.0, a("p", k))
            yield _product(k, -1.0, b("p", k))
        for row, (i, j) in enumerate(PRODUCTS[loop.kind], start=3):
            for k in range(3):
                yield _product(row, 1.0, a("R", 3 * k + i), b("R", 3 * k + j))


@dataclass(frozen=True, eq=False)
class LoopRate(_OnLoop):
    """Rates of the equations of a closed loop: zero where it stays closed."""

    kind = "loop_rate"

    def bind(self, model: Model) -> Residual:
        loop, chosen = self._chosen(model)
        return self._residual(model, loop, chosen, self._summands(model, loop), "m/s")

    def _summands(self, model: Model, loop: Loop) -> Iterator[Summand]:
        a, b = (_Number(model, frame) for frame in (loop.frame_a, loop.frame_b))
        if loop.distance is not None:
            for sign, x in ((1.0, a), (-1.0, b)):
                for turn, y in ((1.0, a), (-1.0, b)):
                    for k in range(3):
                        yield _product(0, sign * turn / loop.distance, x("p", k), y("v", k))
            return
        for k in range(3):
            yield _product(k, 1.0, a("v", k))
            yield _product(k, -1.0, b("v", k))
        for row, (axis, sign) in enumerate(TURNS.get(loop.kind, ()), start=3):
            for k in range(3):
                yield _product(row, sign, a("w", k), b("R", 3 * k + axis))
                yield _product(row, -sign, b("w", k), b("R", 3 * k + axis))


@dataclass(frozen=True, eq=False)
class LoopSide(Term):
    """Products of equal axes of a hinge or weld: positive where it is closed, not turned over."""

    loop: str

    kind = "loop_side"

    def bind(self, model: Model) -> Residual:
        (loop,) = named_loops(model, self.loop)
        a, b = (_Number(model, frame) for frame in (loop.frame_a, loop.frame_b))
        axes = SIDES[loop.kind]
        summands = [
            _product(row, 1.0, a("R", 3 * k + axis), b("R", 3 * k + axis))
            for row, axis in enumerate(axes)
            for k in range(3)
        ]
        names = tuple(f"{loop.name} side {'xyz'[axis]}" for axis in axes)
        return Bilinear(names, ("1",) * len(names), np.ones(len(names)), summands)


@dataclass(frozen=True, eq=False)
class LoopForce(Term):
    """A force or moment of a loop minus what its multipliers determine: zero.

    vector       signal of three components, in world axes
    multipliers  signal with one component for each equation in `equations`
    """

    loop: str
    vector: str
    multipliers: str
    equations: Sequence[str]

    kind = "loop_force"

    def bind(self, model: Model) -> Residual:
        raise InputError(f"term {self.kind!r}: it needs the signals of a problem")

    def bind_to(self, offer: Offer) -> Residual:
        model, (loop,) = offer.model, named_loops(offer.model, self.loop)
        a, b = (_Number(model, frame) for frame in (loop.frame_a, loop.frame_b))
        vector, own = f"signal:{self.vector}", f"signal:{self.multipliers}"
        offer.require(self.kind, (vector, own))
        summands = [Summand(k, 1.0, ((vector, k),)) for k in range(3)]
        for m, name in enumerate(self.equations):
            multiplier = (1.0, ((own, m),))
            for k in range(3):
                if loop.distance is not None:
                    share = 1.0 / loop.distance
                    summands.append(_product(k, -share, multiplier, a("p", k)))
                    summands.append(_product(k, share, multiplier, b("p", k)))
                else:
                    turn = EQUATIONS[loop.kind].index(name) - len(POSITION)
                    axis, sign = TURNS[loop.kind][turn]
                    summands.append(_product(k, -sign, multiplier, b("R", 3 * k + axis)))
        unit = offer.further[vector].unit
        scale = np.array(offer.further[vector].scale)
        names = tuple(f"{self.vector} {axis}" for axis in "xyz")
        residual = Bilinear(names, (unit,) * 3, scale, summands)
        offer.require(self.kind, residual.channels)
        return residual
