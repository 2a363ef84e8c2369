"""Optimality errors, violations by name, and the check of derivatives."""

import numpy as np
import pytest

from predyn.errors import InputError
from predyn.nlp import (
    Multipliers,
    SolverOptions,
    check_derivatives,
    kkt_error,
    max_violation,
    worst_violations,
)
from predyn.solvers.ipopt import solve_nlp
from solvers.programs import HS071, Linear, Rosenbrock

POINT = (1.3, 4.2, 3.1, 1.7)


def no_multipliers(program):
    return Multipliers(np.zeros(program.m), np.zeros(program.n), np.zeros(program.n))


def box(scale=1.0):
    """Minimise x0 + 2 x1 for x0 >= 1 as a bound and x0 + x1 >= 3 as a row: (3 - t, t), t = 0."""
    program = Linear([1, 2], [[1, 1]], [3], [np.inf], [1, 0], [9, 9])
    program.f_scale = scale
    return program


def test_kkt_error_is_zero_at_an_optimum():
    multipliers = Multipliers(np.array([-1.0]), np.array([0.0, 1.0]), np.zeros(2))
    assert kkt_error(box(), np.array([3.0, 0.0]), multipliers) == (0.0, 0.0, 0.0)


def test_kkt_error_by_hand():
    x = np.array([2.5, -0.25])  # the row is 0.75 short, the bound of x1 by 0.25
    multipliers = Multipliers(np.array([-0.5]), np.array([0.25, 0.0]), np.zeros(2))
    error = kkt_error(box(), x, multipliers)
    assert error.stationarity == pytest.approx(1.5)  # (1 - 0.5 - 0.25, 2 - 0.5)
    assert error.feasibility == pytest.approx(0.75)
    assert error.complementarity == pytest.approx(0.375)  # row 0.5 * 0.75, x0 0.25 * 1.5
    assert error.largest == pytest.approx(1.5)


def test_kkt_error_is_scaled():
    x = np.array([2.5, -0.25])
    multipliers = Multipliers(np.array([-0.5]), np.array([0.25, 0.0]), np.zeros(2))
    program = box(scale=2.0)
    program.x_scale, program.g_scale = np.array([1.0, 4.0]), np.array([5.0])
    error = kkt_error(program, x, multipliers)
    assert error.stationarity == pytest.approx(1.5 * 4 / 2)
    assert error.feasibility == pytest.approx(max(0.75 / 5, 0.25 / 4))
    # the row: 0.5 * 5 / 2 counts as 1, times 0.75 / 5; x0: 0.25 / 2 * 1.5
    assert error.complementarity == pytest.approx(max(0.15, 0.1875))


def test_relaxed_bounds():
    program = Linear([1, 2], [[1, 1], [1, 0]], [-np.inf, 2], [50, 2], [0.5, 0], [9, 0])
    x = np.array([9.0 + 9.0 * 0.01, 41.5])
    error = kkt_error(program, x, no_multipliers(program), 0.01)
    assert error.feasibility == pytest.approx(41.5)  # x1 is fixed
    program.x_upper[1] = 99.0
    assert kkt_error(program, x, no_multipliers(program), 0.01).feasibility == pytest.approx(7.09)
    program.g_lower[1] = -np.inf
    program.g_upper[1] = 9.0  # 0.01 * 9 is allowed here, and 0.5 in the other row
    assert kkt_error(program, x, no_multipliers(program), 0.01).feasibility < 0.1


def test_multipliers_of_the_wrong_sign_count():
    x = np.array([3.0, 0.0])
    wrong_row = Multipliers(np.array([0.5]), np.zeros(2), np.zeros(2))  # there is no upper bound
    assert kkt_error(box(), x, wrong_row).complementarity == pytest.approx(0.5)
    wrong_bound = Multipliers(np.array([-1.0]), np.array([0.0, -1.0]), np.zeros(2))
    assert kkt_error(box(), x, wrong_bound).complementarity == pytest.approx(1.0)


def test_large_multipliers_damp_the_stationarity():
    multipliers = Multipliers(np.array([-5000.0]), np.array([0.0, 0.0]), np.zeros(2))
    error = kkt_error(box(), np.array([3.0, 0.0]), multipliers)
    assert error.stationarity == pytest.approx(4999.0 / (5000.0 / 5 / 100))


def test_fixed_variables_and_equations_need_no_multiplier():
    program = Linear([1, 2], [[1, 1]], [3], [3], [1, 0], [9, 0])
    multipliers = Multipliers(np.array([-1.0]), np.zeros(2), np.zeros(2))
    assert kkt_error(program, np.array([3.0, 0.0]), multipliers).largest == 0.0


def test_the_error_at_a_solution_and_near_it():
    result = solve_nlp(HS071(), HS071.start, SolverOptions())
    assert kkt_error(HS071(), result.x, result.multipliers, 1e-8) == result.kkt
    assert result.kkt_error <= 1e-8
    strict = kkt_error(HS071(), result.x, result.multipliers)
    assert strict.feasibility == result.max_violation
    beside = kkt_error(HS071(), result.x + 1e-4, result.multipliers)
    assert beside.stationarity > 1e-5
    assert kkt_error(HS071(), result.x, no_multipliers(HS071())).stationarity > 0.1


