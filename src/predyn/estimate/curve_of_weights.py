"""The L-curve about an estimate, a diagnostic: other weights, with the problem linearised there."""

from __future__ import annotations

import numpy as np

from predyn.estimate import band
from predyn.estimate.regularisation import Rows
from predyn.estimate.smoother import Levels, Linear, Smoother
from predyn.estimate.spline_grid import Floats
from predyn.published.lcurve import LCurve, corner

FACTORS = np.logspace(-4.0, 4.0, 17)  # of the weight that was chosen


def curve_of_weights(smoother: Smoother, linear: Linear, levels: Levels) -> LCurve:
    """Misfit and size, both in squares of the chosen levels, for multiples of the chosen weight."""
    about = linear.about
    rows = about.changes.rows
    likely = [(rows, levels.of_changes(len(rows.value)) ** -2.0)]
    starts = zip(about.changes.start, smoother.sizes, strict=False)
    likely += [(rows, size**-2.0) for rows, size in starts]
    H_likely, g_likely = np.zeros_like(linear.H), np.zeros_like(linear.g)
    for rows, weight in likely:
        band.add_rows(rows.first, rows.J, rows.value, weight, H_likely, g_likely)
    H_data, g_data = linear.H - H_likely, linear.g - g_likely
    noise = levels.noise[smoother.observations.thing]
    factors, misfit, size = [], [], []
    for factor in FACTORS:
        weighed = linear._replace(H=H_data + factor * H_likely, g=g_data + factor * g_likely)
        solution = weighed.solution()
        if solution is None:
            continue
        factors.append(factor)
        misfit.append(float(((about.seen.after(solution.step) / noise) ** 2).sum()))
        size.append(_square(likely, solution.step))
    curve = LCurve(np.array(factors), np.array(misfit), np.array(size), -1)
    return curve._replace(corner=corner(curve.misfit, curve.size))


def _square(parts: list[tuple[Rows, Floats]], step: Floats) -> float:
    total = 0.0
    for rows, weight in parts:
        left = rows.value + band.product(rows.first, rows.J, step)
        total += float(weight @ left**2)
    return total
