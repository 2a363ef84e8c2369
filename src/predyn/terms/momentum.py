"""The generalized momentum of the joints."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from predyn.model import Model
from predyn.samples.registry import units
from predyn.terms.linear import Block, Linear
from predyn.terms.selection import joint_names
from predyn.terms.term import Residual, Term


@dataclass(frozen=True)
class GeneralizedMomentum(Term):
    """Generalized momentum p = M(q) v of each joint, in N m s or N s."""

    kind = "momentum"

    def bind(self, model: Model) -> Residual:
        index = np.arange(model.n)
        return Linear(
            joint_names(model, index),
            units(model, "momentum"),
            np.ones(model.n),
            [Block(0, "momentum", index, np.ones(model.n))],
        )
