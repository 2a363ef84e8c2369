"""Bodies of the scene: what is drawn of a link, how thick it is, what is hidden."""

from base64 import b64decode
from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
import trimesh

import predyn
from fake_solution import fake_solution
from loaded_solution import LOAD, loaded_solution
from oracles.pinocchio_oracle import pinocchio_model
from predyn import ModelBuilder
from predyn.collision import Part, Scene
from predyn.dynamics import frame_kinematics
from predyn.problem import Constraint, Phase, Problem
from predyn.terms import FramePose, FramePosition
from predyn.view.bodies import DENSITY, floating_chain, massless_links
from predyn.view.payloads import payload_solids
from predyn.view.scene import Overlay, scene_data
from predyn.view.solids import equal_box, hull
from predyn.view.stage import lay_out, set_stage
from view.scene_models import RESULTS, WEDGE, person, shaped_arm, steps

TIMES = np.linspace(0.0, 1.0, 41)


@pytest.fixture(scope="module")
def walk():
    model = person()
    return lay_out(model, TIMES, steps(model, TIMES))


def test_poses_are_those_of_pinocchio():
    model = predyn.models.random_tree(8, 11, kinds=("revolute", "prismatic"))
    q = np.random.default_rng(4).uniform(-1.0, 1.0, (len(TIMES), model.n))
    stage, other = lay_out(model, TIMES, q), pinocchio_model(model)
    data, poses = other.createData(), scene_data(stage)["motions"][0]["poses"]
    for k in (0, 17, 40):
        pin.forwardKinematics(other, data, q[k])
        for j in range(model.n):
            x, y, z, w, a, b, c = poses[j][7 * k : 7 * k + 7]
            placed = data.oMi[j + 1]
            assert placed.translation == pytest.approx([x, y, z], abs=1e-4 * stage.view.radius)
            turned = pin.Quaternion(w, a, b, c).normalized().matrix()
            assert placed.rotation == pytest.approx(turned, abs=1e-3)  # 4 decimals or more


def test_the_slides_of_a_floating_base_are_not_drawn(walk):
    model = walk.model
    hidden = {model.link_index(f"slide_{x}") for x in "xyz"}
    hidden |= {model.link_index(f"turn_{x}") for x in "ab"}
    assert floating_chain(model) == hidden | {model.link_index("trunk")}
    assert hidden < massless_links(model)
    drawn = {solid.link for solid in walk.solids}
    assert drawn == set(range(model.n)) - massless_links(model)  # no base on the world either
    data = scene_data(walk)
    assert {axis["link"] for axis in data["axes"]}.isdisjoint(hidden)
    trunk = [s for s in walk.solids if s.link == model.link_index("trunk")]
    assert [s.role for s in trunk] == ["body"]  # and no hub where the base joints are


def test_hinges_in_one_place_are_one_ball(walk):
    thigh = walk.model.link_index("left_thigh")
    assert {s.kind for s in walk.solids if s.link == thigh} == {"limb", "sphere"}
    arm = predyn.models.gymnast()
    stage = set_stage(fake_solution(model=arm))
    hubs = [s for s in stage.solids if s.role == "hub"]
    assert {s.kind for s in hubs} == {"cylinder"}
    assert len(hubs) == arm.n


def test_a_single_massless_slide_keeps_its_rail():
    cart = ModelBuilder("cart", (0, 0, -9.81))
    cart.add_link("cart", "world", "x", "prismatic", axis=(1, 0, 0))
    cart.add_link("pole", "cart", "turn", axis=(0, 1, 0), mass=1.0, com=(0, 0, 0.5),
                  inertia=(0.1, 0.1, 0.1))  # fmt: skip
    stage = set_stage(fake_solution(model=cart.build()))
    assert [bar.kind for bar in stage.bars if bar.link < 0] == ["rail"]
    assert any(s.kind == "box" and s.link == 0 for s in stage.solids)


