"""Known optima, statuses, warm starts and repeatability of the solver."""

import dataclasses
import gc
import threading
import weakref

import numpy as np
import pytest

from predyn.errors import InputError
from predyn.nlp import Multipliers, SolverOptions
from predyn.solvers.ipopt import HISTORY_FIELDS, solve_nlp
from solvers.programs import HS071, Linear, Program, Rosenbrock

OPTIONS = SolverOptions()


def test_a_known_optimum():
    result = solve_nlp(HS071(), HS071.start, OPTIONS)
    assert result.status == "optimal", result.message
    # The bound 25 is relaxed by 1e-8 * 25, its multiplier is 0.552.
    assert result.f == pytest.approx(HS071.optimum, abs=0.552 * 2.5e-7 + 1e-8)
    np.testing.assert_allclose(result.x, HS071.best, atol=1e-6)
    assert result.max_violation <= 2.5e-7
    assert result.kkt_error <= OPTIONS.tolerance
    assert result.multipliers.g[0] == pytest.approx(-0.5522937, abs=1e-6)
    assert result.multipliers.x_lower[0] == pytest.approx(1.0878712, abs=1e-6)
    assert len(result.history) == result.iterations + 1
    assert [row[0] for row in result.history] == list(range(result.iterations + 1))
    assert len(result.history[0]) == len(HISTORY_FIELDS)
    assert 0.0 < result.evaluation_seconds < result.seconds


def test_a_program_is_freed_without_garbage_collection():
    program = HS071()
    alive = weakref.ref(program)
    gc.disable()
    try:
        solve_nlp(program, HS071.start, OPTIONS)
        del program
        assert alive() is None
    finally:
        gc.enable()


def test_casadi_finds_the_same_optimum():
    casadi = pytest.importorskip("casadi")
    x = casadi.SX.sym("x", 4)
    f = x[0] * x[3] * (x[0] + x[1] + x[2]) + x[2]
    program = {"x": x, "f": f, "g": casadi.vertcat(x[0] * x[1] * x[2] * x[3], casadi.sumsqr(x))}
    quiet = {"ipopt.print_level": 0, "print_time": False, "ipopt.sb": "yes", "ipopt.tol": 1e-8}
    solver = casadi.nlpsol("s", "ipopt", program, quiet | {"ipopt.nlp_scaling_method": "none"})
    theirs = solver(x0=HS071.start, lbx=1, ubx=5, lbg=[25, 40], ubg=[np.inf, 40])
    ours = solve_nlp(HS071(), HS071.start, OPTIONS)
    # The same algorithm on the same numbers: only the rounding of the callbacks differs.
    np.testing.assert_allclose(ours.x, np.array(theirs["x"]).ravel(), rtol=1e-10)
    np.testing.assert_allclose(ours.multipliers.g, np.array(theirs["lam_g"]).ravel(), rtol=1e-8)
    bounds = ours.multipliers.x_upper - ours.multipliers.x_lower
    np.testing.assert_allclose(bounds, np.array(theirs["lam_x"]).ravel(), atol=1e-8)
    assert solver.stats()["iter_count"] == ours.iterations


def test_without_constraints_and_with_limited_memory():
    exact = solve_nlp(Rosenbrock(), Rosenbrock.start, OPTIONS)
    assert exact.status == "optimal"
    np.testing.assert_allclose(exact.x, 1.0, atol=1e-8)

    class NoHessian(Rosenbrock):
        def hessian(self, sigma, multipliers, out):
            raise AssertionError("not asked for")

    program = NoHessian()
    program.hessian_pattern = np.array([9], np.int32), np.array([9], np.int32)  # is not looked at
    limited = solve_nlp(program, Rosenbrock.start, SolverOptions(hessian="limited_memory"))
    assert limited.status == "optimal"
    np.testing.assert_allclose(limited.x, 1.0, atol=1e-6)
    assert limited.iterations > exact.iterations


def test_scales_change_the_path_but_not_the_optimum():
    scaled = HS071()
    scaled.x_scale = np.array([2.0, 10.0, 5.0, 0.5])
    scaled.g_scale = np.array([25.0, 40.0])
    scaled.f_scale = 17.0
    plain = solve_nlp(HS071(), HS071.start, OPTIONS)
    result = solve_nlp(scaled, HS071.start, OPTIONS)
    assert result.status == "optimal"
    assert [row[1] for row in result.history] != [row[1] for row in plain.history]
    np.testing.assert_allclose(result.x, plain.x, atol=1e-6)
    np.testing.assert_allclose(result.multipliers.g, plain.multipliers.g, atol=1e-6)
    np.testing.assert_allclose(result.multipliers.x_lower, plain.multipliers.x_lower, atol=1e-6)


