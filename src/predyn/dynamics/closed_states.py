"""Whether states keep loops closed: gaps, rates and accelerations of their equations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from predyn.dynamics.loop_kinematics import describe_gap, evaluate_loops, gaps_of
from predyn.errors import InputError
from predyn.kernels.tree import Floats
from predyn.model import Model
from predyn.model.loops import Loop


def check_closed(
    model: Model,
    loops: Sequence[Loop],
    q: Floats,
    v: Floats,
    tolerance: float,
    lead: tuple[int, ...],
    names: tuple[str, str] = ("q", "v"),
) -> tuple[Floats, Floats, Floats]:
    """Values, Jacobian and bias of the loops at flat states; an InputError if they are open."""
    if not isinstance(tolerance, float | int) or not tolerance > 0.0:
        raise InputError(f"tolerance: expected a number above 0, got {tolerance!r:.60}")
    for loop, gap in zip(loops, gaps_of(model, loops, q), strict=True):
        wide = np.flatnonzero(~(gap.largest <= tolerance))
        if len(wide):
            raise InputError(
                f"{names[0]}: {describe_gap(loop, gap, int(wide[0]))} at sample "
                f"{sample_of(wide[0], lead)}, more than {tolerance:g}; close it with "
                f"predyn.close_loops(model, {names[0]})"
            )
    rows = evaluate_loops(model, loops, q, v)
    check_rates(loops, rows[1], np.zeros_like(rows[2]), v, names[1], tolerance, lead)
    return rows


def check_rates(
    loops: Sequence[Loop],
    jacobian: Floats,
    bias: Floats,
    x: Floats,
    name: str,
    tolerance: float,
    lead: tuple[int, ...],
) -> None:
    """Refuse velocities or accelerations x (B, n) that open the loops."""
    rates = np.einsum("bij,bj->bi", jacobian, x) + bias
    size = np.einsum("bij,bj->bi", np.abs(jacobian), np.abs(x)) + np.abs(bias)
    wrong = np.argwhere(~(np.abs(rates) <= tolerance * np.maximum(size, 1.0)))
    if len(wrong):
        sample, k = wrong[0]
        remedy = (
            "those of closed_forward_dynamics keep loops closed"
            if name == "a"
            else f"use predyn.dynamics.project_velocities(model, q, {name})"
        )
        order = "s^2" if name == "a" else "s"
        raise InputError(
            f"{name}: opens the loops: equation {equation_names(loops)[k]!r:.80} changes by "
            f"{abs(rates[sample, k]):.3g} (m/{order} or rad/{order}) at sample "
            f"{sample_of(sample, lead)}; {remedy}"
        )


def equation_names(loops: Sequence[Loop]) -> list[str]:
    """Names of all equations, as in loop_equations."""
    return [name for loop in loops for name in loop.equations]


def sample_of(sample: int, lead: tuple[int, ...]) -> tuple[int, ...]:
    """Index of a sample of a flat batch, for messages."""
    return tuple(int(k) for k in np.unravel_index(sample, lead)) if lead else ()
