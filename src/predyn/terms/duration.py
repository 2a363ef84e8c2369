"""The time a motion takes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from predyn.model import Model
from predyn.samples import Samples
from predyn.terms.term import Residual, Term


@dataclass(frozen=True)
class TotalTime(Term):
    """The number 1: its integral over time is the duration, s."""

    kind = "time"
    loss = "linear"

    def bind(self, model: Model) -> Residual:
        return One()


class One(Residual):
    """1 at every instant."""

    rows = ("time",)
    units = ("1",)
    entries = ()
    constant = True

    def __init__(self) -> None:
        self.scale = np.ones(1)

    def value(self, s: Samples, out: NDArray) -> None:
        out[:] = 1.0

    def partials(self, s: Samples, out: NDArray) -> None:
        pass
