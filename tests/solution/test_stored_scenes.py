"""Scenes, certificates and stages in solution files, and in words."""

from dataclasses import replace

import h5py
import numpy as np
import pytest

import predyn
from fake_solution import fake_solution
from predyn.collision import Certificate, Obstacle, Part, Path, Scene
from predyn.errors import FileError
from predyn.model.parts import Triangles
from predyn.solution import Stage
from predyn.solution.file import KIND, load_solution
from predyn.storage import hdf5_tree
from sameness import assert_same

NAN, INF = float("nan"), float("inf")
CORNERS = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1 / 3]])
TETRAHEDRON = Triangles(CORNERS, np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]]))
TURNS = np.stack([np.eye(3), np.diag((-1.0, -1.0, 1.0))])
SCENE = Scene(
    (
        Obstacle("box", "box", (0.1, 0.2, 1 / 3), (1, 2, 3), (0.1, 0.2, 0.3)),
        Obstacle("Kugel/ü", "sphere", (0.3,), (1, 2, 3)),
        Obstacle("can", "cylinder", (0.1, 0.2), path=Path([0, 1.5], [[0, 0, 0], [0, 0, 1]], TURNS)),
        Obstacle("pin", "capsule", (0.1, 0.0), path=Path([0, 1, 2], np.eye(3))),
        Obstacle("floor", "half_space", (), (0, 0, -1), phases=("phase 1", "ü")),
        Obstacle("rock", "mesh", triangles=TETRAHEDRON),
    ),
    (
        Part("gun", "link2", "capsule", (0.02, 0.1), (0.1, 0, 0)),
        Part(
            "wedge",
            "tip",
            "mesh",
            (),
            rotation=(0, 0.5, 0),
            triangles=TETRAHEDRON,
            phases=("phase 2",),
        ),
    ),
    (("link1", "floor"), ("gun", "rock")),
    ("a note",),
)
CERTIFIED = Certificate(
    "certified", 0.005, 0.0123, 0.0071, ("link2", "box"), 0.4, 0.0123, np.eye(3)[:2], 31, 400,
    (("link1", "link2"),),
)  # fmt: skip
FREE = Certificate("certified", 0.0, INF, 1.0, None, NAN, INF, None, 6, 0, ())


def surrounded():
    solution = fake_solution(2)
    stages = (
        Stage("plan", "certified", 0.012, clearance=0.006, motion=solution.curves[:1]),
        Stage("time", "optimal", 0.004, 1.3, 0.7, 2.0, 0.006, "ümlaut", solution.curves),
        Stage("improve", "optimal", 1.5, 1.2, 0.4, 1.6, 0.0123),
    )
    return replace(solution, scene=SCENE, certificate=CERTIFIED, stages=stages)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("scene") / "s.h5"
    surrounded().save(path)
    return path.read_bytes()


@pytest.mark.parametrize("certificate", [CERTIFIED, FREE, None])
@pytest.mark.parametrize("scene", [SCENE, Scene(), None])
def test_round_trip_bit_for_bit(tmp_path, scene, certificate):
    solution = replace(surrounded(), scene=scene, certificate=certificate)
    solution.save(tmp_path / "s.h5")
    assert_same(load_solution(tmp_path / "s.h5"), solution)


def test_distances_are_the_same_after_a_round_trip(tmp_path):
    path = tmp_path / "s.h5"
    surrounded().save(path)
    again = load_solution(path)
    capsules = [predyn.Capsule("link2", (0, 0, 0), (0.3, 0, 0), 0.05)]
    q, t = np.random.default_rng(5).normal(size=(20, 2)), np.linspace(0.0, 3.0, 20)
    got, expected = (
        predyn.collision.Checker(x.model.with_capsules(capsules), x.scene).distances(q, t)
        for x in (again, surrounded())
    )
    np.testing.assert_array_equal(got, expected)


def test_file_has_plain_columns_and_no_new_version(saved, tmp_path):
    (tmp_path / "s.h5").write_bytes(saved)
    plain = fake_solution(2)
    plain.save(tmp_path / "plain.h5")
    with h5py.File(tmp_path / "s.h5") as file, h5py.File(tmp_path / "plain.h5") as other:
        assert file.attrs["version"] == other.attrs["version"]
        assert set(file) - set(other) == {"scene", "certificate", "stages"}
        assert list(file["scene/obstacles/kind"].asstr())[:2] == ["box", "sphere"]
        np.testing.assert_array_equal(file["scene/obstacles/position"][0], (1, 2, 3))
        assert file["stages/2"].attrs["objective"] == 1.6


