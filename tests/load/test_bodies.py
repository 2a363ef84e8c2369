"""Where meshes are looked for, which shapes are drawn, and what result files keep of them."""

import io
import os
import pickle
import shutil
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

import predyn
from fake_estimate import fake_estimate
from fake_solution import fake_solution
from load.mesh_samples import binary_stl, box, dae, obj, sphere
from predyn.cli import app
from predyn.errors import FileError, InputError, ModelWarning
from predyn.load import bodies, meshes
from predyn.load.bodies import bodies_of, drawn_triangles
from predyn.load.mesh_files import MeshFinder
from predyn.load.urdf import load_urdf
from predyn.model.stored import model_of, tree_of_model
from predyn.storage import hdf5_tree
from predyn.storage.tree_reader import TreeReader
from sameness import assert_same

LINK = """<link name="{name}"><inertial><mass value="1"/>
<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>{shapes}</link>"""


def robot(*links):
    """A chain of links with the given <visual> and <collision> elements, on a fixed base."""
    text = '<robot name="r"><link name="base"/>'
    for k, shapes in enumerate(links):
        text += LINK.format(name=f"l{k}", shapes=shapes)
        parent = f"l{k - 1}" if k else "base"
        text += (
            f'<joint name="j{k}" type="continuous"><parent link="{parent}"/><child link="l{k}"/>'
            '<origin xyz="0.5 0 0"/><axis xyz="0 0 1"/><limit effort="9" velocity="9"/></joint>'
        )
    return text + "</robot>"


def mesh(name, role="visual", scale="1 1 1"):
    return f'<{role}><geometry><mesh filename="{name}" scale="{scale}"/></geometry></{role}>'


BOX = "<{0}><geometry><box size='1 1 1'/></geometry></{0}>"


@pytest.fixture
def folder(tmp_path):
    """A package arm_description with a model file in urdf and meshes beside it."""
    package = tmp_path / "ws" / "arm_description"
    for name in ("urdf/meshes", "meshes"):
        (package / name).mkdir(parents=True)
    for name, data in (("box.stl", binary_stl(*box())), ("ball.obj", obj(*sphere(steps=8))),
                       ("box.dae", dae(*box()))):  # fmt: skip
        (package / "meshes" / name).write_bytes(data)
        (package / "urdf" / "meshes" / name).write_bytes(data)
    (tmp_path / "outside.stl").write_bytes(binary_stl(*box()))
    return package


def write(folder, *links):
    path = folder / "urdf" / "arm.urdf"
    path.write_text(robot(*links))
    return path


def test_files_are_found_in_the_folder_and_in_packages(folder, tmp_path):
    model_file, own, other = folder / "urdf" / "arm.urdf", "urdf/meshes/box.stl", "meshes/box.stl"
    away = shutil.copytree(folder, tmp_path / "away" / "tool_description")
    absolute = os.fspath(folder / own)
    cases = [
        ("meshes/box.stl", None, folder / own),
        ("./meshes/../meshes/box.stl", None, folder / own),
        (absolute, None, folder / own),
        (f"file://{absolute}", None, folder / own),
        ("package://urdf/meshes/box.stl", None, folder / own),
        ("model://meshes/box.stl", None, folder / own),
        ("package://arm_description/meshes/box.stl", folder, folder / other),
        ("../meshes/box.stl", folder, folder / other),
        ("package://tool_description/meshes/box.stl", tmp_path / "away", away / other),
        ("package://tool_description/meshes/box.stl", away, away / other),
        ("package://tool_description/meshes/box.stl", [folder, away], away / other),
        ("package://tool/meshes/box.stl", {"tool": away}, away / other),
        ("package://arm_description/meshes/box.stl", {"arm_description": away}, away / other),
    ]
    for name, packages, expected in cases:
        finder = MeshFinder(model_file, packages)
        assert finder.find(name) == os.fspath(expected), name
        assert finder.notes() == []


