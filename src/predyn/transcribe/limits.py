"""The limits of a system as constraints on its joints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from predyn.dynamics.system import PhaseSystem, limits_by_kind
from predyn.problem import Constraint
from predyn.terms.joints import (
    JointAcceleration,
    JointJerk,
    JointPosition,
    JointTorque,
    JointVelocity,
)

LIMIT_TERMS = {
    "position": JointPosition,
    "velocity": JointVelocity,
    "acceleration": JointAcceleration,
    "jerk": JointJerk,
    "effort": JointTorque,
}


def limit_constraints(system: PhaseSystem, names: Sequence[str]) -> Iterator[Constraint]:
    """A constraint for each kind of limit, and another for those with equal bounds.

    Passive joints have no motor, so their effort is not limited.
    """
    passive = np.isin(names, system.passive)
    limits = limits_by_kind(system.limits, system.jerk_limit)
    for kind, term in LIMIT_TERMS.items():
        if kind not in limits:
            continue
        bound = limits[kind]
        limited, equal = np.isfinite(bound).any(axis=1), bound[:, 0] == bound[:, 1]
        if kind == "effort":
            limited, equal = limited & ~passive, equal & ~passive
        for rows in (limited & ~equal, equal):
            if rows.any():
                joints = tuple(np.array(names)[rows].tolist())
                lower, upper = bound[rows].T
                yield Constraint(term(joints=joints), lower, upper, name=kind)
