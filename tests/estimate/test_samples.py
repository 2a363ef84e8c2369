"""Noise, jumps and speeds estimated from samples alone."""

from __future__ import annotations

import numpy as np
import pytest

from predyn.errors import InputError
from predyn.estimate.samples import odd_steps, roughness

T = np.linspace(0.0, 1.0, 101)
SWING = 0.8 * np.sin(6.0 * T)


def noisy(level: float, rate: int = 100) -> np.ndarray:
    rng = np.random.default_rng(0)
    t = np.linspace(0.0, 1.0, rate + 1)
    return 0.8 * np.sin(6.0 * t) + level * rng.standard_normal(rate + 1)


def test_roughness_is_the_noise_of_a_slow_motion() -> None:
    fine = np.linspace(0.0, 1.0, 2001)
    # the median of 1998 differences that overlap: some 4 % of scatter
    assert roughness((fine, noisy(1e-3, 2000))) == pytest.approx(1e-3, rel=0.15)
    assert roughness((T, SWING), (T, noisy(1e-3))) < 1e-3
    assert roughness((T[:3], SWING[:3])) == 0.0


def test_roughness_depends_on_the_times() -> None:
    rng = np.random.default_rng(3)
    t = np.sort(rng.uniform(0.0, 1.0, 400))
    parabola = 1.0 - 2.0 * t + 5.0 * t**2
    # weights of size 1 or less, of numbers up to 4, with 16 digits: times that are close lose more
    assert roughness((t, parabola)) < 1e-12
    noise = 1e-3 * rng.standard_normal(400)
    assert roughness((t, parabola + noise)) == pytest.approx(1e-3, rel=0.3)
    even = np.linspace(0.0, 1.0, 50)
    values = rng.standard_normal(50)
    plain = 1.4826 * np.median(np.abs(np.diff(values, 3))) / np.sqrt(20.0)
    assert roughness((even, values)) == pytest.approx(plain, rel=1e-10)


@pytest.mark.parametrize("level", [0.0, 1e-3, 0.03])
@pytest.mark.parametrize("rate", [100, 2000])
def test_noisy_motions_give_no_warning(level: float, rate: int) -> None:
    """Noise of 0.03 rad at 2 kHz makes steps of 100 rad/s and more."""
    t = np.linspace(0.0, 1.0, rate + 1)
    assert odd_steps("joint a", t, noisy(level, rate)[:, None], "rad") == (0.0, "")


def test_gaps_and_empty_channels_give_no_warning() -> None:
    values = SWING.copy()
    values[20:60] = np.nan
    assert odd_steps("joint a", T, values[:, None], "rad") == (0.0, "")
    assert odd_steps("joint a", T, np.full((101, 1), np.nan), "rad") == (0.0, "")


def test_a_jump_is_named_with_its_sample() -> None:
    points = np.stack((SWING, 0.5 * SWING, 0.0 * T), axis=1)
    points[41:, 1] += 2.0
    speed, jumps = odd_steps("marker heel", T, points, "m")
    assert speed == 0.0
    # the swing takes 0.02 m of the 2 m back
    assert jumps.startswith(
        "marker heel: jumps by 1.98 m after sample 40; mark outliers as missing"
    )


def test_two_jumps_are_counted_and_wild_ones_refused() -> None:
    values = SWING.copy()
    values[50] += 3.0
    assert "(2 jumps in all)" in odd_steps("joint a", T, values[:, None], "rad").jumps
    values[50] = 1e8
    with pytest.raises(InputError, match=r"joint a: jumps by 1e\+08 rad after sample (49|50);"):
        odd_steps("joint a", T, values[:, None], "rad")


def test_impossible_speeds_give_a_warning() -> None:
    speed, jumps = odd_steps("joint a", 1e-3 * T, SWING[:, None], "rad")
    assert jumps == ""
    assert speed == pytest.approx(4.8e3, rel=1e-2)