def test_worst_violations_by_scale():
    program = HS071()
    program.g_scale = np.array([100.0, 1.0])
    x, g = np.array([0.5, 2.0, 3.0, 6.0]), np.array([5.0, 42.0])
    found = worst_violations(program, x, g)
    assert [(v.name, v.violation) for v in found] == [
        ("row[1]", 2.0),
        ("x[3]", 1.0),
        ("x[0]", 0.5),
        ("row[0]", 20.0),
    ]
    assert found[1][2:] == (6.0, 1.0, 5.0)
    assert len(worst_violations(program, x, g, count=2)) == 2
    assert max_violation(program, x, g) == 20.0
    g[0] = np.nan
    assert worst_violations(program, x, g)[0].name == "row[0]"
    assert max_violation(program, x, g) == np.inf
    inside = np.array([2.0, 2.0, 3.0, 4.0]), np.array([30.0, 40.0])
    assert worst_violations(program, *inside) == []
    assert max_violation(program, *inside) == 0.0


@pytest.mark.parametrize(("program", "x"), [(HS071(), POINT), (Rosenbrock(), (-1.2, 1.0))])
def test_right_derivatives_pass(program, x):
    report = check_derivatives(program, x)
    assert report.ok, str(report)
    assert str(report).count("right") == 2 + (program.m > 0)


@pytest.mark.parametrize("method", ["gradient", "jacobian", "hessian"])
@pytest.mark.parametrize("k", [0, 1, 3])
def test_a_relative_error_of_1e_6_is_named(method, k):
    program = HS071()
    right = getattr(program, method)

    def wrong(*arguments):
        right(*arguments)
        arguments[-1][k] *= 1.0 + 1e-6

    setattr(program, method, wrong)
    report = check_derivatives(program, POINT, hessian=method == "hessian")
    assert not report.ok
    entry = getattr(report, method)
    assert not entry.ok
    assert "WRONG" in str(report)
    if method == "hessian":
        row, column = (int(part[k]) for part in program.hessian_pattern)
        assert {entry.row, entry.column} == {f"x[{row}]", f"x[{column}]"}
    else:
        assert (entry.row, entry.column) == (
            "row[0]" if method == "jacobian" else "the objective",
            f"x[{k}]",
        )
    others = {"gradient", "jacobian", "hessian"} - {method}
    if method != "hessian":
        assert all((e := getattr(report, other)) is None or e.ok for other in others)


@pytest.mark.parametrize("method", ["jacobian", "hessian"])
def test_an_entry_missing_from_the_pattern_is_found(method):
    program = HS071()
    full = getattr(program, f"{method}_pattern")
    setattr(program, f"{method}_pattern", (full[0][:-1], full[1][:-1]))
    right = getattr(HS071, method)

    def shorter(*arguments):
        whole = np.empty(len(full[0]))
        short = getattr(program, f"{method}_pattern")
        setattr(program, f"{method}_pattern", full)
        right(program, *arguments[:-1], whole)
        setattr(program, f"{method}_pattern", short)
        arguments[-1][:] = whole[:-1]

    setattr(program, method, shorter)
    report = check_derivatives(program, POINT, hessian=method == "hessian")
    entry = getattr(report, method)
    assert not entry.ok
    assert not entry.in_pattern
    assert entry.column == "x[3]"
    assert "not in the pattern" in str(report)


class Wide(Linear):
    """Many variables: cubes along random rows."""

    def __init__(self, n=350):
        super().__init__(np.ones(n), np.random.default_rng(1).normal(size=(3, n)), [0] * 3, [0] * 3)

    def c(self, x):
        return (self.a @ x) ** 2

    def dc(self, x):
        return 2.0 * (self.a @ x)[:, None] * self.a

    def lagrangian_hessian(self, x, sigma, y):
        return 2.0 * self.a.T @ (y[:, None] * self.a)


def test_many_variables_use_random_directions():
    program = Wide()
    x = np.random.default_rng(2).normal(size=program.n)
    assert check_derivatives(program, x).ok
    right = program.jacobian

    def wrong(out):
        right(out)
        out[program.n + 123] += 1e-3

    program.jacobian = wrong
    report = check_derivatives(program, x, hessian=False)
    assert not report.ok
    assert (report.jacobian.row, report.jacobian.column) == ("row[1]", "x[123]")


def test_derivatives_that_are_not_finite_are_wrong():
    program = HS071()
    program.df = lambda x: [1.0, np.nan, 0.0, 0.0]
    assert not check_derivatives(program, POINT, hessian=False).ok


def test_the_point_is_checked():
    with pytest.raises(InputError, match="expected 4 finite numbers"):
        check_derivatives(HS071(), [1.0, 2.0])
    with pytest.raises(InputError, match="multipliers: expected shape"):
        check_derivatives(HS071(), POINT, multipliers=[1.0])
