"""Task files: their contents arrive in the problem, and errors name their place."""

from __future__ import annotations

import math
import pickle
import shutil
from pathlib import Path

import numpy as np
import pytest

from predyn.config import LARGEST, load_task, read_task, task_names
from predyn.config.lines import described, line_numbers
from predyn.errors import FileError, InputError
from predyn.nlp import SolverOptions
from predyn.problem import Duration, Hybrid, Spline
from predyn.terms import TERMS

PROBLEMS = Path(__file__).parents[1] / "problems"
BAD = sorted((PROBLEMS / "bad").glob("*.toml"))

TWO_LINK = """
[model]
builtin = "two_link"
[[phases]]
duration = 1.0
"""
USER = '[[cost]]\nterm = "user"\nfunction = "{}"\nchannels = ["q"]\nrows = 2\n'


def loaded(folder: Path, text: str, **options: bool):
    path = folder / "task.toml"
    path.write_text(text)
    return load_task(path, **options)


def refused(folder: Path, text: str, **options: bool) -> str:
    with pytest.raises(FileError) as error:
        loaded(folder, text, **options)
    return str(error.value)


@pytest.mark.parametrize("path", BAD, ids=lambda path: path.stem)
def test_errors_name_their_place(path: Path) -> None:
    expected = [x[3:] for x in path.read_text().splitlines() if x.startswith("#> ")]
    assert expected
    with pytest.raises(FileError) as error:
        load_task(path)
    message = str(error.value)
    assert message.startswith(f"{path}: ")
    for fragment in expected:
        assert fragment in message


def test_single_error_is_one_line() -> None:
    with pytest.raises(FileError) as error:
        load_task(PROBLEMS / "bad" / "misspelt_key.toml")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", task_names())
def test_built_in_tasks_are_valid(name: str) -> None:
    task = read_task(name)
    assert task.problem.name == name
    assert task.problem.validate() == []
    assert task.text == task.path.read_text(encoding="utf-8")


def test_boundary_values_of_the_published_problems() -> None:
    ends = {
        "two-link-time-optimal": ((0.0, -2.0), (1.0, -1.0)),
        "two-link-lifting": ((1.32, -2.37), (2.80, -2.37)),
        "prismatic-revolute": ((0.1, 0.6), (math.pi / 4, -math.pi / 4)),
        "arm-2r-min-effort": ((0.0, 0.0), (math.pi / 2, 0.0)),
        "manutec-min-time": ((0.0, -1.5, 0.0), (1.0, -1.95, 1.0)),
        "manutec-min-energy": ((0.0, -1.5, 0.0), (1.0, -1.95, 1.0)),
    }
    for name, (start, end) in ends.items():
        (phase,) = load_task(name).phases
        np.testing.assert_allclose(phase.start.q, start, rtol=1e-15)
        np.testing.assert_allclose(phase.end.q, end, rtol=1e-15)
        assert not np.any(phase.start.v)
        assert not np.any(phase.end.v)


def test_lifting_in_full() -> None:
    problem = load_task("two-link-lifting")
    np.testing.assert_array_equal(problem.model.gravity, [0.0, -9.8062, 0.0])
    (force,) = problem.forces
    assert (force.link, force.frame) == ("link2", "world")
    np.testing.assert_allclose(force.point, [0.4, 0.0, 0.0], rtol=0, atol=1e-16)
    np.testing.assert_array_equal(force.force, [0.0, -10.0, 0.0])
    np.testing.assert_array_equal(problem.limits.effort, [[-10.0, 10.0]] * 2)
    assert [(cost.term.kind, cost.weight) for cost in problem.costs] == [
        ("time", 0.99),
        ("effort", 0.01),
    ]
    assert problem.phases[0].duration == Duration(0.1, 3.0, 1.0)
    spline = problem.transcription
    assert (spline.degree, spline.segments, spline.limit_points) == (3, 20, 3)
    assert problem.solver.tolerance == 1e-8


def test_time_and_effort_in_one_entry() -> None:
    problem = load_task("prismatic-revolute")
    assert [(c.term.kind, c.weight) for c in problem.costs] == [("time", 0.99), ("effort", 0.01)]


def test_voltages_of_the_manutec() -> None:
    (cost,) = load_task("manutec-min-energy").costs
    assert list(cost.term.per) == [126.0, 252.0, 72.0]


