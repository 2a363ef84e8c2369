"""Sensitivities of a solution, and their table."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from predyn.errors import listed

Floats = NDArray[np.float64]
LISTED = 8  # quantities in a line of the table


@dataclass(frozen=True, eq=False, repr=False)
class Sensitivities:
    """Derivatives of an optimum in P numbers of its problem, while its active set stays.

    The motion is compared at the same normalised time of each phase: d q/dp is the change of q at
    a fixed fraction of a phase whose duration may change, not at a fixed time.

    name          of the solution
    parameters    names, with their values and units
    objective     (P,) d objective/dp
    duration      (P, phases) of each phase, s
    t             (K,) the samples of the solution
    q, v, a, tau  (P, K, n) at these; NaN where the optimum does not determine them
    signals       by name: (P, K, components)
    free          by name of a free parameter of the problem: (P,)
    interval      (P, 2) values of each parameter between which the active set stays, to first
                  order
    active        names of the limits and bounds that are assumed to hold with equality
    weak          those of which this is doubtful: slack and multiplier are both nearly zero, and
                  derivatives may hold to one side only
    undetermined  unknowns that may change without changing the objective to second order
    moved         distance of the exact optimum from the solution, relative to the scales
    message       what is wrong with some parameters; empty if nothing is
    """

    name: str
    parameters: tuple[str, ...]
    values: Floats
    units: tuple[str, ...]
    objective: Floats
    phase_names: tuple[str, ...]
    duration: Floats
    t: Floats
    q: Floats
    v: Floats
    a: Floats
    tau: Floats
    signals: dict[str, Floats]
    free: dict[str, Floats]
    interval: Floats
    active: tuple[str, ...]
    weak: tuple[str, ...]
    undetermined: tuple[str, ...]
    moved: float
    message: str

    def __str__(self) -> str:
        head = ["parameter", "value", "d objective/dp", "d duration/dp", "active set stays for"]
        rows = [head]
        total = self.duration.sum(axis=1)
        for k, name in enumerate(self.parameters):
            unit = "" if self.units[k] == "1" else f" {self.units[k]}"
            low, high = self.interval[k]
            rows.append(
                [
                    name,
                    f"{self.values[k]:.6g}{unit}",
                    f"{self.objective[k]:.6g}",
                    f"{total[k]:.6g}",
                    f"{low:.6g} .. {high:.6g}",
                ]
            )
        widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
        lines = [f"sensitivities of {self.name!r}"]
        lines += ["  ".join(x.ljust(w) for x, w in zip(row, widths, strict=True)).rstrip()
                  for row in rows]  # fmt: skip
        lines.append(f"active: {_counted(self.active) or 'none'}")
        for label, names in (("weakly active", self.weak), ("not determined", self.undetermined)):
            if names:
                lines.append(f"{label}: {_counted(names)}")
        if self.message:
            lines.append(self.message)
        return "\n".join(lines)

    __repr__ = __str__


def _counted(names: tuple[str, ...]) -> str:
    """Quantities without their instants, with the number of these."""
    counts = Counter(name.partition(" at ")[0] for name in names)
    parts = [name if n == 1 else f"{name} ({n} points)" for name, n in counts.items()]
    return listed(parts, LISTED)
