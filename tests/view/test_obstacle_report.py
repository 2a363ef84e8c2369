"""Motions among obstacles: clearance chart and table, names of goals, side of the camera."""

from dataclasses import replace

import numpy as np
import pytest

import predyn
from fake_solution import fake_solution
from predyn.collision import Certificate, Obstacle, Scene
from predyn.problem import Constraint, Phase, Problem
from predyn.terms import FramePosition
from predyn.view.clearance_section import REACH, clearance_section, clearances_of
from predyn.view.report import report_html
from predyn.view.scene import GHOSTS, scene_data
from predyn.view.sight import turn_to_see
from predyn.view.solids import Solid
from predyn.view.stage import set_stage
from view.html_page import Page

WALL = Obstacle("wall", "box", (0.02, 3.0, 3.0), (-2.5, 0.0, 1.5))
POST = Obstacle("post", "cylinder", (0.05, 1.0), (2.2, 0.0, 0.5), phases=("phase 2",))


def surrounded(*obstacles, phases=2):
    solution = fake_solution(phases, model=predyn.models.six_axis_arm())
    return replace(solution, scene=Scene(obstacles or (WALL, POST)))


def certified(solution, **changes):
    found = predyn.certify(solution, solution.scene)
    return replace(solution, certificate=replace(found, **changes))


@pytest.fixture(scope="module")
def page():
    solution = certified(surrounded(), margin=0.003)
    return solution, Page(report_html(solution))


def test_the_chart_ends_near_the_margin_and_marks_the_least_distance(page):
    solution, shown = page
    (chart,) = shown.data["charts"]["clearance"]
    found = clearances_of(solution)
    least = 1e3 * np.nanmin(found.distances)
    assert chart["most"] == pytest.approx(max(3.0 + REACH, 2.0 * least), abs=1e-3)
    (mark,) = chart["marks"]
    assert mark["y"] <= least
    assert mark["y"] == pytest.approx(least, rel=1e-3)
    assert chart["limitName"] == "margin, 3 mm"
    assert all(line["limits"] == [3.0, None] for line in chart["series"])


def test_the_table_has_the_tightest_pairs_in_order(page):
    solution, _ = page
    found = clearances_of(solution)
    html = clearance_section(solution, found)
    assert "Tightest pairs" in html
    places = [html.index(f'<td class="w">{name}</td>') for name in found.names]
    assert places == sorted(places)
    assert '<td class="w">phase ' in html
    alone = surrounded(WALL, phases=1)
    assert ">Phase<" not in clearance_section(alone, clearances_of(alone))


def test_a_pair_within_the_margin_is_no_collision():
    near = Certificate(
        "collision", 0.01, 0.0088, -np.inf, ("tool", "wall"), 0.4, 0.0088, None, 1, 1, ()
    )
    assert near.verdict == "within the margin"
    assert "closer than the margin of 10 mm: tool and wall, 8.800 mm at 0.4000 s" in str(near)
    assert replace(near, distance=0.0).verdict == "collision"
    html = clearance_section(replace(surrounded(), certificate=near), None)
    assert "it comes closer than the margin" in html


def test_poses_of_the_swept_path_are_frames_and_cost_little():
    solution = surrounded()
    scene = scene_data(set_stage(solution))
    assert scene["options"]["Swept path"] is False
    assert scene["ghosts"][0] == 0
    assert scene["ghosts"][-1] == len(scene["times"]) - 1
    assert len(scene["ghosts"]) == GHOSTS
    assert np.ptp(np.diff(scene["ghosts"])) > 1  # along the way, not in time
    alone = scene_data(set_stage(replace(solution, scene=None)))
    assert alone["ghosts"] == []
    assert "Swept path" not in alone["options"]


def test_goals_of_one_frame_have_the_names_of_their_phases():
    solution = surrounded()
    name = solution.model.frame_names[-1]

    def goal(x, at="end"):
        return Constraint(FramePosition(name, (x, 0.0, 0.5)), at=at)

    def names(*phases):
        problem = Problem(solution.model, tuple(Phase(1.0, constraints=x) for x in phases))
        return [x.name for x in set_stage(replace(solution, problem=problem)).goals]

    assert names((goal(0.5),), ()) == [name]
    assert names((goal(0.5),), (goal(0.6),)) == list(solution.phase_names)
    one, two = solution.phase_names
    assert names((goal(0.4, at=[0.25]), goal(0.5)), (goal(0.6),)) == [f"{one} at 25 %", one, two]


def test_the_camera_looks_past_obstacles():
    wall = Solid(-1, "box", (0.02, 2.0, 2.0), np.eye(3), np.array([0.5, 0.0, 0.0]), "obstacle")
    ends = np.zeros((4, 3))
    ahead, aside = np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0])
    assert turn_to_see([ahead, aside], ends, [wall]) == 1
    assert turn_to_see([-ahead, aside], ends, [wall]) == 0
    assert turn_to_see([ahead, aside], ends, [wall._replace(role="payload")]) == 0
    free = set_stage(surrounded(WALL)).view
    x, y, z = free.centre + 0.9 * free.radius * free.toward
    turned = np.arctan2(free.toward[1], free.toward[0])
    screen = Obstacle("screen", "box", (0.02, 4.0, 4.0), (x, y, z), (0.0, 0.0, turned))
    other = set_stage(surrounded(screen)).view
    assert other.toward @ free.toward < 0.95