def test_values_by_joint_in_degrees_and_radians(tmp_path: Path) -> None:
    problem = loaded(
        tmp_path,
        TWO_LINK
        + """
start = { q = { joint2 = 0.25 }, q_deg = { joint1 = 90 } }
end = { q = { joint2 = 0.5 }, v = 0.0, a = [nan, 2.0] }
[limits]
position_deg = [180, [-90, 45]]
velocity = { joint2 = [-3.0, 2.0] }
jerk = { joint1 = 100.0 }
""",
    )
    (phase,) = problem.phases
    np.testing.assert_allclose(phase.start.q, [math.pi / 2, 0.25], rtol=1e-15)
    np.testing.assert_array_equal(phase.end.q, [np.nan, 0.5])
    np.testing.assert_array_equal(phase.end.v, [0.0, 0.0])
    np.testing.assert_array_equal(phase.end.a, [np.nan, 2.0])
    assert phase.start.v is None
    pi = math.pi
    np.testing.assert_allclose(problem.limits.position, [[-pi, pi], [-pi / 2, pi / 4]], rtol=1e-15)
    np.testing.assert_array_equal(
        problem.limits.velocity, [[-np.inf, np.inf], [-3.0, 2.0]]
    )  # what is not named keeps the model's limit
    np.testing.assert_array_equal(problem.limits.effort, problem.model.limits.effort)
    np.testing.assert_array_equal(problem.jerk_limit, [100.0, np.inf])


def test_bounds_of_constraints(tmp_path: Path) -> None:
    problem = loaded(
        tmp_path,
        TWO_LINK
        + """
[[constraint]]
term = "velocity"
upper_deg = 90
[[constraint]]
term = "position"
target_deg = [30, 60]
tolerance = 0.1
fractions = [0.25, 0.5]
[[constraint]]
term = "position"
joints = ["joint2"]
times = [0.5]
[[constraint]]
term = "effort"
integral = true
upper = 5.0
name = "little effort"
""",
    )
    fast, near, exact, total = problem.constraints
    assert fast.lower == -np.inf
    assert fast.upper == pytest.approx(math.pi / 2, rel=1e-15)
    np.testing.assert_allclose(near.term.target, [math.pi / 6, math.pi / 3], rtol=1e-15)
    assert (near.lower, near.upper, near.at) == (-0.1, 0.1, (0.25, 0.5))
    assert exact.lower is None
    assert exact.upper is None
    assert exact.at == (0.5,)
    assert (total.integral, total.upper, total.name) == (True, 5.0, "little effort")


def test_entries_of_a_phase_stay_in_it(tmp_path: Path) -> None:
    problem = loaded(
        tmp_path,
        TWO_LINK
        + """
name = "lift"
segments = 7
[[phases.cost]]
term = "effort"
[[phases]]
duration = 2.0
[[phases.constraint]]
term = "velocity"
times = [1.0]
[[cost]]
term = "time"
""",
    )
    lift, second = problem.phases
    assert (lift.name, lift.segments) == ("lift", 7)
    assert [cost.term.kind for cost in lift.costs] == ["effort"]
    assert lift.constraints == ()
    assert second.constraints[0].at == (0.5,)
    assert [cost.term.kind for cost in problem.costs] == ["time"]


def test_dh_table_in_degrees(tmp_path: Path) -> None:
    problem = loaded(
        tmp_path,
        """
[model]
dh = [
  { a = 0.4, alpha_deg = 90, mass = 0.5, com = [-0.2, 0, 0], inertia = [0, 0.1, 0.1], effort = 10 },
  { d = 0.1, kind = "prismatic", mass = 0.5, inertia = [0, 0.1, 0.1], position = [0, 0.3] },
]
gravity = [0.0, -9.81, 0.0]
[[model.payloads]]
link = "tip"
mass = 2.0
[[phases]]
duration = 1.0
""",
    )
    model = problem.model
    assert model.dh is not None
    np.testing.assert_allclose(model.dh.alpha, [math.pi / 2, 0.0], rtol=1e-15)
    np.testing.assert_array_equal(model.inertia[:, 0], [0.5, 2.5])
    np.testing.assert_array_equal(model.gravity, [0.0, -9.81, 0.0])
    np.testing.assert_array_equal(model.limits.position[1], [0.0, 0.3])


ACROBOT = """
passive = ["joint1"]
[model]
builtin = "acrobot"
[[phases]]
duration = 1.0
start = { q = [-1.0, 0.0], v = 0.0 }
[transcription]
"""


def test_method_key_selects_the_method(tmp_path: Path) -> None:
    both = "segments = 8\nsteps = 4\nshooting = 'single'\ngauss_points = 3\ndegree = 4\n"
    hybrid = loaded(tmp_path, ACROBOT + both + "method = 'hybrid'")
    assert hybrid.passive == ("joint1",)
    assert hybrid.transcription == Hybrid(4, 8, 2, 3, steps=4, shooting="single")
    spline = loaded(tmp_path, ACROBOT + both + "method = 'spline'")
    assert spline.transcription == Spline(4, 8, 3, 3)
    assert loaded(tmp_path, ACROBOT + both).transcription == hybrid.transcription


