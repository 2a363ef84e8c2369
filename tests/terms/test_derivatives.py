"""Every term: partials, curvature and declarations, on random samples of any shape."""

from __future__ import annotations

import numpy as np
import pytest

from predyn.samples import Samples, channel_size
from predyn.terms import TERMS
from predyn.terms.term import Residual
from terms.term_cases import CASES, ON_UNKNOWNS, SUMS

STEP = 1e-30  # complex: no cancellation
SHAPE = (3, 4)  # instants
EPS = np.finfo(float).eps

ALL_CHANNELS = ("q", "v", "a", "jerk", "t", "tau", "momentum", "reactions")


def drawn(case: str) -> tuple[Residual, dict[str, np.ndarray]]:
    """The residual, and every channel that the model has, as strided views."""
    term, model = CASES[case]
    residual = term.bind(model)
    names = [*ALL_CHANNELS, *(f"frame:{name}" for name in model.link_names)]
    if term.pairs:
        names = [f"{side}.{name}" for side in ("first", "second") for name in names]
    names += [name for name in residual.channels if name not in names]
    rng = np.random.default_rng(7)
    channels = {c: rng.standard_normal((*SHAPE, channel_size(model, c))) for c in names}
    return residual, {c: np.moveaxis(x, -1, 0) for c, x in channels.items()}


def stepped(channels: dict[str, np.ndarray], name: str, component: int) -> Samples:
    moved = channels[name].astype(complex)
    moved[component] += STEP * 1j
    return Samples({**channels, name: moved})


def value(residual: Residual, s: Samples, dtype: type = float) -> np.ndarray:
    out = np.full((len(residual.rows), *SHAPE), np.nan, dtype)
    residual.value(s, out)
    return out


def partials(residual: Residual, s: Samples, dtype: type = float) -> np.ndarray:
    out = np.full((len(residual.entries), *SHAPE), np.nan, dtype)
    residual.partials(s, out)
    return out


def test_every_kind_has_a_case() -> None:
    assert {case.term.kind for case in CASES.values()} == set(TERMS) - ON_UNKNOWNS - SUMS


@pytest.mark.parametrize("case", CASES)
def test_declared(case: str) -> None:
    residual = CASES[case].term.bind(CASES[case].model)
    model, m = CASES[case].model, len(residual.rows)
    assert len(set(residual.rows)) == m == len(residual.units) == len(residual.scale)
    assert np.all(np.isfinite(residual.scale) & (residual.scale > 0.0))
    assert len(set(residual.entries)) == len(residual.entries)
    for row, channel, component in residual.entries:
        assert type(row) is int
        assert type(component) is int
        assert 0 <= row < m
        assert 0 <= component < channel_size(model, channel)
    pairs = {frozenset((pair[:2], pair[2:])) for pair in residual.curved}
    assert len(pairs) == len(residual.curved)
    assert not (residual.constant and residual.curved)
    for first, _, second, _ in residual.curved:
        assert first.split(".")[0] == second.split(".")[0] or not CASES[case].term.pairs
    for bound in (getattr(residual, "lower", None), getattr(residual, "upper", None)):
        assert bound is None or bound.shape == (m,)


@pytest.mark.parametrize("case", CASES)
def test_partials(case: str) -> None:
    check_partials(*drawn(case))


def check_partials(residual: Residual, channels: dict[str, np.ndarray]) -> None:
    """Against complex steps in every component of every channel: no entry is missing or extra."""
    declared = dict(zip(residual.entries, partials(residual, Samples(channels)), strict=True))
    size = np.abs(value(residual, Samples(channels))).max(initial=1.0)
    for name, x in channels.items():
        for k in range(len(x)):
            slope = value(residual, stepped(channels, name, k), complex).imag / STEP
            for row in range(len(residual.rows)):
                if (row, name, k) in declared:
                    expected = declared[row, name, k]
                    bound = 450 * EPS * (np.abs(expected) + size)  # 1e-13 relative
                    assert np.all(np.abs(slope[row] - expected) <= bound), (row, name, k)
                    assert np.any(expected != 0.0), f"superfluous: {(row, name, k)}"
                else:
                    assert not np.any(slope[row]), f"not declared: {(row, name, k)}"


@pytest.mark.parametrize("case", CASES)
def test_constant(case: str) -> None:
    residual, channels = drawn(case)
    here = partials(residual, Samples(channels))
    there = partials(residual, Samples({c: x + 1.0 for c, x in channels.items()}))
    same = np.array_equal(here, there) and np.array_equal(here, np.broadcast_to(
        here[(slice(None), *(slice(0, 1),) * len(SHAPE))], here.shape
    ))  # fmt: skip
    assert same == residual.constant


EXACT = [case for case in CASES if CASES[case].term.kind != "user"]


@pytest.mark.parametrize("case", EXACT)
def test_curvature(case: str) -> None:
    check_curvature(*drawn(case))


def check_curvature(residual: Residual, channels: dict[str, np.ndarray]) -> None:
    """Against complex steps of the contracted partials; pairs that are not declared are zero."""
    weights = np.random.default_rng(8).standard_normal((len(residual.rows), *SHAPE))
    out = np.full((len(residual.curved), *SHAPE), np.nan)
    residual.curvature(Samples(channels), weights, out)
    declared = {frozenset((pair[:2], pair[2:])): x for pair, x in zip(
        residual.curved, out, strict=True
    )}  # fmt: skip
    for name in residual.channels:
        for k in range(len(channels[name])):
            slopes = partials(residual, stepped(channels, name, k), complex).imag / STEP
            second: dict[tuple[str, int], np.ndarray] = {}
            for (row, other, component), slope in zip(residual.entries, slopes, strict=True):
                key = (other, component)
                second[key] = second.get(key, 0.0) + weights[row] * slope
            for key, expected in second.items():
                got = declared.get(frozenset(((name, k), key)))
                if got is None:
                    assert not np.any(expected), f"not declared: {(name, k)}, {key}"
                    continue
                bound = 450 * EPS * (np.abs(expected) + np.abs(expected).max())
                assert np.all(np.abs(got - expected) <= bound), ((name, k), key)
                assert np.any(got != 0.0), f"superfluous: {(name, k)}, {key}"
