"""The spline against scipy, exact rational arithmetic, and differences of known error."""

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from scipy.interpolate import BSpline as ScipySpline

from predyn.curves.bspline import BSpline
from predyn.errors import InputError

EPS = np.finfo(float).eps
STEP = Fraction(1, 10**12)
BREAKS = [0.0, 0.08, 0.13, 0.5, 0.55, 0.9, 1.0]
SPLINES = {
    f"{kind}-{p}": make(p)
    for p in (3, 4, 5)
    for kind, make in {
        "clamped": lambda p: BSpline.clamped(p, 20),
        "uniform": lambda p: BSpline.uniform(p, 7),
        "uneven": lambda p: BSpline.clamped(p, breaks=BREAKS),
        "one-segment": lambda p: BSpline.clamped(p, 1),
        "any": lambda p: BSpline(
            p,
            np.r_[
                -(np.arange(p, 0, -1) ** 2) / 9, 0, 0.2, 0.3, 0.3, 1, 1 + np.arange(1, p + 1) / 7
            ],
        ),
    }.items()
}
SIMPLE = [name for name in SPLINES if not name.startswith(("any", "one-segment"))]


@pytest.fixture(params=SPLINES)
def spline(request: pytest.FixtureRequest) -> BSpline:
    return SPLINES[request.param]


def instants(spline: BSpline) -> np.ndarray:
    return np.concatenate((spline.limit_points(3), np.random.default_rng(1).random(40)))


def curve_of(spline: BSpline, shape: tuple[int, ...] = (2,)) -> np.ndarray:
    return np.random.default_rng(2).normal(size=(spline.n_control, *shape))


def derivative_sizes(spline: BSpline, count: int = 4) -> np.ndarray:
    """Bound of the d-th derivative for control points of size 1, times the degree."""
    h = np.diff(spline.breaks).min()
    return (2 * spline.degree / h) ** np.arange(count) * spline.degree


def exact_basis(t: list[Fraction], p: int, s: Fraction, derivatives: int) -> list[list[Fraction]]:
    """All basis functions at s (from the right) in exact arithmetic, by the textbook recursion."""
    last = max(k for k in range(len(t) - 1) if t[k] < 1 and t[k] < t[k + 1])
    hit = last if s == 1 else max(k for k in range(len(t) - 1) if t[k] <= s < t[k + 1])
    levels = [[Fraction(int(k == hit)) for k in range(len(t) - 1)]]

    def ratio(a: Fraction, b: Fraction) -> Fraction:
        return a / b if b else Fraction(0)

    for r in range(1, p + 1):
        N = levels[-1]
        levels.append(
            [
                ratio((s - t[i]) * N[i], t[i + r] - t[i])
                + ratio((t[i + r + 1] - s) * N[i + 1], t[i + r + 1] - t[i + 1])
                for i in range(len(N) - 1)
            ]
        )
    out = []
    for d in range(derivatives + 1):
        x = levels[p - d]
        for r in range(p - d + 1, p + 1):
            x = [
                r * (ratio(x[i], t[i + r] - t[i]) - ratio(x[i + 1], t[i + r + 1] - t[i + 1]))
                for i in range(len(x) - 1)
            ]
        out.append(x)
    return out


def test_curve_and_derivatives_equal_scipy(spline: BSpline) -> None:
    s, T, control = instants(spline), 1.7, curve_of(spline, (2, 3))
    reference = ScipySpline(spline.knots, control, spline.degree)
    for d, (ours, size) in enumerate(
        zip(spline.evaluate(control, s, T), derivative_sizes(spline), strict=True)
    ):
        theirs = reference(s, nu=d) / T**d
        assert ours.shape == (len(s), 2, 3)
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=30 * EPS * size * abs(control).max())


def test_basis_equals_exact_arithmetic_and_has_its_zeros(spline: BSpline) -> None:
    """The declared sparsity follows from where basis functions are zero, so zeros are exact."""
    s = np.concatenate((spline.breaks, spline.gauss_points(2)[0][:4]))
    basis, first, p = spline.basis(s), spline.span(s), spline.degree
    knots = list(map(Fraction, spline.knots))
    for k, instant in enumerate(s):
        exact = exact_basis(knots, p, Fraction(instant), 3)
        for d in range(4):
            acting = exact[d][first[k] : first[k] + p + 1]
            others = exact[d][: first[k]] + exact[d][first[k] + p + 1 :]
            assert not any(others)
            np.testing.assert_allclose(
                basis[d, k],
                [float(x) for x in acting],
                rtol=0,
                atol=30 * EPS * derivative_sizes(spline)[d],
            )
            assert [bool(x) for x in basis[d, k]] == [
                abs(x) > 30 * EPS * derivative_sizes(spline)[d] for x in acting
            ]