def test_each_method_has_its_own_defaults(tmp_path: Path) -> None:
    assert loaded(tmp_path, TWO_LINK).transcription == Spline()
    assert loaded(tmp_path, ACROBOT).transcription == Hybrid()  # passive joints are integrated
    assert loaded(tmp_path, ACROBOT + "method = 'spline'").transcription == Spline()
    assert loaded(tmp_path, ACROBOT).solver == SolverOptions()


def test_method_argument_overrides_the_file(tmp_path: Path) -> None:
    path = tmp_path / "task.toml"
    path.write_text(ACROBOT + "method = 'hybrid'\nsteps = 4")
    assert read_task(path, method="spline").problem.transcription == Spline()
    assert read_task(path).problem.transcription == Hybrid(steps=4)
    path.write_text(TWO_LINK)
    assert read_task(path, method="hybrid").problem.transcription == Hybrid()
    with pytest.raises(FileError, match="unknown method 'shooting': valid names: 'spline', 'hybr"):
        read_task(path, method="shooting")


def test_guesses(tmp_path: Path) -> None:
    curve = TWO_LINK + "[guess]\ncurve = { s = [0, 0.5, 1], q = [[0, 0], [1, 2], [2, 3]] }\n"
    s, q = loaded(tmp_path, curve).guess
    np.testing.assert_array_equal(s, [0.0, 0.5, 1.0])
    assert q.shape == (3, 2)
    assert loaded(tmp_path, TWO_LINK).guess == "auto"
    assert load_task("arm6-pick").guess == "inverse_kinematics"


def test_name_defaults_to_the_file_name(tmp_path: Path) -> None:
    assert loaded(tmp_path, TWO_LINK).name == "task"
    assert loaded(tmp_path, 'name = "own"\n' + TWO_LINK).name == "own"


def test_urdf_beside_below_and_elsewhere(tmp_path: Path) -> None:
    folder = tmp_path / "tasks"
    (folder / "models").mkdir(parents=True)
    arm = Path(__file__).parents[1] / "load" / "data" / "arm.urdf"
    shutil.copy(arm, folder / "models" / "arm.urdf")
    shutil.copy(arm, tmp_path / "outside.urdf")
    (folder / "link.urdf").symlink_to(tmp_path / "outside.urdf")
    (folder / "inner.urdf").symlink_to(folder / "models" / "arm.urdf")
    text = '[model]\nurdf = "{}"\n[[phases]]\nduration = 1.0\n'
    assert loaded(folder, text.format("models/arm.urdf")).model.n > 0
    assert loaded(folder, text.format("inner.urdf")).model.n > 0
    for name in ("../outside.urdf", "models/../../outside.urdf", "link.urdf"):
        assert "leads out of the folder" in refused(folder, text.format(name))
        assert loaded(folder, text.format(name), allow_absolute=True).model.n > 0
    absolute = str(tmp_path / "outside.urdf")
    assert "an absolute path" in refused(folder, text.format(absolute))
    assert loaded(folder, text.format(absolute), allow_absolute=True).model.n > 0
    assert "this is a folder" in refused(folder, text.format("models"))


def test_opensim_models_have_smooth_functions_unless_stated(tmp_path: Path) -> None:
    shutil.copy(Path(__file__).parents[1] / "load" / "data" / "jig_v4.osim", tmp_path)
    text = '[model]\nosim = "jig_v4.osim"\n{}[[phases]]\nduration = 1.0\n'
    smooth = loaded(tmp_path, text.format('axes = "x-zy"\n')).model
    assert smooth.gravity.tolist() == [0.0, 0.0, -9.80665]
    assert any("by a refit of degree 5" in note for note in smooth.notes)
    exact = loaded(tmp_path, text.format('functions = "file"\n')).model
    assert not any("refit" in note for note in exact.notes)
    assert "valid names: 'file', 'smooth'" in refused(
        tmp_path, text.format("functions = 'cubic'\n")
    )
    assert "'locked'" in refused(tmp_path, text.format("lock = 'free'\n"))


