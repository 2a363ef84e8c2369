"""Random trees with all that a model may have, states and loads, for comparisons with oracles."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from predyn import models
from predyn.dynamics import ExternalForce
from predyn.model import Frame, Model
from registry_cases import joint_forces, rotation


def random_model(n: int, seed: int) -> Model:
    """A random tree with all joint forces, rotors and a rotated frame on each link."""
    rng = np.random.default_rng([seed, 6])
    model = models.random_tree(n, seed, depth_like=(1.0, 0.8, 0.5)[seed % 3])
    rows = [joint_forces(rng, j) for j in range(n)]
    extras = {
        name: np.array([row.get(name, 1.0 if name == "coulomb_speed" else 0.0) for row in rows])
        for name in joint_forces(rng, 0)
        if name != "ligaments"
    }
    extras["ligaments"] = np.array([row.get("ligaments", np.zeros((2, 3))) for row in rows])
    root = rng.normal(scale=0.2, size=(n, 2)) * (seed % 2)
    frames = [Frame(f"f{j}", j, rotation(rng), rng.normal(size=3)) for j in range(n)]
    gravity = rng.normal(scale=5.0, size=3)
    return replace(model, rotor=root @ root.T, gravity=gravity, frames=tuple(frames), **extras)


def random_sites(model: Model, seed: int) -> list[ExternalForce]:
    """Two loads: one along world axes, one along the axes of a frame."""
    rng = np.random.default_rng([seed, 7])
    names = (f"l{rng.integers(model.n)}", f"f{rng.integers(model.n)}")
    return [
        ExternalForce(name, np.zeros(3), point=rng.normal(size=3), frame=frame)
        for name, frame in zip(names, ("world", "link"), strict=True)
    ]
