"""Filtering: gain of the filter, quiet ends, and the cut-off that is used."""

from __future__ import annotations

import numpy as np
import pytest

from predyn.errors import InputError
from predyn.estimate.butterworth import butterworth, filtered, residual_cutoff
from predyn.models import trujillo_two_link
from predyn.recordings.measurements import Measurements
from recorded_motions import rms

MODEL = trujillo_two_link()


def times(rate: float, seconds: float = 2.0) -> np.ndarray:
    return np.linspace(0.0, seconds, round(rate * seconds) + 1)


@pytest.mark.parametrize("cutoff", [2.0, 8.0, 20.0, 35.0])
def test_two_passes_leave_half_the_power_at_the_cutoff(cutoff: float) -> None:
    t = times(100.0, 20.0)
    wave = np.stack((np.sin(2 * np.pi * cutoff * t), np.cos(2 * np.pi * cutoff * t)), axis=1)
    left = butterworth(t, wave, cutoff)[500:-500]
    # the ends have died away: 5 s are ten periods at least
    assert rms(left) / rms(wave[500:-500]) == pytest.approx(np.sqrt(0.5), rel=2e-3)


def test_ends_are_no_worse_at_a_higher_rate() -> None:
    errors = []
    for rate in (100.0, 500.0, 1000.0):
        t = times(rate)
        noise = 1e-3 * np.random.default_rng(1).standard_normal((len(t), 2))
        q = np.stack((0.5 * np.sin(4.0 * t), 0.3 * np.cos(5.0 * t)), axis=1)
        clean = filtered(MODEL, t, q, Measurements(t, {"a": t}), {}, 8.0).tau
        found = filtered(MODEL, t, q + noise, Measurements(t, {"a": t}), {}, 8.0).tau
        errors.append(rms(found - clean))
    # more samples, less noise after the filter
    assert errors[1] < 1.2 * errors[0]
    assert errors[2] < 1.2 * errors[0]


@pytest.mark.parametrize("rate", [100.0, 1000.0])
def test_cutoff_by_residuals_is_above_the_motion_and_below_the_noise(rate: float) -> None:
    t = times(rate)
    noise = 1e-3 * np.random.default_rng(1).standard_normal(len(t))
    swing = 0.5 * np.sin(2 * np.pi * 1.5 * t) + noise
    assert 1.5 < residual_cutoff(t, swing[:, None]) < 25.0


def test_a_given_cutoff_is_used_or_refused() -> None:
    t = times(100.0)
    q = np.stack((np.sin(t), np.cos(t)), axis=1)
    data = Measurements(t, {"a": t})
    for cutoff in (0.05, 6.0, 49.0):
        assert filtered(MODEL, t, q, data, {}, cutoff).cutoff == cutoff
    for cutoff in (1e-9, 0.049, 49.1, 50.0, 1e300):
        with pytest.raises(InputError, match=r"cutoff: expected from 0\.05 to 49 Hz"):
            filtered(MODEL, t, q, data, {}, cutoff)
