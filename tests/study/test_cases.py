"""Cases of a study are the problems that a task file with their values states."""

import json
import time

import numpy as np
import pytest

import predyn
from predyn.config.movement import text_of
from predyn.study import CaseSolver, read_study, study_of
from predyn.study.collecting import STATISTICS
from predyn.study.key_paths import with_value

LIFT = "two-link-lifting"
ALWAYS = ["status", "message", "objective", "iterations", "seconds", "max_violation"]
MIX = [
    {"key": "cost.time.weight", "values": [0.999, 0.95], "group": "mix"},
    {"key": "cost.effort.weight", "values": [0.001, 0.05], "group": "mix"},
]
SMALL = {"key": "transcription.segments", "values": [8]}


def solver(collect=(), solve=(), task=LIFT, **vary):
    entries = vary["vary"]
    study = {"task": task, "vary": entries, "collect": dict(collect), "solve": dict(solve)}
    return CaseSolver(study_of(study))


def same(one, other):
    for name in ("status", "message", "objective", "iterations", "max_violation", "active"):
        assert getattr(one, name) == getattr(other, name), name
    for name in ("x", "t", "q", "v", "tau"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def test_equal_to_a_solve_of_the_same_task_file(tmp_path):
    """The file is written with the values, loaded and solved by itself, cold and from a guess."""
    from predyn.config import parse_task

    load = {"key": "forces[0].force[1]", "values": [-2.0, -8.0]}
    cases, guess = solver(vary=[load, *MIX]), None
    _, tree, _ = parse_task(LIFT)
    for k in range(4):
        for key, value in zip(
            (("forces", 0, "force", 1), ("cost", 0, "weight"), ("cost", 1, "weight")),
            cases.study.case_values(k).values(),
            strict=True,
        ):
            tree = with_value(tree, key, value)
        text = "\n".join(f"{name} = {_toml(value)}" for name, value in tree.items())
        (tmp_path / f"{k}.toml").write_text(text)
        alone = predyn.solve(predyn.load_task(tmp_path / f"{k}.toml"), guess=guess)
        solved = cases.solve(k, guess)
        same(solved.solution, alone)
        assert solved.row["objective"] == alone.objective
        guess = solved.solution if k else None


def _toml(value):
    """Numbers, words, lists and tables in one line."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_toml(x)}" for key, x in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value)


def test_results_do_not_depend_on_earlier_cases():
    vary = [
        {"quantity": "mass of link2", "values": [0.3, 0.5]},
        {"key": "model.gravity", "values": [[0.0, 0.0, 0.0], [0.0, -9.8, 0.0]]},
    ]
    one, other = solver(vary=vary), solver(vary=vary)
    forward = [one.solve(k).solution for k in range(4)]
    backward = [other.solve(k).solution for k in reversed(range(4))]
    for a, b in zip(forward, reversed(backward), strict=True):
        same(a, b)
    assert len({x.objective for x in forward}) == 4


@pytest.mark.verify
def test_overhead_is_small():
    """Everything but the solve itself: at most 5 ms a case (about 3 on an idle machine)."""
    load = {"key": "forces[0].force[1]", "from": -1.0, "to": -2.0, "count": 12}
    cases = solver(vary=[load], collect={"durations": True, "peaks": ["tau"], "bounds": True})
    guess = cases.solve(0).solution
    extra = []
    for k in range(1, 12):
        began = time.process_time()
        problem = cases.problem(k)
        built = time.process_time() - began
        began = time.process_time()
        row = cases._row(guess, 0.0)
        extra.append(built + time.process_time() - began)
        assert problem.name == LIFT
        assert row["status"] == "optimal"
    assert min(extra) < 5e-3


def test_impossible_values_fail_by_name_and_only_there():
    vary = [{"quantity": "mass of link2", "values": [0.5, -1.0, 0.6]}]
    rows = [case.row for case in map(solver(vary=vary).solve, range(3))]
    assert [row["status"] for row in rows] == ["optimal", "invalid", "optimal"]
    assert "link2" in rows[1]["message"]
    assert np.isnan(rows[1]["objective"])
    vary = [{"key": "phases[0].duration.max", "values": [3.0, 0.01]}]
    result = solver(vary=vary, collect={"durations": True, "bounds": True}).solve(1)
    assert result.solution is None
    assert result.row["status"] == "invalid"
    assert "duration" in result.row["message"]
    assert "(line " in result.row["message"]
    assert np.isnan(result.row["duration"])
    assert result.row["active limits"] == ""
    assert list(result.row)[: len(ALWAYS)] == ALWAYS


def test_people_outside_of_the_model_are_refused_in_their_cases():
    vary = [{"people": "percentile", "values": [50.0, 120.0]}]
    cases = solver(task="human-walk", vary=vary)
    assert cases.problem(0).model.n == 36
    result = cases.solve(1)
    assert result.row["status"] == "invalid"
    assert "percentile" in result.row["message"]


def test_a_motion_without_success_has_no_numbers():
    vary = [{"key": "solver.max_iterations", "values": [2]}]
    result = solver(vary=vary, collect={"durations": True}).solve(0)
    assert result.row["status"] == "iteration_limit"
    assert result.solution is not None
    assert np.isfinite(result.row["objective"])
    assert np.isnan(result.row["duration"])


def test_a_guess_of_another_mechanism_is_not_used(tmp_path):
    cold = predyn.solve("arm6-pick")
    cases = solver(vary=[SMALL])
    refused = cases.solve(0, cold)
    same(refused.solution, cases.solve(0).solution)
    assert not refused.warm
    assert cases.solve(0, refused.solution).warm


def test_collected_numbers_are_those_of_the_solution():
    load = {"key": "forces[0].force[1]", "values": [-8.0]}
    collect = {
        "durations": True,
        "costs": True,
        "peaks": ["tau", "frame:tip.pz"],
        "channels": [
            {"channel": "q.joint2", "at": "end", "name": "elbow"},
            {"channel": "v", "at": "start"},
            {"channel": "energy", "at": 0.2},
            {"channel": "energy", "at": 99.0},
            {"channel": "power.joint1", "at": "phase 1.middle"},
            *({"channel": "tau.joint1", "at": at} for at in STATISTICS),
        ],
        "bounds": True,
        "sensitivities": ["mass of link2", "force.y of link2"],
    }
    result = solver(vary=[load], collect=collect).solve(0)
    row, solution = result.row, result.solution
    assert "not collected" not in row["message"]
    assert row["duration"] == solution.duration
    assert row["cost time"] + row["cost effort"] == pytest.approx(solution.objective, rel=1e-12)
    assert row["peak tau.joint1"] == np.abs(solution.tau[:, 0]).max()
    assert row["elbow"] == pytest.approx(-2.37, abs=1e-8)
    assert row["v.joint1 at start"] == pytest.approx(0.0, abs=1e-8)
    assert row["energy at 0.2 s"] == solution.channel("energy", 0.2)[0]
    assert np.isnan(row["energy at 99 s"])
    middle = solution.channel("power", 0.5 * solution.duration)[0]
    assert row["power.joint1 at phase 1.middle"] == pytest.approx(middle, rel=1e-9)
    assert row["tau.joint1 min"] == solution.tau[:, 0].min()
    assert row["tau.joint1 max"] == solution.tau[:, 0].max()
    assert abs(row["tau.joint1 mean"]) < row["tau.joint1 rms"] < row["peak tau.joint1"]
    assert row["active limits"].split("; ") == list(solution.active)
    found = predyn.sensitivities(solution, ["mass of link2", "force.y of link2"])
    assert row["d objective / d mass of link2"] == pytest.approx(found.objective[0], rel=1e-6)
    assert row["d duration / d force.y of link2"] == pytest.approx(found.duration[1, 0], rel=1e-6)


def test_sensitivities_agree_with_neighbouring_cases():
    masses = {"quantity": "mass of link2", "values": [0.499, 0.5, 0.501]}
    cases = solver(vary=[masses], collect={"sensitivities": ["mass of link2"]})
    rows = [cases.solve(k).row for k in range(3)]
    slope = (rows[2]["objective"] - rows[0]["objective"]) / 0.002
    assert rows[1]["d objective / d mass of link2"] == pytest.approx(slope, rel=1e-3)
    assert cases.study.varied[0].unit == "kg"


def test_named_limits():
    vary = [{"key": "forces[0].force[1]", "values": [0.0, -12.0]}]
    cases = solver(vary=vary, collect={"bounds": ["effort joint1", "velocity"]})
    rows = [cases.solve(k) for k in range(2)]
    for case in rows:
        names = case.solution.active
        assert case.row["at bound: effort joint1"] == ("effort joint1" in names)
        assert case.row["at bound: velocity"] == 0.0


def test_functions_change_the_task(tmp_path):
    (tmp_path / "loads.py").write_text(
        "import predyn\n"
        "def heavier(task, factor):\n"
        "    task['forces'][0]['force'][1] *= factor\n"
        "def other(task, value):\n"
        "    return predyn.load_task('two-link-time-optimal')\n"
        "def wrong(task, value):\n"
        "    return 1 / value\n"
    )

    def cases(name, values):
        vary = [{"function": f"loads.py:{name}", "values": values}]
        study = {"task": LIFT, "vary": vary}
        return CaseSolver(study_of(study, tmp_path, allow_code=True))

    heavier = cases("heavier", [0.5, 1.0])
    assert [float(heavier.problem(k).forces[0].force[1]) for k in (0, 1, 0)] == [-5.0, -10.0, -5.0]
    assert cases("other", [1]).problem(0).name == "two-link-time-optimal"
    row = cases("wrong", [0.0]).solve(0).row
    assert row["status"] == "invalid"
    assert "ZeroDivisionError" in row["message"]
    assert "expected a task" in cases("wrong", [2.0]).solve(0).row["message"]


def test_parameters_of_a_task_are_held(tmp_path):
    (tmp_path / "springs.toml").write_text(
        text_of(
            {
                "model": {"builtin": "two_link"},
                "transcription": {"segments": 8},
            }
        )
        + "[[phases]]\nduration = 0.7\nstart = { q = [2.2, -1.9], v = 0.0 }\n"
        "end = { q = [0.7, -1.4], v = 0.0 }\n[[cost]]\nterm = 'effort'\n"
        "[[parameters]]\nname = 'k'\nmin = 0.0\nmax = 50.0\nguess = 5.0\n"
        "quantity = 'stiffness of joint1'\n"
    )
    vary = [{"parameter": "k", "values": [2.0, 10.0]}]
    study = study_of(
        {"task": "springs.toml", "vary": vary, "collect": {"parameters": True}}, tmp_path
    )
    cases = CaseSolver(study)
    for k, value in enumerate((2.0, 10.0)):
        result = cases.solve(k)
        assert result.row["status"] == "optimal"
        assert result.row["parameter k"] == pytest.approx(value, abs=1e-7)
        assert result.solution.model.stiffness[0] == pytest.approx(value, abs=1e-7)


def test_seeds_choose_starts():
    vary = [SMALL, {"seed": 3}]
    cases = solver(vary=vary, solve={"starts": 2, "seed": 9})
    assert [cases.seed(k) for k in range(3)] == [0, 1, 2]
    assert solver(vary=[SMALL]).seed(0) == 0


def test_starts_need_no_processes(monkeypatch):
    """Workers of Dask may have none of their own."""
    cases = solver(vary=[SMALL], solve={"starts": 3, "seed": 5}, task="arm-2r-min-effort")
    apart = predyn.solve(cases.problem(0), starts=3, seed=5)
    monkeypatch.setattr("predyn.solving.several_starts.LocalWorkers", None)
    together = cases.solve(0).solution
    same(together, apart)
    assert together.starts == apart.starts


def test_an_example_with_contacts():
    from pathlib import Path

    path = Path(__file__).parents[2] / "examples/studies/hopper_spring.toml"
    cases = CaseSolver(read_study(path))
    row = cases.solve(60).row
    assert row["status"] == "optimal"
    assert row["peak signal:sole.z"] > 10.5 * 9.81
    assert row["highest"] > row["energy at landing"] / (10.5 * 9.81)
    assert np.isfinite(row["d objective / d stiffness of leg"])


def test_estimates_from_a_recording():
    from pathlib import Path

    folder = Path(__file__).parents[2] / "examples/recording"
    study = {
        "recording": "walk.csv",
        "model": "leg.urdf",
        "vary": [{"key": "estimate.order", "values": [1, 2]}],
        "collect": {"peaks": ["tau", "tau_sd.knee"], "numbers": ["log_evidence", "order"]},
    }
    cases = CaseSolver(study_of(study, folder))
    result = cases.solve(1)
    assert result.row["status"] == "converged", result.row["message"]
    assert result.solution is None
    assert result.row["order"] == 2.0
    assert result.row["peak tau.knee"] > result.row["peak tau_sd.knee"] > 0.0
    with pytest.raises(predyn.FileError, match="did you mean 'order'"):
        study_of(study | {"vary": [{"key": "estimate.ordr", "values": [1]}]}, folder)
    with pytest.raises(predyn.FileError, match="did you mean 'estimate'"):
        study_of(study | {"vary": [{"key": "estimat.order", "values": [1]}]}, folder)
    for collect in ({"numbers": 3}, {"peaks": True}, {"numbers": [["order"]]}):
        with pytest.raises(predyn.FileError, match="expected a list of names"):
            study_of(study | {"collect": collect}, folder)
    with pytest.raises(predyn.FileError, match="two columns have the name 'order'"):
        study_of(study | {"collect": {"numbers": ["order", "order"]}}, folder)
    with pytest.raises(predyn.FileError, match="a recording needs a model"):
        study_of({key: study[key] for key in ("recording", "vary")}, folder)


@pytest.mark.parametrize("value", [1e308, "x", [], [1.0], {"a": 1.0}, True])
@pytest.mark.parametrize("key", ["phases[0].start.q[0]", "cost[1]", "model.gravity", "limits"])
def test_impossible_values_of_any_kind_are_no_errors_of_the_study(key, value):
    row = solver(vary=[{"key": key, "values": [value]}]).solve(0).row
    assert row["status"] == "invalid"
    assert key.partition("[")[0].partition(".")[0] in row["message"]
    assert "tasks/" not in row["message"]  # the same text on each machine
