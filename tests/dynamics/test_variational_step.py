"""Jacobian of a variational step against central differences, with the JIT off.

Rotations of a free base pass through arrays of the tree, which are real: no complex steps. With a
change d of v, differences err by EPS/d and d^2 of the numbers involved, here up to about 1e3.
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

from closed_mechanisms import random_mechanism
from free_satellite import RATES, START, satellite
from predyn import ExternalForce, Frame, Loop, Model
from predyn.dynamics import variational_equations as equations
from predyn.dynamics import variational_step as steps
from predyn.dynamics.variational import Variational
from predyn.kernels.tree import Floats
from random_trees import random_model, random_sites

DELTA, BOUND = 1e-5, 1e-7


def test_jacobian_is_exact() -> None:
    """It runs itself without compilation, where functions of kernels can be called one by one."""
    run = subprocess.run(
        [sys.executable, str(Path(__file__))],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.split() == ["free", "hinges", "hinges", "hinges"]


def check(model: Model, q: Floats, v: Floats, e: Floats, forces: list[ExternalForce]) -> None:
    rule, n, h = Variational(model, forces), model.n, 0.1
    tree, free = rule._tree, rule.free
    room = equations.room_for(tree, rule._equations)
    values = np.concatenate([np.zeros(0), *rule._wrenches])[None]
    count = steps.choose_independent(tree, rule._loops, free, q[None], e, 0, room)

    def evaluate(at: Floats) -> Floats:
        room.v[0] = at
        equations.evaluate(tree, rule._loads, free, h, q[None], e, np.ones(n), values, room)
        p = np.zeros(n)
        equations.momentum_at_end(n, free, h, -1.0, room, p)
        steps.evaluate_end(tree, rule._loops, free, h, q[None], e, room)
        return np.concatenate((-p, room.phi[room.chosen[:count]] / h))

    expected = np.zeros((n + count, n))
    for k in range(n):
        change = DELTA * np.eye(n)[k]
        expected[:, k] = (evaluate(v + change) - evaluate(v - change)) / (2 * DELTA)
    evaluate(v)
    equations.fill_jacobian(n, free, h, room)
    steps.add_loops(n, free, h, count, room)
    found = room.A[: n + count, :n]
    np.testing.assert_allclose(found, expected, rtol=0, atol=BOUND * np.abs(expected).max())
    print("free" if free else "hinges")


def main() -> None:
    random = np.random.default_rng(0)
    model = satellite((1.0, 2.0, -9.81), damping=0.2, coulomb=0.5, coulomb_speed=0.7)
    grip = Frame("grip", -1, np.eye(3), np.zeros(3))
    model = replace(model, frames=(grip,), loops=(Loop("grip", "weld", "arm2", "grip"),))
    forces = [
        ExternalForce("arm2", (5.0, -2.0, 3.0), (0.2, 1.1, -0.3), (0.1, 0.2, 0.0)),
        ExternalForce("base5", (0.5, 3.3, -0.8), (0.1, 0.4, 2.2), (0.3, 0.1, 0.2), "link"),
    ]
    e = random.standard_normal(4)
    q = START.copy()
    q[:3] = 0.2, -0.1, 0.3
    check(model, q, RATES * [1, 1, 1, 5, 5, 5, 1, 1, 1], e / np.linalg.norm(e), forces)
    for seed in range(2):
        tree = random_model(6, seed)
        sites = [
            replace(f, force=random.normal(size=3), moment=random.normal(size=3))
            for f in random_sites(tree, seed)
        ]
        check(tree, *random.standard_normal((2, 6)), e, sites)
    mechanism, pose = random_mechanism(3)
    check(mechanism, pose, random.standard_normal(mechanism.n), e, [])


if __name__ == "__main__":
    main()
