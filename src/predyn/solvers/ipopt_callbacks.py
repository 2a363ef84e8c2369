"""What IPOPT calls while it solves: evaluations, and what happens after each iteration.

IPOPT sees the scaled program; programs and reports are in their own units.
"""

from __future__ import annotations

import math
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ctypes import CDLL, c_double, memmove
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from predyn.nlp import NLP, Floats, Multipliers, SolverOptions
from predyn.solvers.ipopt_input import Program
from predyn.solvers.ipopt_library import (
    ConstraintsCallback,
    GradientCallback,
    HessianCallback,
    IterationCallback,
    JacobianCallback,
    ObjectiveCallback,
)

ACCEPTABLE = 100.0  # times the tolerance
_KEPT_ARRAYS = 64
_BLAS_THREADS = 10_000  # numbers; from here on a product of vectors may start threads
MAX_RELAXATION = 1e-8  # of unequal bounds, in proportion to them; an interior always exists then


class Iterate(NamedTuple):
    """Where the solver is. The worst row is the one farthest outside in proportion to its scale."""

    iteration: int
    objective: float
    violation: float  # of the worst row, in its unit; 0 if none is violated
    worst: str  # its name, or ''
    step: float  # largest change of a scaled variable or slack
    dual_infeasibility: float
    mu: float
    elapsed: float
    restoration: bool  # the solver looks for feasibility only
    x: Floats
    multipliers: Multipliers


Report = Callable[[Iterate], bool | None]

# What is recorded of every iteration.
HISTORY_FIELDS = (
    *("iteration", "objective", "violation", "step"),
    *("dual_infeasibility", "mu", "elapsed", "restoration"),
)


class _Memory(dict[tuple[int, int], Floats]):
    """IPOPT's arrays by address and size; it hands over the same places again and again."""

    def __missing__(self, key: tuple[int, int]) -> Floats:
        if len(self) >= _KEPT_ARRAYS:
            self.clear()
        address, size = key
        memory: Any = (c_double * size).from_address(address) if size else bytearray()
        array = self[key] = np.frombuffer(memory)
        return array


