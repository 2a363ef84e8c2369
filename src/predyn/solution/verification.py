"""How far a motion can be trusted, in numbers: torques at passive joints, and its replay.

Plain data, computed once by predyn.simulation.verification and stored with the solution.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from predyn.model import PRISMATIC, Model

Floats = NDArray[np.float64]

MOST_POINTS = 600  # of a curve: enough for a chart
FINISHED = "finished"
STATUSES = (FINISHED, "step_limit", "diverged")  # of a replay
SMALLEST = float(np.finfo(float).tiny)
DEGREES = 180.0 / np.pi
PASSIVE_WARNING = 0.01  # of the motors' largest torque: more at a passive joint gives a warning
# of a body on the ground, Hicks et al. 2015, J Biomech Eng 137:020905: forces at its base relative
# to body weight, moments relative to body weight times the height of the centre of mass
FORCE_WARNING, MOMENT_WARNING = 0.05, 0.01
ANGLE_WARNING, LENGTH_WARNING = 5.0, 0.01  # degrees, m: so does a replay that ends farther off


@dataclass(frozen=True, eq=False)
class PassiveTorques:
    """Torques that the curves of P passive joints require, zero if the curves are exact.

    A joint that is passive in some phases only has none in the others.
    """

    t: Floats  # (K,) s; K is 0 if there are no passive joints
    tau: Floats  # (K, P); each stands for the instants around it and is the largest of them
    largest: Floats  # (P,) sizes, at any instant
    largest_t: Floats  # (P,) s
    rms: Floats  # (P,)


@dataclass(frozen=True, eq=False)
class ReplayNumbers:
    """What a replay found: curves with few points, and the largest values at any of its times."""

    status: str
    message: str
    t: Floats  # (K,) s; the first and the last time of the replay are among them
    dq: Floats  # (K, n) simulated less predicted
    dv: Floats
    energy: Floats  # (K,) J
    work_torques: Floats  # (K,) J since the start
    work_friction: Floats
    work_forces: Floats
    energy_jumps: Floats  # (K,) J gained by jumps of the state and changes of the load
    max_dq: Floats  # (n,) sizes
    max_dv: Floats
    max_energy_error: float  # J
    jumps: Floats  # (J,) s, at which the predicted state jumps, and the simulated one with it
    load_changes: Floats  # (L,) s, at which a payload comes or goes
    restart: float | None = None  # s, the longest window between restarts from the prediction


@dataclass(frozen=True, eq=False)
class BaseResidual:
    """Largest force and moment at the floating base of a body that stands on the ground.

    They are zero if the motion and the forces of the ground obey the equations of motion.
    """

    force: float  # N, of one component
    moment: float  # N m
    weight: float  # N, of the body
    height: float  # m, of its centre of mass above the ground, on average
    others: float  # the largest torque at another passive joint

    @property
    def force_share(self) -> float:
        """Relative to body weight."""
        return self.force / max(self.weight, SMALLEST)

    @property
    def moment_share(self) -> float:
        """Relative to body weight times the height of the centre of mass."""
        return self.moment / max(self.weight * self.height, SMALLEST)

    @property
    def large(self) -> bool:
        return self.force_share > FORCE_WARNING or self.moment_share > MOMENT_WARNING


@dataclass(frozen=True, eq=False)
class Verification:
    """Torques at passive joints, and the replay or why there is none."""

    motor: int  # the joint whose motor has the largest effort, ...
    effort: float  # ... and that effort
    passive: PassiveTorques
    replay: ReplayNumbers | None
    no_replay: str  # the reason, empty if there is a replay
    base: BaseResidual | None = None  # None if the motion does not stand on the ground

    @property
    def passive_share(self) -> float:
        """The largest torque at a passive joint over the largest of a motor.

        The floating base of a motion on the ground is left out: `base` has its residual.
        """
        if self.base is not None:
            return self.base.others / max(self.effort, SMALLEST)
        if not self.passive.largest.size:
            return 0.0
        return float(self.passive.largest.max()) / max(self.effort, SMALLEST)

    def ends_off(self, model: Model) -> bool:
        """Whether the replay stopped, or ends far from the prediction."""
        if self.replay is None:
            return False
        farthest = np.where(model.kind == PRISMATIC, LENGTH_WARNING, ANGLE_WARNING / DEGREES)
        ends = np.abs(self.replay.dq[-1])
        off = (ends if self.replay.restart is None else self.replay.max_dq) > farthest
        return self.replay.status != FINISHED or bool(off.any())

    def warnings(self, model: Model) -> list[str]:
        """Short reasons why the motion should not be used as it is."""
        warnings = []
        if self.passive_share > PASSIVE_WARNING:
            warnings.append("torque at passive joints")
        if self.base is not None and self.base.large:
            warnings.append("force at the base")
        if self.ends_off(model):
            windows = self.replay is not None and self.replay.restart is not None
            warnings.append("replay drifts" if windows else "replay ends elsewhere")
        return warnings

    def summary(self, model: Model) -> dict[str, Any]:
        """Key numbers; None for those of passive joints or of a replay if there are none."""
        run = self.replay
        return {
            "passive_torque_share": self.passive_share if self.passive.largest.size else None,
            "replay": None if run is None else run.status,
            "message": self.no_replay if run is None else run.message,
            "max_position_error": None if run is None else run.max_dq.max(),
            "end_position_error": None if run is None else np.abs(run.dq[-1]).max(),
            "max_velocity_error": None if run is None else run.max_dv.max(),
            "end_velocity_error": None if run is None else np.abs(run.dv[-1]).max(),
            "max_energy_error": None if run is None else run.max_energy_error,
            "warnings": self.warnings(model),
        } | self._on_ground()

    def _on_ground(self) -> dict[str, Any]:
        if self.base is None:
            return {}
        return {
            "base_force": self.base.force,
            "base_force_share": self.base.force_share,
            "base_moment": self.base.moment,
            "base_moment_share": self.base.moment_share,
            "replay_window": None if self.replay is None else self.replay.restart,
        }
