"""Free-floating phases of discrete motions: nothing acts from outside, and momentum is conserved.

Velocities of the base at the end follow from those at the start and from the other joints. The rows
of given ones would depend on the others: at rest at both ends they can be left out, since the
motion satisfies them anyway; other ones are refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from predyn.dynamics.system import PhaseSystem
from predyn.model.floating_base import floating_base
from predyn.model.parts import Array
from predyn.problem.check_phases import Finding
from predyn.problem.system import system_of

if TYPE_CHECKING:
    from predyn.problem.problem import Problem


def conserved_joints(system: PhaseSystem) -> list[int]:
    """Joints of a floating base whose momentum does not change."""
    model, base = system.model, floating_base(system.model)
    if base is None or model.gravity.any() or system.forces:
        return []
    j = [int(x) for x in base]
    passive = {model.joint_names[x] for x in j} <= {*system.passive}
    held = [model.damping, model.coulomb, model.stiffness, model.ligaments]
    return j if passive and not any(np.any(x[j]) for x in held) else []


def momentum_problems(problem: Problem, states: Sequence[Mapping[str, Array]]) -> Iterator[Finding]:
    """Velocities at both ends of a discrete motion that its conserved momentum relates."""
    from predyn.problem.problem import Dmoc

    if not isinstance(problem.transcription, Dmoc):
        return
    for p, state in enumerate(states):
        velocities = np.concatenate([state["start.v"], state["end.v"]])
        if np.isnan(velocities).any() or not velocities.any():
            continue
        base = conserved_joints(system_of(problem, p))
        if base:
            names = ", ".join(repr(problem.model.joint_names[j]) for j in base)
            yield (
                ("phases", p, "end", "v"),
                f"expected no velocities of the free-floating base ({names}): they follow from its "
                "momentum, because nothing acts on it from outside; leave them out",
            )
