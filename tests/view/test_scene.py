"""The scene: poses, the skeleton, the first view, forces."""

from dataclasses import replace

import numpy as np
import pytest

import predyn
from fake_solution import fake_solution
from loaded_solution import loaded_solution
from predyn.dynamics import frame_kinematics
from predyn.view.scene import nice_step, scene_data
from predyn.view.stage import set_stage

SCREEN = 1e-9  # angles of the view are computed in doubles from data of size one


def view_axes(model):
    view = set_stage(fake_solution(model=model)).view
    return view, view.right, np.cross(view.toward, view.right)


def test_vertical_plane_is_seen_from_the_front():
    view, right, top = view_axes(predyn.models.two_link())
    assert view.planar
    assert right == pytest.approx([1.0, 0.0, 0.0], abs=SCREEN)
    assert top == pytest.approx([0.0, 1.0, 0.0], abs=SCREEN)


def test_without_gravity_z_is_up_and_the_plane_is_faced():
    _, right, top = view_axes(predyn.models.two_link(gravity=(0.0, 0.0, 0.0)))
    assert right == pytest.approx([1.0, 0.0, 0.0], abs=SCREEN)
    assert top == pytest.approx([0.0, 1.0, 0.0], abs=SCREEN)
    _, right, top = view_axes(predyn.models.prismatic_revolute())
    assert right == pytest.approx([0.0, 1.0, 0.0], abs=SCREEN)
    assert top == pytest.approx([0.0, 0.0, 1.0], abs=SCREEN)


def test_motion_in_space_is_seen_from_above_the_ground():
    view, right, _ = view_axes(predyn.models.random_tree(9, 2))
    assert not view.planar
    assert 0.2 < view.elevation < 0.6
    assert right @ view.up == pytest.approx(0.0, abs=SCREEN)


@pytest.mark.parametrize("gravity", [(0.0, 0.0, 9.81), (3.0, -4.0, 1.0), (-9.81, 0.0, 0.0)])
def test_up_is_against_gravity(gravity):
    view, _, _ = view_axes(predyn.models.manutec_r3().with_gravity(gravity))
    axes = np.array([view.east, view.north, view.up])
    assert view.up == pytest.approx(-np.array(gravity) / np.linalg.norm(gravity), abs=1e-15)
    assert axes @ axes.T == pytest.approx(np.eye(3), abs=1e-14)
    assert np.linalg.det(axes) == pytest.approx(1.0, abs=1e-14)


def test_everything_is_within_the_first_view():
    stage = set_stage(fake_solution(model=predyn.models.random_tree(12, 4)))
    view = stage.view
    axes = np.array([view.right, np.cross(view.toward, view.right)])
    points = np.concatenate([stage.p.reshape(-1, 3), *stage.paths]) - view.centre
    assert (np.abs(points @ axes.T) <= view.half + 1e-9).all()
    assert (np.linalg.norm(points, axis=1) <= view.radius + 1e-9).all()


def test_page_poses_are_those_of_the_links():
    solution = fake_solution(model=predyn.models.random_tree(7, 5))
    stage = set_stage(solution)
    data = scene_data(stage)
    for j, name in enumerate(solution.model.link_names):
        p, q = np.split(np.array(data["motions"][0]["poses"][j]).reshape(-1, 7), [3], axis=1)
        truth = frame_kinematics(solution.model, name, solution.at(stage.times).q)
        w, x, y, z = (q / np.linalg.norm(q, axis=1, keepdims=True)).T
        R = np.array([
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]).transpose(2, 0, 1)  # fmt: skip
        assert p == pytest.approx(truth.p, abs=1e-4 * stage.view.radius)
        assert pytest.approx(truth.R, abs=1e-3) == R  # quaternions are kept to 4 or 5 decimals
        assert (np.sum(q[1:] * q[:-1], axis=1) > 0.0).all()  # no jump of sign to interpolate over


