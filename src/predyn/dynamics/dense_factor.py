"""Solution of small dense linear systems inside kernels: LU with partial pivoting, in place."""

from __future__ import annotations

from predyn.kernels.lanes import jit


@jit
def solve_in_place(A, x, size):
    """Replace x[:size] by A^-1 x, with the leading block of A, which is overwritten.

    Returns whether the matrix is regular; if not, x has no meaning.
    """
    for k in range(size):
        best, pivot = k, abs(A[k, k])
        for i in range(k + 1, size):
            if abs(A[i, k]) > pivot:
                best, pivot = i, abs(A[i, k])
        if not 0.0 < pivot < 1e300:  # also if it is NaN
            return False
        if best != k:
            for j in range(k, size):
                A[k, j], A[best, j] = A[best, j], A[k, j]
            x[k], x[best] = x[best], x[k]
        inverse = 1.0 / A[k, k]
        for i in range(k + 1, size):
            if A[i, k] != 0.0:
                ratio = A[i, k] * inverse
                for j in range(k + 1, size):
                    A[i, j] -= ratio * A[k, j]
                x[i] -= ratio * x[k]
    for k in range(size - 1, -1, -1):
        total = x[k]
        for j in range(k + 1, size):
            total -= A[k, j] * x[j]
        x[k] = total / A[k, k]
    return True
