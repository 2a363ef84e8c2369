"""A predyn Model as a Pinocchio model, built from the model's arrays alone, and random cases.

Pinocchio orders a spatial vector linear part first; everything returned here is turned into
predyn's order, angular part first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from predyn import models
from predyn.dynamics import ExternalForce
from predyn.model import PRISMATIC, REVOLUTE, Frame, Model

TREES, SAMPLES = 200, 3

WORLD_AXES = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED


def pinocchio_model(model: Model) -> pin.Model:
    """The same tree: joint j + 1 of Pinocchio is joint j of predyn, link frames coincide.

    Armature is passed on; springs, friction and coupled rotors are unknown to Pinocchio.
    """
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
    result.armature = np.array(model.armature)
    return result


def _inertia(parameters: NDArray) -> pin.Inertia:
    m, h = parameters[0], parameters[1:4]
    xx, xy, yy, xz, yz, zz = parameters[4:]
    about_origin = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    c = h / m if m > 0 else np.zeros(3)
    return pin.Inertia(m, c, about_origin - m * (c @ c * np.eye(3) - np.outer(c, c)))


def angular_first(x: NDArray) -> NDArray:
    """A Pinocchio spatial vector, or a (6, n) matrix of them, in predyn's order."""
    return np.concatenate([x[3:], x[:3]])


def wrench(force: pin.Force) -> NDArray:
    """(6,): moment, then force."""
    return np.concatenate([force.angular, force.linear])


def placement_of(model: Model, frame: str, point: Sequence[float]) -> tuple[int, pin.SE3]:
    """Pinocchio's joint and the pose on it of a predyn frame whose origin is moved to `point`."""
    found = model.frame(frame)
    pose = pin.SE3(np.array(found.R), found.p + found.R @ np.asarray(point, dtype=float))
    return found.link + 1, pose


def _components(force: ExternalForce, sample: int) -> tuple[NDArray, NDArray]:
    pair = (np.asarray(force.moment, dtype=float), np.asarray(force.force, dtype=float))
    moment, f = (x[sample] if x.ndim > 1 else x for x in pair)
    return moment, f


def _on_link(model: Model, data: pin.Data, force: ExternalForce, sample: int) -> tuple:
    """Link, point, moment and force of an external force, all in link axes."""
    link = model.frame(force.link).link
    joint, pose = placement_of(model, force.link, force.point)
    turn = data.oMi[joint].rotation.T if force.frame == "world" else pose.rotation
    moment, f = _components(force, sample)
    return link, pose.translation, turn @ moment, turn @ f


def pinocchio_forces(
    model: Model, data: pin.Data, forces: Sequence[ExternalForce], sample: int
) -> pin.StdVec_Force:
    """External forces of one sample as Pinocchio's fext: link axes, about the joint origin.

    `data` must hold the joint placements of the sample (pin.forwardKinematics).
    """
    result = pin.StdVec_Force()
    for _ in range(model.n + 1):
        result.append(pin.Force.Zero())
    for force in forces:
        link, point, moment, f = _on_link(model, data, force, sample)
        total = pin.Force(f, moment + np.cross(point, f))
        result[link + 1] = result[link + 1] + total
    return result


def turning_loads(
    model: Model,
    pin_model: pin.Model,
    data: pin.Data,
    q: NDArray,
    forces: Sequence[ExternalForce],
    sample: int,
) -> NDArray:
    """(n, n): additional d tau/dq of world-fixed loads compared with loads fixed in their link.

    Pinocchio holds fext constant in the link. A vector x fixed in the world has link components
    R^T x, which change by -w_k x (R^T x) with q_k, where w_k is the angular column k of the link's
    Jacobian J in link axes; tau changes by -J^T times the change of the wrench.
    """
    result = np.zeros((model.n, model.n))
    for force in forces:
        if force.frame != "world":
            continue
        link, point, moment, f = _on_link(model, data, force, sample)
        J = pin.computeJointJacobian(pin_model, data, q, link + 1).reshape(6, -1)
        w = J[3:].T
        turned_f = -np.cross(w, f)
        turned_moment = -np.cross(w, moment) + np.cross(point, turned_f)
        result -= J.T @ np.concatenate([turned_f, turned_moment], axis=1).T
    return result


