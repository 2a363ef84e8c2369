"""read_mesh against analytic shapes, MuJoCo and coal (assimp); what it refuses, and how fast."""

import os
import struct
import warnings

import coal
import mujoco
import numpy as np
import pytest

from load.mesh_samples import WRITERS, area_and_volume, binary_stl, box, dae, obj, sphere, text_stl
from predyn.errors import FileError, InputError
from predyn.load import meshes
from predyn.load.decimation import decimated
from predyn.load.meshes import read_mesh

MUTANTS = int(os.environ.get("PREDYN_MUTANTS", "200"))
SINGLE = float(np.finfo(np.float32).eps)


@pytest.fixture
def read(tmp_path):
    def read(data, name="thing.stl"):
        path = tmp_path / name
        path.write_bytes(data)
        return read_mesh(path)

    return read


@pytest.mark.parametrize("name", WRITERS)
def test_box_has_its_points_area_and_volume(read, name):
    points, faces = box()
    mesh = read(WRITERS[name](points, faces), name)
    order = np.lexsort(mesh.points.T[::-1])
    np.testing.assert_array_equal(mesh.points[order], points[np.lexsort(points.T[::-1])])
    assert mesh.faces.shape == (12, 3)
    # 1 x 2 x 3 and its halves are exact; the sums have a few roundings
    assert area_and_volume(*mesh) == pytest.approx((22.0, 6.0), rel=16 * np.finfo(float).eps)


@pytest.mark.parametrize("name", WRITERS)
def test_sphere_is_the_one_written(read, name):
    points, faces = sphere(steps=12)
    mesh = read(WRITERS[name](points, faces), name)
    assert (len(mesh.points), len(mesh.faces)) == (len(points), len(faces))
    # points of a binary STL are rounded to single precision
    expected = area_and_volume(points, faces)
    assert area_and_volume(*mesh) == pytest.approx(expected, rel=16 * SINGLE)


@pytest.mark.parametrize("name", ["binary.stl", "thing.obj"])
def test_mujoco_reads_the_same_solid(tmp_path, name):
    points, faces = sphere(steps=10)
    path = tmp_path / name
    path.write_bytes(WRITERS[name](points * (1.0, 2.0, 3.0) + (0.3, 0.0, 0.1), faces))
    spec = mujoco.MjSpec()
    spec.add_mesh(name="m", file=str(path))
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_MESH, meshname="m")
    model = spec.compile()
    # MuJoCo moves a mesh to its centre of mass and principal axes
    R = np.zeros(9)
    mujoco.mju_quat2Mat(R, model.mesh_quat[0])
    there = model.mesh_vert @ R.reshape(3, 3).T + model.mesh_pos[0]
    mesh = read_mesh(path)
    assert model.mesh_facenum[0] == len(mesh.faces)
    for bound in (np.min, np.max):
        # single precision of numbers below 1, in a few operations
        np.testing.assert_allclose(
            bound(mesh.points, axis=0), bound(there, axis=0), atol=8 * SINGLE
        )


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("up", ["Z_UP", "Y_UP"])
def test_assimp_reads_the_same_points(tmp_path, name, up):
    """coal, too, applies the poses of parts and not the up axis; it also ignores the unit."""
    points, faces = sphere(steps=6)
    path = tmp_path / name
    pose = np.eye(4)
    pose[:3] = [[0, -2, 0, 0.5], [2, 0, 0, 0.25], [0, 0, 2, 1]]
    path.write_bytes(dae(points, faces, up=up, matrix=pose) if name.endswith("dae")
                     else WRITERS[name](points, faces))  # fmt: skip
    reference, mesh = coal.MeshLoader().load(str(path), np.ones(3)), read_mesh(path)
    assert reference.num_tris == len(mesh.faces)
    for bound in (np.min, np.max):
        np.testing.assert_allclose(
            bound(mesh.points, axis=0), bound(reference.vertices(), axis=0), atol=8 * SINGLE
        )


def test_unit_of_a_dae_file_is_applied(read):
    points, faces = box()
    mesh = read(dae(points * 1000.0, faces, unit="0.001"), "box.dae")
    np.testing.assert_allclose(np.ptp(mesh.points, axis=0), (1, 2, 3), rtol=4e-16)
    with pytest.raises(FileError, match="unit: expected metres"):
        read(dae(points, faces, unit="nan"), "box.dae")


def test_parts_of_a_dae_file_are_placed_as_often_as_it_says(read):
    points, faces = box()
    part = '<node id="part"><instance_geometry url="#g"/></node>'
    again = '<node id="again"><translate>5 0 0</translate><instance_node url="#part"/></node>'
    mesh = read(dae(points, faces, nodes=part + again), "two.dae")
    assert len(mesh.faces) == 24
    np.testing.assert_allclose(np.ptp(mesh.points, axis=0), (6, 2, 3))


