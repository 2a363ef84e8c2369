"""The force and moment that the ground exerts on a flat sole: they push, and do not slip or tip."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from predyn.errors import InputError
from predyn.model import Model
from predyn.model.loops import named_loops
from predyn.samples import Offer
from predyn.terms.linear import Block, Linear
from predyn.terms.selection import Floats, read_positive
from predyn.terms.term import Residual, Term

UPRIGHT = 1.0 - 1e-9  # cosine of the angle from z to the vertical


@dataclass(frozen=True, eq=False)
class PatchWrench(Term):
    """Margins of a sole that a weld holds on horizontal ground: not below zero.

    loop      a weld of the model from a frame in the middle of the sole to one in the world; z of
              both is upwards
    size      length and width (m) of the rectangle in which the pressure point is, along x and y of
              the frame
    friction  coefficient of the ground; divided by sqrt(2), as in FrictionCone
    twist     m, the largest moment about z over the normal force

    11 rows: the normal force, friction along x and y of the world, the distance of the pressure
    point from the four edges times the normal force, and the moment about z.
    """

    loop: str
    size: Sequence[float]
    friction: float = 0.8
    twist: float = 0.05

    kind = "patch_wrench"

    def bind(self, model: Model) -> Residual:
        raise InputError(f"term {self.kind!r}: it needs the loops of a problem")

    def bind_to(self, offer: Offer) -> Linear:
        (loop,) = named_loops(offer.model, self.loop)
        if loop.kind != "weld":
            raise InputError(
                f"{self.kind}: loop {loop.name!r}: expected a weld, which holds a sole, got a "
                f"{loop.kind}"
            )
        sole, place = (offer.model.frame(name) for name in (loop.frame_a, loop.frame_b))
        if sole.link < 0 or place.link >= 0 or place.R[2, 2] < UPRIGHT:
            raise InputError(
                f"{self.kind}: loop {loop.name!r}: expected a weld from a frame of a link to one "
                "fixed in the world with z upwards, got one from "
                f"{loop.frame_a!r:.60} to {loop.frame_b!r:.60}"
            )
        force, moment = f"signal:{loop.name}", f"signal:{loop.name} moment"
        offer.require(self.kind, (force, moment))
        given: Any = self.size
        if np.shape(given) != (2,):
            raise InputError(f"{self.kind}: size: expected length and width, got {given!r:.40}")
        length, width = read_positive(given, f"{self.kind}: size", ("length", "width"))
        (friction,) = read_positive(self.friction, f"{self.kind}: friction", ("friction",))
        (twist,) = read_positive(self.twist, f"{self.kind}: twist", ("twist",))
        share = friction / np.sqrt(2.0)
        margins = (  # name, largest ratio to the normal force, channel and component
            ("friction x", share, force, 0),
            ("friction y", share, force, 1),
            ("pressure y", 0.5 * width, moment, 0),
            ("pressure x", 0.5 * length, moment, 1),
            ("twist", twist, moment, 2),
        )
        rows, units = [f"{loop.name} normal"], ["N"]
        factors: dict[str, list[Floats]] = {
            force: [np.array([0.0, 0.0, 1.0])],
            moment: [np.zeros(3)],
        }
        for name, ratio, channel, k in margins:
            for sign, word in ((-1.0, "+"), (1.0, "-")):
                rows.append(f"{loop.name} {name} {word}")
                units.append("N" if channel == force else "N m")
                row = {force: np.array([0.0, 0.0, ratio]), moment: np.zeros(3)}
                row[channel][k] = sign
                for signal, values in row.items():
                    factors[signal].append(values)
        blocks = [Block(0, x, np.arange(3), np.array(values)) for x, values in factors.items()]
        scale = sum(
            np.abs(block.factors) @ np.array(offer.further[block.channel].scale) for block in blocks
        )
        count = len(rows)
        return Linear(
            *(tuple(rows), tuple(units), np.asarray(scale), blocks),
            lower=np.zeros(count),
            upper=np.full(count, np.inf),
        )