def test_scales_divide():
    """A row of 1e6 with its scale starts as far out as a row of 1 without: the same iterates."""

    class Big(HS071):
        factor = 2.0**20  # exact in binary

        def __init__(self):
            super().__init__()
            self.g_lower, self.g_upper = self.g_lower * self.factor, self.g_upper * self.factor
            self.g_scale = self.g_scale * self.factor
            self.f_scale = self.factor

        def f(self, x):
            return self.factor * super().f(x)

        def df(self, x):
            return self.factor * np.array(super().df(x))

        def c(self, x):
            return self.factor * np.array(super().c(x))

        def dc(self, x):
            return self.factor * np.array(super().dc(x))

        def lagrangian_hessian(self, x, sigma, y):
            return self.factor * super().lagrangian_hessian(x, sigma, y)

    small, big = (solve_nlp(kind(), HS071.start, OPTIONS) for kind in (HS071, Big))
    assert small.x.tobytes() == big.x.tobytes()
    assert small.kkt == pytest.approx(big.kkt, rel=1e-6)


@pytest.mark.parametrize("program", [HS071, Rosenbrock])
def test_the_same_input_gives_the_same_bits(program):
    results = [solve_nlp(program(), program.start, OPTIONS) for _ in range(3)]
    assert len({result.x.tobytes() for result in results}) == 1
    assert len({result.multipliers.g.tobytes() for result in results}) == 1
    assert len({tuple(row[1:6] for row in result.history) for result in results}) == 1


def test_a_program_moves_only_to_new_points():
    program = HS071()
    result = solve_nlp(program, HS071.start, OPTIONS)
    assert program.moves <= result.iterations + 2 + 1  # the start, each iterate, the last check


class Square(Program):
    """Minimise |x - wanted|^2 on the ball |x|^2 <= 1, far from linear in many variables."""

    def __init__(self, wanted):
        self.wanted = np.array(wanted, float)
        n = len(self.wanted)
        super().__init__([-2.0] * n, [2.0] * n, [-np.inf], [1.0])

    def f(self, x):
        return np.sum((x - self.wanted) ** 2)

    def df(self, x):
        return 2.0 * (x - self.wanted)

    def c(self, x):
        return [x @ x]

    def dc(self, x):
        return [2.0 * x]

    def lagrangian_hessian(self, x, sigma, y):
        return 2.0 * (sigma + y[0]) * np.eye(len(x))


def test_multipliers_warm_start_the_solve():
    wanted = np.linspace(-1.0, 1.5, 12)
    cold = solve_nlp(Square(wanted), np.full(12, 0.1), OPTIONS)
    assert cold.status == "optimal"
    np.testing.assert_allclose(cold.x, wanted / np.linalg.norm(wanted), atol=1e-7)
    warm = solve_nlp(Square(wanted + 1e-3), cold.x, OPTIONS, cold.multipliers)
    without = solve_nlp(Square(wanted + 1e-3), cold.x, OPTIONS)
    assert warm.status == "optimal"
    np.testing.assert_allclose(warm.x, without.x, atol=1e-6)
    assert warm.iterations <= 4 < without.iterations
    again = solve_nlp(HS071(), HS071.start, OPTIONS)
    assert solve_nlp(HS071(), again.x, OPTIONS, again.multipliers).iterations <= 2


def test_fixed_variables_stay():
    program = HS071()
    program.x_lower[2] = program.x_upper[2] = 4.0
    result = solve_nlp(program, HS071.start, OPTIONS)
    assert result.status == "optimal"
    assert result.x[2] == 4.0
    assert result.f > HS071.optimum


def test_as_many_equations_as_variables():
    result = solve_nlp(Linear([1, 1], [[1, 0], [1, 2]], [1, 5], [1, 5]), [0, 0], OPTIONS)
    assert result.status == "optimal"
    np.testing.assert_allclose(result.x, [1.0, 2.0], atol=1e-9)


def test_large_bounds_with_plain_scales():
    program = Linear([-1, -1], [[1, 1], [1, -1]], [-3e4, -5e3], [3e4, 5e3], [0, 0], [2e4, 1.5e4])
    result = solve_nlp(program, [1, 1], OPTIONS)
    assert result.status == "optimal", result.message
    assert result.f == pytest.approx(-3e4, rel=2e-8)
    assert result.max_violation <= 3e4 * 1e-8 * (1 + 1e-6)


def test_a_limit_that_an_equation_makes_active_leaves_no_interior():
    """Like a joint limit at the start of a motion that begins there: multipliers stay moderate."""
    program = Linear([1, 1, 1], [[1, 0, 0], [1, 0, 0], [1, 1, 1]], [2, 2, 3], [2, 9, 9])
    program.x_lower[:] = 0.0
    result = solve_nlp(program, [5, 5, 5], OPTIONS)
    assert result.status == "optimal", result.message
    assert result.f == pytest.approx(3.0, abs=1e-7)
    assert np.abs(result.multipliers.g).max() < 100.0