def test_files_elsewhere_are_refused_with_a_note(folder, tmp_path):
    (folder / "urdf" / "meshes" / "link.stl").symlink_to(tmp_path / "outside.stl")
    (folder / "urdf" / "meshes" / "out").symlink_to(tmp_path)
    (folder / "urdf" / "circle.stl").symlink_to("circle.stl")
    outside = os.fspath(tmp_path / "outside.stl")
    cases = {
        "../meshes/box.stl": "leads out of",
        "../../../outside.stl": "leads out of",
        outside: "leads out of",
        f"file://{outside}": "leads out of",
        "meshes/link.stl": "leads out of",
        "meshes/out/outside.stl": "leads out of",
        "package://arm_description/meshes/box.stl": f"give its folder, perhaps {str(folder)!r}",
        "package://urdf/../../outside.stl": "leads out of",
        "package://urdf/%2e%2e/%2e%2e/outside.stl": "leads out of",
        "package://../outside.stl": "package '..': give its folder",
        "package://none/box.stl": "package 'none': give its folder, or the one that contains it",
        "meshes/none.stl": "no such file",
        "meshes": "no such file",
        "circle.stl": "no such file|not a valid path",
        "a\0b.stl": "not a valid path",
        "x" * 5000: "not a valid path",
        "http://example.com/a.stl": "expected a path, package://",
    }
    for name, message in cases.items():
        finder = MeshFinder(folder / "urdf" / "arm.urdf", None)
        assert finder.find(name) is None, name
        (note,) = finder.notes()
        assert note.startswith("mesh not drawn: ")
        assert any(part in note for part in message.split("|")), note


@pytest.mark.parametrize("packages", [3, "none", ["none"], {"a": "none"}, {"a": 3}, "a\0b"])
def test_packages_that_are_no_folders(folder, packages):
    path = write(folder, mesh("meshes/box.stl"))
    with pytest.raises(InputError, match=r"packages: (no such folder|expected a folder)"):
        load_urdf(path, packages=packages)


def test_a_model_opens_no_mesh_and_loads_without(folder, monkeypatch):
    monkeypatch.setattr(meshes, "read_mesh", lambda path: pytest.fail(f"opened {path}"))
    path = write(folder, mesh("meshes/box.stl"), mesh("none.stl") + mesh("none.stl", "collision"))
    model = load_urdf(path)
    assert [shape.file for shape in model.shapes] == [
        os.fspath(folder / "urdf" / "meshes" / "box.stl"), None, None,
    ]  # fmt: skip
    (note,) = [note for note in model.notes if "mesh" in note]
    assert "'none.stl': no such file" in note
    assert note.endswith("(2 times)")
    locked = model.with_gravity((0, 0, -1)).with_mass("l0", 2.0).lock({"j0": 0.0})
    assert [shape.file for shape in locked.shapes] == [shape.file for shape in model.shapes]
    assert_same(pickle.loads(pickle.dumps(model)), model)


def test_visual_shapes_are_drawn_and_collision_shapes_where_there_are_none(folder):
    path = write(
        folder,
        mesh("meshes/box.stl", scale="2 1 -1") + BOX.format("collision"),
        mesh("none.stl") + BOX.format("collision"),
        mesh("meshes/ball.obj", "collision"),
        BOX.format("visual") + mesh("meshes/box.dae") + mesh("none.stl"),
    )
    found = bodies_of(load_urdf(path))
    assert [(shape.link, shape.kind, shape.role) for shape in found.shapes] == [
        (0, "mesh", "visual"), (1, "box", "collision"), (2, "mesh", "collision"),
        (3, "box", "visual"), (3, "mesh", "visual"),
    ]  # fmt: skip
    first = found.shapes[0]
    assert first.size == (2.0, 1.0, -1.0)  # not applied to the triangles
    np.testing.assert_array_equal(np.ptp(first.triangles.points, axis=0), (1.0, 2.0, 3.0))
    assert found.missing == ["none.stl: not found when the model was loaded or stored; "
                             "see its notes"]  # fmt: skip


def test_a_bad_mesh_is_named_once_and_the_rest_is_drawn(folder):
    (folder / "urdf" / "meshes" / "bad.stl").write_bytes(b"nonsense")
    path = write(folder, mesh("meshes/bad.stl"), mesh("meshes/box.stl"))
    model = load_urdf(path)
    with pytest.warns(ModelWarning, match=r"mesh not drawn: .*bad\.stl: not an STL file"):
        found = bodies_of(model)
    assert [shape.link for shape in found.shapes] == [1]
    assert "bad.stl: not an STL file" in found.missing[0]
    assert bodies_of(model).missing == found.missing  # without a second warning
    (folder / "urdf" / "meshes" / "bad.stl").write_bytes(binary_stl(*box()))
    assert [shape.link for shape in bodies_of(model).shapes] == [0, 1]  # the file has changed


