"""Mechanical power of the drives; its integral over time is energy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from predyn.model import Model
from predyn.samples import Offer, Samples
from predyn.terms.kinked import Kinked
from predyn.terms.selection import (
    as_slice,
    check_choice,
    column,
    joint_indices,
    joint_names,
    joint_scale,
)
from predyn.terms.term import Residual, Smoothed

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class MechanicalEnergy(Kinked):
    """Power tau v of the named joints (None: all), W; as a cost it is integrated to energy, J.

    form "abs"       |tau v|: braking costs as much as driving
         "positive"  the positive part: braking is free, and no energy is recovered
         "net"       tau v: braking recovers energy
    The first two are rounded off within `width` (W) of zero; they are zero at zero. None chooses
    the width from the power of the motion.
    """

    joints: Sequence[str] | None = None
    form: Literal["abs", "positive", "net"] = "abs"
    width: float | None = None

    kind = "energy"

    def __post_init__(self) -> None:
        check_choice("form of energy", self.form, ("abs", "positive", "net"))
        self.check_width()
        object.__setattr__(self, "loss", "abs" if self.form == "abs" else "linear")

    @property
    def kinked(self) -> bool:
        return self.form != "net"

    def bind(self, model: Model) -> Residual:
        index = joint_indices(model, self.joints, self.kind)
        power = Power(model, index)
        if self.form != "positive":
            return power
        half, none = np.full(len(index), 0.5), np.zeros(len(index))
        return BentPower(model, index, self.width_for(power.scale), half, half, none)

    def bind_summed(self, offer: Offer) -> tuple[Residual, Smoothed]:
        residual = self.bind_to(offer)
        if self.form != "positive":
            return residual, self.loss_on(residual)
        power = Power(offer.model, joint_indices(offer.model, self.joints, self.kind))
        return power, Smoothed("abs", self.width_for(power.scale), 0.5, 0.5)


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


class BentPower(Power):
    """straight p + bent (sqrt(p^2 + width^2) - width) + copper tau_i^2 of p = tau_i v_i."""

    def __init__(
        self,
        model: Model,
        index: NDArray[np.int64],
        width: float,
        straight: Floats,
        bent: Floats,
        copper: Floats,
    ) -> None:
        super().__init__(model, index)
        self._width = width
        self._factors = straight, bent, copper
        joints = [int(j) for j in index]
        self.curved = (
            *(("tau", j, "v", j) for j in joints),
            *(("tau", j, "tau", j) for j in joints),
            *(("v", j, "v", j) for j in joints),
        )

    def _at(self, s: Samples) -> tuple[NDArray, ...]:
        """tau, v, p, root, and the factors as columns."""
        tau, v = s["tau"][self._index], s["v"][self._index]
        p = tau * v
        factors = (column(x, p) for x in self._factors)
        return tau, v, p, np.sqrt(p * p + self._width**2), *factors

    def value(self, s: Samples, out: NDArray) -> None:
        tau, _, p, root, straight, bent, copper = self._at(s)
        out[:] = straight * p + bent * (root - self._width) + copper * tau * tau

    def partials(self, s: Samples, out: NDArray) -> None:
        n = len(self.rows)
        tau, v, p, root, straight, bent, copper = self._at(s)
        slope = straight + bent * p / root
        out[:n] = slope * v + 2.0 * copper * tau
        out[n:] = slope * tau

    def curvature(self, s: Samples, weights: NDArray, out: NDArray) -> None:
        n = len(self.rows)
        tau, v, p, root, straight, bent, copper = self._at(s)
        bend = weights * bent * self._width**2 / root**3
        out[:n] = weights * (straight + bent * p / root) + bend * p
        out[n : 2 * n] = bend * v * v + weights * 2.0 * copper
        out[2 * n :] = bend * tau * tau
