"""From the coordinates of a coupled model to the joints of its tree.

Joint k follows coordinate s: q_k = f(q), v_k = f' v, a_k = f' a + f'' v^2. Its partials are

    A = dq_k/dq = dv_k/dv = da_k/da = f'      B = dv_k/dq = f'' v (da_k/dv = 2 B)
    C = da_k/dq = f'' a + f''' v^2

and its second partials f'' (q q of q_k, q v of v_k, q a of a_k, and half of v v of a_k),
D = f''' v (q q of v_k, and half of q v of a_k) and E = f''' a + f'''' v^2 (q q of a_k). An
independent joint follows its own coordinate with f(q) = q.
"""

from __future__ import annotations

from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike, NDArray

from predyn.kernels.kernel_cache import keeper
from predyn.kernels.lanes import jit
from predyn.model import Model
from predyn.model.couplings import ORDERS, PiecewisePolynomial, sources

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
A, B, C, F2, D, E, F3 = range(7)  # rows of the slopes; F2 = f'', F3 = f'''
kept = keeper(__file__)


class Functions(NamedTuple):
    """The functions of all joints, as the kernel reads them."""

    source: Ints  # (links,) coordinate that each joint follows
    first: Ints  # (links + 1,) where the pieces of each joint start
    start: Floats  # (pieces,) where each piece starts; -inf for the first of a joint
    origin: Floats  # (pieces,)
    degree: Ints  # (links,)
    terms: Floats  # (ORDERS, pieces, most terms)


class Expansion(NamedTuple):
    """The functions of a coupled model's joints, and which coordinate drives which joint."""

    functions: Functions
    select: Floats  # (links, n): 1 where a joint follows a coordinate
    bent: NDArray[np.bool_]  # (links,) whether the joint follows by a curve, not a straight line


_expansions: WeakKeyDictionary[Model, Expansion] = WeakKeyDictionary()


def expansion_of(model: Model) -> Expansion:
    """Functions of the joints of a model, built once."""
    found = _expansions.get(model)
    if found is None:
        found = _expansions[model] = _build(model)
    return found


def _build(model: Model) -> Expansion:
    given = {coupling.joint: coupling.function for coupling in model.couplings}
    identity = PiecewisePolynomial.linear(1.0)
    functions = [given.get(name, identity) for name in model.expanded.joint_names]
    pieces = [f.pieces for f in functions]
    counts = [len(x.origin) for x in pieces]
    terms = np.zeros((ORDERS, sum(counts), max(x.terms.shape[2] for x in pieces)))
    first = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
    for x, at, end in zip(pieces, first[:-1], first[1:], strict=True):
        terms[:, at:end, : x.terms.shape[2]] = x.terms
    source = sources(model)
    select = np.zeros((len(source), model.n))
    select[np.arange(len(source)), source] = 1.0
    table = Functions(
        source,
        first,
        np.concatenate([np.concatenate(([-np.inf], x.start)) for x in pieces]),
        np.concatenate([x.origin for x in pieces]),
        np.array([x.terms.shape[2] - 1 for x in pieces], np.int64),
        terms,
    )
    return Expansion(table, select, np.array([f.line is None for f in functions]))


@kept
def expand(functions, q, v, a, full_q, full_v, full_a, slopes):
    """States of the joints, and slopes (7, ...) as named above, from those of the coordinates.

    q, v, a: (chunks, coordinates and more, lanes); full_*: (chunks, links and more, lanes).
    """
    for c in range(q.shape[0]):
        expand_chunk(functions, c, (q, v, a), (full_q, full_v, full_a), slopes)


@jit
def expand_chunk(functions, c, states, full, slopes):
    """The same for one chunk."""
    q, v, a = states
    full_q, full_v, full_a = full
    f = (0.0, 0.0, 0.0, 0.0, 0.0)
    for k in range(functions.source.shape[0]):
        s = functions.source[k]
        for b in range(q.shape[2]):
            x = q[c, s, b]
            piece = functions.first[k]
            while piece + 1 < functions.first[k + 1] and x >= functions.start[piece + 1]:
                piece += 1
            y = x - functions.origin[piece]
            f = (
                _value(functions, k, piece, 0, y),
                _value(functions, k, piece, 1, y),
                _value(functions, k, piece, 2, y),
                _value(functions, k, piece, 3, y),
                _value(functions, k, piece, 4, y),
            )
            rate, speeding = v[c, s, b], a[c, s, b]
            full_q[c, k, b] = f[0]
            full_v[c, k, b] = f[1] * rate
            full_a[c, k, b] = f[1] * speeding + f[2] * rate * rate
            slopes[A, c, k, b] = f[1]
            slopes[B, c, k, b] = f[2] * rate
            slopes[C, c, k, b] = f[2] * speeding + f[3] * rate * rate
            slopes[F2, c, k, b] = f[2]
            slopes[D, c, k, b] = f[3] * rate
            slopes[E, c, k, b] = f[3] * speeding + f[4] * rate * rate
            slopes[F3, c, k, b] = f[3]


@jit
def _value(functions, k, piece, order, y):
    total = 0.0
    for i in range(functions.degree[k] - order, -1, -1):
        total = total * y + functions.terms[order, piece, i]
    return total


class Joints(NamedTuple):
    """States (..., links) of all joints, and their slopes (7, ..., links)."""

    q: Floats
    v: Floats
    a: Floats
    slopes: Floats


def expand_states(model: Model, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> Joints:
    """All joints of a coupled model at coordinates of shape (..., n)."""
    states = np.broadcast_arrays(*(np.asarray(x, np.float64) for x in (q, v, a)))
    lead, links = states[0].shape[:-1], len(model.parent)
    flat = [np.array(x, order="C").reshape(-1, model.n, 1) for x in states]
    full = [np.empty((len(flat[0]), links, 1)) for _ in range(3)]
    slopes = np.empty((7, len(flat[0]), links, 1))
    expand(expansion_of(model).functions, *flat, *full, slopes)
    shape = (*lead, links)
    full_q, full_v, full_a = (x.reshape(shape) for x in full)
    return Joints(full_q, full_v, full_a, slopes.reshape(7, *shape))