def test_a_file_that_became_a_link_is_not_followed(folder, tmp_path):
    path = write(folder, mesh("meshes/box.stl"))
    model = load_urdf(path)
    (folder / "urdf" / "meshes" / "box.stl").unlink()
    assert "cannot be read" in bodies_of(model).missing[0]
    (folder / "urdf" / "meshes" / "box.stl").symlink_to(tmp_path / "outside.stl")
    assert "a symbolic link" in bodies_of(model).missing[0]


def test_files_are_read_once(folder, monkeypatch):
    path = write(folder, mesh("meshes/ball.obj"), mesh("meshes/ball.obj"))
    opened, read = [], meshes.read_mesh
    monkeypatch.setattr(meshes, "read_mesh", lambda name: opened.append(name) or read(name))
    for _ in range(3):
        first, second = bodies_of(load_urdf(path)).shapes
        assert first.triangles is second.triangles
    assert len(opened) == 1


def test_budgets_of_links_and_of_the_page(folder):
    for k, radius in enumerate((0.5, 0.1, 0.1)):
        data = binary_stl(*sphere(radius, steps=50 + k))
        (folder / "urdf" / "meshes" / f"{k}.stl").write_bytes(data)
    large, small, twin = (mesh(f"meshes/{k}.stl") for k in range(3))
    model = load_urdf(write(folder, small + twin + mesh("meshes/box.stl"), *[large] * 14))
    found = bodies_of(model)
    per_link = np.zeros(model.n, int)
    for shape in found.shapes:
        per_link[shape.link] += len(shape.triangles.faces)
    assert per_link.max() <= bodies.MOST_PER_LINK
    assert 0.7 * bodies.MOST_PER_PAGE < per_link.sum() <= bodies.MOST_PER_PAGE
    assert per_link[1] > 2 * per_link[0] - 24  # large ones get more
    assert len(found.shapes[2].triangles.faces) == 12  # a small mesh is left alone


def test_result_files_keep_the_triangles_and_name_no_file(folder, tmp_path):
    path = write(
        folder,
        mesh("meshes/ball.obj") + mesh("meshes/box.dae", "collision"),
        mesh("meshes/ball.obj", scale="2 2 2") + mesh("none.stl"),
    )
    model = load_urdf(path)
    before = bodies_of(model)
    solution, estimate = fake_solution(model=model), fake_estimate(model=model)
    solution.save(tmp_path / "solution.h5")
    estimate.save(tmp_path / "estimate.h5")
    shutil.rmtree(folder)
    for result in (predyn.load_solution(tmp_path / "solution.h5"),
                   predyn.load_estimate(tmp_path / "estimate.h5")):  # fmt: skip
        assert all(shape.file is None for shape in result.model.shapes)
        after = bodies_of(result.model)
        assert_same(
            tuple(after.shapes), tuple(replace(shape, file=None) for shape in before.shapes)
        )
        assert after.shapes[0].triangles is after.shapes[1].triangles
        assert after.missing == before.missing
    result = predyn.load_solution(tmp_path / "solution.h5")
    result.save(tmp_path / "again.h5")
    assert (tmp_path / "again.h5").read_bytes() == (tmp_path / "solution.h5").read_bytes()


def test_models_without_meshes_are_stored_as_before():
    assert drawn_triangles(predyn.models.two_link()) == {}