@pytest.mark.parametrize("degree", [3, 4, 5])
def test_last_function_starts_at_a_knot_with_exact_zeros(degree: int) -> None:
    spline = BSpline.clamped(degree, 37)
    basis = spline.basis(spline.breaks[:-1], degree)
    assert np.all(basis[:degree, :, -1] == 0.0)
    assert np.all(basis[degree, :, -1] != 0.0)


def test_an_instant_rounded_off_a_knot_is_the_knot() -> None:
    spline = BSpline.uniform(3, 10)
    rounded = np.linspace(0.0, 1.0, 11) * (1 - EPS)
    assert np.any(rounded < spline.breaks)
    np.testing.assert_array_equal(spline.span(rounded), spline.span(spline.breaks))
    np.testing.assert_array_equal(spline.basis(rounded), spline.basis(spline.breaks))


def test_symmetric_differences_are_exact_zeros() -> None:
    """At the knots of a uniform cubic the middle function has no slope."""
    for segments in (7, 49, 320):
        spline = BSpline.uniform(3, segments)
        assert np.all(spline.basis(spline.breaks[:-1])[1, :, 1] == 0.0)


def test_partition_of_unity(spline: BSpline) -> None:
    sums = spline.basis(instants(spline)).sum(axis=2)
    np.testing.assert_allclose(sums[0], 1.0, rtol=0, atol=8 * EPS)
    assert np.all(abs(sums[1:]) <= 30 * EPS * derivative_sizes(spline)[1:, None])


def test_greville_points_give_the_identity(spline: BSpline) -> None:
    s = instants(spline)
    q, v = spline.evaluate(spline.greville, s, T=2.0, derivatives=1)
    np.testing.assert_allclose(q, s, rtol=0, atol=30 * EPS)
    np.testing.assert_allclose(v, 0.5, rtol=0, atol=30 * EPS * derivative_sizes(spline)[1])


def test_shapes_and_counts() -> None:
    clamped, uniform = BSpline.clamped(3, 20), BSpline.uniform(3, 20)
    assert clamped.n_control == uniform.n_control == 23
    assert clamped.segments == uniform.segments == 20
    np.testing.assert_array_equal(clamped.breaks, uniform.breaks)
    np.testing.assert_array_equal(clamped.span([0.0, 0.049, 0.05, 1.0]), [0, 0, 1, 19])
    assert clamped.basis([0.5]).shape == (4, 1, 4)
    assert not clamped.basis([0.3], derivatives=5)[4:].any()
    with pytest.raises(ValueError, match="read-only"):
        clamped.knots[0] = 1.0


def test_control_partials_make_the_curve(spline: BSpline) -> None:
    s, T, control = instants(spline), 0.6, curve_of(spline)
    partials = spline.control_partials(s, T)
    assert partials.shape == (4, len(s), spline.n_control)
    for d, expected in enumerate(spline.evaluate(control, s, T)):
        size = derivative_sizes(spline)[d] / T**d
        np.testing.assert_allclose(partials[d] @ control, expected, rtol=0, atol=30 * EPS * size)


def exact_value(
    knots: list[Fraction], p: int, control: np.ndarray, s: Fraction, d: int
) -> Fraction:
    row = exact_basis(knots, p, s, d)[d]
    return sum((x * Fraction(c) for x, c in zip(row, control, strict=True)), Fraction(0))


def exact_slope(value: Callable[[Fraction], Fraction]) -> float:
    """Central difference in exact arithmetic: its error, step squared, is below rounding."""
    return float((value(STEP) - value(-STEP)) / (2 * STEP))


@pytest.mark.parametrize("fixed", ["s", "t"])
def test_duration_partials_equal_exact_differences(spline: BSpline, fixed: str) -> None:
    T, control, p = Fraction(13, 10), curve_of(spline, ()), spline.degree
    s = np.random.default_rng(6).random(5)
    knots = list(map(Fraction, spline.knots))
    ours = spline.duration_partials(control, s, float(T), fixed)
    assert ours.shape == (4, 5)
    for column, instant in enumerate(map(Fraction, s)):
        for d in range(4):

            def value(h: Fraction, s: Fraction = instant, d: int = d) -> Fraction:
                moved = s if fixed == "s" else s * T / (T + h)
                return exact_value(knots, p, control, moved, d) / (T + h) ** d

            bound = 40 * EPS * derivative_sizes(spline, 5)[d + 1] * abs(control).max()
            assert ours[d, column] == pytest.approx(exact_slope(value), rel=0, abs=bound)