def nested(levels):
    """A few lines that stand for 2**levels copies of the geometry."""
    text = '<node id="k0"><instance_geometry url="#g"/></node>'
    for level in range(1, levels):
        text += f'<node id="k{level}">' + f'<instance_node url="#k{level - 1}"/>' * 2 + "</node>"
    return text


POINTS, FACES = box()
LOOP = (
    '<node id="k0"><instance_node url="#k1"/></node><node id="k1"><instance_node url="#k0"/></node>'
)
ENTITIES = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;">]>'
GOOD_STL = binary_stl(POINTS, FACES)
BAD = {
    "empty": ("a.stl", b"", "not an STL file, or cut short"),
    "cut short": ("a.stl", GOOD_STL[:-20], "states 12 triangles, there is room for 11"),
    "claims 200 MB": ("a.stl", binary_stl(POINTS, FACES, 4_000_000), "states 4000000 triangles"),
    "claims 2**32": ("a.stl", binary_stl(POINTS, FACES, 2**32 - 1), "4294967295 triangles"),
    "no faces": ("a.stl", binary_stl(POINTS, FACES[:0]), "no triangles"),
    "NaN": ("a.stl", binary_stl(POINTS * np.nan, FACES), "not finite"),
    "infinite": ("a.stl", binary_stl(np.where(POINTS > 1, np.inf, POINTS), FACES), "not finite"),
    "zero area": ("a.stl", binary_stl(POINTS * 0, FACES), "no triangles"),
    "text cut short": ("a.stl", text_stl(POINTS, FACES)[:-300], "no triangles|not a valid STL"),
    "text with a word": ("a.stl", text_stl(POINTS, FACES).replace(b"-0.5", b"zero", 1), "STL"),
    "text with NaN": ("a.stl", text_stl(POINTS, FACES).replace(b"-0.5", b"nan", 1), "not finite"),
    "many solids": ("a.stl", b"solid a\nfacet\nendsolid a\n" * 2000, "more than 1000 solids"),
    "garbage": ("a.stl", bytes(range(256)) * 40, "not an STL file"),
    "garbage OBJ": ("a.obj", bytes(range(256)) * 40, "OBJ|no triangles"),
    "prose OBJ": ("a.obj", b"f of course\nv very\n", "OBJ|no triangles"),
    "OBJ index": ("a.obj", b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 9\n", "refers to a point|OBJ"),
    "OBJ without faces": ("a.obj", b"v 0 0 0\nv 1 0 0\nv 0 1 0\n", "no triangles|OBJ"),
    "OBJ NaN": ("a.obj", b"v 0 nan 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n", "not finite"),
    "STL as OBJ": ("a.obj", GOOD_STL, "OBJ|no triangles"),
    "OBJ as STL": ("a.stl", obj(POINTS, FACES), "not an STL file"),
    "STL as DAE": ("a.dae", GOOD_STL, "UTF-8|not XML"),
    "other suffix": ("a.ply", GOOD_STL, "ends in .stl, .obj, .dae"),
    "no suffix": ("a", GOOD_STL, "ends in .stl, .obj, .dae"),
    "archive": ("a.dae", b"PK\x03\x04" + bytes(100), "compressed archive"),
    "entities": ("a.dae", dae(POINTS, FACES, head=ENTITIES), "document type"),
    "other XML": ("a.dae", b"<robot/>", "expected <COLLADA>"),
    "cut XML": ("a.dae", dae(POINTS, FACES)[:-40], "not XML"),
    "bomb of parts": ("a.dae", dae(POINTS, FACES, nodes=nested(60)), "too large with all copies"),
    "parts in a circle": ("a.dae", dae(POINTS, FACES, nodes=LOOP), "contains itself"),
    "deep": ("a.dae", dae(POINTS, FACES, nodes="<node>" * 5000 + "</node>" * 5000), "too deep"),
    "DAE index": ("a.dae", dae(POINTS, FACES + 7), "DAE|no triangles"),
    "DAE NaN": ("a.dae", dae(POINTS * np.nan, FACES), "not finite|DAE"),
    "DAE without nodes": ("a.dae", dae(POINTS, FACES, nodes="<node/>"), "no triangles|DAE"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_a_bad_file_is_refused_by_name(read, case):
    name, data, message = BAD[case]
    with pytest.raises(FileError, match=message) as caught:
        read(data, name)
    assert name in str(caught.value)


def test_large_files_are_refused(tmp_path, monkeypatch):
    path = tmp_path / "large.stl"
    with path.open("wb") as file:
        file.truncate(meshes.MOST_BYTES + 1)  # sparse
    with pytest.raises(FileError, match="larger than 100 MB"):
        read_mesh(path)
    path.write_bytes(binary_stl(*sphere(steps=20)))
    monkeypatch.setattr(meshes, "MOST_TRIANGLES", 100)
    with pytest.raises(FileError, match="more than 100 triangles"):
        read_mesh(path)


def test_paths_that_are_no_files(tmp_path):
    for path, message in ((tmp_path / "none.stl", "No such file"), (tmp_path, "ends in .stl")):
        with pytest.raises(FileError, match=message):
            read_mesh(path)
    (tmp_path / "folder.stl").mkdir()
    with pytest.raises(FileError, match="a folder"):
        read_mesh(tmp_path / "folder.stl")
    with pytest.raises(InputError, match="expected the path of a file"):
        read_mesh(3)


def test_damaged_files_give_a_mesh_or_a_file_error(tmp_path):
    """Random bytes changed, removed or repeated in good files of every kind."""
    rng = np.random.default_rng(7)
    points, faces = sphere(steps=4)
    read = 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for number in range(MUTANTS):
            name = list(WRITERS)[number % len(WRITERS)]
            data = bytearray(WRITERS[name](points, faces))
            for _ in range(rng.integers(1, 6)):
                at = int(rng.integers(len(data)))
                match rng.integers(3):
                    case 0:
                        data[at] = rng.integers(256)
                    case 1:
                        del data[at : at + int(rng.integers(1, 50))]
                    case _:
                        data[at:at] = data[at : at + int(rng.integers(1, 50))]
            path = tmp_path / name
            path.write_bytes(data)
            try:
                mesh = read_mesh(path)
            except FileError:
                continue
            read += 1
            assert np.isfinite(mesh.points).all()
            assert 0 <= mesh.faces.min() <= mesh.faces.max() < len(mesh.points)
    assert 0.05 * MUTANTS < read < 0.95 * MUTANTS


def test_header_and_size_of_the_sample():
    assert struct.unpack_from("<I", GOOD_STL, 80) == (12,)
    assert len(GOOD_STL) == 84 + 12 * 50


@pytest.mark.parametrize("most", [2000, 400, 60])
def test_simplified_sphere_stays_a_sphere(read, most):
    r = 0.1
    mesh = read(binary_stl(*sphere(r, steps=60)))
    small = decimated(mesh, most)
    assert most // 4 < len(small.faces) <= most
    assert (small.points.dtype, small.faces.dtype) == (np.float32, np.uint16)
    # equal triangles on the sphere have the circumradius c = L / sqrt(3) with area sqrt(3) L^2 / 4,
    # and lie c^2 / 2r below it; points are means of a cell or optimal: the same order, factor 4
    side = np.sqrt(4.0 / np.sqrt(3.0) * 4.0 * np.pi * r**2 / len(small.faces))
    depth = 4.0 * side**2 / 3.0 / (2.0 * r)
    distance = np.linalg.norm(small.points, axis=1)
    assert distance.max() <= r * (1.0 + 8 * SINGLE) + depth
    assert distance.min() >= r - depth
    for bound in (np.min, np.max):
        np.testing.assert_allclose(
            bound(small.points, axis=0), bound(mesh.points, axis=0), atol=depth
        )
    assert area_and_volume(*small)[1] > 0.0  # still counter-clockwise


def test_flat_sides_stay_where_they_are(read):
    """Points on a plane have no quadric error: a box of many triangles keeps its corners."""
    grid = np.stack(np.meshgrid(*[np.linspace(0, 1, 31)] * 2, indexing="ij"), axis=-1).reshape(
        -1, 2
    )
    quads = [(i * 31 + j, (i + 1) * 31 + j, (i + 1) * 31 + j + 1, i * 31 + j + 1)
             for i in range(30) for j in range(30)]  # fmt: skip
    flat = np.array([face for a, b, c, d in quads for face in ((a, b, c), (a, c, d))])
    sides = [np.insert(grid, axis, value, axis=1) for axis in range(3) for value in (0.0, 1.0)]
    points = np.concatenate(sides)
    faces = np.concatenate([flat + k * len(grid) for k in range(6)])
    mesh = read(binary_stl(points, faces))
    assert len(mesh.faces) == 10800
    small = decimated(mesh, 5000)
    np.testing.assert_allclose(np.ptp(small.points, axis=0), 1.0, rtol=4 * SINGLE)
    assert area_and_volume(*small)[0] == pytest.approx(6.0, rel=1e-3)


def test_few_triangles_are_left_alone(read):
    mesh = read(binary_stl(*box()))
    small = decimated(mesh, 12)
    np.testing.assert_array_equal(small.points[small.faces], mesh.points[mesh.faces])
