"""A predyn Model as a MuJoCo model, built from the model's arrays alone.

MuJoCo has no screw joints, no rotors that couple joints and no smoothed Coulomb friction.
"""

from __future__ import annotations

from collections.abc import Sequence

import mujoco
import numpy as np
from numpy.typing import NDArray

from predyn.dynamics import ExternalForce
from predyn.model import PRISMATIC, SCREW, Model


def mujoco_model(model: Model) -> mujoco.MjModel:
    """The same tree: body j + 1 of MuJoCo is link j of predyn, body frames are link frames.

    Nothing touches: there are no shapes, and constraints are off.
    """
    if (model.kind == SCREW).any() or model.rotor.any() or model.coulomb.any():
        raise ValueError("MuJoCo has no screw joints, rotor matrix or smoothed Coulomb friction")
    spec = mujoco.MjSpec()
    spec.compiler.degree = False
    spec.option.gravity = model.gravity
    spec.option.disableflags = mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    bodies = [spec.worldbody]
    for j in range(model.n):
        m, com, moments, axes = _principal(model.inertia[j])
        body = bodies[model.parent[j] + 1].add_body(
            name=model.link_names[j],
            pos=model.p[j],
            quat=quaternion(model.R[j]),
            explicitinertial=True,
            mass=m,
            ipos=com,
            inertia=moments,
            iquat=quaternion(axes),
        )
        slides = model.kind[j] == PRISMATIC
        kind = mujoco.mjtJoint.mjJNT_SLIDE if slides else mujoco.mjtJoint.mjJNT_HINGE
        joint = body.add_joint(name=model.joint_names[j], type=kind, axis=model.axis[j])
        joint.stiffness[0] = model.stiffness[j]
        joint.damping[0] = model.damping[j]
        joint.springref = model.rest[j]
        joint.armature = model.armature[j]
        bodies.append(body)
    result = spec.compile()
    names = [result.body(k).name for k in range(1, result.nbody)]
    assert names == list(model.link_names), "MuJoCo numbers the bodies otherwise"
    return result


def _principal(parameters: NDArray) -> tuple[float, NDArray, NDArray, NDArray]:
    """Mass, centre of mass, principal moments about it and their axes as columns."""
    m, h = float(parameters[0]), parameters[1:4]
    xx, xy, yy, xz, yz, zz = parameters[4:]
    c = h / m
    about_origin = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    moments, axes = np.linalg.eigh(about_origin - m * (c @ c * np.eye(3) - np.outer(c, c)))
    return m, c, moments, axes * np.linalg.det(axes)


def quaternion(R: NDArray) -> NDArray:
    result = np.empty(4)
    mujoco.mju_mat2Quat(result, np.ascontiguousarray(R).reshape(9))
    return result


def mujoco_state(twin: mujoco.MjModel, q: NDArray, v: NDArray, a: NDArray) -> mujoco.MjData:
    """MuJoCo's data for a motion: inverse dynamics, mass matrix and energies are computed."""
    data = mujoco.MjData(twin)
    data.qpos, data.qvel, data.qacc = q, v, a
    mujoco.mj_inverse(twin, data)
    mujoco.mj_energyPos(twin, data)
    mujoco.mj_energyVel(twin, data)
    return data


def load_torques(
    model: Model, twin: mujoco.MjModel, data: mujoco.MjData, forces: Sequence[ExternalForce]
) -> NDArray:
    """(n,): generalized forces of external forces on links, one sample each."""
    result = np.zeros(model.n)
    for force in forces:
        body = model.link_index(force.link) + 1
        R = data.xmat[body].reshape(3, 3)
        turn = np.eye(3) if force.frame == "world" else R
        point = data.xpos[body] + R @ np.asarray(force.point)
        f, moment = turn @ np.asarray(force.force), turn @ np.asarray(force.moment)
        mujoco.mj_applyFT(twin, data, f, moment, point, body, result)
    return result
