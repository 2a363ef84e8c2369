"""Plan: what a search for a collision-free path found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from predyn.collision.certificate import Certificate
from predyn.errors import NotConverged
from predyn.model import Model
from predyn.solution import Curve

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
                 which does not prove that there is none; "start_in_collision";
                 "goal_in_collision": of every goal; "goal_out_of_reach": no joint positions were
                 found for the pose; "no_curve": a path was found, but no curve along it was proved
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

    def __str__(self) -> str:
        lines = [f"Plan of {self.model.name!r}: {self.status}; {self.message}"]
        times = ", ".join(f"{stage} {1e3 * s:.3g} ms" for stage, s in self.seconds.items())
        lines.append(f"  {self.iterations} iterations, {self.edges} edges, seed {self.seed}")
        lines.append(f"  {times}")
        if self.certificate is not None:
            lines += [f"  {line}" for line in str(self.certificate).splitlines()]
        return "\n".join(lines)

    __repr__ = __str__