def test_limbs_have_the_volume_of_their_mass():
    def radius(mass, length):
        model = (
            ModelBuilder("m")
            .add_link("a", "world", "j", mass=mass, com=(length / 2, 0, 0), inertia=(1, 1, 1))
            .add_frame("end", "a", (length, 0.0, 0.0))
            .build()
        )
        stage = set_stage(fake_solution(model=model))
        (bar,) = (bar for bar in stage.bars if bar.link == 0)
        assert bar.end == pytest.approx([length, 0.0, 0.0])
        return bar.radius

    assert np.pi * radius(12.0, 0.9) ** 2 * 0.9 * DENSITY == pytest.approx(12.0, rel=1e-12)
    assert 0.0 < radius(1e-6, 1.0) < 0.1 < 0.3 > radius(1e6, 1.0)  # heavy and light: still a limb


def test_the_trunk_is_one_body_through_its_joints(walk):
    model = walk.model
    trunk = next(s for s in walk.solids if s.link == model.link_index("trunk"))
    assert trunk.kind == "mesh"
    joints = np.array([model.p[j] for j in np.flatnonzero(model.parent == trunk.link)])
    points, faces = trunk.triangles
    a, b, c = (points[faces[:, i]] for i in range(3))
    normals = np.cross(b - a, c - a)
    inside = np.einsum("fij,fj->fi", joints[None] - a[:, None], normals)
    assert (inside < 0.0).all()  # every joint is behind every face: the faces point outward
    volume = trimesh.Trimesh(points, faces, process=False).volume
    assert 0.0 < volume * 250.0 <= model.inertia[trunk.link, 0]


def test_hull_and_box_have_the_right_size():
    ball, volume = hull(0, np.zeros((1, 3)), 2.0)
    assert volume == pytest.approx(4.0 / 3.0 * np.pi * 8.0, rel=0.15)  # a polyhedron
    assert volume == pytest.approx(trimesh.Trimesh(*ball.triangles, process=False).volume)
    mass, edges = 3.0, np.array([0.5, 0.2, 0.3])
    inertia = mass / 12.0 * np.diag(edges @ edges - edges**2)
    turn = pin.rpy.rpyToMatrix(0.3, -0.4, 0.9)
    found, axes = equal_box(mass, turn @ inertia @ turn.T)
    assert np.sort(found) == pytest.approx(np.sort(edges), rel=1e-12)
    assert np.linalg.det(axes) == pytest.approx(1.0)


def test_meshes_arrive_scaled_and_shared():
    stage = set_stage(fake_solution(model=shaped_arm()))
    data = scene_data(stage, [Overlay("again", stage)])
    first, second = (s for s in data["solids"] if s["kind"] == "mesh")
    assert (first["motion"], second["motion"]) == (0, 1)
    assert first["mesh"] == second["mesh"] == 0
    (mesh,) = data["meshes"]
    points = np.frombuffer(b64decode(mesh["points"]), "<f4").reshape(-1, 3)
    faces = np.frombuffer(b64decode(mesh["faces"]), "<u2").reshape(-1, 3)
    np.testing.assert_allclose(points, 0.06 * WEDGE.points, rtol=1e-6)
    np.testing.assert_array_equal(faces, WEDGE.faces)


def test_roles_of_what_stands_around():
    stage = set_stage(fake_solution(model=shaped_arm()))
    world = {s.kind: s.role for s in stage.solids if s.link < 0}
    assert world == {"cylinder": "base", "box": "obstacle"}
    rods = [s for s in stage.solids if s.role == "tool"]
    assert [s.link for s in rods] == [2]  # from the mesh, which ends at 0.36 m, to the tool
    points, _ = rods[0].outline
    assert points[:, 0].max() == pytest.approx(0.6)
    assert points[:, 0].min() == pytest.approx(0.36, abs=0.02)


def test_payloads_are_where_they_are_picked_up_and_carried():
    solution = loaded_solution()
    carried, resting = (s for s in set_stage(solution).solids if s.role == "payload")
    assert carried.shown == pytest.approx((0.6, 1.2))
    assert resting.shown == pytest.approx((0.0, 0.6))
    assert (carried.link, resting.link) == (1, -1)
    pose = frame_kinematics(solution.model, "tip", solution.at(0.6).q)
    assert resting.p == pytest.approx(pose.p + pose.R @ LOAD.point, abs=1e-12)
    squares = np.array(carried.size) ** 2
    moments = LOAD.mass / 12.0 * (squares.sum() - squares)  # of a uniform box
    turned = carried.R @ np.diag(moments) @ carried.R.T
    np.testing.assert_allclose(turned, LOAD.inertia, atol=1e-12)


