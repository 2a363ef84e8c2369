"""Loads of a lift: the lower back, hips, knees and the ground under a person with a box.

Moments and forces are net ones of the whole mechanism: the box acts through the forces of the
hands, the ground through those of the soles. The compression of the spine is an estimate that adds
the pull of the back muscles, taken together as one at a fixed distance behind the joint (D. B.
Chaffin, J. Biomechanics 2, 1969).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from predyn.analysis.motions import joint_moments
from predyn.analysis.sides import LEFT, RIGHT
from predyn.dynamics.kinematics import frame_kinematics
from predyn.errors import InputError
from predyn.model import Model
from predyn.solution import Solution
from predyn.solution.ground import feet_of, ground_loads, touches_ground

Floats = NDArray[np.float64]
MUSCLE_ARM = 0.05  # m, of the back muscles about L5/S1 (Chaffin 1969)
ARMS = (0.01, 0.2)  # m
COMPRESSION_LIMIT = 3400.0  # N, at L5/S1 (T. R. Waters et al., Ergonomics 36, 1993)
SIDES = {RIGHT: "r", LEFT: "l"}
BACK, BOX = "spine1", "box"  # the link above L5/S1
LEGS = [f"{joint}_flexion_{side}" for joint in ("hip", "knee") for side in "rl"]
NEEDED = (f"{BACK}_bending", f"{BACK}_flexion", *LEGS)


class LiftPeak(NamedTuple):
    """The largest value of a quantity."""

    name: str
    value: float
    unit: str
    time: float  # s


@dataclass(frozen=True, eq=False, repr=False)
class LiftLoads:
    """Loads over the samples of a motion; moments are positive where they extend a joint."""

    name: str
    t: Floats  # (K,) s
    back_moment: Floats  # (K,) N m at L5/S1, extension
    back_force: Floats  # (K,) N at L5/S1, net force that compresses, along the lowest spine link
    muscle_arm: float  # m
    hip_moment: Mapping[str, Floats]  # by side, (K,) N m, extension
    knee_moment: Mapping[str, Floats]
    ground_force: Mapping[str, Floats]  # by side, (K,) N, vertical
    box_height: Floats  # (K,) m, centre of the box

    @property
    def compression(self) -> Floats:
        """(K,) N at L5/S1, with the pull of muscles: an estimate."""
        return self.back_force + np.abs(self.back_moment) / self.muscle_arm

    def curves(self) -> dict[str, tuple[str, Floats]]:
        """Unit and values (K,) of every quantity by name."""
        both = {
            f"{what}, {side}": (unit, values[side])
            for what, unit, values in (
                ("hip extension moment", "N m", self.hip_moment),
                ("knee extension moment", "N m", self.knee_moment),
                ("vertical ground force", "N", self.ground_force),
            )
            for side in SIDES
        }
        return {
            "L5/S1 extension moment": ("N m", self.back_moment),
            "L5/S1 net compression": ("N", self.back_force),
            "L5/S1 compression, estimate with muscles": ("N", self.compression),
            **both,
            "vertical ground force": ("N", sum(self.ground_force.values(), np.zeros_like(self.t))),
            "height of the box": ("m", self.box_height),
        }

    def peaks(self) -> list[LiftPeak]:
        """The largest value of every quantity and when it is reached."""
        return [
            LiftPeak(name, float(y.max()), unit, float(self.t[y.argmax()]))
            for name, (unit, y) in self.curves().items()
        ]

    def summary(self) -> dict[str, Any]:
        """Numbers for summary.json."""
        peaks = {
            f"{peak.name} [{peak.unit}]": {"largest": peak.value, "time": peak.time}
            for peak in self.peaks()
        }
        return {
            "muscle_arm": self.muscle_arm,
            "compression_limit": COMPRESSION_LIMIT,
            "box_at_the_end": float(self.box_height[-1]),
            "peaks": peaks,
        }

    def text(self) -> str:
        """A short table of the largest values."""
        peaks = self.peaks()
        width = max(len(peak.name) for peak in peaks) + 2
        lines = [
            f"{peak.name:<{width}}{f'{peak.value:.4g} {peak.unit}':>12}  at {peak.time:.3g} s"
            for peak in peaks
        ]
        return "\n".join(["largest values of the lift", *lines])

    def __repr__(self) -> str:
        return (
            f"LiftLoads({self.name!r}, L5/S1 up to {self.back_moment.max():.4g} N m and about "
            f"{self.compression.max():.4g} N, box up to {self.box_height.max():.4g} m)"
        )


def lift_loads(solution: Solution, muscle_arm: float = MUSCLE_ARM) -> LiftLoads:
    """Loads of a person with a box (`predyn.models.human_with_box`) at the samples of a motion.

    muscle_arm: m, distance of the back muscles from L5/S1.

    The compression is the net force along the spine plus the moment over muscle_arm. It does NOT
    account for muscles that work against each other, for pressure in the abdomen and for ligaments;
    it is no measure of the risk of a person.
    """
    if not isinstance(solution, Solution):
        raise InputError(f"expected a Solution, got {type(solution).__name__}")
    model = solution.model
    missing = _missing(model)
    if missing:
        raise InputError(
            f"loads of a lift need predyn.models.human_with_box, but model {model.name!r} has no "
            f"{missing[0]}"
        )
    if not touches_ground(solution):
        raise InputError(f"loads of a lift: {solution.name!r} has no contacts with the ground")
    arm = _arm(muscle_arm)
    moments = joint_moments(model, solution.q, solution.reactions)

    def extension(joint: str) -> Floats:
        return np.asarray(-moments[:, model.joint_index(joint)])

    return LiftLoads(
        name=solution.name,
        t=solution.t,
        back_moment=extension(f"{BACK}_flexion"),
        back_force=_along_spine(solution),
        muscle_arm=arm,
        hip_moment={side: extension(f"hip_flexion_{s}") for side, s in SIDES.items()},
        knee_moment={side: extension(f"knee_flexion_{s}") for side, s in SIDES.items()},
        ground_force=_ground_forces(solution),
        box_height=frame_kinematics(model, BOX, solution.q).p[:, 2],
    )


def find_lift(solution: Solution) -> LiftLoads | None:
    """The loads of a lift; None for other motions."""
    if not solution.finite or _missing(solution.model) or not touches_ground(solution):
        return None
    return lift_loads(solution)


def _missing(model: Model) -> list[str]:
    """What a person with a box would have."""
    joints = [f"joint {name!r}" for name in NEEDED if name not in model.joint_names]
    links = [f"link {name!r}" for name in (BACK, BOX) if name not in model.link_names]
    return links + joints


def _arm(value: Any) -> float:
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not number or not ARMS[0] <= value <= ARMS[1]:
        raise InputError(f"muscle_arm: expected {ARMS[0]:g} to {ARMS[1]:g} m, got {value!r:.40}")
    return float(value)


def _along_spine(solution: Solution) -> Floats:
    """(K,) N: what the pelvis pushes the spine with, along the axis of the lowest spine link."""
    model, q = solution.model, solution.q
    first = f"{BACK}_bending"  # the link of the joint between pelvis and spine
    force = solution.reactions[:, model.link_names.index(first), 3:]
    along = frame_kinematics(model, BACK, q).R[:, :, 2]
    axes = frame_kinematics(model, first, q).R
    return np.asarray(np.einsum("kij,kj,ki->k", axes, force, along))


def _ground_forces(solution: Solution) -> dict[str, Floats]:
    soles = {sole.name: sole for sole in feet_of(solution.model)}
    feet = {side: soles[f"rearfoot_{s}"] for side, s in SIDES.items()}
    loads = ground_loads(solution, solution.t, list(feet.values()), solution.phase)
    return {side: load.force[:, 2] for side, load in zip(feet, loads, strict=True)}