def test_triangles_in_a_file_are_checked(folder, tmp_path):
    model = load_urdf(write(folder, mesh("meshes/box.stl")))
    meshes = drawn_triangles(model)
    data = hdf5_tree.encode(tree_of_model(model, meshes), {}, "a model", 1)
    good = hdf5_tree.decode(io.BytesIO(data), "a model", 1)
    assert_same(model_of(TreeReader(good)).shapes[0].triangles, meshes[0])
    points, faces = meshes[0]
    infinite = points.copy()
    infinite[0] = np.inf
    entries = {"points": points, "faces": faces}
    bad = {
        "points: expected numbers of at most 1e": {"triangles": ({**entries, "points": infinite},)},
        "points: expected float32": {"triangles": ({**entries, "points": points.astype(float)},)},
        "faces: expected numbers of points below 8": {
            "triangles": ({**entries, "faces": faces + np.uint16(7)},)
        },
        "faces: expected uint16": {"triangles": ({**entries, "faces": faces[:, :2]},)},
        "number: expected numbers of triangles": {"number": np.array([1])},
        "number: expected int64": {"number": np.array([0, 0])},
        "number is missing": {"triangles": ()},
    }
    for message, change in bad.items():
        stored = dict(good["meshes"], **change)
        if "missing" in message:
            del stored["number"]
        with pytest.raises(FileError, match=f"meshes/.*{message}"):
            model_of(TreeReader({**good, "meshes": stored}))
    box = {**good["shapes"][0], "kind": "box"}
    with pytest.raises(FileError, match="meshes/number: expected triangles of meshes alone"):
        model_of(TreeReader({**good, "shapes": (box,)}))
    shape = {**good["shapes"][0], "file": "/etc/passwd"}
    with pytest.raises(FileError, match="shapes/0/: expected"):
        model_of(TreeReader({**good, "shapes": (shape,)}))


TASK = """
[model]
urdf = "urdf/arm.urdf"
packages = {packages}
[[phases]]
duration = 1.0
start = {{ q = [0.0] }}
end = {{ q = [1.0] }}
[[cost]]
term = "effort"
"""


def test_packages_of_a_task_are_in_its_folder(folder, tmp_path):
    write(folder, mesh("package://tool/box.stl"))
    task = folder / "task.toml"
    for packages in ('{ tool = "meshes" }', '["urdf"]', '"."'):
        task.write_text(TASK.format(packages=packages))
        (shape,) = predyn.load_task(task).model.shapes
        found = os.fspath(folder / "meshes" / "box.stl") if "tool" in packages else None
        assert shape.file == found
    for packages, message in (
        ('{ tool = ".." }', "leads out of the folder of the task"),
        (f"['{tmp_path}']", "an absolute path"),
        ('"none"', "none: no such file"),
        ('"task.toml"', "packages: no such folder"),
        ("3", "packages: expected a folder, a list"),
    ):
        task.write_text(TASK.format(packages=packages))
        with pytest.raises(FileError, match=message):
            predyn.load_task(task)
    task.write_text(TASK.format(packages=f"{{ tool = '{tmp_path}' }}"))
    assert predyn.load_task(task, allow_absolute=True).model.shapes[0].file is None


def test_check_takes_packages(folder):
    path = write(folder, mesh("package://tool/meshes/box.stl"))
    tool = folder.rename(folder.parent / "tool")
    path = tool / "urdf" / path.name
    away = shutil.move(path, tool.parent.parent / "arm.urdf")
    plain = CliRunner().invoke(app, ["check", os.fspath(away)])
    assert plain.exit_code == 0, plain.output
    assert "mesh not drawn: package 'tool'" in plain.output
    given = CliRunner().invoke(
        app, ["check", os.fspath(away), "--packages", tool.parent.as_posix()]
    )
    assert given.exit_code == 0, given.output
    assert "mesh not drawn" not in given.output


def test_a_mesh_that_single_precision_cannot_tell_from_a_point(folder):
    corners = np.array([[1e9, 1e9, 0.0], [1e9, 1e9 + 1.0, 0.0], [1e9 + 1.0, 1e9, 0.0]])
    (folder / "urdf" / "far.obj").write_bytes(obj(corners, np.array([[0, 1, 2]])))
    with pytest.warns(ModelWarning, match="too small for its distance from the origin"):
        found = bodies_of(load_urdf(write(folder, mesh("far.obj"))))
    assert found.shapes == []
    assert "far.obj" in found.missing[0]


def test_many_meshes_on_one_link(folder):
    """More meshes than triangles for them: each keeps a few."""
    points, faces = sphere(steps=5)
    for k in range(60):
        data = binary_stl(points * (1.0 + 0.01 * k), faces)
        (folder / "urdf" / "meshes" / f"{k}.stl").write_bytes(data)
    model = load_urdf(write(folder, "".join(mesh(f"meshes/{k}.stl") for k in range(60))))
    counts = [len(shape.triangles.faces) for shape in bodies_of(model).shapes]
    assert len(counts) == 60
    assert min(counts) >= 1
    assert sum(counts) <= bodies.MOST_PER_LINK
