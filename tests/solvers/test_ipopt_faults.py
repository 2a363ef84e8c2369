"""Exceptions, numbers that are not finite, interrupts, limits and bad input."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from predyn.errors import InputError
from predyn.nlp import SolverOptions
from predyn.solvers import ipopt_callbacks
from predyn.solvers.ipopt import solve_nlp
from solvers.programs import HS071, Linear, Rosenbrock

OPTIONS = SolverOptions()
METHODS = ("move", "objective", "gradient", "constraints", "jacobian", "hessian")


class Hooked(HS071):
    """Call `hook(self, arguments)` after the `after`-th call of a method."""

    def __init__(self, method, after, hook):
        super().__init__()
        original = getattr(self, method)
        count = 0

        def wrapped(*arguments):
            nonlocal count
            result = original(*arguments)
            count += 1
            return hook(result, *arguments) if count > after else result

        setattr(self, method, wrapped)


class Special(Exception):
    pass


@pytest.mark.parametrize("kind", [Special, SystemExit])
@pytest.mark.parametrize("after", [0, 3])
@pytest.mark.parametrize("method", METHODS)
def test_an_exception_is_raised_as_itself(method, after, kind):
    raised = kind("mine")

    def hook(*_):
        raise raised

    with pytest.raises(kind) as caught:
        solve_nlp(Hooked(method, after, hook), HS071.start, OPTIONS)
    assert caught.value is raised
    assert solve_nlp(HS071(), HS071.start, OPTIONS).status == "optimal"  # nothing is left behind


def test_an_exception_in_the_report_is_raised():
    def report(iterate):
        raise Special

    with pytest.raises(Special):
        solve_nlp(HS071(), HS071.start, OPTIONS, report=report)


def spoil(value, k):
    def hook(_, *arguments):
        arguments[-1][k] = value

    return hook


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("after", [0, 3])
@pytest.mark.parametrize(
    ("method", "k", "named"),
    [
        ("gradient", 2, "gradient of the objective is {} for x[2]"),
        ("jacobian", 6, "derivative of row[1] with respect to x[2] is {}"),
        ("hessian", 4, "in x[2] and x[1] is {}"),
    ],
)
def test_a_derivative_that_is_not_finite_is_named(method, k, named, after, value):
    result = solve_nlp(Hooked(method, after, spoil(value, k)), HS071.start, OPTIONS)
    assert result.status == "evaluation_error"
    assert named.format(value) in result.message
    assert "another guess" in result.message
    assert np.isfinite(result.x).all()


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_the_initial_point_must_be_finite(value):
    result = solve_nlp(Hooked("constraints", 0, spoil(value, 1)), HS071.start, OPTIONS)
    assert result.status == "evaluation_error"
    assert f"constraint row[1] is {value} at the initial point" in result.message
    result = solve_nlp(Hooked("objective", 0, lambda *_: value), HS071.start, OPTIONS)
    assert result.status == "evaluation_error"
    assert f"the objective is {value} at the initial point" in result.message


@pytest.mark.parametrize("setting", [("_KEPT_ARRAYS", 1), ("_BLAS_THREADS", 0)])
def test_the_way_memory_is_accessed_does_not_matter(setting, monkeypatch):
    usual = solve_nlp(HS071(), HS071.start, OPTIONS)
    monkeypatch.setattr(ipopt_callbacks, *setting)
    result = solve_nlp(HS071(), HS071.start, OPTIONS)
    assert np.array_equal(result.x, usual.x)
    assert result.iterations == usual.iterations
    result = solve_nlp(Hooked("jacobian", 3, spoil(np.inf, 6)), HS071.start, OPTIONS)
    assert "derivative of row[1] with respect to x[2] is inf" in result.message


class Logarithm(Linear):
    """Minimise x - log x: not defined for x <= 0, where full Newton steps go."""

    def f(self, x):
        self.undefined += int(x[0] <= 0.0)
        return x[0] - np.log(x[0]) if x[0] > 0.0 else np.nan

    def df(self, x):
        return [1.0 - 1.0 / x[0]]

    def lagrangian_hessian(self, x, sigma, y):
        return sigma * np.array([[1.0 / x[0] ** 2]])

    undefined = 0


def test_a_trial_point_may_be_undefined():
    program = Logarithm([1.0], np.empty((0, 1)), [], [])
    result = solve_nlp(program, [10.0], OPTIONS)
    assert program.undefined > 0
    assert result.status == "optimal"
    assert result.x[0] == pytest.approx(1.0, abs=1e-8)


def test_constraints_that_are_always_undefined():
    result = solve_nlp(Hooked("constraints", 3, spoil(np.nan, 0)), HS071.start, OPTIONS)
    assert result.status in ("evaluation_error", "infeasible", "diverged")
    assert np.isfinite(result.x).all()
    assert result.iterations >= 1


@pytest.mark.parametrize("after", [0, 4])
@pytest.mark.parametrize("method", METHODS)
def test_a_signal_stops_at_the_best_iterate(method, after):
    before = signal.getsignal(signal.SIGINT)
    sent = False

    def hook(result, *_):
        nonlocal sent
        if not sent:
            sent = True
            signal.raise_signal(signal.SIGINT)
        return result

    result = solve_nlp(Hooked(method, after, hook), HS071.start, OPTIONS)
    assert result.status == "interrupted"
    assert "start again" in result.message
    assert signal.getsignal(signal.SIGINT) is before
    if result.history:
        best = min(row[2] for row in result.history)
        assert result.max_violation == pytest.approx(best, rel=1e-9)


def test_best_iterate_is_feasible_with_the_lowest_objective():
    full = solve_nlp(Rosenbrock((-2.0, -2.0)), Rosenbrock.start, OPTIONS)

    def report(iterate):
        return iterate.iteration < 12

    result = solve_nlp(Rosenbrock((-2.0, -2.0)), Rosenbrock.start, OPTIONS, report=report)
    assert result.f == min(row[1] for row in full.history[:13])


def test_a_keyboard_interrupt_from_a_method_counts_as_a_signal():
    raised = False

    def hook(*_):
        nonlocal raised
        if not raised:
            raised = True
            raise KeyboardInterrupt

    result = solve_nlp(Hooked("jacobian", 3, hook), HS071.start, OPTIONS)
    assert result.status == "interrupted"
    assert result.iterations >= 1


def test_a_second_signal_raises():
    before = signal.getsignal(signal.SIGINT)

    def hook(*_):
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        solve_nlp(Hooked("jacobian", 3, hook), HS071.start, OPTIONS)
    assert signal.getsignal(signal.SIGINT) is before


def test_an_ignored_signal_stays_ignored():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:

        def hook(*_):
            signal.raise_signal(signal.SIGINT)

        assert solve_nlp(Hooked("jacobian", 3, hook), HS071.start, OPTIONS).status == "optimal"
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_other_threads_leave_signals_alone():
    statuses = []
    before = signal.getsignal(signal.SIGINT)
    thread = threading.Thread(
        target=lambda: statuses.append(solve_nlp(HS071(), HS071.start, OPTIONS).status)
    )
    thread.start()
    thread.join()
    assert statuses == ["optimal"]
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.skipif(os.name != "posix", reason="sends a POSIX signal to another process")
def test_a_signal_from_outside():
    script = """
        import time
        from solvers.programs import Rosenbrock
        from predyn.nlp import SolverOptions
        from predyn.solvers.ipopt import solve_nlp

        class Slow(Rosenbrock):
            def objective(self):
                time.sleep(0.1)
                return super().objective()

        def report(iterate):
            print("iterates", flush=True)

        result = solve_nlp(Slow(), Slow.start, SolverOptions(), report=report)
        print(result.status, result.iterations)
    """
    tests = str(Path(__file__).parents[1])
    paths = os.pathsep.join([tests, *filter(None, [os.environ.get("PYTHONPATH")])])
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": paths},
    )
    assert process.stdout.readline() == "iterates\n"
    process.send_signal(signal.SIGINT)
    said, errors = process.communicate(timeout=30)
    assert process.returncode == 0, errors
    assert said.split()[-2] == "interrupted"
    assert errors == ""


@pytest.mark.parametrize("method", ["objective", "jacobian"])
def test_time_limit(method):
    def hook(result, *_):
        time.sleep(0.02)
        return result

    options = SolverOptions(max_seconds=0.07)
    result = solve_nlp(Hooked(method, 0, hook), HS071.start, options)
    assert result.status == "time_limit"
    assert "max_seconds" in result.message
    assert 1 <= result.iterations <= 4  # of 8: each takes at least 0.02 s


def changed(**parts):
    program = HS071()
    for name, value in parts.items():
        setattr(program, name, value)
    return program


def entries(*pairs, kind=np.int32):
    rows, columns = zip(*pairs, strict=True)
    return np.array(rows, kind), np.array(columns, kind)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"jacobian_pattern": entries((0, 4))}, "columns: entry 0 is 4; expected 0 to 3"),
        ({"jacobian_pattern": entries((2, 0))}, "rows: entry 0 is 2; expected 0 to 1"),
        ({"jacobian_pattern": entries((-1, 0))}, "entry 0 is -1"),
        ({"jacobian_pattern": entries((0, 1), (0, 1))}, "row 0, column 1 appears more than once"),
        ({"jacobian_pattern": entries((0, 1), kind=float)}, "expected whole numbers"),
        (
            {"jacobian_pattern": (np.array([0, 1], np.int32), np.array([0], np.int32))},
            "got 2 rows but 1 columns",
        ),
        ({"hessian_pattern": entries((1, 0), (1, 3))}, "got entry 1 at row 1, column 3"),
        ({"hessian_pattern": entries((4, 0))}, "hessian_pattern rows: entry 0 is 4"),
        (
            {"x_lower": np.array([1.0, 1, 6, 1])},
            r"variable x\[2\]: no number lies between the bounds 6 and 5",
        ),
        (
            {"g_lower": np.array([25.0, 41])},
            r"constraint row\[1\]: no number lies between the bounds 41 and 40",
        ),
        ({"g_upper": np.array([np.nan, 40])}, r"constraint row\[0\]"),
        ({"x_lower": np.array([np.inf] * 4), "x_upper": np.array([np.inf] * 4)}, r"and 3 more"),
        ({"x_lower": np.full(4, 5.0)}, "nothing is free: all 4 variables"),
        ({"x_upper": np.full(3, 5.0)}, r"upper bounds of the variables: expected shape \(4,\)"),
        ({"x_scale": np.array([1.0, 0, 1, 1])}, "x_scale: .* got 0.0 at 1"),
        ({"g_scale": np.ones(3)}, "g_scale: expected shape"),
        ({"f_scale": np.nan}, "f_scale"),
        ({"f_scale": None}, "f_scale"),
    ],
)
def test_a_program_is_checked_before_the_solve(parts, message):
    with pytest.raises(InputError, match=message):
        solve_nlp(changed(**parts), HS071.start, OPTIONS)


def test_a_program_without_variables():
    with pytest.raises(InputError, match="nothing is free"):
        solve_nlp(Linear([], np.empty((0, 0)), [], []), [], OPTIONS)


@pytest.mark.parametrize(
    ("x0", "message"),
    [
        ([1.0, 5.0, 5.0], r"x0: expected shape \(4,\), got \(3,\)"),
        ([1.0, 5.0, np.nan, 1.0], r"x0: x\[2\] is nan"),
        ("guess", "x0: expected 4 numbers"),
    ],
)
def test_the_start_is_checked(x0, message):
    with pytest.raises(InputError, match=message):
        solve_nlp(HS071(), x0, OPTIONS)


def test_a_start_outside_its_bounds_is_moved_inside():
    assert solve_nlp(HS071(), [9.0, -7.0, 5.0, 1.0], OPTIONS).status == "optimal"


def test_success_needs_our_own_check():
    """IPOPT has seen a stationary point, but the gradient differs when evaluated again."""

    class Fickle(HS071):
        late = False

        def df(self, x):
            return np.array(super().df(x)) + (1.0 if self.late else 0.0)

    program = Fickle()

    def report(iterate):
        program.late = iterate.violation < 1e-6 and iterate.dual_infeasibility < 1e-9

    result = solve_nlp(program, HS071.start, OPTIONS, report=report)
    assert result.status == "diverged"
    assert result.kkt.stationarity > 0.1