class Callbacks:
    """The state of one solve, shared by the functions that IPOPT calls.

    `stop` ends it: an exception to be raised, or the status. No function called from C may raise.
    """

    def __init__(
        self,
        nlp: NLP,
        program: Program,
        options: SolverOptions,
        report: Report | None,
        library: CDLL,
    ) -> None:
        self.stop: BaseException | str | None = None
        self.failure = ""  # what was not finite
        self.history: list[tuple[int, float, float, float, float, float, float, bool]] = []
        self.seconds = 0.0
        self.best: tuple[Floats, Multipliers] | None = None
        self.problem: int | None = None

        self._nlp, self._program, self._report = nlp, program, report
        self._current_iterate = library.GetIpoptCurrentIterate
        self._begin = perf_counter()
        self._deadline = self._begin + (options.max_seconds or math.inf)
        bounds = np.array([program.g_lower, program.g_upper])
        largest = np.abs(np.where(np.isfinite(bounds), bounds, 0.0)).max(axis=0)
        self._feasible = ACCEPTABLE * options.tolerance + MAX_RELAXATION * largest
        self._best_rank = (2, 0.0)

        n, m = len(program.x), len(program.g_lower)
        self._f = 0.0
        self._memory = _Memory()
        self._now_x, self._now_lower, self._now_upper = np.empty(n), np.empty(n), np.empty(n)
        self._now_g, self._now_y = np.empty(m), np.empty(m)
        self._below, self._above = np.empty(m), np.empty(m)
        x_scale, f_scale = program.x_scale, program.f_scale
        self._x, self._multipliers = np.empty(n), np.empty(m)
        self._gradient_factor, self._g_factor = x_scale / f_scale, 1.0 / program.g_scale
        by_row = self._g_factor[program.jacobian_rows]
        self._jacobian_factor = x_scale[program.jacobian_columns] * by_row
        self._hessian_factor = x_scale[program.hessian_rows] * x_scale[program.hessian_columns]
        self._now_at = (
            *(n, self._now_x.ctypes.data, self._now_lower.ctypes.data),
            *(self._now_upper.ctypes.data, m, self._now_g.ctypes.data, self._now_y.ctypes.data),
        )

        self.objective = ObjectiveCallback(self._guarded(self._eval_objective))
        self.gradient = GradientCallback(self._guarded(self._eval_gradient))
        self.constraints = ConstraintsCallback(self._guarded(self._eval_constraints))
        self.jacobian = JacobianCallback(self._guarded(self._eval_jacobian))
        self.hessian = HessianCallback(self._guarded(self._eval_hessian))
        self.iteration = IterationCallback(self._after_iteration)

    def release(self) -> None:
        """Forget IPOPT's memory and the functions for C, which refer back to this object.

        Such a circle would stay in memory, with the program, until a garbage collection.
        """
        self._memory.clear()
        del self.objective, self.gradient, self.constraints
        del self.jacobian, self.hessian, self.iteration

    def _guarded(self, evaluate: Callable[..., bool]) -> Callable[..., bool]:
        def callback(*arguments: Any) -> bool:
            if self.stop is not None:
                return False
            begin = end = perf_counter()
            try:
                return evaluate(*arguments)
            except BaseException as error:
                self._caught(error)
                return False
            finally:
                end = perf_counter()
                self.seconds += end - begin
                if end > self._deadline:
                    self.stop = self.stop or "time_limit"

        return callback

    def _caught(self, error: BaseException) -> None:
        if not isinstance(error, KeyboardInterrupt):
            self.stop = error
        elif self.stop is None:
            self.stop = "interrupted"

    def _move(self, x: int, n: int) -> None:
        np.multiply(self._memory[x, n], self._program.x_scale, out=self._x)
        self._nlp.move(self._x)

    def _eval_objective(self, n: int, x: int, new_x: bool, out: int, _: int) -> bool:
        if new_x:
            self._move(x, n)
        value = self._nlp.objective()
        self._f = self._memory[out, 1][0] = value / self._program.f_scale
        if math.isfinite(value):
            return True
        if not self.history:
            self._fail(f"the objective is {value} at the initial point")
        return False

    def _eval_gradient(self, n: int, x: int, new_x: bool, out: int, _: int) -> bool:
        if new_x:
            self._move(x, n)
        gradient = self._memory[out, n]
        self._nlp.gradient(gradient)
        if _finite(gradient):
            gradient *= self._gradient_factor
            return True
        k = _first_not_finite(gradient)
        self._fail(f"the gradient of the objective is {gradient[k]} for {self._nlp.x_name(k)}")
        return False

    def _eval_constraints(self, n: int, x: int, new_x: bool, m: int, out: int, _: int) -> bool:
        if new_x:
            self._move(x, n)
        g = self._memory[out, m]
        self._nlp.constraints(g)  # IPOPT shortens the step if they are not finite
        if self.history or _finite(g):
            g *= self._g_factor
            return True
        k = _first_not_finite(g)
        self._fail(f"constraint {self._nlp.g_name(k)} is {g[k]} at the initial point")
        return False

    def _eval_jacobian(
        self,
        n: int,
        x: int,
        new_x: bool,
        m: int,
        size: int,
        rows: int,
        columns: int,
        out: int | None,
        _: int,
    ) -> bool:
        if out is None:
            memmove(rows, self._program.jacobian_rows.ctypes.data, 4 * size)
            memmove(columns, self._program.jacobian_columns.ctypes.data, 4 * size)
            return True
        if new_x:
            self._move(x, n)
        jacobian = self._memory[out, size]
        self._nlp.jacobian(jacobian)
        if _finite(jacobian):
            jacobian *= self._jacobian_factor
            return True
        k = _first_not_finite(jacobian)
        row = self._nlp.g_name(int(self._program.jacobian_rows[k]))
        column = self._nlp.x_name(int(self._program.jacobian_columns[k]))
        self._fail(f"the derivative of {row} with respect to {column} is {jacobian[k]}")
        return False

    def _eval_hessian(
        self,
        n: int,
        x: int,
        new_x: bool,
        sigma: float,
        m: int,
        multipliers: int,
        new_multipliers: bool,
        size: int,
        rows: int,
        columns: int,
        out: int | None,
        _: int,
    ) -> bool:
        if out is None:
            memmove(rows, self._program.hessian_rows.ctypes.data, 4 * size)
            memmove(columns, self._program.hessian_columns.ctypes.data, 4 * size)
            return True
        if new_x:
            self._move(x, n)
        hessian = self._memory[out, size]
        np.multiply(self._memory[multipliers, m], self._g_factor, out=self._multipliers)
        self._nlp.hessian(sigma / self._program.f_scale, self._multipliers, hessian)
        if _finite(hessian):
            hessian *= self._hessian_factor
            return True
        k = _first_not_finite(hessian)
        row = self._nlp.x_name(int(self._program.hessian_rows[k]))
        column = self._nlp.x_name(int(self._program.hessian_columns[k]))
        self._fail(f"the second derivative of the Lagrangian in {row} and {column} is {hessian[k]}")
        return False

    def _fail(self, what: str) -> None:
        self.failure, self.stop = what, "evaluation_error"

    def _after_iteration(
        self,
        mode: int,
        iteration: int,
        f: float,
        primal: float,
        dual: float,
        mu: float,
        step: float,
        regularization: float,
        dual_length: float,
        primal_length: float,
        *_: int,
    ) -> bool:
        if self.stop is not None:
            return False
        try:
            self._current_iterate(self.problem, False, *self._now_at)
            if mode:  # IPOPT gives the objective of its restoration problem
                f = self._f
            f *= self._program.f_scale
            worst, violation, scaled = self._worst_row()
            elapsed = perf_counter() - self._begin
            length, restoration = step * primal_length, mode != 0
            self._keep_best(f, worst, scaled)
            self.history.append((iteration, f, violation, length, dual, mu, elapsed, restoration))
            if self._report is not None:
                name = self._nlp.g_name(worst) if violation > 0.0 else ""
                numbers = length, dual, mu, elapsed
                x, multipliers = self._copied()
                shown = Iterate(
                    *(iteration, f, violation, name), *numbers, restoration, x, multipliers
                )
                if self._report(shown) is False:
                    self.stop = self.stop or "interrupted"
            if elapsed > self._deadline - self._begin:
                self.stop = self.stop or "time_limit"
        except BaseException as error:
            self._caught(error)
        return self.stop is None

    def _worst_row(self) -> tuple[int, float, float]:
        """The row, its violation, and the violation in units of its scale."""
        g, program, excess = self._now_g, self._program, self._below
        if not len(g):
            return 0, 0.0, 0.0
        np.subtract(program.g_lower, g, out=excess)
        np.subtract(g, program.g_upper, out=self._above)
        np.maximum(excess, self._above, out=excess)
        worst = int(excess.argmax())
        scaled = max(float(excess[worst]), 0.0)
        return worst, scaled * float(self._program.g_scale[worst]), scaled

    def _keep_best(self, f: float, worst: int, violation: float) -> None:
        """Feasible before infeasible; then the lowest objective or the lowest violation."""
        feasible = violation == 0.0 or violation <= self._feasible[worst]
        rank = (0, f) if feasible else (1, violation)
        if rank < self._best_rank:
            self._best_rank, self.best = rank, self._copied()

    def _copied(self) -> tuple[Floats, Multipliers]:
        scaled = Multipliers(self._now_y, self._now_lower, self._now_upper)
        return unscaled(self._program, self._now_x, scaled)

    @contextmanager
    def catching_interrupts(self) -> Iterator[None]:
        """Ctrl-C stops this solve; a second one raises. Only the main thread gets signals."""
        before = signal.getsignal(signal.SIGINT)
        in_main = threading.current_thread() is threading.main_thread()
        if not in_main or before is None or before is signal.SIG_IGN:
            yield
            return
        signal.signal(signal.SIGINT, self._interrupted)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    def _interrupted(self, *_: object) -> None:
        if self.stop == "interrupted":
            self.stop = KeyboardInterrupt()
            raise self.stop
        if not isinstance(self.stop, BaseException):
            self.stop = "interrupted"


def unscaled(program: Program, x: Floats, multipliers: Multipliers) -> tuple[Floats, Multipliers]:
    """A point and its multipliers in the program's own units, as new arrays."""
    y, lower, upper = multipliers
    by_x = program.f_scale / program.x_scale
    own = Multipliers(y * (program.f_scale / program.g_scale), lower * by_x, upper * by_x)
    return x * program.x_scale, own


def _finite(values: Floats) -> bool:
    """A sum is the cheapest look at all numbers; if it overflows they are looked at one by one."""
    total = values.dot(values) if len(values) < _BLAS_THREADS else np.add.reduce(values)
    return math.isfinite(total) or bool(np.isfinite(values).all())


def _first_not_finite(values: Floats) -> int:
    return int(np.flatnonzero(~np.isfinite(values))[0])
