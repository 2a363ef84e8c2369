"""A planar person who walks by formulas, so that events and curves are known."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from fake_estimate import fake_estimate
from predyn.analysis.motions import GroundForce, Motion, joint_moments
from predyn.estimate.result import Estimate
from predyn.model import Model
from predyn.model.builder import ModelBuilder
from predyn.model.couplings import PiecewisePolynomial
from predyn.recordings.measurements import MeasuredForce, Measurements

STRIDE, SPEED, THIGH, SHANK = 1.1, 1.3, 0.45, 0.43  # s, m/s, m
AMPLITUDE = 0.4  # rad, of the hips; the knees stay straight
PEAK, STANCE = 800.0, 0.62  # N; share of the cycle
TURN = 2.0 * np.pi / STRIDE
Y = (0.0, -1.0, 0.0)


class Pulse(NamedTuple):
    """A half wave of force from start to start + stance."""

    start: float

    def __call__(self, t: np.ndarray) -> np.ndarray:
        share = (t - self.start) / (STANCE * STRIDE)
        return np.where((share > 0.0) & (share < 1.0), PEAK * np.sin(np.pi * share), 0.0)

    def crossings(self, level: float) -> tuple[float, float]:
        early = STANCE * STRIDE / np.pi * np.arcsin(level / PEAK)
        return self.start + early, self.start + STANCE * STRIDE - early


def sliding_person() -> Model:
    """A person whose shanks slide along the thighs as the knees bend."""
    return person(sliding=True)


def person(
    hips: tuple[str, ...] = ("flexion",), scale: float = 1.0, sliding: bool = False
) -> Model:
    """Floating in the x-z plane, two legs with feet that have heel and toe frames."""
    builder = ModelBuilder("person", gravity=(0.0, 0.0, -9.81))
    builder.add_link("px", "world", "pelvis_tx", "prismatic", axis=(1.0, 0.0, 0.0))
    builder.add_link("pz", "px", "pelvis_ty", "prismatic", axis=(0.0, 0.0, 1.0))
    builder.add_link("pelvis", "pz", "pelvis_tilt", "revolute", axis=Y, mass=40.0,
                     com=(0.0, 0.0, 0.2), inertia=np.diag([1.0, 1.2, 0.8]))  # fmt: skip
    for side, y in (("r", -0.09), ("l", 0.09)):
        parent, origin = "pelvis", (0.0, scale * y, scale * -0.05)
        for k, axis in enumerate(hips):
            last = k == len(hips) - 1
            body = {"mass": 8.0, "com": (0.0, 0.0, -0.2), "inertia": np.diag([0.12, 0.12, 0.03])}
            name = f"femur_{side}" if last else f"hip{k}_{side}"
            directions = {"flexion": Y, "adduction": (1.0, 0.0, 0.0), "rotation": (0.0, 0.0, 1.0)}
            builder.add_link(name, parent, f"hip_{axis}_{side}", "revolute", axis=directions[axis],
                             origin=origin, **(body if last else {}))  # fmt: skip
            parent, origin = name, (0.0, 0.0, 0.0)
        thigh, knee = f"femur_{side}", (0.0, 0.0, scale * -THIGH)
        if sliding:
            builder.add_link(f"cap_{side}", thigh, f"knee_slide_{side}", "prismatic",
                             axis=(0.0, 0.0, 1.0), origin=knee)  # fmt: skip
            builder.couple(f"knee_slide_{side}", f"knee_angle_{side}",
                           PiecewisePolynomial.polynomial((0.01, 0.02, -0.03)))  # fmt: skip
            thigh, knee = f"cap_{side}", (0.0, 0.0, 0.0)
        builder.add_link(f"tibia_{side}", thigh, f"knee_angle_{side}", "revolute", axis=Y,
                         origin=knee, mass=3.5, com=(0.0, 0.0, -0.2),
                         inertia=np.diag([0.05, 0.05, 0.01]))  # fmt: skip
        builder.add_link(f"foot_{side}", f"tibia_{side}", f"ankle_angle_{side}", "revolute", axis=Y,
                         origin=(0.0, 0.0, scale * -SHANK), mass=1.0, com=(0.05, 0.0, -0.03),
                         inertia=np.diag([0.003, 0.004, 0.004]))  # fmt: skip
        builder.add_frame(f"heel_{side}", f"foot_{side}", point=(-0.05, 0.0, -0.05))
        builder.add_frame(f"toe_{side}", f"foot_{side}", point=(0.15, 0.0, -0.05))
    return builder.build()


def strikes(side: str, count: int) -> np.ndarray:
    """When a hip is flexed most: the left one half a stride after the right."""
    first = 0.25 * STRIDE + (0.5 * STRIDE if side == "left" else 0.0)
    return first + STRIDE * np.arange(count)


def walking(
    *, forces: bool = True, treadmill: bool = False, rate: float = 200.0, cycles: float = 3.2,
    random: np.random.Generator | None = None,
) -> Motion:  # fmt: skip
    """Hips swing as sine waves; moments and reactions are made up; heels strike at the maxima."""
    model = person()
    t = np.arange(0.0, cycles * STRIDE, 1.0 / rate)
    n = model.n
    q, v, moments = np.zeros((3, len(t), n))
    q[:, 0], v[:, 0] = (0.0, 0.0) if treadmill else (SPEED * t, SPEED)
    q[:, 1] = 0.95
    for side, phase in (("r", 0.0), ("l", np.pi)):
        hip, knee = (model.joint_index(f"{x}_{side}") for x in ("hip_flexion", "knee_angle"))
        q[:, hip] = AMPLITUDE * np.sin(TURN * t - phase)
        v[:, hip] = AMPLITUDE * TURN * np.cos(TURN * t - phase)
        q[:, knee] = -0.3 * (1.0 + np.cos(TURN * t - phase))  # lifts the foot that swings forward
        v[:, knee] = 0.3 * TURN * np.sin(TURN * t - phase)
        moments[:, hip] = 50.0 * np.cos(TURN * t - phase)
    moments[:, 1] = 20.0 * np.sin(3.0 * TURN * t)
    reactions = np.zeros((len(t), n, 3))
    reactions[:, :, 2] = 700.0
    plates = []
    if forces:
        fine = np.arange(0.0, t[-1], 1e-3)
        for side, link in (("right", "foot_r"), ("left", "foot_l")):
            total = np.zeros((len(fine), 3))
            for start in strikes(side, 8) - STRIDE:
                total[:, 2] += Pulse(float(start))(fine)
            if random is not None:
                total[:, 2] += 2.0 * random.standard_normal(len(fine))
            plates.append(GroundForce(link, fine, total))
    return Motion("walker", model, t, q, v, moments, reactions, tuple(plates))


def walking_estimate(forces: bool = True) -> Estimate:
    """An estimate whose motion and plates are those of `walking`; torques by inverse dynamics."""
    motion = walking(forces=forces, rate=100.0)
    model, t, q, v = motion.model, motion.t, motion.q, motion.v
    a = np.diff(v, axis=0) / np.diff(t)[:, None]
    names = {"right plate": "foot_r", "left plate": "foot_l"} if forces else {}
    plates = {}
    for name, plate in zip(names, motion.forces, strict=True):
        zeros = np.zeros_like(plate.force)
        plates[name] = MeasuredForce(plate.t, plate.force, zeros + (0.1, 0.0, 0.0), zeros)
    fake = fake_estimate(model=model)
    angles = {name: q[:, j] for j, name in enumerate(model.joint_names)}
    whole = replace(
        fake, name="walk", t=t, q=q, v=v, q_sd=np.full_like(q, 0.003), v_sd=np.full_like(q, 0.05),
        t_tau=0.5 * (t[:-1] + t[1:]), a=a, tau_sd=np.ones_like(a), grid_error=np.zeros_like(a),
        measurements=Measurements(t, angles, {}, plates), force_links=names, comparison=None,
    )  # fmt: skip
    q_middle, _ = whole.middle_states()
    return replace(whole, tau=joint_moments(model, q_middle, whole.joint_reactions()))
