"""Parquet parts: written whole, read together, damage named."""

from pathlib import Path

import numpy as np
import pytest

from fake_cases import COLLECTED, fake_study, run_inside
from predyn.errors import FileError
from predyn.study.study import Column
from predyn.study.table import (
    columns_of,
    part_numbers,
    part_path,
    read_parts,
    read_table,
    write_part,
)

COLUMNS = columns_of([Column("mass", "kg"), Column("who", "", "text")], COLLECTED)
ROW = {"case": 3, "mass": 1.5, "who": "Ä\ud800", "status": "optimal", "solved": True, "guess": 1}


def write(folder: Path, number: int, *rows: dict) -> Path:
    (folder / "parts").mkdir(exist_ok=True)
    path = part_path(folder, number)
    write_part(path, COLUMNS, rows, "abc")
    return path


def test_values_units_and_missing_ones(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    path = write(tmp_path, 1, ROW, {"case": 0, "objective": 2})
    schema = pq.read_schema(path)
    assert schema.field("mass").metadata == {b"unit": b"kg"}
    table, damaged = read_parts(tmp_path, COLUMNS, 4, "abc")
    assert not damaged
    assert list(table) == [x.name for x in COLUMNS]
    assert table["case"].tolist() == [0, 3]
    assert table["who"].tolist() == ["", "Ä\\ud800"]
    assert table["solved"].tolist() == [False, True]
    assert table["guess"].tolist() == [-1, 1]
    np.testing.assert_array_equal(table["mass"], [np.nan, 1.5])
    np.testing.assert_array_equal(table["objective"], [2.0, np.nan])


def test_the_last_part_of_a_case_counts(tmp_path: Path) -> None:
    for number, mass in ((1, 1.0), (10, 3.0), (2, 2.0)):
        write(tmp_path, number, ROW | {"mass": mass})
    assert part_numbers(tmp_path) == [1, 2, 10]
    table, _ = read_parts(tmp_path, COLUMNS, 4, "abc")
    assert table["mass"].tolist() == [3.0]


def test_pandas_and_pyarrow_read_the_folder(tmp_path: Path) -> None:
    import pandas
    import pyarrow.parquet as pq

    write(tmp_path, 1, ROW)
    write(tmp_path, 2, ROW | {"case": 1})
    assert sorted(pandas.read_parquet(tmp_path / "parts")["case"]) == [1, 3]
    assert pq.read_table(tmp_path / "parts").num_rows == 2


@pytest.mark.parametrize("seed", range(12))
def test_damage_is_named(tmp_path: Path, seed: int) -> None:
    """Whatever byte is wrong, a part is read as it was written or refused."""
    good = write(tmp_path, 1, ROW)
    path = write(tmp_path, 2, *(ROW | {"case": k, "mass": k + 0.25} for k in range(3)))
    data, rng = bytearray(path.read_bytes()), np.random.default_rng(seed)
    if seed % 4 == 0:
        data = data[: rng.integers(len(data))]
    else:
        data[rng.integers(len(data))] ^= 1 << rng.integers(8)
    path.write_bytes(data)
    table, damaged = read_parts(tmp_path, COLUMNS, 4, "abc")
    assert good not in damaged
    if path in damaged:
        assert str(path) in damaged[path]
        assert table["case"].tolist() == [3]
    else:
        assert table["mass"].tolist() == [0.25, 1.25, 2.25, 1.5]


def test_parts_of_other_studies_and_cases_outside_are_refused(tmp_path: Path) -> None:
    write(tmp_path, 1, ROW)
    other = read_parts(tmp_path, COLUMNS, 4, "abd").damaged
    assert "belongs to another study" in next(iter(other.values()))
    fewer = read_parts(tmp_path, COLUMNS, 3, "abc").damaged
    assert "case outside 0 to 2" in next(iter(fewer.values()))
    columns = read_parts(tmp_path, COLUMNS[:-1], 4, "abc").damaged
    assert "columns" in next(iter(columns.values()))
    write(tmp_path, 2, ROW | {"guess": -5})
    assert "guess outside -1 to 3" in next(
        iter(read_parts(tmp_path, COLUMNS, 4, "abc").damaged.values())
    )


def test_other_files_among_the_parts(tmp_path: Path) -> None:
    write(tmp_path, 1, ROW)
    (tmp_path / "parts" / "1.parquet").write_bytes(b"nothing")
    (tmp_path / "parts" / "x.parquet").write_bytes(b"nothing")
    assert part_numbers(tmp_path) == [1]
    part_path(tmp_path, 2).mkdir()
    (message,) = read_parts(tmp_path, COLUMNS, 4, "abc").damaged.values()
    assert "expected a file, this is a folder" in message


def test_read_table(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"there is no study\.json"):
        read_table(tmp_path)
    run = run_inside(fake_study(9), tmp_path / "s")
    table = read_table(tmp_path / "s")
    assert table["twice"].tolist() == run.table["twice"].tolist()
    part_path(tmp_path / "s", 2).write_bytes(b"nothing")
    with pytest.raises(FileError, match=r"000002\.parquet: damaged.*to repair it"):
        read_table(tmp_path / "s")
    (tmp_path / "s" / "study.json").write_text("{}")
    with pytest.raises(FileError, match="damaged"):
        read_table(tmp_path / "s")
