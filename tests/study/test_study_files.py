"""Studies as files: what is read from them, and what is refused with which words."""

import pickle
import random
from pathlib import Path

import numpy as np
import pytest

import predyn
from predyn.study import check_size, read_study, study_of
from predyn.study.key_paths import parse_key

EXAMPLES = Path(__file__).parents[2] / "examples/studies"
LOAD = {"key": "forces[0].force[1]", "values": [0.0, -5.0, -10.0]}
LIFT = {"task": "two-link-lifting", "vary": [LOAD]}


def refused(**changes) -> str:
    with pytest.raises(predyn.FileError) as error:
        study_of(LIFT | changes)
    return str(error.value)


@pytest.mark.parametrize(
    ("name", "cases"),
    [("two_link_payloads", 500), ("hopper_spring", 128), ("stud_welding", 24),
     ("people_walking", 40), ("people_lifting", 36)],
)  # fmt: skip
def test_examples_can_be_read(name, cases):
    study = read_study(EXAMPLES / f"{name}.toml")
    assert len(study) == cases
    assert study.description
    assert pickle.loads(pickle.dumps(study)).fingerprint == study.fingerprint


def test_grids_multiply_and_groups_go_together():
    together = [
        {"key": "cost.time.weight", "values": [0.9, 0.8], "group": "mix"},
        {"key": "cost.effort.weight", "values": [0.1, 0.2], "group": "mix"},
    ]
    study = study_of(LIFT | {"vary": [LOAD, *together]})
    assert len(study) == 6
    rows = [tuple(study.case_values(k).values()) for k in range(6)]
    assert rows[:3] == [(0.0, 0.9, 0.1), (0.0, 0.8, 0.2), (-5.0, 0.9, 0.1)]
    assert len(set(rows)) == 6


def test_grids_from_bounds():
    grid = {"key": "phases[0].duration.max", "from": 1.0, "to": 4.0, "count": 3}
    values = study_of(LIFT | {"vary": [grid]}).values["phases[0].duration.max"]
    np.testing.assert_allclose(values, [1.0, 2.5, 4.0])
    values = study_of(LIFT | {"vary": [grid | {"log": True}]}).values["phases[0].duration.max"]
    np.testing.assert_allclose(values, [1.0, 2.0, 4.0])
    study = study_of(LIFT | {"vary": ({"key": "continuity", "values": np.arange(2)},)})
    assert [study.case_values(k)["continuity"] for k in range(2)] == [0.0, 1.0]


@pytest.mark.parametrize("method", ["latin_hypercube", "sobol", "random"])
def test_samples_are_reproducible_and_fill_their_ranges(method):
    vary = [
        {"quantity": "mass of link2", "uniform": [0.2, 0.8]},
        {"quantity": "effort limit of joint1", "log_uniform": [5.0, 50.0]},
        {"quantity": "mass of link1", "normal": [1.0, 0.1]},
    ]
    sample = {"method": method, "count": 64, "seed": 3}
    study = study_of({"task": "two-link-lifting", "vary": vary, "sample": sample})
    again = study_of({"task": "two-link-lifting", "vary": vary, "sample": sample})
    other = study_of({"task": "two-link-lifting", "vary": vary, "sample": sample | {"seed": 4}})
    assert len(study) == 64
    assert study.fingerprint == again.fingerprint != other.fingerprint
    mass = study.values["mass of link2"]
    limit = study.values["effort limit of joint1"]
    normal = study.values["mass of link1"]
    assert 0.2 <= mass.min() < mass.max() <= 0.8
    if method != "random":  # one in each of 64 slices, or of 16 at least
        assert len(set(np.floor((mass - 0.2) / 0.6 * 16))) == 16
        assert abs(np.median(np.log(limit)) - np.log(5.0 * 50.0) / 2) < 0.1
        assert abs(normal.mean() - 1.0) < 0.01
        assert abs(normal.std() - 0.1) < 0.01


