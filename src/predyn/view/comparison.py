"""Another motion of the same joints in the report of a solution: laid over it, with its curves."""

from __future__ import annotations

import numpy as np

from predyn.errors import InputError
from predyn.simulation.trajectories import Trajectory
from predyn.solution import Solution
from predyn.view.motions import name_of, span_of, stage_at
from predyn.view.panels import Motion, in_degrees, panels_of
from predyn.view.scene import OPTIONS, Overlay
from predyn.view.sheets import Spec, Times, series, thinned
from predyn.view.stage import Stage

CHANNELS = ("q", "v", "a", "tau")
MOST_POINTS = 600  # of a curve


class Comparison:
    """The other motion from its own start on; after its end it stays where it is."""

    def __init__(self, solution: Solution, other: Motion) -> None:
        if not hasattr(other, "model") or not hasattr(other, "animate"):
            raise InputError(
                "compare: expected a Solution, an Estimate or a Trajectory, got "
                f"{type(other).__name__}"
            )
        joints = solution.model.joint_names
        if other.model.joint_names != joints:
            raise InputError(
                f"compare: expected a motion of the joints {', '.join(joints)}, got "
                f"{', '.join(other.model.joint_names)}"
            )
        self._other, self._end = other, solution.duration
        self._span = span_of(other)
        name = "simulation" if isinstance(other, Trajectory) else name_of(other)
        taken = name == solution.name or name in OPTIONS  # each motion has an option of its own
        self.name = f"{name} (compared)" if taken else name

    def overlay(self, stage: Stage) -> Overlay:
        """It at the instants of the solution's own stage."""
        start, end = self._span
        return Overlay(self.name, stage_at(self._other, np.minimum(start + stage.times, end)))

    def add_curves(self, charts: list[Spec], times: Times) -> None:
        """Dashed, in the charts of the same quantities."""
        by_title = {chart["title"]: chart for chart in charts}
        index = {name: j for j, name in enumerate(self._other.model.joint_names)}
        for name in CHANNELS:
            for panel in map(in_degrees, panels_of(self._other, name, None)):
                if panel.title not in by_title:
                    continue
                t = panel.t - self._span[0]
                shown = np.flatnonzero(t <= self._end)
                shown = shown[thinned(len(shown), MOST_POINTS)]
                for k, joint in enumerate(panel.names):
                    label, y = f"{joint}, {self.name}", panel.values[shown, k]
                    line = series(times, t[shown], y, label, index[joint], dashed=True)
                    by_title[panel.title]["series"].append(line)
