"""Unknowns besides the motion of the joints: functions of time and single numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike


def freeze_lists(part: Any, *names: str) -> None:
    """Lists and arrays (K,) among the attributes of a frozen dataclass become tuples.

    They cannot change later then, and comparisons with them are not elementwise.
    """
    for name in names:
        given = getattr(part, name)
        if isinstance(given, list):
            object.__setattr__(part, name, tuple(given))
        elif isinstance(given, np.ndarray) and given.ndim == 1:
            object.__setattr__(part, name, tuple(given.tolist()))


@dataclass(frozen=True, eq=False)
class Signal:
    """An unknown function of time: a contact force, a torque, an activation, a slack.

    components  names, such as ("x", "y", "z")
    lower, upper  bounds, one number or one per component; equal bounds fix a component. They
                apply throughout for degrees 0 and 1, at the limit points for higher degrees
    guess       one number, one per component, or (s, values): values (K, components) at
                normalised times s of a phase; or {phase: guess} for each of its phases
    scale       typical size, one number or one per component
    degree      degree of the spline: 0 (steps), 1 (straight pieces) and so on
    segments    segments of the spline in each phase; None: as many as the motion has
    phases      names of the phases in which it exists; None: all
    knots       break points of the spline from 0 to 1, in place of equal segments
    continuity  how many time derivatives agree where two such phases meet; -1: jumps are allowed
    """

    name: str
    components: Sequence[str]
    lower: ArrayLike = -np.inf
    upper: ArrayLike = np.inf
    guess: ArrayLike | tuple[ArrayLike, ArrayLike] | Mapping[str, Any] = 0.0
    scale: ArrayLike = 1.0
    unit: str = "1"
    degree: int = 1
    segments: int | None = None
    phases: Sequence[str] | None = None
    continuity: int = -1
    knots: ArrayLike | None = None

    def __post_init__(self) -> None:
        freeze_lists(self, "components", "phases")


@dataclass(frozen=True)
class Parameter:
    """An unknown number that all phases share; it may be the duration of several phases.

    min, max  bounds
    guess     initial value, within the bounds; required
    unit      for tables and reports
    quantity  numbers of the model or of its loads that it stands for, such as "stiffness of
              elbow" or ("mass of left arm", "mass of right arm"); see problem/quantities.py
    """

    name: str
    min: float
    max: float
    guess: float
    unit: str = "1"
    quantity: str | Sequence[str] = ()

    def __post_init__(self) -> None:
        freeze_lists(self, "quantity")

    @property
    def quantities(self) -> tuple[str, ...]:
        """All numbers that it stands for."""
        return (self.quantity,) if isinstance(self.quantity, str) else tuple(self.quantity or ())
