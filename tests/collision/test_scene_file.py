"""Scenes from files: everything that the format has, and errors that name what is wrong."""

from __future__ import annotations

import json

import numpy as np
import pytest
import trimesh

from predyn import FileError, InputError, Obstacle, Scene, load_scene
from predyn.collision import JointPath, Part, Path, load_joint_path
from predyn.models import two_link

BOX = {"name": "shelf", "kind": "box", "size": [0.6, 0.4, 0.02], "position": [1.0, 0.0, 0.5],
       "quaternion_xyzw": [0.0, 0.0, 0.6, 0.8]}  # fmt: skip


def written(tmp_path, content, name="scene.json"):
    path = tmp_path / name
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def scene_with(**changes):
    return {"format": "predyn-scene-1", "obstacles": [BOX | changes]}


def moved(**changes):
    path = {"times": [0, 1], "positions": [[0, 0, 0], [1, 0, 0]]} | changes
    cart = {"name": "cart", "kind": "sphere", "radius": 1.0, "path": path}
    return {"format": "predyn-scene-1", "obstacles": [cart]}


def test_json_has_obstacles_parts_paths_and_allowed_pairs(tmp_path) -> None:
    trimesh.creation.icosphere(subdivisions=1, radius=0.1).export(tmp_path / "ball.stl")
    content = {
        "format": "predyn-scene-1",
        "units": "m, rad",
        "start": [0.0, 1.0],
        "base_pose": {"position": [0, 0, 0]},
        "obstacles": [
            BOX,
            {"name": "can", "kind": "cylinder", "radius": 0.03, "length": 0.14, "rpy": [0, 1, 0]},
            {"name": "ball", "kind": "sphere", "radius": 0.1, "position": [1, 1, 1]},
            {"name": "bar", "kind": "capsule", "radius": 0.1, "length": 0.0},
            {"name": "floor", "kind": "half_space"},
            {"name": "rock", "kind": "mesh", "file": "ball.stl", "scale": 2.0},
            {"name": "cart", "kind": "box", "size": [1, 1, 1],
             "path": {"times": [0, 1], "positions": [[0, 0, 0], [1, 0, 0]],
                      "quaternions_xyzw": [[0, 0, 0, 1], [0, 0, 1, 0]]}},
        ],
        "parts": [{"name": "tool", "kind": "box", "size": [0.1, 0.1, 0.2], "link": "tip"}],
        "allowed": [["tool", "rock"]],
    }  # fmt: skip
    scene = load_scene(written(tmp_path, content))
    assert [x.kind for x in scene.obstacles] == [
        "box", "cylinder", "sphere", "capsule", "half_space", "mesh", "box"
    ]  # fmt: skip
    shelf, can, _, _, _, rock, cart = scene.obstacles
    np.testing.assert_allclose(shelf.rotation[:, 0], [0.28, 0.96, 0.0], atol=1e-15)
    np.testing.assert_allclose(can.rotation[:, 2], [np.sin(1.0), 0.0, np.cos(1.0)], atol=1e-15)
    assert can.size == (0.03, 0.14)
    assert rock.triangles is not None
    assert np.linalg.norm(rock.triangles.points, axis=1).max() == pytest.approx(0.2, abs=1e-6)
    assert cart.path is not None
    np.testing.assert_allclose(cart.path.rotations[1], np.diag([-1.0, -1.0, 1.0]), atol=1e-15)
    assert scene.parts[0].link == "tip"
    assert scene.allowed == (("tool", "rock"),)
    assert scene.extra["start"] == [0.0, 1.0]
    assert "start, base_pose" in scene.notes[0]
    assert repr(scene) == "Scene(7 obstacles, 1 parts)"


