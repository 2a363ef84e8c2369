"""Recordings whose torques are known: smooth motions of a mechanism, seen with noise and gaps."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from predyn.dynamics import frame_kinematics, inverse_dynamics
from predyn.estimate.result import Estimate
from predyn.model import Frame, Model
from predyn.model.builder import ModelBuilder
from predyn.recordings.measurements import Measurements

SHARED = Path(os.environ.get("PREDYN_SHARED", "."))
needs_shared = pytest.mark.skipif(
    "PREDYN_SHARED" not in os.environ, reason="PREDYN_SHARED is not set: its data are not there"
)


class Sway(NamedTuple):
    """Joints that swing about a pose: sums of sines, with exact speeds and accelerations."""

    centre: np.ndarray  # (n,)
    amplitude: np.ndarray  # (w, n)
    rate: np.ndarray  # (w, n) rad/s
    phase: np.ndarray

    def at(self, t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """q, v, a (K, n)."""
        angle = self.rate * t[:, None, None] + self.phase
        q = (self.amplitude * np.sin(angle)).sum(axis=1) + self.centre
        v = (self.amplitude * self.rate * np.cos(angle)).sum(axis=1)
        a = -(self.amplitude * self.rate**2 * np.sin(angle)).sum(axis=1)
        return q, v, a

    def torques(self, model: Model, t: np.ndarray) -> np.ndarray:
        return inverse_dynamics(model, *self.at(t))


def sway(n: int, seed: int, size: float = 0.4, fastest: float = 1.5) -> Sway:
    """Two sines a joint, of up to `fastest` Hz."""
    rng = np.random.default_rng([seed, 11])
    return Sway(
        rng.uniform(-0.6, 0.6, n),
        size * rng.uniform(0.3, 1.0, (2, n)),
        2 * np.pi * rng.uniform(0.3, fastest, (2, n)),
        rng.uniform(0.0, 2 * np.pi, (2, n)),
    )


def marked(model: Model, seed: int, each: int = 3) -> Model:
    """The model with a number of markers on each link, none in line with another."""
    rng = np.random.default_rng([seed, 12])
    frames = tuple(
        Frame(f"m{link}_{k}", link, np.eye(3), rng.uniform(-0.5, 0.5, 3))
        for link in range(model.n)
        for k in range(each)
    )
    return replace(model, frames=frames)


# de Leva 1996, men: length (m), share of the mass, centre of mass and radius of gyration about
# the axis of flexion as shares of the length. The shank ends at the ankle's centre, the foot lies
# along x from 5 cm behind the ankle and 6 cm below it.
STATURE, MASS = 1.741, 73.0  # m, kg
THIGH = (0.4222, 0.1416, 0.4095, 0.329)
SHANK = (0.4403, 0.0433, 0.4395, 0.246)
FOOT = (0.2581, 0.0137, 0.4415, 0.245)


def leg(floating: bool = False) -> Model:
    """A man's thigh, shank and foot in the x-y plane, below a fixed hip or a trunk free to move.

    Hinges along z, y up, x forward: the hip flexes, the knee extends, the ankle flexes dorsally in
    the positive sense.
    """
    builder = ModelBuilder("floating_leg" if floating else "leg", (0.0, -9.81, 0.0))
    before = "world"
    if floating:
        builder.add_link("slide_x", "world", "x", "prismatic", axis=(1.0, 0.0, 0.0))
        builder.add_link("slide_y", "slide_x", "y", "prismatic", axis=(0.0, 1.0, 0.0))
        builder.add_link("trunk", "slide_y", "turn", mass=0.6 * MASS, com=(0.0, 0.3, 0.0),
                         inertia=(2.0, 0.5, 2.0))  # fmt: skip
        before = "trunk"
    below = 0.0
    for name, joint, (length, share, along, gyration) in (
        ("thigh", "hip", THIGH),
        ("shank", "knee", SHANK),
    ):
        inertia = share * MASS * (gyration * length) ** 2
        builder.add_link(
            name, before, joint, origin=(0.0, -below, 0.0), mass=share * MASS,
            com=(0.0, -along * length, 0.0), inertia=(inertia, 0.2 * inertia, inertia),
        )  # fmt: skip
        before, below = name, length
    length, share, along, gyration = FOOT
    inertia = share * MASS * (gyration * length) ** 2
    builder.add_link(
        "foot", "shank", "ankle", origin=(0.0, -below, 0.0), mass=share * MASS,
        com=(along * length - 0.05, -0.06, 0.0), inertia=(0.2 * inertia, inertia, inertia),
    )  # fmt: skip
    for link in ("trunk", "thigh", "shank", "foot")[0 if floating else 1 :]:
        builder.add_frame(f"{link}_front", link, (0.15, -0.05, 0.0))
        builder.add_frame(f"{link}_back", link, (-0.06, -0.1, 0.0))
    return builder.build()


def recorded(
    model: Model,
    t: np.ndarray,
    q: np.ndarray,
    *,
    joints: tuple[str, ...] | None = None,
    markers: tuple[str, ...] = (),
    noise: float = 1e-3,
    missing: float = 0.0,
    seed: int = 0,
) -> Measurements:
    """Joints (default: all) and markers of a motion q (M, n), with noise and gaps."""
    rng = np.random.default_rng([seed, 13])

    def spoiled(clean: np.ndarray) -> np.ndarray:
        values = clean + noise * rng.standard_normal(clean.shape)
        values[rng.random(len(t)) < missing] = np.nan
        return values

    names = model.joint_names if joints is None else joints
    return Measurements(
        t,
        {name: spoiled(q[:, model.joint_index(name)]) for name in names},
        {name: spoiled(frame_kinematics(model, name, q).p) for name in markers},
    )


def rms(x: np.ndarray) -> float:
    return float(np.sqrt(np.mean(np.square(x))))


def coverage(estimate: Estimate, truth: np.ndarray) -> float:
    """Share of true torques (K, n) within the bands; joints without torque do not count."""
    active = [name not in estimate.unactuated for name in estimate.model.joint_names]
    low, high = estimate.tau_band
    return float(np.mean(((low <= truth) & (truth <= high))[:, active]))


def filter_error(estimate: Estimate, truth: np.ndarray) -> np.ndarray:
    """Error (K, n) of filtering and inverse dynamics."""
    usual = estimate.comparison
    assert usual is not None
    columns = [np.interp(estimate.t_tau, usual.t, column) for column in usual.tau.T]
    return np.stack(columns, axis=1) - truth