def test_shapes_replace_the_skeleton_and_meshes_do_not():
    def build(kind, size, mesh=None):
        return (
            predyn.ModelBuilder("m")
            .add_link("a", "world", "j", mass=1.0, com=(0.5, 0, 0), inertia=(0.1, 0.1, 0.1))
            .add_shape(kind, "a", size, point=(0.5, 0.0, 0.0), mesh=mesh)
            .add_frame("end", "a", (1.0, 0.0, 0.0))
            .build()
        )

    def kinds(model):
        solution = fake_solution(model=model)
        data = scene_data(set_stage(solution))
        return sorted(solid["kind"] for solid in data["solids"] if solid["link"] == 0)

    assert kinds(build("box", (1.0, 0.1, 0.1))) == ["box"]
    assert kinds(build("mesh", (1.0, 1.0, 1.0), "arm.stl")) == ["cylinder", "limb"]


def test_ends_and_paths():
    stage = set_stage(fake_solution())
    assert [end.name for end in stage.ends] == ["tip"]
    q = stage.q[-1]
    tip = 0.4 * np.array([np.cos(q[0]) + np.cos(q.sum()), np.sin(q[0]) + np.sin(q.sum())])
    assert stage.paths[0][-1][:2] == pytest.approx(tip, abs=1e-14)
    assert len(set_stage(fake_solution(model=predyn.models.random_tree(55, 1))).ends) <= 6


def test_forces_become_arrows_of_comparable_length():
    def load(force, frame):
        return {"link": "tip", "force": np.array(force), "moment": np.zeros(3),
                "point": np.array([0.1, 0.0, 0.0]), "frame": frame}  # fmt: skip

    loads = (load([0.0, -10.0, 0.0], "world"), load([5.0, 0, 0], "link"), load([0, 0, 0], "world"))
    solution = replace(fake_solution(), forces=loads)
    stage = set_stage(solution)
    first, second = scene_data(stage)["forces"]
    lengths = [np.linalg.norm(arrow["vector"]) for arrow in (first, second)]
    assert lengths[0] == pytest.approx(2.0 * lengths[1], rel=1e-4)
    assert first["world"]
    assert not second["world"]
    assert first["p"] == pytest.approx([0.5, 0.0, 0.0], abs=1e-12)
    assert second["label"] == "5 N"
    tips = stage.placed(1, np.array([0.5, 0.0, 0.0])) + np.array(first["vector"])
    assert (np.abs(tips - stage.view.centre)[:, :2] <= stage.view.half + 1e-5).all()


def test_forces_that_change_become_arrows_of_each_frame():
    solution = loaded_solution()
    stage = set_stage(solution)
    scene = scene_data(stage)
    assert scene["forces"] == []  # none acts throughout
    weight, wind, press, twist = scene["loads"]
    assert [load["kind"] for load in scene["loads"]] == [*["force"] * 3, "moment"]
    assert twist["labels"][-1].endswith(" N m")
    early, late = stage.times < 0.6, stage.times >= 0.6
    for load, there in ((weight, early), (press, late)):
        shown = np.array([tip is not None for tip in load["tips"]])
        assert not shown[~there].any()
        assert shown[there].sum() > 40
    assert wind["tips"][0] is None  # it begins with nothing
    k = int(np.flatnonzero(late)[20])
    force = solution.channel("signal:press", stage.times[k])
    assert press["labels"][k] == f"{np.linalg.norm(force):.3g} N"
    vector = np.subtract(press["tips"][k], press["feet"][k])
    turned = stage.R[1][k] @ force
    np.testing.assert_allclose(
        vector / np.linalg.norm(vector), turned / np.linalg.norm(turned), atol=1e-4
    )
    foot = stage.placed(1, np.array([0.1, 0.05, 0.0]))[k]
    np.testing.assert_allclose(press["feet"][k], foot, atol=1e-6)
    one, two = solution.systems
    kept = replace(solution, systems=(one, replace(two, forces=(*one.forces[:1], *two.forces))))
    scene = scene_data(set_stage(kept))
    assert [arrow["label"] for arrow in scene["forces"]] == ["10 N"]
    assert len(scene["loads"]) == 3


def test_a_mechanism_that_rests_is_drawn():
    solution = fake_solution()
    still = solution.curves[0]._replace(control=np.zeros_like(solution.curves[0].control))
    solution = replace(solution, curves=(still,))
    assert solution.finite
    assert scene_data(set_stage(solution))["camera"]["radius"] > 0.0


def test_nice_steps():
    assert [nice_step(x) for x in (1.0, 1.9, 4.9, 7.0, 0.03)] == [1.0, 1.0, 2.0, 5.0, 0.02]
