"""Exact partials of hybrid dynamics: the results of hybrid_partials.py as separate matrices."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from predyn.dynamics import coupled
from predyn.dynamics.actuation import Actuated, Mask, pack_on_tree, read_mask, view_with_mask
from predyn.dynamics.composite import SUMS_END
from predyn.dynamics.hybrid import hybrid_dynamics
from predyn.dynamics.hybrid_partials import PANEL, hybrid_partials
from predyn.errors import InputError
from predyn.kernels.batch import Kernel
from predyn.kernels.fields import Field, dense, scratch
from predyn.kernels.forces import ExternalForce
from predyn.kernels.lanes import jit, load, store
from predyn.model import Model

Partials = tuple[NDArray, NDArray, NDArray, NDArray]


def _scratch_fields(view: Actuated) -> tuple[Field, ...]:
    """Scratch fields of hybrid_partials, besides tau and f_q, f_v, f_u."""
    pairs, coupled = int(view.tree.pair[-1]), int(view.pair[-1])
    sizes = (2 * pairs, 2 * pairs, pairs, coupled, len(view.source), PANEL * len(view.parent))
    return tuple(scratch(size) for size in sizes)


def _packed_fields(view: Actuated) -> tuple[Field, ...]:
    n = len(view.parent)
    return (scratch(n), dense(n, n), dense(n, n), dense(n, n), *_scratch_fields(view))


@jit
def hybrid_partials_split(view, loads, c, ins, outs, work):
    hybrid_partials(view, loads, c, ins, outs[8:], work)
    split_partials(view, c, outs[9:12], outs[:8])


@jit
def split_partials(view, c, found, outs):
    """f_q, f_v, f_u as partials of a and of tau in q, v, a and tau."""
    a_q, a_v, a_a, a_tau, tau_q, tau_v, tau_a, tau_tau = outs
    f_q, f_v, f_u = found
    n = view.parent.shape[0]
    for i in range(n):
        if view.active[i] == 1:
            _split_row(view, c, i, f_q, f_v, f_u, (tau_q, tau_v, tau_a, tau_tau))
            _constant_row(c, i, n, (a_q, a_v, a_tau, a_a))
        else:
            _split_row(view, c, i, f_q, f_v, f_u, (a_q, a_v, a_a, a_tau))
            _constant_row(c, i, n, (tau_q, tau_v, tau_a, tau_tau))


@jit
def _split_row(view, c, i, f_q, f_v, f_u, outs):
    in_q, in_v, in_a, in_tau = outs
    n = view.parent.shape[0]
    for k in range(n):
        at = i * n + k
        store(in_q, c, at, load(f_q, c, at))
        store(in_v, c, at, load(f_v, c, at))
        if view.active[k] == 1:
            store(in_a, c, at, load(f_u, c, at))
            store(in_tau, c, at, 0.0)
        else:
            store(in_a, c, at, 0.0)
            store(in_tau, c, at, load(f_u, c, at))


@jit
def _constant_row(c, i, n, outs):
    """A given quantity depends only on itself: the last of the matrices."""
    for k in range(n):
        at = i * n + k
        store(outs[0], c, at, 0.0)
        store(outs[1], c, at, 0.0)
        store(outs[2], c, at, 0.0)
        store(outs[3], c, at, 0.0)
    store(outs[3], c, i * n + i, 1.0)


def _matrix_fields(view: Actuated) -> tuple[Field, ...]:
    n = len(view.parent)
    inner = (scratch(n), scratch(n * n), scratch(n * n), scratch(n * n), *_scratch_fields(view))
    return (*(dense(n, n) for _ in range(8)), *inner)


HYBRID_PARTIALS = Kernel(
    hybrid_partials,
    work=lambda view: (len(view.parent) + 1, SUMS_END),
    outputs=_packed_fields,
    forces=True,
    pack=pack_on_tree,
)
HYBRID_PARTIALS_APART = Kernel(
    hybrid_partials_split,
    work=lambda view: (len(view.parent) + 1, SUMS_END),
    outputs=_matrix_fields,
    forces=True,
    pack=pack_on_tree,
)


def hybrid_dynamics_derivatives(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike | None,
    tau: ArrayLike | None,
    active: ArrayLike,
    *,
    forces: Sequence[ExternalForce] = (),
    out: tuple | None = None,
) -> tuple[NDArray, NDArray, Partials, Partials]:
    """hybrid_dynamics and its exact partials: a, tau, da, dtau.

    da and dtau hold the partials in q, v, a and tau, each (..., n, n); [i, k] is the partial in
    component k. Partials in a at passive joints and in tau at active joints are zero, because no
    result depends on them, and a given quantity depends only on itself. If all joints are active or
    all passive, some matrices are the same for every sample: these are read-only views of one. For
    large batches, reuse the arrays with out=(a, tau, da, dtau).
    """
    mask = read_mask(model, active)
    n = model.n
    given = flatten_out(out)
    a, tau = hybrid_dynamics(
        model, q, v, a, tau, mask, forces=forces, out=None if given is None else given[:2]
    )
    if model.couplings:
        parts = coupled.hybrid_partials(model, q, v, a, mask, forces)
        if given is not None:
            for mine, x in zip(given[2:], (*parts[0], *parts[1]), strict=True):
                _fill(mine, x)
            return a, tau, given[2:6], given[6:]
        return a, tau, tuple(parts[0]), tuple(parts[1])  # type: ignore[return-value]
    constant = _constant(mask, a.shape[:-1])
    if given is not None:
        constant = {k: _fill(given[2 + k], x) for k, x in constant.items()}
        given = tuple(x for k, x in enumerate(given[2:]) if k not in constant)
    kernel = HYBRID_PARTIALS if constant else HYBRID_PARTIALS_APART
    inputs = (("q", q, (n,)), ("v", v, (n,)), ("a", a, (n,)))
    found = iter(kernel(model, inputs, forces, given, view=view_with_mask(model, mask)))
    every = [constant[k] if k in constant else next(found) for k in range(8)]
    return a, tau, tuple(every[:4]), tuple(every[4:])  # type: ignore[return-value]


def _constant(mask: Mask, lead: tuple[int, ...]) -> dict[int, NDArray]:
    """Those of the eight matrices that are the same for all samples; f_q, f_v, f_u are the rest."""
    if mask.any() and not mask.all():
        return {}
    n = len(mask)
    zero, one = (np.broadcast_to(x, (*lead, n, n)) for x in (np.zeros((n, n)), np.eye(n)))
    if mask.all():
        return {0: zero, 1: zero, 2: one, 3: zero, 7: zero}
    return {2: zero, 4: zero, 5: zero, 6: zero, 7: one}


def _fill(given: NDArray, value: NDArray) -> NDArray:
    """Fill an array of out= with a matrix that is the same for all samples; keep views of one."""
    if not isinstance(given, np.ndarray) or given.shape != value.shape:
        shape = getattr(given, "shape", type(given).__name__)
        raise InputError(f"out: expected arrays of shape {value.shape}, got {shape}")
    if not given.flags.writeable:
        return value
    given[...] = value
    return given


def flatten_out(out: tuple | None) -> tuple | None:
    """The ten arrays of out=(a, tau, da, dtau)."""
    if out is None:
        return None
    shape = []
    if isinstance(out, (tuple, list)):
        shape = [len(x) if isinstance(x, (tuple, list)) else 0 for x in out]
    if shape != [0, 0, 4, 4]:
        raise InputError("out: expected (a, tau, da, dtau) as returned, da and dtau of four arrays")
    return (out[0], out[1], *out[2], *out[3])
