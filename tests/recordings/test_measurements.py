"""Measurements: their contents, and messages about invalid recordings."""

import dataclasses
import pickle
import re

import numpy as np
import pytest

from predyn.errors import InputError
from predyn.recordings.measurements import MeasuredForce, Measurements

T = np.array([0.0, 0.1, 0.2])


def force(**parts):
    rows = np.arange(9.0).reshape(3, 3)
    return MeasuredForce(**{"t": T, "force": rows, "point": rows, "moment": rows} | parts)


def changed(row, column, value):
    values = np.ones((3, 3))
    values[row, column] = value
    return values


def test_arrays_are_read_only_copies():
    angle = np.array([1, 2, 3])
    made = Measurements([0, 1, 2], {"knee": angle}, {"toe": np.ones((3, 3))}, notes=["a"])
    angle[0] = 7
    assert made.angles["knee"].tolist() == [1.0, 2.0, 3.0]
    assert made.t.dtype == made.angles["knee"].dtype == np.float64
    assert made.notes == ("a",)
    for array in (made.t, made.angles["knee"], made.markers["toe"], force().point):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0
    with pytest.raises(dataclasses.FrozenInstanceError):
        made.t = T


def test_gaps_are_allowed_in_angles_and_markers():
    nan = np.full(3, np.nan)
    made = Measurements(T, {"knee": nan}, {"toe": changed(1, 2, np.nan)})
    assert np.isnan(made.angles["knee"]).all()
    assert np.isnan(made.markers["toe"]).sum() == 1


def test_forces_have_their_own_times_and_can_be_combined():
    motion = Measurements(T, {"knee": T})
    t = np.linspace(0.0, 0.2, 21)
    plate = MeasuredForce(t, np.zeros((21, 3)), np.zeros((21, 3)), np.zeros((21, 3)))
    both = dataclasses.replace(motion, forces={"plate": plate})
    assert both.forces["plate"].t.shape == (21,)
    assert repr(both) == "Measurements(3 samples in 0.2 s, 1 angles, 0 markers, 1 forces)"
    again = pickle.loads(pickle.dumps(both))
    assert again.forces["plate"].t.tolist() == t.tolist()


BAD = {
    "t: expected at least 1 sample, got none": {"t": [], "angles": {"a": []}},
    "t: expected times of shape (M,), got shape ()": {"t": 1.0, "angles": {}},
    "t: row 2 repeats: 0.1 s after 0.1 s": {"t": [0.0, 0.1, 0.1]},
    "t: row 1 goes backwards: 0 s after 5 s (2 such rows)": {"t": [5.0, 0.0, -1.0]},
    "t, row 1: missing (NaN)": {"t": [0.0, np.nan, 1.0]},
    "t, row 2: inf is too large": {"t": [0.0, 1.0, np.inf]},
    "t: expected an array of numbers, got 'abc'": {"t": "abc"},
    "angle 'knee': expected shape (3,), got (2,)": {"angles": {"knee": [1.0, 2.0]}},
    "angle 'knee', row 1: -inf is too large": {"angles": {"knee": [1.0, -np.inf, 0.0]}},
    "angle 'knee', row 0: 1e+30 is too large (at most 1e+09)": {"angles": {"knee": [1e30, 0, 0]}},
    "angle 'knee': expected an array of numbers": {"angles": {"knee": ["a", "b", "c"]}},
    "marker 'toe': expected shape (3, 3), got (3, 2)": {"markers": {"toe": np.ones((3, 2))}},
    "marker 'toe', row 2, y: inf is too large": {"markers": {"toe": changed(2, 1, np.inf)}},
    "force 'plate', row 1, z: missing (NaN)": {
        "forces": {"plate": force(force=changed(1, 2, np.nan))}
    },
    "force 'plate', point, row 0, x: missing": {
        "forces": {"plate": force(point=changed(0, 0, np.nan))}
    },
    "force 'plate', moment, row 2, y: inf": {
        "forces": {"plate": force(moment=changed(2, 1, np.inf))}
    },
    "force 'plate': expected shape (3, 3), got (2, 3)": {
        "forces": {"plate": force(force=np.ones((2, 3)))}
    },
    "force 'plate', t: row 1 repeats": {"forces": {"plate": force(t=[0.0, 0.0, 1.0])}},
    "force 'plate': expected a MeasuredForce, got [1, 2]": {"forces": {"plate": [1, 2]}},
    "'knee' is the name of an angle and of a marker": {
        "angles": {"knee": T},
        "markers": {"knee": np.ones((3, 3))},
    },
    "angles: expected a mapping from names, got list": {"angles": [1.0]},
    "angles: expected names (str, not empty), got 3": {"angles": {3: T}},
    "markers: expected names (str, not empty), got ' '": {"markers": {" ": np.ones((3, 3))}},
    "expected at least one angle, marker or force": {"angles": {}},
}


@pytest.mark.parametrize("message", BAD)
def test_bad_measurements(message):
    with pytest.raises(InputError, match=re.escape(message)):
        Measurements(**{"t": T, "angles": {"hip": T}} | BAD[message])


def test_all_problems_are_listed_up_to_a_limit():
    angles = {f"joint{k}": [np.inf, 0.0, 0.0] for k in range(40)}
    with pytest.raises(InputError) as caught:
        Measurements([0.0, 0.0, 1.0], angles)
    message = str(caught.value)
    assert "row 1 repeats" in message
    assert "'joint10'" in message
    assert message.endswith("and 29 more")
    assert len(message) < 2000