def test_infeasible_names_the_row():
    program = HS071()
    program.g_lower[1] = program.g_upper[1] = 3.0  # but all x >= 1, so x.x >= 4
    result = solve_nlp(program, HS071.start, OPTIONS)
    assert result.status == "infeasible"
    assert "row[1]" in result.message
    assert "outside 3 .. 3 by" in result.message
    assert "another guess" in result.message
    assert result.max_violation > 0.9
    assert any(row[-1] for row in result.history)  # restoration
    shown = [row for row in result.history if row[-1]][-1]
    assert shown[1] == pytest.approx(result.f, rel=1e-4)  # the objective, not the restoration's


def test_more_equations_than_variables():
    program = Linear([1, 1], [[1, 0], [1, 0], [0, 1]], [1, 2, 0], [1, 2, 0])
    result = solve_nlp(program, [0, 0], OPTIONS)
    assert result.status == "infeasible"
    assert (
        "3 equations (1 of row[0], 1 of row[1], 1 of row[2]) for 2 free variables" in result.message
    )


def test_unbounded():
    result = solve_nlp(Linear([1, -1], [[1, 0]], [1], [2]), [0, 0], OPTIONS)
    assert result.status == "diverged"
    assert "without bound" in result.message


def test_iteration_limit_returns_the_best():
    full = solve_nlp(HS071(), HS071.start, OPTIONS)
    result = solve_nlp(HS071(), HS071.start, SolverOptions(max_iterations=4))
    assert result.status == "iteration_limit"
    assert "max_iterations" in result.message
    assert result.iterations == 4
    assert [row[:6] for row in result.history] == [row[:6] for row in full.history[:5]]
    best = min(row[2] for row in result.history)  # none of them is feasible
    assert result.max_violation == pytest.approx(best, rel=1e-12)
    assert best < result.history[3][2]


def test_report_sees_every_iterate_and_may_stop():
    seen = []
    result = solve_nlp(HS071(), HS071.start, OPTIONS, report=seen.append)
    assert [tuple(item[:3]) + tuple(item[4:9]) for item in seen] == result.history
    np.testing.assert_array_equal(seen[-1].x, result.x)
    np.testing.assert_array_equal(seen[-1].multipliers.g, result.multipliers.g)
    assert seen[0].worst == "row[1]"
    assert seen[0].x.tobytes() != seen[-1].x.tobytes()
    stopped = solve_nlp(HS071(), HS071.start, OPTIONS, report=lambda item: item.iteration < 5)
    assert stopped.status == "interrupted"
    assert stopped.iterations == 5
    assert stopped.x.tobytes() == seen[4].x.tobytes()  # less violated than 5


def test_solves_within_a_solve_and_in_threads():
    class Outer(Rosenbrock):
        def objective(self):
            inner = solve_nlp(HS071(), HS071.start, OPTIONS)
            return super().objective() + 0.0 * inner.f

    expected = solve_nlp(HS071(), HS071.start, OPTIONS).x.tobytes()
    assert solve_nlp(Outer(), Rosenbrock.start, OPTIONS).x.tobytes() == (
        solve_nlp(Rosenbrock(), Rosenbrock.start, OPTIONS).x.tobytes()
    )
    found = []

    def work():
        found.extend(solve_nlp(HS071(), HS071.start, OPTIONS).x.tobytes() for _ in range(5))

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 15


def test_no_option_file_is_read_and_nothing_is_printed(tmp_path, monkeypatch, capfd):
    (tmp_path / "ipopt.opt").write_text("max_iter 1\nprint_level 5\n")
    monkeypatch.chdir(tmp_path)
    assert solve_nlp(HS071(), HS071.start, OPTIONS).status == "optimal"
    assert capfd.readouterr() == ("", "")


def test_results_are_frozen():
    result = solve_nlp(Rosenbrock(), Rosenbrock.start, OPTIONS)
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.status = "optimal"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *[("tolerance", value) for value in (0.0, -1.0, 1.0, float("nan"), "small", True)],
        *[("max_iterations", value) for value in (-1, 1.5, None, True, 2**31)],
        *[("max_seconds", value) for value in (0.0, -1.0, float("inf"), "1")],
        *[("mu_init", value) for value in (0.0, float("nan"))],
        *[("hessian", value) for value in ("exakt", None)],
    ],
)
def test_options_are_checked(name, value):
    with pytest.raises(InputError, match=name):
        SolverOptions(**{name: value})


def test_mu_init_is_used():
    first = solve_nlp(HS071(), HS071.start, SolverOptions(mu_init=1e-3)).history[0]
    assert first[HISTORY_FIELDS.index("mu")] == 1e-3


def test_wrong_multipliers_are_refused():
    start = Multipliers(np.zeros(2), np.zeros(4), np.zeros(3))
    with pytest.raises(InputError, match=r"start\.x_upper: expected shape \(4,\), got \(3,\)"):
        solve_nlp(HS071(), HS071.start, OPTIONS, start)
