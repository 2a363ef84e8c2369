"""Random trees against MuJoCo, which works on quaternions about each tree's centre of mass.

Tolerances. As in test_pinocchio.py a number has met at most about 36 roundings at each joint;
MuJoCo's turn from joint to joint takes a product of quaternions, its normalisation and a matrix
from it, 36 more. Hence 72 n eps of the largest entry, and of one where the reference is smaller:
masses and lengths are of order one. The potential energy is a sum of terms that cancel, and is
measured by their sum.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import mujoco
import numpy as np
import pytest
from numpy.typing import NDArray

from oracles.mujoco_oracle import load_torques, mujoco_model, mujoco_state
from predyn import dynamics, models
from predyn.dynamics import ExternalForce
from predyn.model import Model

TREES, SAMPLES = 40, 3
EPS = np.finfo(float).eps


@dataclass
class Case:
    seed: int
    model: Model
    q: NDArray
    v: NDArray
    a: NDArray
    forces: list[ExternalForce]
    twin: mujoco.MjModel
    states: list[mujoco.MjData]


def make_case(seed: int) -> Case:
    """1 to 60 joints, gravity anywhere; every other tree has springs, damping and armature."""
    rng = np.random.default_rng([seed, 11])
    n = 1 + round(59 * seed / (TREES - 1))
    kinds = ("revolute", "prismatic")
    model = models.random_tree(n, 1000 + seed, depth_like=(1.0, 0.8, 0.6)[seed % 3], kinds=kinds)
    model = model.with_gravity(rng.uniform(-9.81, 9.81, 3))
    if seed % 2:
        fields = ("stiffness", "rest", "damping", "armature")
        model = replace(model, **dict(zip(fields, rng.uniform(0.0, 2.0, (4, n)), strict=True)))
    q = rng.uniform(-np.pi, np.pi, (SAMPLES, n))
    v, a = rng.standard_normal((2, SAMPLES, n))
    forces = [
        ExternalForce(f"l{rng.integers(n)}", *rng.standard_normal((3, 3)), axes)
        for axes in ("world", "link", "world")
    ]
    twin = mujoco_model(model)
    states = [mujoco_state(twin, *state) for state in zip(q, v, a, strict=True)]
    return Case(seed, model, q, v, a, forces, twin, states)


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    return [make_case(seed) for seed in range(TREES)]


def compare(case: Case, what: str, got: NDArray, reference: NDArray, scale: float = 1.0) -> None:
    scale = max(scale, float(np.abs(reference).max()))
    error = float(np.abs(got - reference).max()) / scale
    bound = 72 * case.model.n * EPS
    assert error <= bound, f"tree {case.seed}: {what} off by {error:.1e}, allowed {bound:.1e}"


def test_torques(cases: list[Case]) -> None:
    for case in cases:
        tau = dynamics.inverse_dynamics(case.model, case.q, case.v, case.a)
        loaded = dynamics.inverse_dynamics(case.model, case.q, case.v, case.a, forces=case.forces)
        for k, data in enumerate(case.states):
            compare(case, "tau", tau[k], data.qfrc_inverse)
            loads = load_torques(case.model, case.twin, data, case.forces)
            compare(case, "tau with loads", loaded[k], data.qfrc_inverse - loads)


def test_mass_matrix(cases: list[Case]) -> None:
    for case in cases:
        M = dynamics.mass_matrix(case.model, case.q)
        for k, data in enumerate(case.states):
            reference = np.zeros((case.model.n, case.model.n))
            mujoco.mj_fullM(case.twin, data, reference)
            compare(case, "M", M[k], reference)


def test_energies_and_center_of_mass(cases: list[Case]) -> None:
    for case in cases:
        T = dynamics.kinetic_energy(case.model, case.q, case.v)
        V = dynamics.potential_energy(case.model, case.q)
        com = dynamics.center_of_mass(case.model, case.q)
        for k, data in enumerate(case.states):
            heights = np.abs(data.xipos[1:]).sum(axis=1)
            terms = 9.81 * float(case.model.inertia[:, 0] @ heights)
            compare(case, "potential energy", V[k], data.energy[0], terms)
            compare(case, "kinetic energy", T[k], data.energy[1])
            compare(case, "centre of mass", com[k], data.subtree_com[0], float(heights.max()))