def test_duration_partials_of_a_straight_line() -> None:
    spline, s, T = BSpline.clamped(3, 4), np.array([0.0, 0.3, 1.0]), 2.0
    at_s = spline.duration_partials(spline.greville, s, T)
    at_t = spline.duration_partials(spline.greville, s, T, fixed="t")
    np.testing.assert_allclose(at_s[:2], [[0, 0, 0], [-0.25] * 3], atol=1e-14)
    np.testing.assert_allclose(at_t[:2], [-s / T, [-0.25] * 3], atol=1e-14)


@pytest.mark.parametrize("name", SIMPLE)
def test_knot_partials_equal_exact_differences(name: str) -> None:
    spline, T = SPLINES[name], 1.4
    rng = np.random.default_rng(5)
    control, p, s = curve_of(spline, ()), spline.degree, rng.random(6)
    ours = spline.knot_partials(control, s, T)
    inner = np.arange(p + 1, spline.n_control)
    assert ours.shape == (4, len(inner), len(s))
    for row in rng.permutation(len(inner))[:5]:
        for column, instant in enumerate(map(Fraction, s)):
            for d in range(4):

                def value(
                    h: Fraction, row: int = row, s: Fraction = instant, d: int = d
                ) -> Fraction:
                    knots = list(map(Fraction, spline.knots))
                    knots[inner[row]] += h
                    return exact_value(knots, p, control, s, d)

                bound = 40 * EPS * derivative_sizes(spline, 5)[d + 1] * abs(control).max()
                expected = exact_slope(value) / T**d
                assert ours[d, row, column] == pytest.approx(expected, rel=0, abs=bound)


def test_knot_partials_at_the_knot_are_taken_from_the_right() -> None:
    spline = BSpline.clamped(3, 8)
    control = curve_of(spline)
    at, beyond = np.moveaxis(spline.knot_partials(control, [0.5, 0.5 + 1e-9]), 2, 0)
    for d in range(4):  # one more derivative bounds the change over 1e-9
        change = 1e-8 * derivative_sizes(spline, 6)[d + 2]
        np.testing.assert_allclose(at[d], beyond[d], rtol=0, atol=change)
    before = spline.knot_partials(control, [0.5 - 1e-9])[2, 3, 0]
    assert np.all(abs(before - at[2, 3]) > 0.1 * abs(at[2, 3]))


@pytest.mark.parametrize("degree", [3, 4, 5])
def test_knot_partials_are_local_and_zero_for_a_line(degree: int) -> None:
    spline, s = BSpline.clamped(degree, 12), np.linspace(0, 1, 50)
    flat = spline.knot_partials(np.ones((spline.n_control, 2)), s)
    assert flat.shape == (4, 11, 50, 2)
    assert not flat.any()
    rough = spline.knot_partials(curve_of(spline), s)
    k = 5  # the sixth interior knot acts over degree segments on each side
    outside = (s <= spline.breaks[max(k + 1 - degree, 0)]) | (s >= spline.breaks[k + 1 + degree])
    assert not rough[0, k, outside].any()
    assert np.all(rough[0, k, ~outside] != 0.0)


def test_refine_keeps_the_curve(spline: BSpline) -> None:
    rng = np.random.default_rng(3)
    control, s = curve_of(spline), instants(spline)
    breaks = np.concatenate((spline.breaks, rng.random(9)))
    finer, fine_control = spline.refine(control, breaks)
    np.testing.assert_array_equal(finer.breaks, np.unique(breaks))
    assert finer.n_control == len(fine_control) == spline.n_control + 9
    sizes = derivative_sizes(finer)
    for d in range(4):
        ours = finer.evaluate(fine_control, s)[d]
        expected = spline.evaluate(control, s)[d]
        np.testing.assert_allclose(ours, expected, rtol=0, atol=30 * EPS * sizes[d])
    again, same = finer.refine(fine_control, breaks)
    np.testing.assert_array_equal(again.knots, finer.knots)
    np.testing.assert_array_equal(same, fine_control)


def test_refined_clamped_spline_is_the_finer_clamped_spline() -> None:
    coarse, fine = BSpline.clamped(4, 5), BSpline.clamped(4, 10)
    refined, _ = coarse.refine(coarse.greville, fine.breaks)
    np.testing.assert_array_equal(refined.knots, fine.knots)