def test_code_runs_only_when_allowed(tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    (tmp_path / "own.py").write_text(
        f"open({str(ran)!r}, 'w').close()\ndef near(samples):\n    return samples['q']\n"
    )
    text = TWO_LINK + USER.format("own.py:near")
    assert "--allow-code" in refused(tmp_path, text)
    assert not ran.exists()
    (cost,) = loaded(tmp_path, text, allow_code=True).costs
    assert cost.term.function.__name__ == "near"
    assert ran.exists()
    copy = pickle.loads(pickle.dumps(cost.term.function))  # as other starts get it
    assert copy({"q": 3.0}) == 3.0


@pytest.mark.parametrize(
    ("code", "name", "message"),
    [
        ("def near(s): ...", "own.py:far", "has no function 'far'"),
        ("def near(s) ...", "own.py:near", "SyntaxError"),
        ("1 / 0", "own.py:near", "ZeroDivisionError"),
        ("", "own.py", "expected 'file.py:name'"),
        ("", "../own.py:near", "leads out of the folder"),
        ("", "other.py:near", "no such file"),
    ],
)
def test_faulty_code_is_reported(tmp_path: Path, code: str, name: str, message: str) -> None:
    folder = tmp_path / "tasks"
    folder.mkdir()
    (folder / "own.py").write_text(code)
    assert message in refused(folder, TWO_LINK + USER.format(name), allow_code=True)


def test_invalid_files_are_refused(tmp_path: Path) -> None:
    cases = {
        "missing.toml": "no such file",
        "folder.toml": "a folder",
        "latin.toml": "not UTF-8 text (line 2)",
        "huge.toml": "larger than 5 MB",
        "deep.toml": "nested too deep",
        "binary.toml": "not UTF-8",
    }
    (tmp_path / "folder.toml").mkdir()
    (tmp_path / "latin.toml").write_bytes(b'name = "a"\ndescription = "\xe9"\n')
    (tmp_path / "huge.toml").write_bytes(b"#" * (LARGEST + 1))
    (tmp_path / "deep.toml").write_text(f"x = {'[' * 100_000}")
    (tmp_path / "binary.toml").write_bytes(bytes(range(256)))
    for name, message in cases.items():
        with pytest.raises(FileError) as error:
            load_task(tmp_path / name)
        assert message in str(error.value)
        assert str(error.value).startswith(str(tmp_path / name))
    with pytest.raises(FileError, match="cannot be read"):
        load_task("a\0b.toml")


def test_unknown_name_suggests_the_nearest() -> None:
    with pytest.raises(InputError, match="did you mean 'two-link-lifting'"):
        load_task("two-link-liftin")
    with pytest.raises(InputError, match="expected a path or a name, got int"):
        load_task(3)


def test_windows_line_ends(tmp_path: Path) -> None:
    path = tmp_path / "task.toml"
    path.write_bytes((TWO_LINK + "[[cost]]\nterm = 1\n").replace("\n", "\r\n").encode())
    with pytest.raises(FileError, match=r"term \(line 7\)"):
        load_task(path)


def test_lines_of_keys() -> None:
    text = '''# a comment with = and [brackets]
name = "x # [y] = 1"
a.b = 1.5
[model]
dh = [
  { a = 1, alpha_deg = 90 }, # [[cost]]
  { a = 2, "q w" = [1, [2,
    3]] },
]
text = """
[[cost]]
k = 2"""
other = \'\'\'a
b\'\'\'
[[cost]]
term = "a"
[[cost]]
date = 2020-01-01 12:00:00
[[phases]]
start = { q = [1, 2], v.x = 3 }
[[phases.cost]]
term = 1
[[phases]]
[[phases.cost]]
term = 2'''
    lines = line_numbers(text)
    assert lines[("a", "b")] == 3
    assert lines[("model", "dh", 1, "q w", 1, 1)] == 8
    assert lines[("model", "text")] == 10
    assert lines[("model", "other")] == 13
    assert lines[("cost", 0, "term")] == 16
    assert lines[("cost", 1)] == 17
    assert lines[("phases", 0, "start", "v", "x")] == 20
    assert lines[("phases", 0, "cost", 0, "term")] == 22
    assert lines[("phases", 1, "cost", 0, "term")] == 25
    assert max(lines.values()) == 25


def test_paths_in_task_file_notation() -> None:
    assert described(("cost", 1, "weight")) == "[[cost]] 2, weight"
    assert described(("limits", "effort")) == "[limits] effort"
    assert described(("phases", 0, "start", "q", 1)) == "[[phases]] 1, start.q[2]"
    assert described(("phases", 0, "cost", 1)) == "[[phases]] 1, [[phases.cost]] 2"
    assert described(("name",)) == "name"
    assert described(("systems", "loaded")) == "[systems.loaded]"
    assert described(("systems", "loaded", "payloads", 0)) == "[systems.loaded] payloads[1]"


def test_every_field_of_every_term_can_be_given() -> None:
    """No field shares its name with a key of the entry that has another meaning."""
    for kind, term in TERMS.items():
        fields = set(term.__dataclass_fields__)
        assert not fields & {"term", "weight", "at", "fractions", "loss", "integral", "over"}, kind
