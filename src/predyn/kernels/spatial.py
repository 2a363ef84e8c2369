"""Spatial algebra on tuples, for any number type (float64, complex128, SIMD lanes).

A 3-vector is a tuple (x, y, z). A spatial motion or force is a pair (angular, linear) of 3-vectors,
both about one origin, here always the world's. A 3x3 matrix is the tuple of its columns, so
a rotation R_WB is the tuple of B's axes in world components. A symmetric 3x3 matrix is
(xx, xy, yy, xz, yz, zz). A spatial inertia is (m, h, I): mass, first moment, second moment about
the origin. Symbols are those of docs/notation.md; `x` is the cross product of Featherstone (2008):
motion v x m, force v x* f.
"""

from __future__ import annotations

from predyn.kernels.lanes import jit, load, store

# -- 3-vectors and 3x3 matrices -----------------------------------------------------------------


@jit
def add(a, b):
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])


@jit
def sub(a, b):
    return (a[0] - b[0], a[1] - b[1], a[2] - b[2])


@jit
def neg(a):
    return (-a[0], -a[1], -a[2])


@jit
def scale(s, a):
    return (s * a[0], s * a[1], s * a[2])


@jit
def dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@jit
def cross(a, b):
    return (
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    )


@jit
def unit(k):
    """Axis k of the world."""
    return (1.0 if k == 0 else 0.0, 1.0 if k == 1 else 0.0, 1.0 if k == 2 else 0.0)


@jit
def apply(M, x):
    """M x, with M given by its columns."""
    c0, c1, c2 = M
    return (
        c0[0] * x[0] + c1[0] * x[1] + c2[0] * x[2],
        c0[1] * x[0] + c1[1] * x[1] + c2[1] * x[2],
        c0[2] * x[0] + c1[2] * x[1] + c2[2] * x[2],
    )


@jit
def apply_transposed(M, x):
    """M^T x, with M given by its columns."""
    return (dot(M[0], x), dot(M[1], x), dot(M[2], x))


@jit
def apply_symmetric(I, x):  # noqa: E741  (the field's letter for an inertia)
    return (
        I[0] * x[0] + I[1] * x[1] + I[3] * x[2],
        I[1] * x[0] + I[2] * x[1] + I[4] * x[2],
        I[3] * x[0] + I[4] * x[1] + I[5] * x[2],
    )


# -- spatial motions and forces -----------------------------------------------------------------


@jit
def add6(a, b):
    return (add(a[0], b[0]), add(a[1], b[1]))


@jit
def sub6(a, b):
    return (sub(a[0], b[0]), sub(a[1], b[1]))


@jit
def scale6(s, a):
    return (scale(s, a[0]), scale(s, a[1]))


@jit
def dot6(m, f):
    """Power of force f on motion m."""
    return dot(m[0], f[0]) + dot(m[1], f[1])


@jit
def cross_motion(v, m):
    """v x m."""
    return (cross(v[0], m[0]), add(cross(v[0], m[1]), cross(v[1], m[0])))


@jit
def cross_force(v, f):
    """v x* f."""
    return (add(cross(v[0], f[0]), cross(v[1], f[1])), cross(v[0], f[1]))


@jit
def at_point(m, p):
    """Linear part of a motion at point p."""
    return add(m[1], cross(m[0], p))


@jit
def wrench_at(p, moment, force):
    """The spatial force of a moment and of a force that acts at point p."""
    return (add(moment, cross(p, force)), force)


# -- spatial inertia ----------------------------------------------------------------------------


@jit
def world_inertia(R, m, c, Ic):
    """(h, I) about the world origin of a body at centre c whose own-axes inertia about c is Ic."""
    X, Y, Z = R
    a = apply(R, (Ic[0], Ic[1], Ic[3]))
    b = apply(R, (Ic[1], Ic[2], Ic[4]))
    d = apply(R, (Ic[3], Ic[4], Ic[5]))
    h = scale(m, c)
    hc = (h[0] * c[0], h[1] * c[1], h[2] * c[2])
    return h, (
        a[0] * X[0] + b[0] * Y[0] + d[0] * Z[0] + hc[1] + hc[2],
        a[0] * X[1] + b[0] * Y[1] + d[0] * Z[1] - h[0] * c[1],
        a[1] * X[1] + b[1] * Y[1] + d[1] * Z[1] + hc[0] + hc[2],
        a[0] * X[2] + b[0] * Y[2] + d[0] * Z[2] - h[0] * c[2],
        a[1] * X[2] + b[1] * Y[2] + d[1] * Z[2] - h[1] * c[2],
        a[2] * X[2] + b[2] * Y[2] + d[2] * Z[2] + hc[0] + hc[1],
    )


@jit
def apply_inertia(m, h, I, v):  # noqa: E741
    """Spatial inertia times motion: momentum from velocity, force from acceleration."""
    return (
        add(apply_symmetric(I, v[0]), cross(h, v[1])),
        sub(scale(m, v[1]), cross(h, v[0])),
    )


@jit
def inertia_rate(h, I, v):  # noqa: E741
    """(rate of h without m u, u the linear part of v; rate of I) of an inertia that moves with v:
    v x* I - I v x."""
    w, u = v
    c0 = cross(w, (I[0], I[1], I[3]))
    c1 = cross(w, (I[1], I[2], I[4]))
    c2 = cross(w, (I[3], I[4], I[5]))
    hu = 2.0 * dot(h, u)
    return cross(w, h), (
        2.0 * (c0[0] - h[0] * u[0]) + hu,
        c1[0] + c0[1] - h[0] * u[1] - h[1] * u[0],
        2.0 * (c1[1] - h[1] * u[1]) + hu,
        c2[0] + c0[2] - h[0] * u[2] - h[2] * u[0],
        c2[1] + c1[2] - h[1] * u[2] - h[2] * u[1],
        2.0 * (c2[2] - h[2] * u[2]) + hu,
    )


# -- memory -------------------------------------------------------------------------------------


@jit
def load3(A, i, k):
    return (load(A, i, k), load(A, i, k + 1), load(A, i, k + 2))


@jit
def load6(A, i, k):
    return (load3(A, i, k), load3(A, i, k + 3))


@jit
def load33(A, i, k):
    return (load3(A, i, k), load3(A, i, k + 3), load3(A, i, k + 6))


@jit
def load_symmetric(A, i, k):
    return (
        load(A, i, k),
        load(A, i, k + 1),
        load(A, i, k + 2),
        load(A, i, k + 3),
        load(A, i, k + 4),
        load(A, i, k + 5),
    )


@jit
def store3(A, i, k, x):
    store(A, i, k, x[0])
    store(A, i, k + 1, x[1])
    store(A, i, k + 2, x[2])


@jit
def store6(A, i, k, x):
    store3(A, i, k, x[0])
    store3(A, i, k + 3, x[1])


@jit
def store33(A, i, k, M):
    store3(A, i, k, M[0])
    store3(A, i, k + 3, M[1])
    store3(A, i, k + 6, M[2])


@jit
def store_symmetric(A, i, k, x):
    store3(A, i, k, (x[0], x[1], x[2]))
    store3(A, i, k + 3, (x[3], x[4], x[5]))