def test_columns_of_csv_files(tmp_path):
    (tmp_path / "loads.csv").write_text("name,load\na,0\nb,-4.5\n\nc,-9\n")
    load = {"key": "forces[0].force[1]", "csv": "loads.csv", "column": "load"}
    name = {"key": "description", "csv": "loads.csv", "column": "name"}
    study = study_of({"task": "two-link-lifting", "vary": [load, name]}, tmp_path)
    assert len(study) == 3  # rows of one file go together
    assert study.case_values(1) == {"forces[0].force[1]": -4.5, "description": "b"}
    for text, message in (
        ("name,load\na,1\nb,\n", "line 3: column 'load' is empty"),
        ("lod\n1\n", "did you mean 'lod'"),
        ("load\n", "no rows"),
        ("load,load\n1,2\n", "2 columns"),
    ):
        (tmp_path / "loads.csv").write_text(text)
        with pytest.raises(predyn.FileError, match=message):
            study_of({"task": "two-link-lifting", "vary": [load]}, tmp_path)
    (tmp_path / "loads.csv").write_text("\n\nload\n1\nx1\n")
    mass = {"quantity": "mass of link2", "csv": "loads.csv", "column": "load"}
    with pytest.raises(predyn.FileError, match="expected numbers as values, got 'x1'"):
        study_of({"task": "two-link-lifting", "vary": [mass]}, tmp_path)


def test_fingerprints_follow_files(tmp_path):
    (tmp_path / "arm.urdf").write_text((EXAMPLES.parent / "own_task/arm.urdf").read_text())
    (tmp_path / "task.toml").write_text(
        'model = { urdf = "arm.urdf" }\ncost = [{ term = "effort" }]\n'
        "phases = [{ duration = 1.0, start = { q = 0.0, v = 0.0 }, end = { q = 1.0, v = 0.0 } }]\n"
    )
    vary = [{"key": "phases[0].duration", "values": [1.0, 2.0]}]
    first = study_of({"task": "task.toml", "vary": vary}, tmp_path)
    assert list(first.files) == ["arm.urdf"]
    urdf = tmp_path / "arm.urdf"
    urdf.write_text(urdf.read_text() + "\n")
    assert study_of({"task": "task.toml", "vary": vary}, tmp_path).fingerprint != first.fingerprint


