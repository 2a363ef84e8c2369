"""Clearance as a term: rows against the Checker, partials against differences, solved motions."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path as FilePath

import numpy as np
import pytest

import predyn
from collision.robots import random_robot, random_scene
from predyn import Capsule, InputError, Model, ModelBuilder, Obstacle, Scene
from predyn.collision import Checker, Path
from predyn.collision.clearance import ClearanceRows
from predyn.problem import Constraint, Cost, Duration, Phase, Problem, Spline, State
from predyn.terms import Clearance, JointTorque

STEP = 1e-5


def table(rows: ClearanceRows, values: np.ndarray, n: int) -> np.ndarray:
    """First partials (P, n + 1, K)."""
    full = np.zeros((len(rows.names), n + 1, values.shape[-1]))
    for (pair, column), value in zip(rows.entries, values, strict=True):
        full[pair, column] += value
    return full


def slopes(rows: ClearanceRows, q: np.ndarray, t: np.ndarray | None) -> np.ndarray:
    out = np.empty((len(rows.entries), q.shape[1]))
    rows.slopes(q, t, out)
    return table(rows, out, len(q))


def bends(
    rows: ClearanceRows, q: np.ndarray, t: np.ndarray | None, weights: np.ndarray
) -> np.ndarray:
    out = np.empty((len(rows.curved), q.shape[1]))
    rows.bends(q, t, weights, out)
    full = np.zeros((len(q) + 1, len(q) + 1, q.shape[1]))
    for (i, j), value in zip(rows.curved, out, strict=True):
        full[i, j] = full[j, i] = value
    return full


def exact_scene(seed: int) -> Scene:
    """Obstacles with closed forms: a cylinder's nearest point is found by bisection."""
    scene = random_scene(seed)
    return replace(scene, obstacles=tuple(x for x in scene.obstacles if x.kind != "cylinder"))


@pytest.mark.parametrize("seed", range(8))
def test_rows_equal_the_checker_and_differences(seed: int) -> None:
    """Partials differ where nearest points jump within a step: at few of the configurations."""
    model = random_robot(2 + seed % 7, seed)
    checker = Checker(model, exact_scene(seed))
    rng, count, n = np.random.default_rng(seed), len(checker.pairs), model.n
    rows = ClearanceRows(checker, np.arange(count))
    assert rows.names == checker.pairs
    q = rng.uniform(-1.0, 1.0, (n, 13))
    value = np.empty((count, 13))
    rows.distances(q, None, value)
    np.testing.assert_allclose(value, checker.distances(q.T).T, atol=1e-13)

    first, weights = slopes(rows, q, None), rng.uniform(-1.0, 1.0, (count, 13))
    second = bends(rows, q, None, weights)
    off, bent = [], []
    for j in range(n):
        up, down = (q + STEP * sign * (np.arange(n) == j)[:, None] for sign in (1.0, -1.0))
        slope = (checker.distances(up.T) - checker.distances(down.T)).T / (2.0 * STEP)
        off.append(np.abs(slope - first[:, j]))
        change = (slopes(rows, up, None) - slopes(rows, down, None)) / (2.0 * STEP)
        turned = np.einsum("pk,pik->ik", weights, change)[:n]
        bent.append(np.abs(turned - second[:n, j]).max(axis=0))
    assert np.quantile(off, 0.99) < 1e-7
    assert np.median(bent) < 1e-8
    assert np.mean(np.array(bent) > 1e-6) < 0.05


def test_moving_obstacles_depend_on_time() -> None:
    path = Path([0.0, 2.0], [(0.9, -0.5, 0.1), (0.5, 0.6, 0.2)])
    checker = Checker(arm(), Scene((Obstacle("cart", "box", (0.2, 0.3, 0.1), path=path),)))
    rows = ClearanceRows(checker, np.arange(len(checker.pairs)))
    assert rows.moving
    rng = np.random.default_rng(1)
    q, t = rng.uniform(-1.0, 1.0, (3, 9)), rng.uniform(0.1, 1.9, 9)
    later, before = (checker.distances(q.T, t + sign * STEP).T for sign in (1.0, -1.0))
    slope = (later - before) / (2.0 * STEP)
    np.testing.assert_allclose(slopes(rows, q, t)[:, 3], slope, atol=1e-8)