def test_fit_gets_control_points_back(spline: BSpline) -> None:
    control = curve_of(spline, (2, 2))
    s, _ = spline.gauss_points(spline.degree + 1)
    (values,) = spline.evaluate(control, s, derivatives=0)
    fitted = spline.fit(s, values)
    condition = np.linalg.cond(spline.control_partials(s)[0])
    bound = 30 * EPS * condition * spline.n_control * abs(control).max()
    np.testing.assert_allclose(fitted, control, rtol=0, atol=bound)
    start, end = values[0] + 1.0, values[-1] - 1.0
    fitted = spline.fit(s, values, start=start, end=end, start_slope=end, end_slope=start)
    q, v = spline.evaluate(fitted, [0.0, 1.0], derivatives=1)
    bound *= 2 * derivative_sizes(spline)[1]  # slopes that large, and their rounding
    np.testing.assert_allclose(q, [start, end], rtol=0, atol=bound)
    np.testing.assert_allclose(v, [end, start], rtol=0, atol=bound)


def test_fit_is_the_least_squares_fit() -> None:
    spline, rng = BSpline.clamped(3, 6), np.random.default_rng(4)
    s, values = np.sort(rng.random(40)), rng.normal(size=40)
    residual = values - spline.evaluate(spline.fit(s, values), s)[0]
    normal = spline.control_partials(s)[0].T @ residual
    np.testing.assert_allclose(normal, 0.0, atol=1e-13)
    assert np.linalg.norm(residual) > 1.0


def test_fit_of_few_samples_with_ends_at_rest_is_the_cubic(spline: BSpline) -> None:
    """The curve of least bending between two states is the cubic with those four values."""
    control = spline.fit([0.0], [1.0], start=1.0, end=3.0, start_slope=0.0, end_slope=0.0)
    s = np.linspace(0, 1, 31)
    q, v = spline.evaluate(control, s, derivatives=1)
    np.testing.assert_allclose(q, 1 + 2 * s**2 * (3 - 2 * s), rtol=0, atol=1e-11)
    np.testing.assert_allclose(v, 12 * s * (1 - s), rtol=0, atol=1e-9)


@pytest.mark.parametrize("points", [1, 2, 5])
def test_gauss_points_integrate_polynomials_of_each_segment(spline: BSpline, points: int) -> None:
    s, weights = spline.gauss_points(points)
    assert len(s) == len(weights) == points * spline.segments
    for power in range(2 * points):
        assert weights @ s**power == pytest.approx(1 / (power + 1), rel=0, abs=30 * EPS)
    # exact across knots too: a square of the second derivative of a spline of the degree
    acceleration = spline.evaluate(curve_of(spline, ()), s)[2]
    if 2 * (spline.degree - 2) <= 2 * points - 1:
        finer, fine_weights = spline.gauss_points(8)
        reference = fine_weights @ spline.evaluate(curve_of(spline, ()), finer)[2] ** 2
        assert weights @ acceleration**2 == pytest.approx(reference, rel=1e-13)


def test_limit_points() -> None:
    spline = BSpline.clamped(3, breaks=[0.0, 0.3, 1.0])
    np.testing.assert_array_equal(spline.limit_points(1), [0.0, 0.3, 1.0])
    expected = [0.0, 0.1, 0.2, 0.3, 0.3 + 0.7 / 3, 0.3 + 1.4 / 3, 1.0]
    np.testing.assert_allclose(spline.limit_points(3), expected, rtol=0, atol=2 * EPS)
    points = BSpline.uniform(5, 20).limit_points(3)
    assert len(points) == 61
    assert (points[0], points[-1]) == (0.0, 1.0)


@pytest.mark.parametrize("spline", [
    BSpline.clamped(0, 5), BSpline(0, [0.0, 1.0]), BSpline.clamped(0, breaks=[0.0, 0.3, 1.0]),
    BSpline.clamped(1, 5), BSpline.uniform(1, 3), BSpline(1, [0.0, 0.0, 1.0, 1.0]),
    BSpline.clamped(2, 4), BSpline(2, [0, 0, 0, 0.5, 0.5, 1, 1, 1]),
])  # fmt: skip
def test_low_degrees(spline: BSpline) -> None:
    """Steps, straight pieces and parabolas; derivatives beyond the degree are zero."""
    s, T, control = instants(spline), 1.7, curve_of(spline)
    reference = ScipySpline(spline.knots, control, spline.degree)
    ours = spline.evaluate(control, s, T, derivatives=4)
    sizes = (8.0 / np.diff(spline.breaks).min()) ** np.arange(5)
    for d in range(5):
        theirs = reference(s, nu=d) / T**d if d <= spline.degree else np.zeros((len(s), 2))
        np.testing.assert_allclose(ours[d], theirs, rtol=0, atol=30 * EPS * sizes[d])
    assert np.array_equal(ours[spline.degree + 1], np.zeros((len(s), 2)))
    assert spline.duration_partials(control, s, T, fixed="t").shape == (4, len(s), 2)
    line = spline.evaluate(spline.greville, s)
    np.testing.assert_allclose(
        line[0], s if spline.degree else spline.greville[spline.span(s)], rtol=0, atol=4 * EPS
    )
    finer, moved = spline.refine(control, [0.21, 0.77])
    np.testing.assert_allclose(finer.evaluate(moved, s, T)[0], ours[0], rtol=0, atol=30 * EPS)
    inside = spline.gauss_points(3)[0]
    fitted = spline.fit(inside, spline.evaluate(control, inside)[0])
    np.testing.assert_allclose(fitted, control, rtol=0, atol=1e-12)


