"""Reactions: forces and moments through a joint."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from predyn.errors import InputError
from predyn.model import Model
from predyn.samples import Samples
from predyn.terms.linear import Block, Linear
from predyn.terms.selection import check_choice, read_positive
from predyn.terms.term import Residual, Term

COMPONENTS = ("mx", "my", "mz", "fx", "fy", "fz")
PARTS = {"moment": (0, 1, 2), "force": (3, 4, 5), "wrench": (0, 1, 2, 3, 4, 5)} | {
    name: (k,) for k, name in enumerate(COMPONENTS)
}


@dataclass(frozen=True, eq=False)
class JointReaction(Term):
    """Force (N) or moment (N m) on a link through its joint, in link axes, at the link's origin.

    part  "force", "moment", "wrench" (both), or one of mx, my, mz, fx, fy, fz
    form  "components", or "magnitude" of the force or of the moment: sqrt(|F|^2 + width^2), which
          is differentiable at zero and grows like |F|, so that limits are in N and scale well.
          It is never below |F|; the width matters only near zero.
    """

    joint: str
    part: str = "force"
    form: Literal["components", "magnitude"] = "components"
    width: float = 0.1

    kind = "reaction"

    def __post_init__(self) -> None:
        check_choice("part of reaction", self.part, tuple(PARTS))
        check_choice("form of reaction", self.form, ("components", "magnitude"))
        read_positive(self.width, "reaction: width", ("width",))
        if self.form == "magnitude" and self.part not in ("force", "moment"):
            raise InputError(
                "reaction: a magnitude has one unit: expected part 'force' or 'moment', "
                f"got {self.part!r}"
            )

    def bind(self, model: Model) -> Residual:
        first = 6 * model.expanded.joint_index(self.joint)
        part = PARTS[self.part]
        weight = 9.81 * model.mass or 1.0
        if self.form == "magnitude":
            unit = "N m" if self.part == "moment" else "N"
            name = f"{self.joint} {self.part}"
            return Magnitude(name, unit, weight, first + part[0], self.width)
        return Linear(
            tuple(f"{self.joint} {COMPONENTS[k]}" for k in part),
            tuple("N m" if k < 3 else "N" for k in part),
            np.full(len(part), weight),
            [Block(0, "reactions", first + np.array(part), np.ones(len(part)))],
        )


class Magnitude(Residual):
    """sqrt(|x|^2 + width^2) of three components of the reactions from `first` on."""

    def __init__(self, name: str, unit: str, scale: float, first: int, width: float) -> None:
        self.rows, self.units, self.scale = (name,), (unit,), np.array([scale])
        k = range(first, first + 3)
        self.entries = tuple((0, "reactions", i) for i in k)
        self.curved = tuple(("reactions", i, "reactions", j) for i in k for j in k if i <= j)
        self._part, self._width = slice(first, first + 3), width

    def value(self, s: Samples, out: NDArray) -> None:
        x = s["reactions"][self._part]
        np.sqrt((x * x).sum(axis=0) + self._width**2, out=out[0])

    def partials(self, s: Samples, out: NDArray) -> None:
        x = s["reactions"][self._part]
        np.divide(x, np.sqrt((x * x).sum(axis=0) + self._width**2), out=out)

    def curvature(self, s: Samples, weights: NDArray, out: NDArray) -> None:
        x = s["reactions"][self._part]
        root = np.sqrt((x * x).sum(axis=0) + self._width**2)
        share = weights[0] / root
        x = x / root
        out[:3] = -share * x[0] * x
        out[3:5] = -share * x[1] * x[1:]
        out[5] = -share * x[2] * x[2]
        out[[0, 3, 5]] += share
