"""Random trees in which some joints follow others, with fixed seeds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.interpolate import PPoly, make_interp_spline

from predyn import models
from predyn.model import REVOLUTE, SCREW, Frame, Model
from predyn.model.coupled import couple, entries_of
from predyn.model.couplings import Coupling, PiecewisePolynomial
from registry_cases import random_ligaments


def quintic(rng: np.random.Generator) -> PiecewisePolynomial:
    """A spline of degree 5 through random points: four times differentiable, but for its ends."""
    x = np.linspace(-4.0, 4.0, 9)
    spline = PPoly.from_spline(make_interp_spline(x, rng.uniform(-1.0, 1.0, len(x)), k=5))
    pieces = np.flatnonzero(np.diff(spline.x) > 0.0)
    breaks = np.append(spline.x[pieces], spline.x[pieces[-1] + 1])
    return PiecewisePolynomial(breaks, spline.c[::-1, pieces].T)


def coupled_tree(seed: int, links: int = 7, lines: bool = False, forces: bool = True) -> Model:
    """A tree with three followers: by a polynomial, by a line and by a spline; or all by lines.

    Two of them follow the same joint. forces: whether joints have springs, ligaments, friction
    and armature.
    """
    rng = np.random.default_rng([seed, 11])
    tree = models.random_tree(links, seed, depth_like=0.7)
    if lines:  # URDF files have no screws
        screws = tree.kind == SCREW
        kind, pitch = np.where(screws, REVOLUTE, tree.kind), np.where(screws, 0.0, tree.pitch)
        tree = replace(tree, kind=kind, pitch=pitch)
    frames = (Frame("tool", links - 1, np.array(tree.R[1]), np.array([0.3, -0.2, 0.4])),)
    if forces:
        tree = replace(
            tree,
            damping=rng.uniform(0.1, 0.5, links),
            coulomb=rng.uniform(0.1, 0.5, links),
            coulomb_speed=np.full(links, 0.5),
            stiffness=rng.uniform(0.1, 2.0, links),
            rest=rng.uniform(-1.0, 1.0, links),
            armature=rng.uniform(0.1, 0.5, links),
            ligaments=random_ligaments(links, seed),
        )
    # sources before followers, as Pinocchio needs them
    followers = sorted(rng.choice(np.arange(2, links), 3, replace=False).tolist())
    free = [j for j in range(links) if j not in followers]
    first = free[0]
    pick = [first, first, int(rng.choice([j for j in free if j < followers[2]]))]
    slopes = rng.uniform(0.5, 1.5, 3) * rng.choice([-1.0, 1.0], 3)
    functions = [PiecewisePolynomial.linear(x, rng.uniform(-1.0, 1.0)) for x in slopes]
    if not lines:
        functions[0] = PiecewisePolynomial.polynomial(rng.uniform(-1, 1, 6) / (1, 1, 2, 6, 24, 120))
        functions[2] = quintic(rng)
    names = tree.joint_names
    couplings = tuple(
        Coupling(names[j], names[s], f) for j, s, f in zip(followers, pick, functions, strict=True)
    )
    return couple(Model, entries_of(replace(tree, frames=frames)), couplings)
