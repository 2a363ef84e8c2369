"""All C3D files of a folder, named by PREDYN_C3D, read as ezc3d reads them.

The public test files of ezc3d and BTK (github.com/pyomeca/ezc3d-testFiles and
github.com/Biomechanical-ToolKit/BTKData) are not part of this repository. What ezc3d gets wrong is
left out: frames whose samples it does not see (no ANALOG:RATE), and moments of plates of type 1,
which are compared through the centre of pressure and the free moment.
"""

import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

from predyn.errors import DataWarning, FileError
from predyn.recordings.c3d_file import read_c3d_file
from predyn.recordings.loading import load_measurements

FOLDER = os.environ.get("PREDYN_C3D", "")
FILES = sorted(p for p in Path(FOLDER).rglob("*") if p.suffix.lower() == ".c3d") if FOLDER else []
LENGTHS = {"mm": 1e-3, "cm": 1e-2, "m": 1.0, "mete": 1.0}

pytestmark = [
    pytest.mark.verify,
    pytest.mark.skipif(not FILES, reason="PREDYN_C3D names no folder with C3D files"),
]


def read_by_ezc3d(path, **options):
    """None if ezc3d refuses the file; tried first in another process, which it may end."""
    ezc3d = pytest.importorskip("ezc3d")
    code = "import sys, ezc3d; ezc3d.c3d(sys.argv[1], **eval(sys.argv[2]))"
    done = subprocess.run(
        [sys.executable, "-c", code, str(path), repr(options)], capture_output=True
    )
    return None if done.returncode else ezc3d.c3d(str(path), **options)


def load(path):
    """As a user would: with units if the file asks for them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        try:
            return load_measurements(path)
        except FileError as error:
            if "POINT:UNITS" not in str(error):
                raise
            return load_measurements(path, units="mm")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_as_ezc3d(path):
    theirs = read_by_ezc3d(path)
    try:
        made = load(path)
    except FileError:  # no motion in it: then ezc3d finds no named markers and no plates either
        assert theirs is None or not _motion(theirs)
        return
    if theirs is None:
        pytest.skip("ezc3d does not read this file")
    points = theirs["data"]["points"]
    analogs = theirs["data"]["analogs"].shape[2]
    if analogs == 0 and read_c3d_file(str(path)).analog.size:
        pytest.skip("ezc3d overlooks the analog samples of this file, and misplaces its points")
    if points.shape[1] == 0 and made.markers:
        pytest.skip("ezc3d overlooks the points of this file")
    _compare_markers(made, theirs)
    _compare_plates(path, made)


def _motion(c3d):
    point = c3d["parameters"]["POINT"]
    computed = {
        label
        for group in ("ANGLES", "FORCES", "MOMENTS", "POWERS", "SCALARS")
        for label in point.get(group, {"value": []})["value"]
    }
    named = [x for x in point["LABELS"]["value"] if x and x[0] != "*" and x not in computed]
    return named if c3d["data"]["points"].shape[1] else []


def _compare_markers(made, theirs):
    point = theirs["parameters"]["POINT"]
    points = theirs["data"]["points"]
    if not points.shape[1]:
        return
    units = point["UNITS"]["value"] if "UNITS" in point else []
    factor = LENGTHS.get(units[0].lower() if units else "mm", 1e-3)
    residuals = theirs["data"]["meta_points"]["residuals"][0]
    seen = set()
    for k, label in enumerate(point["LABELS"]["value"][: points.shape[1]]):
        name = label.strip()
        if name in seen or name not in made.markers:
            continue
        seen.add(name)
        expected = points[:3, k].T * factor
        expected[(residuals[k] < 0.0) | (expected == 0.0).all(axis=1)] = np.nan
        assert made.markers[name] == pytest.approx(expected, abs=1e-6, nan_ok=True)
    twins = sum(name.rpartition("_")[0] in seen for name in made.markers if name not in seen)
    assert len(made.markers) == len(seen) + twins
    first = theirs["header"]["points"]["first_frame"]
    rate = point["RATE"]["value"][0]
    assert made.t == pytest.approx((first + np.arange(points.shape[2])) / rate, abs=1e-9)


def _compare_plates(path, made):
    if not made.forces:
        return
    theirs = read_by_ezc3d(path, extract_forceplat_data=True)
    if theirs is None:
        return
    unit = LENGTHS.get(theirs["data"]["platform"][0]["unit_position"])
    for name, force in made.forces.items():
        plate = theirs["data"]["platform"][int(name.removeprefix("plate")) - 1]
        sign = 1.0 if np.sum(plate["force"].T * force.force) >= 0.0 else -1.0
        assert force.force == pytest.approx(sign * plate["force"].T, abs=1.0)
        if unit is None or not made.markers:
            continue
        centre, free = plate["center_of_pressure"].T * unit, plate["Tz"].T * unit
        with np.errstate(invalid="ignore"):  # no centre of pressure without force
            moment = np.cross(centre - force.point, sign * plate["force"].T) + sign * free
        known = np.isfinite(moment).all(axis=1)
        assert force.moment[known] == pytest.approx(moment[known], abs=0.1)
