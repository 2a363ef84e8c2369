"""Plan: what a search for a collision-free path found."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from predyn.collision.certificate import Certificate
from predyn.errors import NotConverged, unknown_name
from predyn.model import PRISMATIC, Model
from predyn.solution import Curve
from predyn.solution.polynomials import format_polynomials
from predyn.storage.files import checked_path, write_text

Floats = NDArray[np.float64]
Status = Literal[
    "certified",
    "time_limit",
    "start_in_collision",
    "goal_in_collision",
    "goal_out_of_reach",
    "no_curve",
]


@dataclass(frozen=True, eq=False, repr=False)
class Plan:
    """A path for a robot among obstacles.

    status       "certified": the curve is proved to keep clear; "time_limit": no path was found,
                 or no joint positions for a pose, which does not prove that there are none;
                 "start_in_collision"; "goal_in_collision": of every goal;
                 "goal_out_of_reach": no joint positions were found for the pose; "no_curve": a
                 path was found, but no curve along it was proved
    path         (K, n) corners of the shortened polyline, also proved; None without success
    curve        a cubic B-spline along it, its parameter from 0 to 1 and not a time: for
                 `predyn.retime`; `predyn.certify` takes the plan itself
    certificate  of the curve; its times are values of the parameter
    goals        (G, n) the goals that the search looked for: those given, or the branches found
                 for a pose, without those in collision
    pair         names of the nearest pair at the start or goal that is in collision
    distance     of that pair, m
    gap          m, the least distance between the two trees: about how far a point of the robot
                 would move between their nearest configurations; 0 if they met
    iterations   random configurations tried
    edges        edges examined by the search
    seconds      by stage: "goals", "search", "shortcut", "spline"
    """

    model: Model
    status: Status
    message: str
    goals: Floats
    margin: float  # m
    seed: int
    seconds: Mapping[str, float]
    path: Floats | None = None
    curve: Curve | None = None
    certificate: Certificate | None = None
    iterations: int = 0
    edges: int = 0
    gap: float = float("inf")
    pair: tuple[str, str] | None = None
    distance: float = float("nan")

    @property
    def success(self) -> bool:
        return self.status == "certified"

    @property
    def curves(self) -> tuple[Curve, ...]:
        """The curve, as `predyn.certify` expects it."""
        self.check()
        assert self.curve is not None
        return (self.curve,)

    @property
    def length(self) -> float:
        """Length of the polyline in joint space: rad, or m for slides. NaN without success."""
        if self.path is None:
            return float("nan")
        return float(np.linalg.norm(np.diff(self.path, axis=0), axis=1).sum())

    def check(self) -> Plan:
        """This plan if it is a success; otherwise NotConverged with its message."""
        if not self.success:
            raise NotConverged(f"plan ended with status {self.status!r}: {self.message}")
        return self

    def export(self, path: str | os.PathLike[str]) -> None:
        """Write the corners to a .csv file, a column for each joint; or the curve to a .json file,
        as polynomials in its parameter (docs/solutions.md). Raises NotConverged without success."""
        self.check()
        assert self.path is not None
        suffix = checked_path(path).suffix.lower()
        if suffix == ".json":
            text = format_polynomials(self.model.name, self.model, self.curves, ("path",), "path")
        elif suffix == ".csv":
            text = _corners(self.model, self.path)
        else:
            raise unknown_name("suffix", suffix, (".csv", ".json"))
        write_text(path, text)

    def __str__(self) -> str:
        lines = [f"Plan of {self.model.name!r}: {self.status}; {self.message}"]
        times = ", ".join(f"{stage} {duration_text(s)}" for stage, s in self.seconds.items())
        lines.append(f"  {self.iterations} iterations, {self.edges} edges, seed {self.seed}")
        lines.append(f"  {times}")
        if self.certificate is not None:
            lines += [f"  {line}" for line in self.certificate.text("").splitlines()]
        return "\n".join(lines)

    __repr__ = __str__


def duration_text(seconds: float) -> str:
    return f"{seconds:.3g} s" if seconds >= 1.0 else f"{1e3 * seconds:.3g} ms"


def length_text(metres: float) -> str:
    return f"{metres:.3g} m" if metres >= 1.0 else f"{1e3 * metres:.3g} mm"


def _corners(model: Model, path: Floats) -> str:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    joints = zip(model.joint_names, model.kind, strict=True)
    writer.writerow(f"{name} [{'m' if kind == PRISMATIC else 'rad'}]" for name, kind in joints)
    writer.writerows(path.tolist())
    return buffer.getvalue()
