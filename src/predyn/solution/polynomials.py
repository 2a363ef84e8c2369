"""Curves as polynomials in JSON: exact between all instants, for controllers and other programs.

Joint j in span i, from breaks[i] to breaks[i + 1]:

    q_j(x) = sum_k coefficients[j][i][k] (x - breaks[i])^k,   k = 0 ... degree

The coefficients are those of the Bezier form of each piece, differences of its control points:
c_k = binomial(degree, k) D^k P_0 / h^k.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from math import comb
from typing import Any

import numpy as np

from predyn.curves.bezier import bezier_spans
from predyn.curves.bspline import BSpline
from predyn.errors import InputError
from predyn.model import PRISMATIC, Model
from predyn.solution.parts import Curve, Floats

FORMAT = "predyn-polynomials-1"


def format_polynomials(
    name: str, model: Model, curves: Sequence[Curve], phase_names: Sequence[str], variable: str
) -> str:
    """One file for curves that follow each other; variable: "time" (s) or "path" (0 to 1)."""
    if not all(np.isfinite(curve.control).all() for curve in curves):
        raise InputError(f"{name!r:.60} has no motion: its curves contain numbers that are not "
                         "finite")  # fmt: skip
    degree = max(curve.degree for curve in curves)
    starts = np.cumsum([0.0, *(curve.duration for curve in curves)])
    breaks, spans = [], []
    for curve, start in zip(curves, starts[:-1], strict=True):
        inner, coefficients = power_form(curve)
        padding = np.zeros((*coefficients.shape[:2], degree - curve.degree))
        breaks += (start + inner[:-1]).tolist()
        spans.append(np.concatenate([coefficients, padding], axis=2))
    content: dict[str, Any] = {
        "format": FORMAT,
        "name": name,
        "variable": variable,
        "unit": "s" if variable == "time" else "1",
        "joints": list(model.joint_names),
        "joint_units": ["m" if kind == PRISMATIC else "rad" for kind in model.kind],
        "degree": degree,
        "phases": [
            {"name": phase, "start": start, "end": end}
            for phase, start, end in zip(
                phase_names, starts[:-1].tolist(), starts[1:].tolist(), strict=True
            )
        ],
        "breaks": [*breaks, float(starts[-1])],
        "coefficients": np.concatenate(spans, axis=1).tolist(),
    }
    return json.dumps(content) + "\n"


def power_form(curve: Curve) -> tuple[Floats, Floats]:
    """Breaks (S + 1,) from 0 to the duration, and coefficients (n, S, degree + 1) of powers of the
    distance from the start of each span, lowest first."""
    p = curve.degree
    breaks, points = bezier_spans(BSpline(p, curve.knots), curve.control)
    breaks = curve.duration * breaks
    coefficients = np.empty_like(points)
    scale = np.ones(len(points))
    for k in range(p + 1):
        coefficients[:, k] = comb(p, k) * points[:, 0] / scale[:, None]
        points, scale = np.diff(points, axis=1), scale * np.diff(breaks)
    return breaks, np.moveaxis(coefficients, 2, 0)
