"""GaitCycles: what gait_cycles returns."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from predyn.analysis.events import Event
from predyn.analysis.sides import LEFT, SIDES
from predyn.errors import unknown_name

Floats = NDArray[np.float64]

PERCENT: Floats = np.linspace(0.0, 100.0, 101)


class Cycle(NamedTuple):
    """A gait cycle of one foot, s."""

    side: str
    start: float  # heel strike
    toe_off: float
    end: float  # the next heel strike
    sources: tuple[str, ...]  # of the events: "forces", "kinematics", "contacts", "given"
    kinetic: bool  # whether the force on the foot was measured
    whole: bool  # whether those on both feet were

    @property
    def duration(self) -> float:
        return self.end - self.start

    @property
    def stance(self) -> float:
        """Percent of the cycle on the ground."""
        return 100.0 * (self.toe_off - self.start) / self.duration


class Curve(NamedTuple):
    """A quantity over the cycle; each row of left and right is a cycle."""

    joint: str  # name without side
    quantity: str  # "angle", "moment", "power", "reaction", "residual", "force", "pressure"
    unit: str
    left: Floats  # (C, 101)
    right: Floats  # (C, 101)

    def side(self, side: str) -> Floats:
        return self.left if side == LEFT else self.right

    def mean(self, side: str) -> Floats:
        """(101,) mean of the cycles, NaN without any."""
        rows = self.side(side)
        return rows.mean(axis=0) if len(rows) else np.full(len(PERCENT), np.nan)

    def sd(self, side: str) -> Floats:
        """(101,) standard deviation between cycles, NaN for fewer than two."""
        rows = self.side(side)
        return rows.std(axis=0, ddof=1) if len(rows) > 1 else np.full(len(PERCENT), np.nan)


class Band(NamedTuple):
    """A normative curve with its standard deviation, (101,) each."""

    mean: Floats
    sd: Floats


class Parameter(NamedTuple):
    """A number of each cycle or step."""

    unit: str
    left: Floats
    right: Floats

    def side(self, side: str) -> Floats:
        return self.left if side == LEFT else self.right


class Peak(NamedTuple):
    """Largest or smallest value of a curve: means over the cycles of each one's own extremum."""

    curve: str
    side: str
    kind: str  # "maximum" or "minimum"
    value: float
    value_sd: float  # between cycles; NaN for one
    percent: float  # of the cycle
    unit: str


def _mean_percent(percents: Floats) -> float:
    """Mean on a circle: 1 and 99 % are two percent apart."""
    around = np.exp(2j * np.pi * percents / 100.0).mean()
    mean = 100.0 * float(np.angle(around)) / (2.0 * np.pi)
    return mean % 100.0 if len(percents) > 1 else float(percents[0])


@dataclass(frozen=True, eq=False, repr=False)
class GaitCycles:
    """Gait cycles of a motion, with curves over 0 to 100 % of them.

    Angles are in degrees, moments in N m/kg, powers in W/kg, ground and reaction forces in body
    weights, residuals of the base in N and N m. Signs are those of the model's joints unless
    `signs` changed them; moments are internal ones, which act on the link that the joint moves.
    """

    name: str
    mass: float  # kg
    weight: float  # N, one BW
    signs: Mapping[str, float]  # as given
    feet: Mapping[str, str]  # side: link or frame
    events: tuple[Event, ...]
    cycles: tuple[Cycle, ...]
    curves: Mapping[str, Curve]  # by "<joint>_<quantity>"; hips, knees and ankles first
    parameters: Mapping[str, Parameter]
    norms: Mapping[str, Band]  # by name of the curve
    notes: tuple[str, ...]

    @property
    def percent(self) -> Floats:
        """(101,) of the gait cycle."""
        return PERCENT

    def curve(self, name: str) -> Curve:
        """A curve by its name, such as "knee_angle"."""
        if name not in self.curves:
            raise unknown_name("curve", name, self.curves)
        return self.curves[name]

    def peaks(self) -> list[Peak]:
        """Largest and smallest value of each curve, by side."""
        peaks = []
        for name, curve in self.curves.items():
            for side in SIDES:
                rows = curve.side(side)
                for kind, ends in (("maximum", rows), ("minimum", -rows)):
                    if len(rows) and np.isfinite(rows).any(axis=1).all():
                        places = np.nanargmax(ends, axis=1)
                        values = rows[np.arange(len(rows)), places]
                        sd = float(values.std(ddof=1)) if len(rows) > 1 else np.nan
                        percent = _mean_percent(PERCENT[places])
                        value = float(values.mean())
                        peaks.append(Peak(name, side, kind, value, sd, percent, curve.unit))
        return peaks

    def csv(self) -> str:
        """A line for each percent: of each curve and side mean, standard deviation, each cycle."""
        header, columns = ["percent"], [PERCENT]
        for name, curve in self.curves.items():
            for side in SIDES:
                rows = curve.side(side)
                if len(rows):
                    label = f"{name}_{side}"
                    header += [f"{label}_mean", f"{label}_sd"]
                    header += [f"{label}_{k + 1}" for k in range(len(rows))]
                    columns += [curve.mean(side), curve.sd(side), *rows]
        buffer = io.StringIO()
        writer = csv.writer(buffer, lineterminator="\n")
        writer.writerow(header)
        for row in np.column_stack(columns).tolist():
            writer.writerow(["" if np.isnan(x) else f"{x:.9g}" for x in row])
        return buffer.getvalue()

    def summary(self) -> dict[str, object]:
        """Numbers for summary.json: of each side means and counts."""
        return {
            "feet": dict(self.feet),
            "mass": self.mass,
            "cycles": {s: sum(cycle.side == s for cycle in self.cycles) for s in SIDES},
            "parameters": {
                f"{name} [{x.unit}]": {s: float(x.side(s).mean()) for s in SIDES if len(x.side(s))}
                for name, x in self.parameters.items()
            },
            "notes": list(self.notes),
        }

    def __repr__(self) -> str:
        left = sum(cycle.side == LEFT for cycle in self.cycles)
        return (
            f"GaitCycles({self.name!r}, {left} left and {len(self.cycles) - left} right cycles, "
            f"{len(self.curves)} curves)"
        )