def test_keys():
    assert parse_key("forces[0].force[1]") == ("forces", 0, "force", 1)
    assert parse_key("phases.weld 1.duration") == ("phases", "weld 1", "duration")
    assert parse_key('phases."a.b".start') == ("phases", "a.b", "start")
    for text in ("", "[0].a", "a..b", "a[", "."):
        with pytest.raises(predyn.InputError, match="not a key"):
            parse_key(text)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"key": "forcs[0].force[1]"}, "unknown key 'forcs'"),
        ({"key": "solver.tolerence"}, "did you mean 'tolerance'"),
        ({"key": "forces[3].force[1]"}, "has 1 entries"),
        ({"key": "cost.efort.weight"}, "did you mean 'effort'"),
        ({"key": "phases.phase 1.duration.max"}, "give a number, such as phases[0]"),
        ({"key": "cost.effort.weigth"}, "unknown key 'weigth'"),
        ({"key": "limits.effort.joint1"}, "limits.effort is 10.0"),
        ({"quantity": "mas of link2"}, "did you mean 'mass'"),
        ({"quantity": "mass of lnk2"}, "did you mean 'link2'"),
        ({"people": "hight"}, "did you mean 'height'"),
        ({"people": "height"}, "the task has no person with a height"),
        ({"people": "height"}, "unknown key 'height'"),
        ({"key": "a", "quantity": "b"}, "expected one of key"),
        ({"function": "cells.py:place"}, "--allow-code"),
        ({"seed": True}, "has no effect here"),
        ({"ky": "name"}, "did you mean 'key'"),
        ({"key": "continuity", "name": "status"}, "give this entry another name"),
        ({"key": 3}, "expected text"),
    ],
)
def test_unknown_names_are_refused_with_near_ones(entry, message):
    values = {"values": [1.0, 2.0]}
    assert message in refused(vary=[entry | values])


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"values": []}, "without values there are no cases"),
        ({}, "expected one of values, from, csv"),
        ({"values": [float("nan")]}, "got nan"),
        ({"values": 3}, "expected a list"),
        ({"from": 0.0, "to": 1.0}, "count"),
        ({"from": 0.0, "to": 1.0, "count": 0}, "from 1 to"),
        ({"from": 0.0, "to": 1.0, "count": 3, "log": True}, "above 0"),
        ({"uniform": [2.0, 1.0]}, "above high"),
        ({"uniform": [1.0]}, "expected two numbers"),
        ({"normal": [0.0, -1.0]}, "negative"),
        ({"uniform": [0.0, 1.0]}, "add a table [sample]"),
        ({"csv": "missing.csv", "column": "a"}, "no such file"),
        ({"csv": "/etc/hostname", "column": "a"}, "absolute path"),
        ({"values": [1.0], "uniform": [0.0, 1.0]}, "expected one of"),
        ({"values": [1.0], "count": 5}, "count: goes with 'from', not with 'values'"),
        ({"values": [1.0], "column": "a"}, "column: goes with 'csv'"),
        ({"from": 1.0, "to": 2.0, "count": 3, "log": "yes"}, "log: expected true or false"),
        ({"values": ["a"], "whole": True}, "whole: expected finite numbers as values, got a"),
        ({"values": [1.0, float("inf")], "whole": True}, "got inf"),
        ({"values": [1.0], "name": ""}, "name: expected 1 to 200 characters"),
        ({"values": [1.0], "name": "solved"}, "is a column of every study"),
        ({"values": [1.0], "key": "a." * 2000 + "b"}, "is not a key of a task file"),
        ({"values": [1.0], "key": f"forces[{'9' * 5000}]"}, "is not a key of a task file"),
    ],
)
def test_bad_values_are_refused(values, message):
    assert message in refused(vary=[{"key": "forces[0].force[1]"} | values])


@pytest.mark.parametrize("seed", [-1, 1.5, float("inf"), 10**100])
def test_seeds_are_whole_numbers(seed):
    message = refused(vary=[{"seed": 1, "values": [0, seed]}], solve={"starts": 2})
    assert "seed: expected whole numbers from 0 to" in message


@pytest.mark.parametrize(
    ("collect", "message"),
    [
        ({"peeks": []}, "did you mean 'peaks'"),
        ({"peaks": ["tua"]}, "did you mean 'tau'"),
        ({"peaks": ["tau.jont1"]}, "did you mean 'joint1'"),
        ({"peaks": ["frame:tp.pz"]}, "tip"),
        ({"channels": [{"channel": "q"}]}, "expected seconds, or an event"),
        ({"channels": [{"channel": "q", "at": "ends"}]}, "did you mean 'end'"),
        ({"channels": ["q"]}, "expected a list of tables"),
        ({"bounds": ["efort joint1"]}, "did you mean 'effort'"),
        ({"sensitivities": ["mas of link1"]}, "did you mean 'mass'"),
        ({"durations": ["lft"]}, "unknown phase"),
        ({"gait": ["stride lenght"]}, "did you mean 'stride length'"),
        ({"ergonomics": ["back"]}, "unknown load of a lift"),
        ({"peaks": ["tau", "tau.joint1"]}, "two columns"),
        ({"channels": [{"channel": "q.joint1", "at": 10**400}]}, "expected seconds from 0"),
        ({"channels": [{"channel": "q.joint1", "at": "end", "name": ""}]}, "name of a column"),
        ({"channels": [{"channel": "q.joint1", "at": "end", "name": "status"}]}, "every study"),
    ],
)
def test_bad_columns_are_refused(collect, message):
    assert message in refused(collect=collect)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"task": "two-link-liftin"}, "did you mean 'two-link-lifting'"),
        ({"task": "../task.toml"}, "leads out of the folder"),
        ({"recording": "walk.csv"}, "got task and recording"),
        ({"vary": []}, "nothing varies"),
        ({"vary": LOAD}, "expected one or more tables [[vary]] (in double brackets), got {'key'"),
        ({"vry": []}, "did you mean 'vary'"),
        ({"vary": [LOAD, LOAD]}, "changes what another entry changes"),
        ({"solve": {"start": 2}}, "did you mean 'starts'"),
        ({"solve": {"keep": "some"}}, "'none' or 'all'"),
        ({"sample": {"count": 3}}, "no entry of [[vary]] has a distribution"),
    ],
)
def test_bad_studies_are_refused(changes, message):
    assert message in refused(**changes)