@dataclass
class Case:
    """A tree with states (SAMPLES, n), loads, frames to watch, and its Pinocchio twin."""

    seed: int
    model: Model
    q: NDArray
    v: NDArray
    a: NDArray
    forces: list[ExternalForce]
    points: list[tuple[str, NDArray]]  # frame or link, point in it
    pin_model: pin.Model
    data: pin.Data

    def states(self) -> Iterator[tuple[int, NDArray, NDArray, NDArray]]:
        yield from zip(range(SAMPLES), self.q, self.v, self.a, strict=True)

    def twin(self) -> tuple[pin.Model, pin.Data]:
        return self.pin_model, self.data

    def fext(self, sample: int) -> pin.StdVec_Force:
        pin.forwardKinematics(*self.twin(), self.q[sample])
        return pinocchio_forces(self.model, self.data, self.forces, sample)

    def turning(self, sample: int) -> NDArray:
        args = self.model, self.pin_model, self.data, self.q[sample], self.forces, sample
        return turning_loads(*args)


def rotation(rng: np.random.Generator) -> NDArray:
    Q, R = np.linalg.qr(rng.standard_normal((3, 3)))
    Q = Q * np.sign(np.diag(R))
    return Q * np.linalg.det(Q)


def random_model(seed: int, rng: np.random.Generator) -> Model:
    """1 to 60 joints; chains and bushes, some with several roots, massless links or armature.

    Gravity points anywhere.
    """
    n = 1 + round(59 * seed / (TREES - 1))
    model = models.random_tree(n, seed, depth_like=(1.0, 0.85, 0.7, 0.5)[seed % 4])
    if seed % 5 == 1 and np.count_nonzero(model.parent == 0) > 1:
        model = model.lock({"j0": 0.7})
    inertia, armature = model.inertia.copy(), np.zeros(model.n)
    if seed % 7 == 2:
        inner = [j for j in range(1, model.n - 1) if (model.parent == j).any()]
        inertia[inner[::4]] = 0.0
    if seed % 3 == 0:
        armature = rng.uniform(0.0, 0.5, model.n)
    frames = [
        Frame(f"frame{k}", int(rng.integers(model.n)), rotation(rng), rng.standard_normal(3))
        for k in range(2)
    ]
    parts = {"inertia": inertia, "armature": armature, "gravity": 9.81 * rotation(rng)[0]}
    return replace(model, frames=(*model.frames, *frames), **parts)


def random_loads(model: Model, rng: np.random.Generator) -> list[ExternalForce]:
    """World and link axes, at points, on links and on frames, constant and one per sample."""
    loads = []
    for k in range(4):
        name = f"frame{k}" if k < 2 else model.link_names[rng.integers(model.n)]
        lead = (SAMPLES,) if k % 2 else ()
        force, moment = 5.0 * rng.standard_normal((2, *lead, 3))
        axes = "world" if k in (0, 3) else "link"
        loads.append(ExternalForce(name, force, moment, rng.standard_normal(3), axes))
    return loads


def make_case(seed: int) -> Case:
    rng = np.random.default_rng([seed, 7])
    model = random_model(seed, rng)
    q = rng.uniform(-np.pi, np.pi, (SAMPLES, model.n))
    v, a = rng.standard_normal((2, SAMPLES, model.n))
    points = [("frame0", rng.standard_normal(3)), (model.link_names[-1], rng.standard_normal(3))]
    twin = pinocchio_model(model)
    loads = random_loads(model, rng) if seed % 6 != 4 else []
    return Case(seed, model, q, v, a, loads, points, twin, twin.createData())