def test_toml_is_the_same(tmp_path) -> None:
    text = """
format = "predyn-scene-1"
[[obstacles]]
name = "shelf"
kind = "box"
size = [0.6, 0.4, 0.02]
position = [1.0, 0.0, 0.5]
quaternion_xyzw = [0.0, 0.0, 0.6, 0.8]
"""
    (one,) = load_scene(written(tmp_path, text, "scene.toml")).obstacles
    (other,) = load_scene(written(tmp_path, scene_with())).obstacles
    np.testing.assert_array_equal(one.rotation, other.rotation)
    assert one.size == other.size


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "not a valid JSON file"),
        ("[]", "expected a table with 'format'"),
        ({"format": "other"}, "format: expected 'predyn-scene-1', got 'other'"),
        ({"format": "predyn-scene-1", "units": "mm"}, "units: expected 'm, rad', got 'mm'"),
        ({"format": "predyn-scene-1", "obstacle": []}, "unknown field 'obstacle'.*'obstacles'"),
        ({"format": "predyn-scene-1", "obstacles": {}}, "obstacles: expected a list"),
        ({"format": "predyn-scene-1", "obstacles": [1]}, r"obstacles\[0\]: expected a table"),
        (scene_with(kind="cone"), r"unknown kind of obstacles\[0\] 'cone'.*'cylinder'"),
        (scene_with(radius=1.0), r"unknown field of obstacles\[0\] 'radius'"),
        (scene_with(size=[1.0, 2.0]), r"'shelf': size of a box: expected \(x, y, z\) in m"),
        (scene_with(size=[1.0, 2.0, float("nan")]), "size of a box: expected"),
        (scene_with(size=[1.0, 2.0, 0.0]), "z of a box: expected a positive number, got 0"),
        (scene_with(size=[1.0, 2.0, -1.0]), "size of a box: expected"),
        (scene_with(position=[0.0, 0.0]), r"position: expected shape \(3,\)"),
        (scene_with(position=[0.0, 0.0, float("inf")]), "position: expected finite numbers"),
        (scene_with(quaternion_xyzw=[0, 0, 0, 2]), "expected a unit quaternion, got.*length 2"),
        (scene_with(quaternion_xyzw=[0, 0, 1]), "expected four numbers x, y, z, w"),
        (scene_with(rpy=[0, 0, 0]), "expected quaternion_xyzw or rpy, got both"),
        (scene_with(name=""), "obstacle: name: expected a name"),
        (scene_with(path={"times": [0]}), "path: expected a table with times, positions"),
        (scene_with(path={"times": [0, 1], "positions": [[0, 0, 0], [1, 1, 1]]}), "got both"),
        ({"format": "predyn-scene-1", "obstacles": [BOX, BOX]}, "'shelf' is used 2 times"),
        ({"format": "predyn-scene-1", "allowed": ["a"]}, "allowed: expected pairs of names"),
        ({"format": "predyn-scene-1", "parts": [BOX]}, "link: expected a name"),
        ({"format": "predyn-scene-1"}, "expected a list 'obstacles'"),
        ('{"format": "predyn-scene-1", "obstacles": [], "obstacles": []}', "'obstacles' is given"),
        (scene_with(size=[10**400, 1, 1]), r"size of a box: expected \(x, y, z\)"),
        (scene_with(size=["1", 1, 1]), "size of a box: expected"),
        (scene_with(size=[True, 1, 1]), "size of a box: expected"),
        (scene_with(size=[1e5, 1, 1]), "each up to 10000, got"),
        (scene_with(position=[True, 0, 0]), "position: expected finite numbers"),
        (scene_with(position=[1e308, 0, 0]), "position: expected at most 10000 m"),
        (scene_with(quaternion_xyzw=[10**400, 0, 0, 1]), "expected four numbers x, y, z, w"),
        (moved(quaternions_xyzw=5), "quaternions_xyzw: expected a list of quaternions, got 5"),
        (moved(times=[0, 10**400]), "path: times: expected at least 2 finite"),
        (moved(times=[0, 5e-324]), "is too short: expected steps of at least 1e-09 s"),
    ],
)  # fmt: skip
def test_a_bad_file_is_refused_by_name(tmp_path, content, message) -> None:
    path = written(tmp_path, content)
    with pytest.raises(FileError, match=message) as caught:
        load_scene(path)
    assert str(caught.value).startswith(str(path))


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ("missing.stl", "no such file"),
        ("../outside.stl", "leads out of"),
        ("/etc/passwd", "leads out of"),
        ("https://example.org/a.stl", "expected a path"),
        (3, "expected the name of a mesh file, got 3"),
        ("flat.stl", "lie in a plane"),
    ],
)
def test_a_mesh_must_be_a_solid_in_the_folder(tmp_path, file, message) -> None:
    folder = tmp_path / "scene"
    folder.mkdir()
    trimesh.creation.box().export(tmp_path / "outside.stl")
    flat = trimesh.Trimesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])
    flat.export(folder / "flat.stl")
    item = {"name": "rock", "kind": "mesh", "file": file}
    path = written(folder, {"format": "predyn-scene-1", "obstacles": [item]})
    with pytest.raises(FileError, match=message):
        load_scene(path)


