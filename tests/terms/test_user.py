"""User terms: derivatives, and messages about faulty functions."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from predyn.errors import InputError
from predyn.models import two_link
from predyn.samples import Samples, random_samples
from predyn.terms import UserTerm
from predyn.terms.term import Residual

TWO = two_link()
SAMPLES = random_samples(TWO, ("q", "v", "tau"), 6, 3)


def bound(
    function: Callable, channels: tuple[str, ...] = ("q", "v"), **options: object
) -> Residual:
    return UserTerm(function, channels, name="mine", **options).bind(TWO)  # type: ignore[arg-type]


def partials(residual: Residual, samples: Samples = SAMPLES) -> np.ndarray:
    out = np.full((len(residual.entries), 6), np.nan)
    residual.partials(samples, out)
    return out


def test_curvature() -> None:
    """Differences of exact partials: rounding over the step and its square, both about 4e-11."""
    residual = bound(
        lambda s: np.stack((np.sin(s["q"][0]) * s["v"][1] ** 2, s["q"][1] * s["v"][0])),
        rows=("one", "two"),
    )
    weights = np.random.default_rng(4).standard_normal((2, 6))
    out = np.full((len(residual.curved), 6), np.nan)
    residual.curvature(SAMPLES, weights, out)
    q, v = SAMPLES["q"], SAMPLES["v"]
    expected = {
        ("q", 0, "q", 0): -weights[0] * np.sin(q[0]) * v[1] ** 2,
        ("q", 0, "v", 1): 2.0 * weights[0] * np.cos(q[0]) * v[1],
        ("v", 1, "v", 1): 2.0 * weights[0] * np.sin(q[0]),
        ("q", 1, "v", 0): weights[1],
    }
    assert len(residual.curved) == 10
    for pair, got in zip(residual.curved, out, strict=True):
        assert np.abs(got - expected.get(pair, 0.0)).max() <= 1e-8, pair
    assert residual.exact is False  # type: ignore[attr-defined]


def test_samples_are_rows_of_instants() -> None:
    """Whatever the shape of the instants, the function sees (components, K)."""
    shapes = []
    residual = bound(lambda s: (shapes.append(s["q"].ndim), s["q"].sum(axis=0))[1], ("q",))
    out = np.empty((1, 2, 3))
    residual.value(Samples({"q": np.moveaxis(np.ones((2, 3, 2)), -1, 0)}), out)
    assert set(shapes) == {2}
    assert np.all(out == 2.0)


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda s: s["q"], "shape (2, 3), expected numbers of shape (1, 3): rows (mine)"),
        (lambda s: "text", "returned <U4 of shape ()"),
        (lambda s: np.abs(s["q"][0]), "real numbers for complex ones"),
        (lambda s: np.arctan2(s["q"][0], s["v"][0]), "TypeError"),
    ],
)
def test_refused_when_bound(function: Callable, said: str) -> None:
    with pytest.raises(InputError) as error:
        bound(function)
    assert said in str(error.value)
    assert "'mine'" in str(error.value)


def test_lost_imaginary_parts_are_found() -> None:
    """One row of two: the numbers returned are complex, yet a slope is missing."""
    residual = bound(lambda s: np.stack((s["q"][0], np.abs(s["v"][1]) + 0j)), rows=("a", "b"))
    with pytest.raises(InputError, match=r"at v\[1\] row 'b' has the slope 0 by complex steps"):
        partials(residual)


def test_an_undeclared_dependence_is_found() -> None:
    residual = bound(lambda s: s["q"][0] * s["q"][1], depends={"q": (0,)})
    assert residual.channels == ("q", "v")
    with pytest.raises(InputError, match=r"depends on q\[1\], which `depends` leaves out"):
        partials(residual)


def test_nan_is_named() -> None:
    q = SAMPLES["q"].copy()
    q[:] = 1.0
    q[1, 4] = -1.0
    samples = Samples({"q": q, "v": SAMPLES["v"]})
    residual = bound(lambda s: np.log(s["q"]), ("q",), rows=("low", "high"))
    with pytest.raises(InputError, match=r"term 'mine': .* row 'high' at instant 4 of 6"):
        residual.value(samples, np.empty((2, 6)))


def test_errors_of_the_function_propagate() -> None:
    def fails(s: Samples) -> np.ndarray:
        raise ZeroDivisionError("mine alone")

    with pytest.raises(ZeroDivisionError, match="mine alone") as error:
        bound(fails)
    assert error.value.__notes__ == ["in the function of term 'mine'"]


def test_undeclared_channels_are_hidden() -> None:
    with pytest.raises(InputError, match="unknown channel 'tau'"):
        bound(lambda s: s["tau"][0])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"channels": "q"}, "expected a list of names"),
        ({"channels": ("x",)}, "unknown channel 'x'"),
        ({"channels": ("first.q", "q")}, "before all channels"),
        ({"rows": 0}, "rows: expected a number above 0"),
        ({"rows": ("a", "a")}, "different names"),
        ({"scale": -1.0}, "expected numbers above 0, got -1"),
        ({"depends": {"tau": (0,)}}, "'tau' is not in its channels"),
        ({"depends": {"q": ()}}, "'q' has no components"),
        ({"depends": {"q": (2,)}}, "components 0 to 1, got 2"),
        ({"function": 3}, "expected a function, got 3"),
    ],
)
def test_bad_options(options: dict, said: str) -> None:
    given = {"function": lambda s: s["q"][0], "channels": ("q",)} | options
    with pytest.raises(InputError) as error:
        UserTerm(**given).bind(TWO)
    assert said in str(error.value)
