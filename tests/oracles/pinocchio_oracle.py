"""A predyn Model as a Pinocchio model, built from the model's arrays alone."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from predyn.model import PRISMATIC, REVOLUTE, Model


def pinocchio_model(model: Model) -> pin.Model:
    """The same tree: joint j + 1 of Pinocchio is joint j of predyn, frames coincide."""
    result = pin.Model()
    result.gravity.linear = np.array(model.gravity)
    for j in range(model.n):
        axis = np.array(model.axis[j])
        if model.kind[j] == REVOLUTE:
            joint = pin.JointModelRevoluteUnaligned(axis)
            if np.array_equal(axis, [0, 0, 1]):
                joint = pin.JointModelRZ()
        elif model.kind[j] == PRISMATIC:
            joint = pin.JointModelPrismaticUnaligned(axis)
            if np.array_equal(axis, [0, 0, 1]):
                joint = pin.JointModelPZ()
        else:
            joint = pin.JointModelHelicalUnaligned(axis, float(model.pitch[j]))
        placement = pin.SE3(np.array(model.R[j]), np.array(model.p[j]))
        index = result.addJoint(int(model.parent[j]) + 1, joint, placement, model.joint_names[j])
        result.appendBodyToJoint(index, _inertia(model.inertia[j]), pin.SE3.Identity())
    return result


def _inertia(parameters: np.ndarray) -> pin.Inertia:
    m, h = parameters[0], parameters[1:4]
    xx, xy, yy, xz, yz, zz = parameters[4:]
    about_origin = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    c = h / m if m > 0 else np.zeros(3)
    return pin.Inertia(m, c, about_origin - m * (c @ c * np.eye(3) - np.outer(c, c)))


def pinocchio_forces(model: Model, data: pin.Data, forces: list, sample: int) -> pin.StdVec_Force:
    """External forces of one sample as Pinocchio's fext: link axes, about the joint origin.

    `data` must hold the joint placements of the sample (pin.forwardKinematics).
    """
    result = pin.StdVec_Force()
    for _ in range(model.n + 1):
        result.append(pin.Force.Zero())
    for f in forces:
        frame = model.frame(f.link)
        R_WL = data.oMi[frame.link + 1].rotation
        pick = [np.asarray(x)[sample] if np.ndim(x) > 1 else np.asarray(x) for x in (f.force, f.moment)]
        turn = R_WL.T if f.frame == "world" else frame.R
        force, moment = (turn @ x for x in pick)
        point = frame.p + frame.R @ np.asarray(f.point)
        result[frame.link + 1] = result[frame.link + 1] + pin.Force(
            force, moment + np.cross(point, force)
        )
    return result
