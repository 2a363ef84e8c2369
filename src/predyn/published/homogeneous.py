"""4x4 matrices of the Denavit-Hartenberg formulation in a workspace, for any number type.

Matrices are stored in a workspace row from column `col` on, column by column. A pose or its
derivative takes four columns of three: their last entries are 0, 0, 0 and `last`, which is 1 for a
pose and 0 for a derivative. A matrix that gathers forces (the paper's D) has a zero last column
instead and takes three columns of four.

Products are loops over columns instead of written out: less to compile and no slower.
"""

from __future__ import annotations

from predyn.kernels.lanes import jit, load, store
from predyn.kernels.spatial import add, apply, load3, scale, store3


@jit
def clear(work, row, start, stop):
    for col in range(start, stop):
        store(work, row, col, 0.0)


@jit
def pose(work, row, col):
    """The four columns of a pose or of its derivative."""
    return (
        load3(work, row, col),
        load3(work, row, col + 3),
        load3(work, row, col + 6),
        load3(work, row, col + 9),
    )


@jit
def rotate(M, x):
    """First three entries of M (x, 0)."""
    return apply((M[0], M[1], M[2]), x)


@jit
def times(M, x, last):
    """First three entries of M (x, last)."""
    return add(apply((M[0], M[1], M[2]), x), scale(last, M[3]))


@jit
def trace(work, row, M, D):
    """tr[M D] of a derivative of a pose and a gathering matrix, both in one row."""
    return _row_column(work, row, M, D) + (
        _row_column(work, row, M + 1, D + 4) + _row_column(work, row, M + 2, D + 8)
    )


@jit
def _row_column(work, row, M, D):
    return (
        load(work, row, M) * load(work, row, D)
        + load(work, row, M + 3) * load(work, row, D + 1)
        + load(work, row, M + 6) * load(work, row, D + 2)
        + load(work, row, M + 9) * load(work, row, D + 3)
    )


@jit
def add_inertia(moments, i, factor, work, row, C, D):
    """D += factor I C^T with the constant symmetric I = moments[i]."""
    for r in range(3):
        c0, c1 = load(work, row, C + r), load(work, row, C + r + 3)
        c2, c3 = load(work, row, C + r + 6), load(work, row, C + r + 9)
        for k in range(4):
            x = moments[i, k, 0] * c0 + moments[i, k, 1] * c1
            x = x + (moments[i, k, 2] * c2 + moments[i, k, 3] * c3)
            col = D + 4 * r + k
            store(work, row, col, load(work, row, col) + factor * x)


@jit
def add_outer(r, f, work, row, D):
    """D += (r, 1) f^T."""
    _add_column(r, f[0], work, row, D)
    _add_column(r, f[1], work, row, D + 4)
    _add_column(r, f[2], work, row, D + 8)


@jit
def _add_column(r, x, work, row, col):
    store3(work, row, col, add(load3(work, row, col), scale(x, r)))
    store(work, row, col + 3, load(work, row, col + 3) + x)


@jit
def add_product(work, row, T, up, start, stop):
    """Add T D to row `up`, for all D in columns of four between start and stop."""
    M = pose(work, row, T)
    for col in range(start, stop, 4):
        last = load(work, row, col + 3)
        x = times(M, load3(work, row, col), last)
        store3(work, up, col, add(load3(work, up, col), x))
        store(work, up, col + 3, load(work, up, col + 3) + last)