def test_parts_of_the_scene_replace_payloads_of_the_same_phases():
    """By link, also where part and payload are fixed to different frames of it."""
    solution = loaded_solution()
    link, phase = solution.model.link_names[1], solution.phase_names[1]
    gripper = Part("gripper", link, "sphere", (0.02,))
    with_gripper = replace(solution, scene=Scene((), (gripper,)))
    assert len(payload_solids(with_gripper)) == 2
    box = Part("box", link, "box", (0.1, 0.1, 0.1), phases=(phase,))
    assert payload_solids(replace(solution, scene=Scene((), (gripper, box)))) == []


def test_goals_are_those_of_the_constraints():
    model = shaped_arm()
    pose = FramePose("tool", (0.5, 0.1, 0.4), (0.0, 0.0, np.pi / 2))
    place = FramePosition("tool", (0.3, None, 0.6))
    elsewhere = Constraint(place, at="throughout")
    phase = Phase(
        1.2, constraints=(Constraint(pose, at="end"), Constraint(place, at=(0.25,)), elsewhere)
    )
    solution = fake_solution(model=model)
    solution = replace(solution, problem=Problem(model, (phase,)))
    last, via = scene_data(set_stage(solution))["goals"]
    assert last["p"] == [0.5, 0.1, 0.4]
    assert np.reshape(last["R"], (3, 3)) == pytest.approx(
        np.array([[0, -1, 0], [1, 0, 0], [0, 0, 1]]), abs=1e-6
    )
    y = frame_kinematics(model, "tool", solution.at(0.3).q).p[1]
    assert via["p"] == pytest.approx([0.3, y, 0.6], abs=1e-5)
    assert "R" not in via


def test_another_motion_is_laid_over(walk):
    model = walk.model
    other = lay_out(model, TIMES, steps(model, 0.9 * TIMES))
    data = scene_data(walk, [Overlay("Recording", other, shown=False)], "Prediction")
    assert [m["name"] for m in data["motions"]] == ["Prediction", "Recording"]
    assert [m["faint"] for m in data["motions"]] == [False, True]
    assert data["options"]["Recording"] is False
    x = np.array(data["motions"][1]["poses"][model.link_index("trunk")]).reshape(-1, 7)[:, 0]
    assert x == pytest.approx(1.35 * TIMES, abs=1e-4)
    both = [sum(s["motion"] == k for s in data["solids"]) for k in range(2)]
    assert both[0] == both[1] > 8


def test_the_camera_follows_the_centre_of_mass(walk):
    other = pinocchio_model(walk.model)
    data = other.createData()
    for k in (0, 13, 40):
        centre = pin.centerOfMass(other, data, walk.q[k])
        assert walk.follow.path[k] == pytest.approx(centre, abs=1e-12)
    assert set_stage(fake_solution()).follow is None  # its base does not move


def test_ground_under_those_who_stand_on_it(walk):
    assert walk.ground
    assert walk.level == 0.0
    assert set_stage(fake_solution(model=shaped_arm())).ground
    hanging = predyn.models.two_link()
    q = np.column_stack((-1.2 - 0.5 * TIMES, 0.3 * TIMES))
    stage = lay_out(hanging, TIMES, q)
    assert not stage.ground
    assert stage.level < -0.7
    free = set_stage(fake_solution(model=predyn.models.prismatic_revolute()))
    assert not free.ground  # no gravity


@pytest.mark.parametrize("name", [name for name in RESULTS if name != "estimate"])
def test_every_kind_of_report_has_its_bodies_in_view(name):
    result = RESULTS[name]()
    view = set_stage(result).view
    reach = np.linalg.norm(view.points - view.centre, axis=1)
    assert reach.max() <= view.radius + 1e-9
    assert reach.max() > 0.9 * view.radius
