"""Contacts of a robot among obstacles by MuJoCo: its kinematics and its collision detection."""

from __future__ import annotations

import mujoco
import numpy as np
from numpy.typing import NDArray

from oracles.mujoco_oracle import quaternion
from predyn import Scene
from predyn.model import PRISMATIC, Model

GEOMS = {
    "box": mujoco.mjtGeom.mjGEOM_BOX,
    "sphere": mujoco.mjtGeom.mjGEOM_SPHERE,
    "cylinder": mujoco.mjtGeom.mjGEOM_CYLINDER,
    "capsule": mujoco.mjtGeom.mjGEOM_CAPSULE,
}


class MujocoContacts:
    """A tree of revolute and prismatic joints with capsules, and solids that rest.

    names  of the collision shapes of the model, in their order
    pairs  of names of shapes or obstacles that are examined
    """

    def __init__(
        self, model: Model, scene: Scene, names: list[str], pairs: tuple[tuple[str, str], ...]
    ) -> None:
        spec = mujoco.MjSpec()
        bodies = [spec.worldbody]
        for j in range(model.n):
            body = bodies[model.parent[j] + 1].add_body(
                name=model.link_names[j], pos=model.p[j], quat=quaternion(model.R[j]),
                explicitinertial=True, mass=1.0, inertia=(1.0, 1.0, 1.0),
            )  # fmt: skip
            slides = model.kind[j] == PRISMATIC
            kind = mujoco.mjtJoint.mjJNT_SLIDE if slides else mujoco.mjtJoint.mjJNT_HINGE
            body.add_joint(name=model.joint_names[j], type=kind, axis=model.axis[j])
            bodies.append(body)
        shapes = [shape for shape in model.shapes if shape.role == "collision"]
        for name, shape in zip(names, shapes, strict=True):
            _add(bodies[shape.link + 1], name, shape.kind, shape.size, shape.p, shape.R)
        for x in scene.obstacles:
            _add(spec.worldbody, x.name, x.kind, x.size, x.position, x.rotation)
        for one, other in pairs:
            spec.add_pair(geomname1=one, geomname2=other)
        self.model = spec.compile()
        self.data = mujoco.MjData(self.model)

    def depths(self, q: NDArray) -> NDArray:
        """Least distance of a contact at each configuration (B, n); inf where nothing touches."""
        out = np.full(len(q), np.inf)
        for k, x in enumerate(q):
            self.data.qpos[:] = x
            mujoco.mj_kinematics(self.model, self.data)
            mujoco.mj_collision(self.model, self.data)
            if self.data.ncon:
                out[k] = self.data.contact.dist.min()
        return out


def _add(body, name, kind, size, p, R) -> None:
    half = {"box": lambda: 0.5 * np.array(size), "sphere": lambda: np.array([size[0], 0.0, 0.0]),
            "cylinder": lambda: np.array([size[0], 0.5 * size[1], 0.0]),
            "capsule": lambda: np.array([size[0], 0.5 * size[1], 0.0])}[kind]()  # fmt: skip
    if kind == "capsule" and half[1] == 0.0:
        kind = "sphere"
    body.add_geom(name=name, type=GEOMS[kind], size=half, pos=p, quat=quaternion(np.asarray(R)),
                  contype=0, conaffinity=0)  # fmt: skip
