"""4x4 matrices of the Denavit-Hartenberg formulation on tuples, for any number type.

A matrix that acts on points is the tuple of its four columns without their last entry. That entry
is zero, but for the (4, 4) entry of a pose, which is one; where it matters it is the argument
`last`: 1 for a pose, 0 for a derivative of one. A matrix that gathers forces (the paper's D) has a
zero last column instead of a zero last row, and is the tuple of its four rows of three.
"""

from __future__ import annotations

from predyn.lanes import jit
from predyn.spatial import add, apply, dot, load3, scale, store3


@jit
def load4(work, row, col):
    return (
        load3(work, row, col),
        load3(work, row, col + 3),
        load3(work, row, col + 6),
        load3(work, row, col + 9),
    )


@jit
def store4(work, row, col, M):
    for k in range(4):
        store3(work, row, col + 3 * k, M[k])


@jit
def add4(M, N):
    return (add(M[0], N[0]), add(M[1], N[1]), add(M[2], N[2]), add(M[3], N[3]))


@jit
def scale4(s, M):
    return (scale(s, M[0]), scale(s, M[1]), scale(s, M[2]), scale(s, M[3]))


@jit
def product(M, N, last):
    """M N, where the (4, 4) entry of N is `last`: 1 for T and A, 0 for their derivatives."""
    R = (M[0], M[1], M[2])
    return (
        apply(R, N[0]),
        apply(R, N[1]),
        apply(R, N[2]),
        add(apply(R, N[3]), scale(last, M[3])),
    )


@jit
def inward(N, D, last):
    """N D for D given by rows: what a link hands to the one before it."""
    X, Y, Z, p = N
    rows = (
        add(add(scale(X[0], D[0]), scale(Y[0], D[1])), add(scale(Z[0], D[2]), scale(p[0], D[3]))),
        add(add(scale(X[1], D[0]), scale(Y[1], D[1])), add(scale(Z[1], D[2]), scale(p[1], D[3]))),
        add(add(scale(X[2], D[0]), scale(Y[2], D[1])), add(scale(Z[2], D[2]), scale(p[2], D[3]))),
    )
    return (rows[0], rows[1], rows[2], scale(last, D[3]))


@jit
def trace(M, D):
    """tr[M D] of M by columns and D by rows."""
    return dot(M[0], D[0]) + dot(M[1], D[1]) + dot(M[2], D[2]) + dot(M[3], D[3])


@jit
def rotate(M, x):
    """First three entries of M (x, 0)."""
    return apply((M[0], M[1], M[2]), x)


@jit
def times_vector(M, x, last):
    """First three entries of M (x, last)."""
    return add(rotate(M, x), scale(last, M[3]))


@jit
def inertia_times(I, i, C):  # noqa: E741
    """I[i] C^T by rows, of a constant symmetric I[i]."""
    return (_inertia_row(I, i, 0, C), _inertia_row(I, i, 1, C),
            _inertia_row(I, i, 2, C), _inertia_row(I, i, 3, C))  # fmt: skip


@jit
def _inertia_row(I, i, r, C):  # noqa: E741
    return add(
        add(scale(I[i, r, 0], C[0]), scale(I[i, r, 1], C[1])),
        add(scale(I[i, r, 2], C[2]), scale(I[i, r, 3], C[3])),
    )


@jit
def point_times(r, f):
    """(r, 1) f^T, by rows."""
    return (scale(r[0], f), scale(r[1], f), scale(r[2], f), f)
