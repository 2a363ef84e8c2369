"""Constraints that depend on joint positions alone, evaluated at any posture.

These are what a straight line from posture to posture either satisfies or not: heights, axes and
position limits, but not velocities or torques, which depend on the duration.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from predyn.problem import system_of
from predyn.samples import FRAME_PARTS, Samples
from predyn.samples.registry import implementation
from predyn.terms.term import Residual
from predyn.transcribe.program import Program
from predyn.transcribe.recheck import residual_values
from predyn.transcribe.rows import row_scale

Floats = NDArray[np.float64]
SAME_INSTANT = 1e-9  # difference in normalised time


class _Bounded(NamedTuple):
    residual: Residual
    lower: Floats
    upper: Floats
    instants: Floats | None  # normalised times; None: throughout


class PostureRows:
    """The rows of a program that depend on joint positions alone, by phase."""

    def __init__(self, program: Program) -> None:
        self._models = [system_of(program.problem, p).model for p in range(len(program.phases))]
        self._rows: list[list[_Bounded]] = [[] for _ in program.phases]
        for rows in program.rows:
            points, residual = rows.parts[0].points, rows.parts[0].block.residual
            if rows.pointwise and _of_posture(residual):
                instants = None if rows.throughout else points.s[points.chosen]
                self._rows[points.phase].append(
                    _Bounded(residual, rows.lower, rows.upper, instants)
                )

    def excess(self, p: int, q: Floats, s: float | None = None) -> Floats:
        """By how much postures (K, n) of phase p are outside the bounds that hold throughout, and
        of those at normalised time s: sums (K,) relative to the scale of each row.
        """
        chosen = [
            x
            for x in self._rows[p]
            if x.instants is None
            or (s is not None and bool((np.abs(x.instants - s) < SAME_INSTANT).any()))
        ]
        total = np.zeros(len(q))
        samples = self._samples(p, q, {name for x in chosen for name in x.residual.channels})
        for residual, lower, upper, _ in chosen:
            value = residual_values(residual, samples, len(q))
            outside = np.maximum(lower[:, None] - value, value - upper[:, None])
            scale = row_scale(lower, upper, residual.scale)
            total += np.maximum(outside / scale[:, None], 0.0).sum(axis=0)
        return np.nan_to_num(total, nan=np.inf)

    def _samples(self, p: int, q: Floats, channels: set[str]) -> Samples:
        rest = np.zeros_like(q)
        found = {"q": q.T}
        for name in sorted(channels - {"q"}):
            module, member = implementation(name)
            found[name] = module.values(self._models[p], member, (q, rest, rest), ()).T
        return Samples(found)


def _of_posture(residual: Residual) -> bool:
    """Whether a residual depends on joint positions and on the pose of frames only."""
    return bool(residual.entries) and all(
        name == "q" or (name.startswith("frame:") and k < FRAME_PARTS["w"].start)
        for _, name, k in residual.entries
    )
