"""Discrete inverse dynamics of coupled models: the midpoint rule in the coordinates.

The same sums as in discrete.py, discrete_derivatives.py and discrete_hessian.py, of whole matrices:
f and p of the coordinates and their partials follow from those of the tree (coupled_energies.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from predyn import dynamics
from predyn.kernels.arguments import finite, gather, joints, positive, prepare_outputs, real
from predyn.kernels.fields import dense
from predyn.kernels.forces import ExternalForce
from predyn.model import Model

Forces = Sequence[ExternalForce]
Nodes = Sequence[ArrayLike]


class _Midpoints:
    """Coordinates m and rates v (2, ..., n) in the middle of both intervals."""

    def __init__(self, model: Model, nodes: Nodes, h: ArrayLike) -> None:
        n = joints(model)
        inputs = [
            *((f"q{k}", q, n) for k, q in enumerate(nodes)),
            ("h", positive(model, "h", h), ()),
        ]
        self.arrays, self.lead = gather(model, inputs, None)
        for (name, _, _), x in zip(inputs, self.arrays, strict=True):
            finite(name, x)
        q0, q1, q2 = (x.reshape(*self.lead, model.n) for x in self.arrays[:3])
        self.h = self.arrays[3].reshape(*self.lead, 1)
        self.m = np.stack([q0 + q1, q1 + q2]) / 2.0
        self.v = np.stack([q1 - q0, q2 - q1]) / self.h
        self.sign = np.array([-1.0, 1.0]).reshape(2, *(1 for _ in self.lead), 1)

    def give(self, out: Any, *results: NDArray) -> tuple[NDArray, ...]:
        """The results, in the caller's arrays if there are any."""
        if out is None:
            return results
        given = prepare_outputs([dense(*x.shape) for x in results], (), out, self.arrays)
        for mine, x in zip(given, results, strict=True):
            mine[...] = x
        return given


def torques(model: Model, nodes: Nodes, h: ArrayLike, forces: Forces, out: Any) -> NDArray:
    at = _Midpoints(model, nodes, h)
    x = dynamics.energy_gradients(model, at.m, at.v, forces=forces)
    f = x.dT_dq - x.dV_dq + x.Q
    return at.give(out, (at.sign * x.p / at.h - f / 2.0).sum(axis=0))[0]


def derivatives(
    model: Model, nodes: Nodes, h: ArrayLike, forces: Forces, out: Any
) -> tuple[NDArray, ...]:
    """tau and its partials in q0, q1, q2, h."""
    at = _Midpoints(model, nodes, h)
    step, sign = at.h[..., None], at.sign[..., None]
    x = dynamics.energy_gradients_derivatives(model, at.m, at.v, forces=forces)
    tau = (at.sign * x.p / at.h - x.f / 2.0).sum(axis=0)
    by_m = sign * x.dp_dq / step - x.df_dq / 2.0
    by_v = sign * x.dp_dv / step - x.df_dv / 2.0
    start, end = by_m / 2.0 - by_v / step, by_m / 2.0 + by_v / step
    by_h = -(by_v @ at.v[..., None])[..., 0] / at.h - at.sign * x.p / at.h**2
    return at.give(out, tau, start[0], end[0] + start[1], end[1], by_h.sum(axis=0))


def hessian(
    model: Model, nodes: Nodes, h: ArrayLike, weights: ArrayLike, forces: Forces, out: Any
) -> tuple[NDArray, ...]:
    """Blocks q0 q0, q0 q1, q1 q1, q1 q2, q2 q2, q0 h, q1 h, q2 h, h h of weights . tau."""
    at = _Midpoints(model, nodes, h)
    step, sign = at.h[..., None], at.sign
    w = finite("weights", real(model, "weights", weights, joints(model)))
    w = np.broadcast_to(w, at.v.shape)
    x = dynamics.energy_gradients_derivatives(model, at.m, at.v, forces=forces)
    both = np.concatenate([-w / 2.0, sign * w / at.h], axis=-1)
    y = dynamics.energy_gradients_hessian(model, at.m, at.v, both, forces=forces)
    even = (y.qv + np.swapaxes(y.qv, -1, -2)) / (2.0 * step)
    odd = (y.qv - np.swapaxes(y.qv, -1, -2)) / (2.0 * step)
    start, end = (y.qq / 4.0 + s * even + y.vv / step**2 for s in (-1.0, 1.0))
    across = y.qq / 4.0 + odd - y.vv / step**2

    def summed(partials: NDArray) -> NDArray:
        return np.asarray(np.einsum("...i,...ij->...j", w, partials))

    p_q, p_v, f_v = (summed(z) for z in (x.dp_dq, x.dp_dv, x.df_dv))
    g_v = sign * p_v / at.h - f_v / 2.0
    bent_q, bent_v = ((z @ at.v[..., None])[..., 0] for z in (y.qv, y.vv))
    in_m = -bent_q / at.h - sign * p_q / at.h**2
    in_v = -bent_v / at.h - g_v / at.h - sign * p_v / at.h**2
    h_start, h_end = in_m / 2.0 - in_v / at.h, in_m / 2.0 + in_v / at.h
    along = (2.0 * g_v + bent_v + 2.0 * sign * p_v / at.h) * at.v + 2.0 * sign * w * x.p / at.h
    hh = along.sum(axis=-1) / at.h[..., 0] ** 2
    return at.give(
        out,
        start[0],
        across[0],
        end[0] + start[1],
        across[1],
        end[1],
        h_start[0],
        h_end[0] + h_start[1],
        h_end[1],
        hh.sum(axis=0),
    )
