"""Variational simulation beside Newton steps in Python: the same equations, solved by SciPy.

The peer solves each step with `scipy.optimize.root` (hybr) and the exact Jacobian. Its functions
are predyn's kernels: energies with their derivatives, and equations of loops.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy.optimize import root
from timing import medians

import predyn
from closed_mechanisms import FOUR_BAR_POSE, four_bar
from predyn import Model, dynamics

STEPS, STEP = 200, 0.01
Floats = np.ndarray


def against_scipy(repeats: int) -> list[dict]:
    """Microseconds of a step of one trajectory, and how far the last positions are apart."""
    rows = []
    bars = four_bar()
    pose = predyn.close_loops(bars, FOUR_BAR_POSE)
    cases = [(predyn.models.pendulum_chain(n), np.full(n, 0.3), np.zeros(n)) for n in (2, 6)]
    rate = dynamics.project_velocities(bars, pose, [5.0, 0, 0], hold="motor")
    for model, q, v in [*cases, (bars, pose, rate)]:
        t = STEP * np.arange(STEPS + 1)
        rivals = {
            "predyn": partial(predyn.simulate, model, q, v, None, t, method="variational"),
            "scipy": partial(_march, model, q, v),
        }
        times = medians(rivals, max(3, repeats // 10))
        us = {key: 1e6 * value / STEPS for key, value in times.items()}
        apart = np.abs(rivals["predyn"]().q[-1] - rivals["scipy"]()).max()
        row = {"model": model.name, "predyn": us["predyn"], "scipy": us["scipy"]}
        row |= {"ratio": us["scipy"] / us["predyn"], "difference at the end": float(apart)}
        rows.append(row)
    return rows


def _march(model: Model, q: Floats, v: Floats) -> Floats:
    n, h = model.n, STEP
    kept = dynamics.independent_equations(model, q).kept if model.loops else np.zeros(0, int)
    p, z = dynamics.energy_gradients(model, q, v).p, np.zeros(n + len(kept))
    z[:n] = v

    def middle(z: Floats, q: Floats) -> dynamics.EnergyGradientsDerivatives:
        return dynamics.energy_gradients_derivatives(model, q + 0.5 * h * z[:n], z[:n])

    def equations(z: Floats, q: Floats, p: Floats, rows: Floats) -> tuple[Floats, Floats]:
        e = middle(z, q)
        residual, jacobian = np.zeros(len(z)), np.zeros((len(z), len(z)))
        residual[:n] = p + 0.5 * h * e.f - e.p + rows.T @ z[n:]
        jacobian[:n, :n] = 0.5 * h * (e.df_dv + 0.5 * h * e.df_dq) - e.dp_dv - 0.5 * h * e.dp_dq
        jacobian[:n, n:] = rows.T
        if len(kept):
            loops = dynamics.loop_equations(model, q + h * z[:n])
            residual[n:], jacobian[n:, :n] = loops.values[kept] / h, loops.jacobian[kept]
        return residual, jacobian

    for _ in range(STEPS):
        rows = dynamics.loop_equations(model, q).jacobian[kept] if len(kept) else np.zeros((0, n))
        z = root(equations, z, (q, p, rows), jac=True, tol=1e-13).x
        e = middle(z, q)
        p, q = 0.5 * h * e.f + e.p, q + h * z[:n]
    return q
