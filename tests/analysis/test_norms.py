"""Normative curves: read, matched to curves, or refused with the line and the reason."""

from pathlib import Path

import numpy as np
import pytest

from analysis.walkers import walking
from predyn.analysis import gait_cycles, load_norms
from predyn.errors import FileError

CURVES = ["hip_flexion_angle", "hip_adduction_angle", "knee_angle", "knee_moment"]


def written(folder: Path, header: str, rows: list[str]) -> Path:
    path = folder / "norms.csv"
    path.write_text("\n".join([header, *rows]) + "\n")
    return path


def test_norms_are_interpolated_to_whole_percents(tmp_path: Path) -> None:
    rows = [f"{p},{2 * p},{0.5 * p + 1}" for p in range(0, 101, 4)]
    norms = load_norms(written(tmp_path, "percent,knee_angle_mean,knee_angle_sd", rows))
    band = norms.matched(CURVES)["knee_angle"]
    assert band.mean == pytest.approx(2.0 * np.arange(101))
    assert band.sd == pytest.approx(0.5 * np.arange(101) + 1.0)
    gait = gait_cycles(walking(), norms=norms)
    assert list(gait.norms) == ["knee_angle"]


def test_short_names_match_if_unique(tmp_path: Path) -> None:
    rows = [f"{p},1,1" for p in range(0, 101, 10)]
    knee = load_norms(written(tmp_path, "percent,kne_angle_mean,kne_angle_sd", rows))
    assert list(knee.matched(CURVES)) == ["knee_angle"]
    hip = load_norms(written(tmp_path, "percent,hip_angle_mean,hip_angle_sd", rows))
    with pytest.raises(FileError, match="could be any of 'hip_flexion_angle', 'hip_adduction"):
        hip.matched(CURVES)
    toe = load_norms(written(tmp_path, "percent,toe_angle_mean,toe_angle_sd", rows))
    with pytest.raises(FileError, match="unknown curve of column 'toe_angle_mean'"):
        toe.matched(CURVES)


@pytest.mark.parametrize(
    ("header", "row", "message"),
    [
        ("phase,knee_angle_mean,knee_angle_sd", "{p},1,1", "expected a column 'percent'"),
        ("percent,knee,sd", "{p},1,1", "expected columns such as knee_angle_mean"),
        ("percent,knee_angle_mean,x", "{p},1,1", "'knee_angle_mean' has no 'knee_angle_sd'"),
        ("percent,percent,knee_angle_mean", "{p},1,1", "'percent' appears twice"),
        ("percent,knee_angle_mean,knee_angle_sd", "{p},one,1", "line 2: expected a number"),
        ("percent,knee_angle_mean,knee_angle_sd", "{p},nan,1", "line 2: expected finite"),
        ("percent,knee_angle_mean,knee_angle_sd", "{p},1", "line 2: expected 3 cells, got 2"),
        ("percent,knee_angle_mean,knee_angle_sd", "7,1,1", "grow from 0 to 100"),
    ],
)
def test_bad_files_are_refused(tmp_path: Path, header: str, row: str, message: str) -> None:
    rows = [row.format(p=p) for p in range(0, 101, 10)]
    with pytest.raises(FileError, match=message):
        load_norms(written(tmp_path, header, rows))
    with pytest.raises(FileError, match="at least 5 rows"):
        load_norms(written(tmp_path, "percent,a_mean,a_sd", ["0,1,1"]))
