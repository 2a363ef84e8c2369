"""Small nonlinear programs for the tests of solvers, each with a known answer."""

from __future__ import annotations

import numpy as np

from predyn.nlp import NLP


class Program(NLP):
    """Dense functions of x, given as NumPy expressions; scales are 1 unless set."""

    def __init__(self, x_lower, x_upper, g_lower, g_upper):
        self.x_lower, self.x_upper = np.array(x_lower, float), np.array(x_upper, float)
        self.g_lower, self.g_upper = np.array(g_lower, float), np.array(g_upper, float)
        n, m = len(self.x_lower), len(self.g_lower)
        self.x_scale, self.g_scale, self.f_scale = np.ones(n), np.ones(m), 1.0
        rows, columns = np.indices((m, n), dtype=np.int32)
        self.jacobian_pattern = rows.ravel(), columns.ravel()
        rows, columns = np.tril_indices(n)
        self.hessian_pattern = rows.astype(np.int32), columns.astype(np.int32)
        self.moves = 0

    def move(self, x):
        self.x = x.copy()
        self.moves += 1

    def objective(self):
        return float(self.f(self.x))

    def gradient(self, out):
        out[:] = self.df(self.x)

    def constraints(self, out):
        out[:] = self.c(self.x)

    def jacobian(self, out):
        out[:] = np.asarray(self.dc(self.x), float).ravel()

    def hessian(self, sigma, multipliers, out):
        out[:] = self.lagrangian_hessian(self.x, sigma, multipliers)[self.hessian_pattern]

    def x_name(self, i):
        return f"x[{i}]"

    def g_name(self, i):
        return f"row[{i}]"

    # Without constraints unless a program says otherwise.
    def c(self, x):
        return np.empty(0)

    def dc(self, x):
        return np.empty((0, len(x)))


class HS071(Program):
    """Hock and Schittkowski 71: f = 17.0140173 at (1, 4.7429994, 3.8211503, 1.3794082)."""

    start = (1.0, 5.0, 5.0, 1.0)
    optimum = 17.0140172891563
    best = (1.0, 4.7429996436, 3.8211499789, 1.3794082932)

    def __init__(self):
        super().__init__([1.0] * 4, [5.0] * 4, [25.0, 40.0], [np.inf, 40.0])

    def f(self, x):
        return x[0] * x[3] * (x[0] + x[1] + x[2]) + x[2]

    def df(self, x):
        s = x[0] + x[1] + x[2]
        return [x[3] * (s + x[0]), x[0] * x[3], x[0] * x[3] + 1.0, x[0] * s]

    def c(self, x):
        return [x[0] * x[1] * x[2] * x[3], x @ x]

    def dc(self, x):
        product = [np.prod(np.delete(x, i)) for i in range(4)]
        return [product, 2.0 * x]

    def lagrangian_hessian(self, x, sigma, y):
        h = np.zeros((4, 4))
        h[0] = [2 * x[3], x[3], x[3], 2 * x[0] + x[1] + x[2]]
        h[1, 3] = h[2, 3] = x[0]
        h = sigma * (np.triu(h) + np.triu(h, 1).T)
        for i in range(4):
            for k in range(4):
                if i != k:
                    h[i, k] += y[0] * np.prod(np.delete(x, [i, k]))
        return h + 2.0 * y[1] * np.eye(4)


class Rosenbrock(Program):
    """Free, f = 0 at (1, 1)."""

    start = (-1.2, 1.0)

    def __init__(self, lower=(-np.inf, -np.inf)):
        super().__init__(lower, [np.inf] * 2, [], [])

    def f(self, x):
        return 100.0 * (x[1] - x[0] ** 2) ** 2 + (1.0 - x[0]) ** 2

    def df(self, x):
        r = x[1] - x[0] ** 2
        return [-400.0 * x[0] * r - 2.0 * (1.0 - x[0]), 200.0 * r]

    def lagrangian_hessian(self, x, sigma, y):
        h = [[1200.0 * x[0] ** 2 - 400.0 * x[1] + 2.0, -400.0 * x[0]], [-400.0 * x[0], 200.0]]
        return sigma * np.array(h)


class Linear(Program):
    """Minimise slope . x subject to lower <= A x <= upper."""

    def __init__(self, slope, a, lower, upper, x_lower=None, x_upper=None):
        n = len(slope)
        x_lower = [-np.inf] * n if x_lower is None else x_lower
        x_upper = [np.inf] * n if x_upper is None else x_upper
        super().__init__(x_lower, x_upper, lower, upper)
        self.slope, self.a = np.array(slope, float), np.array(a, float).reshape(len(lower), n)

    def f(self, x):
        return self.slope @ x

    def df(self, x):
        return self.slope

    def c(self, x):
        return self.a @ x

    def dc(self, x):
        return self.a

    def lagrangian_hessian(self, x, sigma, y):
        return np.zeros((len(x), len(x)))