def test_low_degrees_through_few_samples() -> None:
    steps = BSpline.clamped(0, 3).fit([0.1, 0.9], [1.0, 3.0])
    np.testing.assert_allclose(steps, [1.0, 2.0, 3.0], atol=1e-12)
    straight = BSpline.clamped(1, 4).fit([0.0, 1.0], [1.0, 3.0])
    np.testing.assert_allclose(straight, [1.0, 1.5, 2.0, 2.5, 3.0], atol=1e-12)


SPLINE = BSpline.clamped(3, 4)
BAD = {
    "degree": lambda: BSpline.clamped(6, 4),
    "degree negative": lambda: BSpline.clamped(-1, 4),
    "degree bool": lambda: BSpline.uniform(True, 4),
    "segments": lambda: BSpline.clamped(3, 0),
    "segments or breaks": lambda: BSpline.clamped(3),
    "breaks order": lambda: BSpline.clamped(3, breaks=[0.0, 0.6, 0.5, 1.0]),
    "breaks end": lambda: BSpline.clamped(3, breaks=[0.0, 0.6, 2.0]),
    "few knots": lambda: BSpline(3, np.arange(7.0)),
    "domain": lambda: BSpline(3, np.arange(8.0)),
    "decreasing": lambda: BSpline(3, [0, 0, 0, 0, 0.6, 0.5, 1, 1, 1, 1]),
    "too close": lambda: BSpline(3, [0, 0, 0, 0, 0.5, 0.5 + 1e-12, 1, 1, 1, 1]),
    "too many equal": lambda: BSpline(3, [0, 0, 0, 0, 0.5, 0.5, 0.5, 0.5, 1, 1, 1, 1]),
    "too many at the start": lambda: BSpline(3, [0, 0, 0, 0, 0, 1, 1, 1, 1]),
    "a step twice": lambda: BSpline(0, [0, 0.5, 0.5, 1]),
    "steps have no knot partials": lambda: BSpline.clamped(0, 2).knot_partials([1.0, 2.0], [0.5]),
    "nan knot": lambda: BSpline(3, [0, 0, 0, 0, np.nan, 1, 1, 1, 1]),
    "not numbers": lambda: BSpline(3, "abc"),
    "s beyond": lambda: SPLINE.basis([0.5, 1.01]),
    "s before": lambda: SPLINE.span([-1e-9]),
    "s nan": lambda: SPLINE.span([np.nan]),
    "s matrix": lambda: SPLINE.basis(np.zeros((2, 2))),
    "derivatives": lambda: SPLINE.basis([0.5], derivatives=-1),
    "control": lambda: SPLINE.evaluate(np.zeros(6), [0.5]),
    "duration": lambda: SPLINE.evaluate(np.zeros(7), [0.5], T=0.0),
    "duration nan": lambda: SPLINE.control_partials([0.5], T=np.nan),
    "fixed": lambda: SPLINE.duration_partials(np.zeros(7), [0.5], 1.0, fixed="q"),
    "double knot": lambda: BSpline(3, [0] * 4 + [0.5] * 2 + [1] * 4).knot_partials(
        np.zeros(6), [0.5]
    ),
    "fit rows": lambda: SPLINE.fit([0.0, 1.0], [1.0]),
    "fit nan": lambda: SPLINE.fit([0.0], [np.nan]),
    "fit end": lambda: SPLINE.fit([0.0], [[1.0, 2.0]], end=[1.0]),
    "gauss": lambda: SPLINE.gauss_points(0),
    "limits": lambda: SPLINE.limit_points(1.5),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_arguments_are_named(case: str) -> None:
    with pytest.raises(InputError, match=r"^\w+: .*(expected|must|needs|at most)"):
        BAD[case]()