@pytest.mark.parametrize("scale", [10**400, True, "1", 1e308, 0.0, [1.0, 2.0]])
def test_a_scale_is_a_number(tmp_path, scale) -> None:
    trimesh.creation.box().export(tmp_path / "box.stl")
    item = {"name": "rock", "kind": "mesh", "file": "box.stl", "scale": scale}
    path = written(tmp_path, {"format": "predyn-scene-1", "obstacles": [item]})
    with pytest.raises(FileError, match="scale: expected one or three positive numbers"):
        load_scene(path)


def test_other_files_are_refused(tmp_path) -> None:
    with pytest.raises(FileError, match=r"ends in \.json or \.toml"):
        load_scene(written(tmp_path, "", "scene.yaml"))
    with pytest.raises(FileError, match="cannot be read"):
        load_scene(tmp_path / "none.json")
    with pytest.raises(InputError, match="expected the path of a file"):
        load_scene(3)


def test_objects_are_checked_too() -> None:
    turning = Path([0, 1], np.zeros((2, 3)), np.array([np.eye(3), np.eye(3)]))
    with pytest.raises(InputError, match="a half-space must not turn"):
        Obstacle("floor", "half_space", path=turning)
    with pytest.raises(InputError, match="a half-space cannot be fixed to a link"):
        Part("x", "l", "half_space")
    with pytest.raises(InputError, match="triangles belong to a mesh, and only to it; got none"):
        Obstacle("x", "mesh")
    with pytest.raises(InputError, match="scene: obstacles: expected Obstacle objects, got 3"):
        Scene((3,))
    with pytest.raises(InputError, match="times: expected at least 2 finite, increasing"):
        Path([0, 0], np.zeros((2, 3)))
    with pytest.raises(InputError, match=r"expected Triangles .*got ndarray"):
        Obstacle("x", "mesh", (), triangles=np.eye(3))
    for phases in (None, 5, "a"):
        with pytest.raises(InputError, match="phases: expected a list of names"):
            Obstacle("x", "sphere", (1.0,), phases=phases)
    for arguments, name in (
        ((None,), "obstacles"), (((), 5), "parts"), (((), (), None), "allowed"),
        (((), (), [1]), "allowed"), (((), (), ["ab"]), "allowed"), (((), (), (), 1), "notes"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=f"scene: {name}: expected"):
            Scene(*arguments)
    with pytest.raises(InputError, match="in_phase: name of a phase: expected a name"):
        Scene().in_phase(["a"])
    with pytest.raises(InputError, match=r"capsules: expected a list of predyn\.Capsule, got None"):
        two_link().with_capsules(None)


def test_joint_paths_from_csv(tmp_path) -> None:
    model = two_link()
    one, other = model.joint_names
    path = written(tmp_path, f"time,{other},note,{one}\n0,1.0,x,2.0\n0.5,3.0,y,4.0\n", "q.csv")
    found = load_joint_path(path, model, "cubic")
    assert isinstance(found, JointPath)
    np.testing.assert_array_equal(found.times, [0.0, 0.5])
    np.testing.assert_array_equal(found.positions, [[2.0, 1.0], [4.0, 3.0]])
    for text, message in (
        (f"time,{one}\n0,1\n", f"line 1: expected a column for joint '{other}'"),
        (f"{one},{other}\n0,1\n", "line 1: expected a column 'time'"),
        (f"t,{one},{other}\n0,1,2\n1,x,2\n", "line 3: expected a number in each column"),
        (f"t,{one},{other}\n0,1,2\n0,1,2\n", "times: expected 2 increasing numbers"),
        (f"t,{one},{other}\n0,1,2\n", "positions: expected finite numbers"),
        ("", "line 1: expected a column 'time'"),
        (f"t;{one};{other}\n0;1;2\n", "line 1: expected commas between the columns"),
        (f"t,time,{one},{other}\n0,0,1,2\n", "expected one column of times, got 'time' and 't'"),
        (f"t,{one},{other}\n0,1_0,2\n1,1,1\n", "line 2: expected a number in each column"),
        (f"t,{one},{other}\n0,1,2,3\n1,1,1\n", "line 2: expected 3 cells, as in line 1, got 4"),
    ):
        with pytest.raises(FileError, match=message):
            load_joint_path(written(tmp_path, text, "bad.csv"), model, "linear")