def put(name, value):
    def edit(file):
        del file[name]
        file[name] = value

    return edit


BAD = {
    "kind": (put("scene/obstacles/kind", ["box"] * 5 + ["cone"]), "scene/obstacles/kind: "),
    "size": (put("scene/obstacles/size", np.zeros((6, 2))), "scene/obstacles/size: "),
    "zero": (put("scene/obstacles/size", np.zeros((6, 3))), "scene: obstacle 'box'"),
    "rotation": (put("scene/parts/rotation", np.ones((2, 3, 3))), "scene: part 'gun'"),
    "mesh": (put("scene/obstacles/mesh", np.full(6, 7)), "mesh: expected numbers from -1 to 0"),
    "faces": (put("scene/obstacles/meshes/0/faces", np.full((1, 3), 4)), "numbers of points bel"),
    "link": (put("scene/parts/link", ["tip"]), "scene/parts/link: expected 2 names"),
    "times": (put("scene/obstacles/paths/0/times", np.zeros(2)), "scene/obstacles/paths/0: "),
    "names": (put("scene/obstacles/name", ["a"] * 6), "is used 6 times"),
    "allowed": (put("scene/allowed/one", ["a"]), "allowed/other: expected 1 names"),
    "status": (lambda f: f["certificate"].attrs.create("status", "fine"), "certificate/status: "),
    "margin": (lambda f: f["certificate"].attrs.create("margin", -1.0), "certificate/margin: "),
    "pair": (put("certificate/pair", ["a"]), "certificate/pair: expected two names"),
    "points": (put("certificate/points", np.zeros(3)), "certificate/points: "),
    "phase": (
        lambda f: f["scene/parts/phases/0"].attrs.create("solid", 9),
        "solid: expected a num",
    ),
    "stage": (lambda f: f["stages/1"].attrs.create("name", "rest"), "stages/1/name: expected one"),
    "knots": (put("stages/1/motion/0/knots", np.zeros(13)), "stages/1/motion/0: knots"),
}


@pytest.mark.parametrize("name", BAD)
def test_wrong_contents_are_named(saved, tmp_path, name):
    edit, match = BAD[name]
    path = tmp_path / "s.h5"
    path.write_bytes(saved)
    with h5py.File(path, "r+") as file:
        edit(file)
        version = int(file.attrs["version"])
    path.write_bytes(hdf5_tree.seal(path.read_bytes()[hdf5_tree.BLOCK :], KIND, version))
    with pytest.raises(FileError, match=match):
        load_solution(path)


def test_summary_has_certificate_and_stages():
    summary = surrounded().summary()
    assert summary["certificate"]["guaranteed"] == 0.0071
    assert summary["certificate"]["pair"] == ["link2", "box"]
    assert [stage["name"] for stage in summary["stages"]] == ["plan", "time", "improve"]
    assert summary["stages"][0]["duration"] is None
    assert "motion" not in summary["stages"][1]
    plain = fake_solution().summary()
    assert (plain["certificate"], plain["stages"]) == (None, [])


def test_printing_shows_certificate_and_stages():
    text = str(surrounded())
    assert (
        "certified, margin 5 mm: at least 7.1 mm at all times; 12.3 mm found, "
        "link2 and box at 0.4 s" in text
    )
    assert "link1 and link2 (their capsules always overlap)" in text
    row = next(line for line in text.splitlines() if line.startswith("improve"))
    assert row.split() == ["improve", "optimal", "1.2", "s", "0.4", "1.6", "12.3", "mm", "1.5", "s"]
    bound = replace(CERTIFIED, guaranteed=0.00299999)
    assert "at least 2.999 mm" in str(replace(fake_solution(), certificate=bound))  # not 3 mm
    hit = replace(CERTIFIED, status="collision", guaranteed=-INF, distance=-0.002)
    assert "collision, margin 5 mm: link2 and box at 0.4 s, -2 mm" in str(
        replace(fake_solution(), certificate=hit)
    )
    assert "no pair came near" in str(replace(fake_solution(), certificate=FREE))
    assert "stage" not in str(fake_solution())


def test_a_certificate_does_not_cover_repetitions():
    from predyn.solution.repeating import Repeat

    cyclic = replace(fake_solution(), certificate=FREE, cycle=Repeat((0.0, 0.0, 0.0), {}, {}, None))
    assert cyclic.repeated(2).certificate is None
