"""Mechanical power of the drives; its integral over time is energy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from predyn.model import Model
from predyn.samples import Samples
from predyn.terms.selection import (
    as_slice,
    check_choice,
    joint_indices,
    joint_names,
    joint_scale,
    read_positive,
)
from predyn.terms.term import Residual, Term


@dataclass(frozen=True, eq=False)
class MechanicalEnergy(Term):
    """Power tau v of the named joints (None: all), W; as a cost it is integrated to energy, J.

    form "abs"       |tau v|: braking costs as much as driving
         "positive"  the positive part: braking is free, and no energy is recovered
         "net"       tau v: braking recovers energy
    The first two are rounded off within `width` (W) of zero; they are zero at zero.
    """

    joints: Sequence[str] | None = None
    form: Literal["abs", "positive", "net"] = "abs"
    width: float = 1e-3

    kind = "energy"

    def __post_init__(self) -> None:
        check_choice("form of energy", self.form, ("abs", "positive", "net"))
        read_positive(self.width, "energy: width", ("width",))
        object.__setattr__(self, "loss", "abs" if self.form == "abs" else "linear")

    def bind(self, model: Model) -> Residual:
        index = joint_indices(model, self.joints, self.kind)
        if self.form == "positive":
            return PositivePower(model, index, self.width)
        return Power(model, index)


class Power(Residual):
    """tau_i v_i."""

    def __init__(self, model: Model, index: NDArray[np.int64]) -> None:
        self.rows = joint_names(model, index)
        self.units = ("W",) * len(index)
        self.scale = joint_scale(model, index, "tau") * joint_scale(model, index, "v")
        joints = [int(j) for j in index]
        self.entries = (
            *((i, "tau", j) for i, j in enumerate(joints)),
            *((i, "v", j) for i, j in enumerate(joints)),
        )
        self.curved = tuple(("tau", j, "v", j) for j in joints)
        self._index = as_slice(index)

    def value(self, s: Samples, out: NDArray) -> None:
        np.multiply(s["tau"][self._index], s["v"][self._index], out=out)

    def partials(self, s: Samples, out: NDArray) -> None:
        n = len(self.rows)
        out[:n] = s["v"][self._index]
        out[n:] = s["tau"][self._index]

    def curvature(self, s: Samples, weights: NDArray, out: NDArray) -> None:
        out[:] = weights


class PositivePower(Power):
    """(p + sqrt(p^2 + width^2) - width) / 2 of p = tau_i v_i."""

    def __init__(self, model: Model, index: NDArray[np.int64], width: float) -> None:
        super().__init__(model, index)
        self._width = width
        joints = [int(j) for j in index]
        self.curved = (
            *(("tau", j, "v", j) for j in joints),
            *(("tau", j, "tau", j) for j in joints),
            *(("v", j, "v", j) for j in joints),
        )

    def value(self, s: Samples, out: NDArray) -> None:
        p = s["tau"][self._index] * s["v"][self._index]
        out[:] = 0.5 * (p + (np.sqrt(p * p + self._width**2) - self._width))

    def partials(self, s: Samples, out: NDArray) -> None:
        n = len(self.rows)
        tau, v = s["tau"][self._index], s["v"][self._index]
        p = tau * v
        slope = 0.5 + 0.5 * p / np.sqrt(p * p + self._width**2)
        np.multiply(slope, v, out=out[:n])
        np.multiply(slope, tau, out=out[n:])

    def curvature(self, s: Samples, weights: NDArray, out: NDArray) -> None:
        n = len(self.rows)
        tau, v = s["tau"][self._index], s["v"][self._index]
        p = tau * v
        root = np.sqrt(p * p + self._width**2)
        bend = weights * (0.5 * self._width**2) / root**3
        out[:n] = weights * (0.5 + 0.5 * p / root) + bend * p
        out[n : 2 * n] = bend * v * v
        out[2 * n :] = bend * tau * tau
