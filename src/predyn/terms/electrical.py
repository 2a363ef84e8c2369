"""Electrical power of the drives: what a robot draws from the grid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from predyn.errors import InputError
from predyn.model import Model
from predyn.samples import Offer, Samples
from predyn.terms.kinked import Kinked
from predyn.terms.power import BentPower, Power
from predyn.terms.selection import column, joint_indices, joint_names, read_numbers, read_positive
from predyn.terms.term import Residual, Smoothed

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ElectricalEnergy(Kinked):
    """Electrical power of the named joints (None: all), W; as a cost it is integrated to J.

        copper_loss tau^2 + p / efficiency              driving, p = tau v > 0
        copper_loss tau^2 + regeneration efficiency p   braking, p < 0

    copper_loss     W/(N m)^2, or W/N^2 of a prismatic joint, of the torque of the joint; instead of
                    it give resistance (ohm), torque_constant (N m/A) and gear (speed of the motor
                    over that of the joint): resistance / (torque_constant gear)^2
    efficiency      of the gear, above 0 and up to 1
    regeneration    used share of the power that comes back while braking, 0 to 1
    width           W, the kink at p = 0 is rounded off within it; None chooses it from the task
    Each is one number, or one for each joint.
    """

    joints: Sequence[str] | None = None
    copper_loss: ArrayLike | None = None
    efficiency: ArrayLike = 1.0
    regeneration: ArrayLike = 0.0
    resistance: ArrayLike | None = None
    torque_constant: ArrayLike | None = None
    gear: ArrayLike | None = None
    width: float | None = None

    kind = "electrical_energy"
    loss = "linear"

    def __post_init__(self) -> None:
        self.check_width()
        if self.copper_loss is not None:
            for name in ("resistance", "torque_constant", "gear"):
                if getattr(self, name) is not None:
                    raise InputError(
                        f"{self.kind}: expected copper_loss, or resistance with torque_constant "
                        f"and gear, got copper_loss and {name}"
                    )
        elif (self.resistance is None) != (self.torque_constant is None):
            missing = "resistance" if self.resistance is None else "torque_constant"
            raise InputError(
                f"{self.kind}: resistance and torque_constant belong together; {missing} is missing"
            )
        elif self.gear is not None and self.resistance is None:
            raise InputError(
                f"{self.kind}: gear needs resistance and torque_constant, which are missing"
            )

    @property
    def kinked(self) -> bool:
        loss = np.multiply(np.square(self.efficiency), self.regeneration)  # there and back
        return bool(np.any(loss < 1.0))

    def bind(self, model: Model) -> Residual:
        index, factors = self._factors(model)
        scale = Power(model, index).scale
        return BentPower(model, index, self.width_for(scale), *factors)

    def bind_summed(self, offer: Offer) -> tuple[Residual, Smoothed]:
        self.bind_to(offer)
        index, (straight, bent, copper) = self._factors(offer.model)
        residual = PowerAndHeat(offer.model, index, copper)
        n = len(index)
        return residual, Smoothed(
            "abs",
            self.width_for(residual.scale[:n]),
            np.concatenate([straight, np.ones(n)]),
            np.concatenate([bent, np.zeros(n)]),
        )

    def _factors(self, model: Model) -> tuple[NDArray[np.int64], tuple[Floats, Floats, Floats]]:
        """Joints, half the sum and half the difference of the slopes on both sides, copper loss."""
        index = joint_indices(model, self.joints, self.kind)
        names = joint_names(model, index)
        efficiency = read_positive(self.efficiency, f"{self.kind}: efficiency", names)
        share = read_numbers(self.regeneration, f"{self.kind}: regeneration", names)
        for what, values in (("efficiency", efficiency), ("regeneration", share)):
            outside = (values < 0.0) | (values > 1.0)
            if outside.any():
                k = int(np.argmax(outside))
                raise InputError(
                    f"{self.kind}: {what}: expected shares from 0 to 1, not percent, got "
                    f"{values[k]:g} for {names[k]!r}"
                )
        driving, braking = 1.0 / efficiency, share * efficiency
        factors = 0.5 * (driving + braking), 0.5 * (driving - braking), self._copper(names)
        return index, factors

    def _copper(self, names: Sequence[str]) -> Floats:
        if self.resistance is None or self.torque_constant is None:
            given = 0.0 if self.copper_loss is None else self.copper_loss
            loss = read_numbers(given, f"{self.kind}: copper_loss", names)
            if np.any(loss < 0.0):
                k = int(np.argmax(loss < 0.0))
                raise InputError(
                    f"{self.kind}: copper_loss: expected numbers from 0, got {loss[k]:g} for "
                    f"{names[k]!r}"
                )
            return loss
        motor = {
            "resistance": self.resistance,
            "torque_constant": self.torque_constant,
            "gear": 1.0 if self.gear is None else self.gear,
        }
        ohm, constant, gear = (
            read_positive(x, f"{self.kind}: {what}", names) for what, x in motor.items()
        )
        return np.asarray(ohm / (constant * gear) ** 2)


class PowerAndHeat(Power):
    """tau_i v_i of each joint, then copper tau_i^2 of each."""

    def __init__(self, model: Model, index: NDArray[np.int64], copper: Floats) -> None:
        super().__init__(model, index)
        n, joints = len(index), [int(j) for j in index]
        self._copper, self._n = copper, n
        self.rows = (*self.rows, *(f"{name} copper loss" for name in self.rows))
        self.units = ("W",) * (2 * n)
        self.scale = np.concatenate([self.scale, self.scale])
        self.entries = (*self.entries, *((n + i, "tau", j) for i, j in enumerate(joints)))
        self.curved = (*self.curved, *(("tau", j, "tau", j) for j in joints))

    def value(self, s: Samples, out: NDArray) -> None:
        n, tau = self._n, s["tau"][self._index]
        np.multiply(tau, s["v"][self._index], out=out[:n])
        np.multiply(column(self._copper, tau), tau * tau, out=out[n:])

    def partials(self, s: Samples, out: NDArray) -> None:
        n, tau = self._n, s["tau"][self._index]
        out[:n] = s["v"][self._index]
        out[n : 2 * n] = tau
        out[2 * n :] = 2.0 * column(self._copper, tau) * tau

    def curvature(self, s: Samples, weights: NDArray, out: NDArray) -> None:
        n = self._n
        out[:n] = weights[:n]
        out[n:] = 2.0 * column(self._copper, weights[n:]) * weights[n:]