def arm() -> Model:
    builder = ModelBuilder("arm", (0.0, 0.0, 0.0))
    for k in range(3):
        builder.add_link(
            f"l{k}", f"l{k - 1}" if k else "world", f"j{k}", origin=(0.4 if k else 0.0, 0.0, 0.0),
            mass=2.0, com=(0.2, 0.0, 0.0), inertia=(0.01, 0.03, 0.03), position=3.0, velocity=4.0,
            effort=60.0,
        )  # fmt: skip
    capsules = [Capsule(f"l{k}", (0, 0, 0), (0.4, 0, 0), 0.04) for k in range(3)]
    return builder.build().with_capsules(capsules)


def reach(scene: Scene | None, *constraints: Constraint, **changed: object) -> Problem:
    rest = [State(q, (0.0,) * 3, (0.0,) * 3) for q in ((-0.9, 0.2, 0.2), (0.9, -0.2, -0.2))]
    problem = Problem(arm(), (Phase(1.2, *rest),), (Cost(JointTorque()),), constraints,
                      scene=scene, margin=0.01 if scene else 0.0,
                      transcription=Spline(segments=14))  # fmt: skip
    return replace(problem, **changed)


BALL = Scene((Obstacle("ball", "sphere", (0.1,), (0.8, 0.1, 0.0)),))


def test_an_arm_bends_around_a_ball() -> None:
    """Without a scene it passes through; with the term, the certificate holds all along."""
    through = predyn.solve(reach(None), verbose=False)
    assert predyn.certify(through, BALL).status == "collision"
    around = predyn.solve(reach(BALL, Constraint(Clearance())), verbose=False).check()
    assert predyn.certify(around, BALL, margin=0.009).status == "certified"
    assert around.objective > through.objective
    # by name, only what is named
    named = Constraint(Clearance(between=(("l2", "ball"), ("l1", "ball"))))
    same = predyn.solve(reach(BALL, named), verbose=False).check()
    assert same.objective == pytest.approx(around.objective, rel=1e-6)


def test_rows_at_chosen_instants() -> None:
    term = Clearance(between=(("l2", "ball"),), minimum=0.08)
    instants = (0.6, 0.7, 0.8)
    problem = reach(BALL, Constraint(term, at=instants))
    solution = predyn.solve(problem, verbose=False).check()
    checker = Checker(problem.model, BALL)
    pair = checker.pairs.index(("l2", "ball"))
    distance = checker.distances(solution.at(1.2 * np.array(instants)).q)[:, pair]
    assert distance.min() == pytest.approx(0.08, abs=1e-7)


def test_an_obstacle_that_moves_with_a_free_duration() -> None:
    path = Path([0.0, 1.0], [(1.12, 0.5, 0.0), (1.12, -0.3, 0.0)])
    scene = Scene((Obstacle("ball", "sphere", (0.1,), path=path),))
    problem = reach(scene, Constraint(Clearance()))
    phase = replace(problem.phases[0], duration=Duration(0.9, 1.6, 1.2))
    solution = predyn.solve(replace(problem, phases=(phase,)), verbose=False).check()
    assert predyn.certify(solution, scene, margin=0.005).status == "certified"


def test_the_program_has_exact_derivatives() -> None:
    from predyn.nlp.differences import check_derivatives
    from predyn.transcribe.guess import first_guess
    from predyn.transcribe.methods import transcribe

    program = transcribe(reach(BALL, Constraint(Clearance())))
    x = first_guess(program)
    x = x + 0.03 * np.random.default_rng(2).uniform(-1.0, 1.0, len(x))
    check_derivatives(program, x)


