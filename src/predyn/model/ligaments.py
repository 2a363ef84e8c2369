"""Ligaments: elastic torques that grow exponentially beyond an angle, at both ends of a joint.

model.ligaments[j] is [lower, upper] x [moment, rate, angle]. The torque that the joint needs gains

    -moment e(-rate (q - angle)) of the lower and +moment e(rate (q - angle)) of the upper one,

the double exponential of A. Falisse et al., "Rapid predictive simulations with complex
musculoskeletal models", Journal of the Royal Society Interface 16 (2019), after F. C. Anderson.
e(x) is exp(x) up to LARGEST_EXPONENT, and its Taylor polynomial of degree two there beyond, so that
torques remain finite far outside; e, e' and e'' are continuous.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from predyn.model.parts import Array, frozen

if TYPE_CHECKING:
    from predyn.model.model import Model

SIDES, PARTS = ("lower", "upper"), ("moment", "rate", "angle")
SHAPE = (len(SIDES), len(PARTS))
LARGEST_EXPONENT = 40.0


def no_ligaments() -> Array:
    """(0, 2, 3), which stands for zeros of any number of joints."""
    return np.zeros((0, *SHAPE))


def frozen_ligaments(value: ArrayLike | None, n: int) -> Array:
    """The ligaments (n, 2, 3) of n joints; None or nothing: no joint has any."""
    given = np.zeros((n, *SHAPE)) if value is None or np.size(value) == 0 else value
    return frozen(given, "ligaments", (n, *SHAPE))


def negative_parts(ligaments: Array) -> list[str]:
    """What is wrong with the ligaments (2, 3) of a joint: moments and rates below zero."""
    return [
        f"{PARTS[k]} {ligaments[side, k]} of the {SIDES[side]} ligament is negative"
        for side in range(2)
        for k in range(2)
        if ligaments[side, k] < 0.0
    ]


def ligament_stiffness(model: Model, q: ArrayLike) -> Array:
    """Partials (..., n) of the ligaments' torques in q (..., n)."""
    moment, rate, angle = np.moveaxis(model.ligaments, -1, 0)  # each (n, 2)
    exponent = rate * (-1.0, 1.0) * (np.asarray(q, float)[..., None] - angle)
    bounded = np.minimum(exponent, LARGEST_EXPONENT)
    slope = moment * rate * np.exp(bounded) * (1.0 + (exponent - bounded))
    return np.asarray(slope.sum(axis=-1))


def ligament_torque(model: Model, q: ArrayLike) -> Array:
    """Torques (..., n) that hold the ligaments at q (..., n)."""
    moment, rate, angle = np.moveaxis(model.ligaments, -1, 0)  # each (n, 2)
    side = np.array([-1.0, 1.0])
    exponent = rate * side * (np.asarray(q, float)[..., None] - angle)
    bounded = np.minimum(exponent, LARGEST_EXPONENT)
    d = exponent - bounded
    return np.asarray((side * moment * np.exp(bounded) * (1.0 + d + 0.5 * d * d)).sum(axis=-1))