def test_the_value_that_is_no_number_is_named(tmp_path):
    for values in ({"values": [1.0, "none", 2.0]}, {"csv": "masses.csv", "column": "mass"}):
        (tmp_path / "masses.csv").write_text("mass\n1.0\nnone\n")
        with pytest.raises(predyn.FileError, match=r"expected numbers as values, got .*none"):
            study_of(LIFT | {"vary": [{"quantity": "mass of link2"} | values]}, tmp_path)


def test_groups_may_have_any_name():
    vary = [LOAD | {"group": "entry 1"}, {"key": "continuity", "values": [1, 2]}]
    assert len(study_of(LIFT | {"vary": vary})) == 6


def test_groups_must_agree():
    vary = [LOAD | {"group": "a"}, {"key": "continuity", "values": [1, 2], "group": "a"}]
    assert "has 3 values and 'continuity' has 2" in refused(vary=vary)


def test_exploding_grids_state_their_count():
    grid = {"from": 0.0, "to": 1.0, "count": 101}
    keys = ["forces[0].force[0]", "forces[0].force[1]", "forces[0].force[2]"]
    vary = [{"key": key} | grid for key in keys]
    assert "1,030,301 cases (101 x 101 x 101)" in refused(vary=vary)
    study = study_of(LIFT | {"vary": vary[:2]})
    with pytest.raises(predyn.InputError, match=r"10,201 cases; above 10,000, confirm with --yes"):
        check_size(study)
    check_size(study, yes=True)


def test_all_errors_of_a_file_are_listed_with_their_lines(tmp_path):
    path = tmp_path / "study.toml"
    path.write_text('task = "two-link-lifting"\nnam = "x"\n\n[[vary]]\nkey = "a"\nvalues = []\n')
    with pytest.raises(predyn.FileError) as error:
        read_study(path)
    assert "2 problems" in str(error.value)
    assert "(line 2)" in str(error.value)
    assert "(line 5)" in str(error.value)
    path.write_text("task = ")
    with pytest.raises(predyn.FileError, match="not TOML"):
        read_study(path)
    path.write_text("seed = " + "9" * 5000)
    with pytest.raises(predyn.FileError, match="thousands of digits"):
        read_study(path)
    with pytest.raises(predyn.FileError, match="cannot be read"):
        read_study(tmp_path / "none.toml")
    endless: dict[str, object] = {}
    endless["task"] = endless
    with pytest.raises(predyn.InputError, match="contains itself"):
        study_of(endless)


ODD = (
    "[]",
    "{}",
    "-1",
    "0",
    "1e400",
    "nan",
    "inf",
    "true",
    "'x'",
    "[[1]]",
    "9" * 400,
    "2020-01-01",
)


def test_damaged_files_give_clear_errors(tmp_path):
    """Each value may be anything, and each line may be missing: only a FileError may come of it."""
    rng, text = random.Random(0), (EXAMPLES / "two_link_payloads.toml").read_text()
    outcomes = []
    for _ in range(200):
        lines = text.splitlines()
        k = rng.randrange(len(lines))
        if "=" in lines[k]:
            lines[k] = lines[k].partition("=")[0] + "= " + rng.choice(ODD)
        else:
            del lines[k]
        (tmp_path / "study.toml").write_text("\n".join(lines))
        try:
            outcomes.append(len(read_study(tmp_path / "study.toml").fingerprint))
        except predyn.FileError as error:
            outcomes.append(str(error))
    assert sum(isinstance(x, str) for x in outcomes) > 50
