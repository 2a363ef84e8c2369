"""A walking leg: noisy hip, knee and ankle angles of a recorded stride give its torques."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from predyn.dynamics import inverse_dynamics
from predyn.estimate.estimating import estimate_torques
from predyn.recordings.loading import load_measurements
from predyn.recordings.measurements import Measurements
from recorded_motions import SHARED, coverage, filter_error, leg, needs_shared, recorded, rms

pytestmark = needs_shared
# half a degree at 100 Hz leaves torques of the upper leg open by their own size: told, and true
wide_bands = pytest.mark.filterwarnings(
    "ignore:.*95 % band is wider than the torque itself:predyn.errors.DataWarning"
)

STRIDE = 1.145  # s
RATE = 100.0  # samples a second
SEAM = 16  # percent: what is before comes from the next stride
COLUMNS = ("hip_flexion_deg", "knee_flexion_deg", "ankle_dorsiflexion_deg")
SIGNS = np.array([1.0, -1.0, 1.0])  # the model's knee extends in the positive sense
SMOOTH = 9.0  # harmonic that the spline halves


@cache
def harmonics() -> np.ndarray:
    """Coefficients (51, 3) of the stride, in rad: a periodic smoothing spline of degree 5.

    The jump between two joined strides is spread over the stride.
    """
    path = SHARED / "data" / "gait" / "gait_subject_rajagopal2016_1p24ms.csv"
    table = np.genfromtxt(path, delimiter=",", names=True)
    curves = np.deg2rad(np.stack([table[name] for name in COLUMNS], axis=1)) * SIGNS
    percent = np.arange(101)[:, None]
    step = np.diff(curves, axis=0)
    jump = step[SEAM] - 0.5 * (step[SEAM - 1] + step[SEAM + 1])
    whole = curves + jump * (percent / 100 - (percent > SEAM))
    found = np.fft.rfft(whole[:100], axis=0) / 100
    order = np.arange(len(found))[:, None]
    return np.asarray(found * np.where(order, 2.0, 1.0) / (1.0 + (order / SMOOTH) ** 6))


def walking(t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """q, v, a (K, 3)."""
    rate = 2j * np.pi / STRIDE * np.arange(len(harmonics()))
    waves = np.exp(rate * t[:, None])
    q, v, a = (np.real(waves @ (harmonics() * rate[:, None] ** k)) for k in range(3))
    return q, v, a


def torques(t: np.ndarray) -> np.ndarray:
    return inverse_dynamics(leg(), *walking(t))


def noisy(strides: int, degrees: float, seed: int) -> Measurements:
    t = np.arange(0.0, strides * STRIDE, 1.0 / RATE)
    return recorded(leg(), t, walking(t)[0], noise=np.deg2rad(degrees), seed=seed)


def test_the_clean_motion_equals_that_of_the_file() -> None:
    path = SHARED / "data" / "gait" / "gait_subject_rajagopal2016_1p24ms.csv"
    table = np.genfromtxt(path, delimiter=",", names=True)
    t = STRIDE * np.arange(101) / 100
    found = np.rad2deg(walking(t)[0]) * SIGNS
    for j, name in enumerate(COLUMNS):
        # the jump of 1.4 degrees, spread over the stride
        assert found[:, j] == pytest.approx(table[name], abs=1.6)
    assert walking(np.array([0.0, STRIDE]))[2][0] == pytest.approx(
        walking(np.array([STRIDE]))[2][0], rel=1e-9
    )


@wide_bands
@pytest.mark.parametrize(("strides", "degrees"), [(1, 0.1), (1, 0.5), (3, 0.5)])
def test_the_torques_of_the_clean_motion_are_within_the_bands(strides: int, degrees: float) -> None:
    covered, error, usual = [], [], []
    for seed in range(6):
        estimate = estimate_torques(leg(), noisy(strides, degrees, seed))
        truth = torques(estimate.t_tau)
        assert estimate.success
        covered.append(coverage(estimate, truth))
        error.append(rms(estimate.tau - truth))
        usual.append(rms(filter_error(estimate, truth)))
        # 115 numbers and more a channel, some 20 used up: 8 %
        found = np.rad2deg([channel.sd for channel in estimate.channels])
        assert found == pytest.approx(degrees, rel=0.3)
    assert min(covered) > 0.8
    assert np.mean(covered) >= 0.9
    assert np.mean(error) < 0.9 * np.mean(usual)


@wide_bands
def test_a_csv_file_in_degrees_gives_the_same(tmp_path: Path) -> None:
    data = noisy(1, 0.5, 0)
    rows = ["time,hip_deg,knee_deg,ankle_deg"]
    for t, *angles in zip(data.t, *(data.angles[x] for x in ("hip", "knee", "ankle")), strict=True):
        rows.append(",".join(repr(float(x)) for x in (t, *np.rad2deg(angles))))
    path = tmp_path / "walking.csv"
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    read = load_measurements(path)
    assert tuple(read.angles) == ("hip", "knee", "ankle")
    for name, values in data.angles.items():
        assert read.angles[name] == pytest.approx(values, rel=1e-15, abs=1e-16)
    direct, filed = estimate_torques(leg(), data), estimate_torques(leg(), path)
    assert filed.measurements.source == str(path)
    assert filed.order == direct.order
    # the last digits of the angles, over h^2 and times the inertia: 1e-16 / 1e-4 * 2
    assert filed.tau == pytest.approx(direct.tau, abs=1e-6)