@pytest.mark.parametrize(
    ("problem", "message"),
    [
        (lambda: reach(None, Constraint(Clearance())), "the problem has no scene"),
        (lambda: reach(None, margin=0.01), "expected a scene too"),
        (lambda: reach(BALL, margin=-0.1), "at least 0 m"),
        (lambda: reach(BALL, margin="wide"), "at least 0 m"),
        (lambda: reach({"obstacles": []}), "expected a predyn.Scene, got dict"),
        (lambda: reach(BALL, Constraint(Clearance(between=(("l2", "bal"),)))), "'ball'"),
        (lambda: reach(BALL, Constraint(Clearance(between=(("l0", "l1"),)))), "joined by a joint"),
        (lambda: reach(BALL, Constraint(Clearance(between=(99,)))), "a number from 0 to"),
        (lambda: reach(BALL, Constraint(Clearance(minimum=np.nan))), "finite number in m"),
        (
            lambda: reach(Scene((Obstacle("wall", "box", (4.0, 0.1, 1.0), (0.0, 0.8, 0.0)),))),
            "'wall' overlap by",
        ),
        (
            lambda: reach(BALL, model=replace(arm(), shapes=())),
            "has no collision shapes",
        ),
    ],
)
def test_mistakes_are_named(problem: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        predyn.solve(problem(), verbose=False)


TASK = """
[model]
urdf = "arm.urdf"
capsules = [{ link = "arm", a = [0.0, 0.0, 0.0], b = [0.5, 0.0, 0.0], radius = 0.03 }]

[scene]
margin = 0.02
obstacles = [{ name = "ball", kind = "sphere", radius = 0.1, position = [0.0, 0.9, 0.0] }]

[[phases]]
duration = 1.0
start = { q = [-0.5], v = [0.0] }
end = { q = [0.5], v = [0.0] }

[[cost]]
term = "torque"

[[constraint]]
term = "clearance"
between = [["arm", "ball"]]
"""
URDF = """<robot name="one"><link name="world"/><link name="arm"><inertial><mass value="1"/>
<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="turn" type="revolute"><parent link="world"/><child link="arm"/><axis xyz="0 0 1"/>
<limit lower="-2" upper="2" effort="50" velocity="5"/></joint></robot>"""


def test_scenes_in_task_files(tmp_path: FilePath) -> None:
    (tmp_path / "arm.urdf").write_text(URDF)
    task = tmp_path / "task.toml"
    task.write_text(TASK)
    problem = predyn.load_task(task)
    assert problem.margin == 0.02
    assert [x.name for x in problem.scene.obstacles] == ["ball"]
    assert predyn.solve(problem, verbose=False).success

    scene = '{"format": "predyn-scene-1", "obstacles": [{"name": "b", "kind": "box", "size": '
    (tmp_path / "scene.json").write_text(scene + '[0.1, 0.1, 0.1], "position": [0, 2, 0]}]}')
    inline = TASK[TASK.index("obstacles") : TASK.index("\n\n[[phases]]")]
    task.write_text(TASK.replace(inline, 'file = "scene.json"').replace('"ball"', '"b"'))
    assert predyn.load_task(task).scene.obstacles[0].kind == "box"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('kind = "sphere"', 'kind = "spere"', "'sphere'"),
        ("radius = 0.1,", "radius = nan,", "radius|finite"),
        ("margin", "marign", "margin"),
        ("obstacles = [", 'file = "none.json"\nobstacles = [', "got both"),
        ('"ball"]]', '"bowl"]]', "'ball'"),
        ("radius = 0.03", "radius = -0.03", "radius"),
        ("position = [0.0, 0.9", "position = [0.4, -0.2", "overlap by"),
    ],
)
def test_mistakes_in_task_files(tmp_path: FilePath, old: str, new: str, message: str) -> None:
    (tmp_path / "arm.urdf").write_text(URDF)
    (tmp_path / "task.toml").write_text(TASK.replace(old, new))
    with pytest.raises(predyn.PredynError, match=message) as error:
        predyn.load_task(tmp_path / "task.toml")
    assert "Traceback" not in str(error.value)
