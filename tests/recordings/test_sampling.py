"""Sample times: rounded stamps, gaps, and repeated rows."""

import numpy as np
import pytest

from predyn.recordings.loading import load_measurements
from predyn.recordings.sampling import undo_rounding, usual_interval


@pytest.mark.parametrize("rate", [50.0, 60.0, 59.94, 100.0, 120.0, 179.82, 240.0, 250.0])
@pytest.mark.parametrize("decimals", [3, 4])
@pytest.mark.parametrize("start", [0.0, 1.234, 12.0])
def test_rounding_is_undone(rate, decimals, start):
    exact = start + np.arange(300) / rate
    rounded = np.round(exact, decimals)
    made, found = undo_rounding(rounded)
    assert np.abs(made - rounded).max() <= 0.5 * 10.0**-decimals * 1.01
    assert 1.0 / usual_interval(made) == pytest.approx(rate, rel=10.0**-decimals)
    assert np.diff(made) == pytest.approx(np.full(299, usual_interval(made)), rel=1e-6)
    if found is not None and rate == round(rate):
        assert found == rate
    stated, _ = undo_rounding(rounded, rate)
    assert np.diff(stated) == pytest.approx(np.full(299, 1.0 / rate), rel=1e-6)


def test_uneven_times_are_kept():
    rng = np.random.default_rng(1)
    for t in (
        np.cumsum(rng.uniform(0.005, 0.02, 100)),
        np.delete(np.arange(100) / 100.0, slice(40, 60)),
        np.round(np.cumsum(rng.uniform(0.005, 0.02, 100)), 3),
        np.array([0.0, 0.1, 0.1, 0.2, 0.3]),
        np.array([0.0, np.nan, 0.2, 0.3]),
        np.arange(3) / 60.0,
    ):
        made, found = undo_rounding(t)
        assert found is None
        assert made is t


def test_usual_interval_ignores_gaps():
    t = np.round(np.delete(np.arange(300) / 60.0, slice(100, 130)), 3)
    assert 1.0 / usual_interval(t) == pytest.approx(60.0, rel=1e-3)
    assert 1.0 / float(np.median(np.diff(t))) == pytest.approx(58.8, abs=0.1)  # what was used


def test_usual_interval_of_alternating_steps_is_one_of_them():
    t = np.cumsum([0.0, 0.001, 1.0, 0.001, 1.0])
    assert usual_interval(t) in (pytest.approx(0.001), pytest.approx(1.0))


def test_a_repeated_last_row_is_skipped(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("t,a [rad]\n0,1\n0.1,2\n0.2,3\n0.2,3\n")
    made = load_measurements(path)
    assert made.t.tolist() == [0.0, 0.1, 0.2]
    assert made.angles["a"].tolist() == [1.0, 2.0, 3.0]
    assert any(note.startswith("line 5 repeats the time 0.2 s") for note in made.notes)
