"""Collision checks beside Pinocchio with coal, and certificates beside dense checks.

With PREDYN_SHARED, Panda and UR5 in two of the shared scenes; otherwise a random robot of seven
joints among random obstacles. Pinocchio computes distances and nearest points of the same pairs,
without gradients; predyn computes gradients too. The dense check uses predyn's own batches at
1e-3 rad, so that only the number of configurations differs.
"""

from __future__ import annotations

import os
from pathlib import Path

import coal
import numpy as np
import pinocchio as pin
from timing import medians

from collision.robots import random_robot, random_scene, robot, shared_scene
from oracles.pinocchio_oracle import pinocchio_model
from predyn import JointPath, Scene, certify
from predyn.collision import Checker
from predyn.model.capsules import rotation_to

BATCH = 512
SCENES = ("panda_bookshelf_small_006", "ur5_cage_009")


def checkers() -> dict[str, tuple[Checker, np.ndarray]]:
    """Prepared checkers, each with a configuration that is free."""
    shared = os.environ.get("PREDYN_SHARED")
    if shared is None:
        scene = Scene(tuple(x for x in random_scene(0).obstacles if x.kind != "mesh"))
        checker = Checker(random_robot(7, 1), scene)
        q = np.random.default_rng(0).uniform(-2.0, 2.0, (2000, 7))
        return {"random": (checker, q[checker.distances(q).min(axis=1).argmax()])}
    folder = Path(shared) / "data" / "scenes"
    found = {}
    for name in SCENES:
        scene, start, _ = shared_scene(folder / f"{name}.json")
        found[name] = Checker(robot(name.partition("_")[0], folder), scene), start
    return found


def against_pinocchio(repeats: int) -> list[dict]:
    """Microseconds a configuration for all pairs."""
    rows = []
    for name, (checker, start) in checkers().items():
        rng = np.random.default_rng(0)
        q = start + rng.uniform(-1.0, 1.0, (BATCH, len(start)))
        model, geometry = peer(checker)
        data, found = model.createData(), geometry.createData()

        def distances(q=q, model=model, data=data, geometry=geometry, found=found) -> None:
            for x in q[:16]:
                pin.computeDistances(model, data, geometry, found, x)
                pin.computeJointJacobians(model, data, x)

        out = checker.gradients(q)
        compare(checker, q[:16], model, data, geometry, found)
        rivals = {
            "gradients": lambda checker=checker, q=q, out=out: checker.gradients(q, out=out),
            "distances": lambda checker=checker, q=q: checker.distances(q),
            "pinocchio": distances,
        }
        times = medians(rivals, max(3, repeats // 3))
        us = {key: 1e6 * t / (16 if key == "pinocchio" else BATCH) for key, t in times.items()}
        row = {"scene": name, "pairs": len(checker.pairs), **us}
        rows.append(row | {"ratio": us["pinocchio"] / us["gradients"]})
    return rows


def peer(checker: Checker) -> tuple[pin.Model, pin.GeometryModel]:
    """The same capsules, obstacles and pairs in Pinocchio."""
    model = pinocchio_model(checker.model)
    geometry, numbers = pin.GeometryModel(), {}
    for body in checker.bodies:
        length = float(np.linalg.norm(body.b - body.a))
        shape = coal.Capsule(body.radius, length) if length else coal.Sphere(body.radius)
        pose = pin.SE3(rotation_to(body.b - body.a), 0.5 * (body.a + body.b))
        joint = 0 if body.link < 0 else model.getJointId(checker.model.joint_names[body.link])
        numbers[body.name] = geometry.addGeometryObject(
            pin.GeometryObject(body.name, joint, 0, pose, shape)
        )
    for obstacle in checker.scene.obstacles:
        size = obstacle.size
        shape = {
            "box": lambda size=size: coal.Box(*size),
            "cylinder": lambda size=size: coal.Cylinder(*size),
            "sphere": lambda size=size: coal.Sphere(*size),
            "capsule": lambda size=size: coal.Capsule(*size),
            "half_space": lambda: coal.Halfspace(np.array([0.0, 0.0, 1.0]), 0.0),
        }[obstacle.kind]()
        pose = pin.SE3(np.array(obstacle.rotation), np.array(obstacle.position))
        numbers[obstacle.name] = geometry.addGeometryObject(
            pin.GeometryObject(obstacle.name, 0, 0, pose, shape)
        )
    for one, other in checker.pairs:
        geometry.addCollisionPair(pin.CollisionPair(numbers[one], numbers[other]))
    return model, geometry


def compare(checker, q, model, data, geometry, found) -> None:
    """Both compute the same distances: to 1e-5 where bodies are apart."""
    for x in q:
        pin.computeDistances(model, data, geometry, found, x)
        theirs = np.array([result.min_distance for result in found.distanceResults])
        ours = checker.distances(x)
        apart = ours > 1e-3
        assert np.abs(ours - theirs)[apart].max() < 1e-5


def against_dense(repeats: int) -> list[dict]:
    """Milliseconds for a cubic path: a certificate beside a check every 1e-3 rad."""
    rows = []
    for name, (checker, start) in checkers().items():
        rng = np.random.default_rng(1)
        while True:
            steps = 0.12 * rng.normal(size=(6, len(start)))
            path = JointPath(start + np.cumsum(steps, axis=0), "cubic")
            certificate = certify(path, checker)
            if certificate.status == "certified":
                break
        from scipy.interpolate import CubicSpline

        curve = CubicSpline(path.times, path.positions)
        t = np.linspace(path.times[0], path.times[-1], 2000)
        way = np.linalg.norm(np.diff(curve(t), axis=0), axis=1).sum()
        dense = curve(np.linspace(path.times[0], path.times[-1], int(way / 1e-3)))
        model, geometry = peer(checker)
        data, found = model.createData(), geometry.createData()

        def loop(dense=dense, args=(model, data, geometry, found)) -> None:
            for x in dense[::20]:
                pin.computeCollisions(*args, x, False)

        rivals = {
            "certificate": lambda path=path, checker=checker: certify(path, checker),
            "dense": lambda dense=dense, checker=checker: checker.distances(dense),
            "pinocchio": loop,
        }
        times = medians(rivals, max(3, repeats // 3))
        times["pinocchio"] *= 20.0  # every 20th configuration was checked
        ms = {key: 1e3 * value for key, value in times.items()}
        row = {"scene": name, "rad": float(way), "spans": certificate.spans, **ms}
        row |= {"ratio": ms["dense"] / ms["certificate"]}
        rows.append(row | {"pin ratio": ms["pinocchio"] / ms["certificate"]})
    return rows


if __name__ == "__main__":
    from run import show

    show("Distances and gradients of all pairs, us a configuration", against_pinocchio(15))
    show("Certificate of a path, ms", against_dense(15))
