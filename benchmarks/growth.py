"""How time grows with the number of links, and the three formulations beside each other."""

from __future__ import annotations

from functools import partial

import numpy as np
from against_pinocchio import BATCH, in_lanes
from timing import exponent, medians

import predyn
from predyn.dynamics.rnea import RNEA
from predyn.dynamics.rnea_derivatives import RNEA_DERIVATIVES
from predyn.kernels.batch import aligned
from predyn.kernels.forces import NO_LOADS
from predyn.kernels.lanes import WIDTH
from predyn.kernels.tree import tree_of


def chains(repeats: int) -> list[dict]:
    """Torques and partials of pendulum chains, in lanes; exponents in the last row."""
    sizes, rows = [25, 50, 100, 200], []
    for n in sizes:
        view = tree_of(predyn.models.pendulum_chain(n))
        samples = np.random.default_rng(0).standard_normal((3, BATCH, n))
        ins = tuple(in_lanes(x) for x in (*samples, np.empty((BATCH, 0))))
        rivals = {}
        for name, kernel in (("tau", RNEA), ("partials", RNEA_DERIVATIVES)):
            outs = tuple(aligned(BATCH // WIDTH, f.packed, WIDTH) for f in kernel.fields(view))
            work = aligned(*kernel.work(view), WIDTH)
            rivals[name] = partial(kernel.sweep, view, NO_LOADS, ins, outs, work)
        times = medians(rivals, repeats)
        row = {"links": n, "pairs": int(view.pair[-1])}
        row |= {f"{k}, us": 1e6 * t / BATCH for k, t in times.items()}
        row["partials, ns a pair"] = 1e9 * times["partials"] / BATCH / int(view.pair[-1])
        rows.append(row)
    rows.append({"links": "exponent", "pairs": None})
    for key in ("tau, us", "partials, us"):
        rows[-1][key] = exponent(sizes, [row[key] for row in rows[:-1]])
    return rows


def three_formulations(repeats: int) -> list[dict]:
    """The spatial kernels, the recursive Lagrangian and Newton-Euler on DH frames."""
    from predyn import dynamics

    rows = []
    for n in (2, 6, 12):
        model = _dh_chain(n)
        q, v, a = np.random.default_rng(0).standard_normal((3, BATCH, n))
        out = tuple(np.zeros((BATCH, *shape)) for shape in ((n,), (n, n), (n, n), (n, n)))
        calls = {
            "spatial": (dynamics.inverse_dynamics, dynamics.inverse_dynamics_derivatives),
            "lagrangian_dh": (dynamics.lagrangian_dh_torques, dynamics.lagrangian_dh_derivatives),
            "newton_euler_dh": (
                dynamics.newton_euler_dh_torques,
                dynamics.newton_euler_dh_derivatives,
            ),
        }
        rivals = {}
        for name, (value, partials) in calls.items():
            rivals[f"{name} tau"] = partial(value, model, q, v, a, out=out[0])
            rivals[f"{name} partials"] = partial(partials, model, q, v, a, out=out)
        times = medians(rivals, repeats)
        rows.append({"joints": n} | {k: 1e6 * t / BATCH for k, t in times.items()})
    return rows


def _dh_chain(n: int) -> predyn.Model:
    random = np.random.default_rng(n)
    rows = [
        predyn.DHRow(
            theta=random.uniform(-1, 1),
            d=random.uniform(-1, 1),
            a=random.uniform(0.2, 1),
            alpha=random.uniform(-1, 1),
            mass=1.0,
            com=tuple(random.uniform(-0.3, 0.3, 3)),
            inertia=(0.1, 0.12, 0.15),
        )
        for _ in range(n)
    ]
    return predyn.load_dh(rows)
