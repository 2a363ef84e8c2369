"""Films: frames, size and time, bodies where the camera puts them, and no half-written files."""

import math
import sys
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

import predyn
from fake_estimate import fake_estimate
from fake_solution import fake_solution
from loaded_solution import loaded_solution
from predyn.model.parts import Triangles
from predyn.view.facets import facets_of
from predyn.view.solids import Solid

pytest.importorskip("matplotlib", reason="films need the extra predyn[pictures]")
from PIL import Image

from predyn.view.motions import stage_at
from predyn.view.painter import Painter


def gif_frames(path):
    """Pixels and durations (s) of all frames."""
    frames, lasting = [], []
    with Image.open(path) as film:
        for k in range(film.n_frames):
            film.seek(k)
            frames.append(np.array(film.convert("RGB")))
            lasting.append(1e-3 * film.info["duration"])
    return frames, lasting


def test_a_gif_has_its_frames_size_and_length(tmp_path):
    solution = fake_solution()
    solution.animate(tmp_path / "a.gif", fps=12, size=(200, 160))
    frames, lasting = gif_frames(tmp_path / "a.gif")
    assert len(frames) == round(12 * solution.duration) + 1
    assert {frame.shape for frame in frames} == {(160, 200, 3)}
    assert sum(lasting[:-1]) == pytest.approx(solution.duration, abs=0.01)
    changes = [np.abs(a.astype(int) - b).max() for a, b in pairwise(frames)]
    assert min(changes) > 50


def test_snapshots_are_frames_side_by_side(tmp_path):
    solution = fake_solution()
    solution.snapshots(tmp_path / "a.png", count=3, size=(120, 100))
    row = np.array(Image.open(tmp_path / "a.png"))
    assert row.shape == (100, 360, 3)
    times = np.linspace(0.0, solution.duration, 135)  # trails are finer: 67 steps a snapshot
    painter = Painter(stage_at(solution, times), (120, 100))
    assert np.array_equal(row[:, 240:], painter.frame(134))
    assert np.abs(row[:, :120].astype(int) - row[:, 120:240]).max() > 50


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("a.gif", {}, r"expected a picture's suffix, \.png, got '\.gif'"),
        ("a.png", {"count": 1}, "count: expected 2 to 50 snapshots, got 1"),
        ("a.png", {"size": (3, 3)}, "size: expected width and height"),
    ],
)
def test_wrong_snapshots_are_refused(tmp_path, name, options, message):
    with pytest.raises(predyn.InputError, match=message):
        fake_solution().snapshots(tmp_path / name, **options)
    assert not (tmp_path / name).exists()


def test_speed_stretches_the_film(tmp_path):
    solution = fake_solution()
    solution.animate(tmp_path / "a.gif", fps=10, speed=0.5, size=(100, 80))
    frames, lasting = gif_frames(tmp_path / "a.gif")
    assert len(frames) == round(10 * solution.duration / 0.5) + 1
    assert sum(lasting[:-1]) == pytest.approx(2.0 * solution.duration, abs=0.01)


def test_an_mp4_has_its_frames_and_rate(tmp_path):
    av = pytest.importorskip("av", reason="MP4 needs the extra predyn[video]")
    solution = fake_solution()
    solution.animate(tmp_path / "a.mp4", fps=10, size=(200, 160))
    with av.open(str(tmp_path / "a.mp4")) as film:
        stream = film.streams.video[0]
        assert stream.codec_context.name == "h264"
        rate = float(stream.average_rate)
        frames = [frame.to_ndarray(format="rgb24") for frame in film.decode(stream)]
    assert len(frames) == round(10 * solution.duration) + 1
    assert rate == pytest.approx((len(frames) - 1) / solution.duration, rel=1e-3)
    assert frames[0].shape == (160, 200, 3)
    assert np.abs(frames[0].astype(int) - frames[-1]).max() > 50


@pytest.mark.parametrize("angles", [None, (-60.0, 25.0), (200.0, 70.0)])
def test_a_body_is_where_the_camera_projects_it(angles):
    """Against the pixels: without a link's solid, only what is near its projection changes."""
    stage = stage_at(fake_solution(), np.linspace(0.0, 1.2, 4))
    k, last = 2, stage.model.n - 1
    without = replace(stage, solids=[x for x in stage.solids if x.link != last])
    size = (240, 180)
    whole, missing = Painter(stage, size, angles), Painter(without, size, angles)
    missing.camera = whole.camera
    corners = np.concatenate([facets_of(x) for x in stage.solids if x.link == last]).reshape(-1, 3)
    flat, _ = whole.camera.project(corners @ stage.R[last, k].T + stage.p[last, k])
    pictures = [painter.frame(k).astype(int) for painter in (whole, missing)]
    rows, columns = np.nonzero(
        np.abs(pictures[0] - pictures[1]).max(axis=2) > 60
    )  # more than a shadow
    x, y = columns + 0.5, size[1] - rows - 0.5
    low, high = flat.min(axis=0) - 2.0, flat.max(axis=0) + 2.0
    assert len(x) > 50
    assert ((x > low[0]) & (x < high[0]) & (y > low[1]) & (y < high[1])).all()
    assert np.ptp(x) > 0.8 * np.ptp(flat[:, 0]) - 3.0
    assert np.ptp(y) > 0.8 * np.ptp(flat[:, 1]) - 3.0


def test_everything_is_inside_the_picture():
    stage = stage_at(fake_solution(model=predyn.models.manutec_r3()), np.linspace(0.0, 1.2, 20))
    painter = Painter(stage, (200, 150))
    for k in (0, 10, 19):
        for solid in stage.solids:
            corners = facets_of(solid).reshape(-1, 3)
            if solid.link >= 0:
                corners = corners @ stage.R[solid.link, k].T + stage.p[solid.link, k]
            flat, _ = painter.camera.project(corners)
            assert (flat >= 0.0).all()
            assert (flat <= (200, 150)).all()


@pytest.mark.parametrize(
    ("kind", "size", "volume"),
    [
        ("box", (1.0, 2.0, 3.0), 6.0),
        ("sphere", (1.0,), 4.0 / 3.0 * np.pi),
        ("cylinder", (1.0, 2.0), 2.0 * np.pi),
        ("capsule", (1.0, 2.0), 10.0 / 3.0 * np.pi),
        ("limb", (1.0, 1.0, 2.0), 10.0 / 3.0 * np.pi),
    ],
)
def test_facets_enclose_the_volume_of_the_solid(kind, size, volume):
    """By the divergence theorem, which also needs all facets to face outward."""
    corners = facets_of(Solid(0, kind, size, np.eye(3), np.array([0.3, 0.1, -0.2]), "body"))
    triangles = np.concatenate([corners[:, [0, 1, 2]], corners[:, [0, 2, 3]]])
    a, b, c = triangles.transpose(1, 0, 2)
    enclosed = np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6.0
    # a circle of 28 corners lacks 0.8 % of its area; a sphere of 12 rings 1.7 % more
    assert 0.97 * volume <= enclosed <= volume * (1.0 + 1e-12)


def test_facets_of_a_mesh_are_its_triangles():
    points = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    faces = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
    solid = Solid(0, "mesh", (), np.eye(3), np.ones(3), "body", Triangles(points, faces))
    assert np.array_equal(facets_of(solid)[:, :3], points[faces] + 1.0)


def test_estimates_trajectories_loads_and_forces_are_filmed(tmp_path):
    t = np.linspace(0.0, 0.5, 11)
    motion = predyn.simulate(predyn.models.two_link(), [0.1, 0.2], [0.0, 0.0], [0.0, 0.0], t)
    for k, result in enumerate((fake_estimate(), motion, loaded_solution())):
        path = tmp_path / f"{k}.gif"
        result.animate(path, fps=5, size=(80, 64), view=(30, 20))
        assert len(gif_frames(path)[0]) > 2


def test_positions_between_samples_follow_the_velocities():
    """A cubic is interpolated exactly."""
    model, t = predyn.models.two_link(), np.linspace(0.0, 1.0, 6)
    still = predyn.simulate(model, [0.0, 0.0], [0.0, 0.0], [0.0, 0.0], t)
    q, v = (lambda x: x**3 - x), (lambda x: 3.0 * x**2 - 1.0)
    cubic = replace(still, q=np.stack([q(t), 2.0 * q(t)], 1), v=np.stack([v(t), 2.0 * v(t)], 1))
    times = np.linspace(0.0, 1.0, 37)
    assert stage_at(cubic, times).q[:, 1] == pytest.approx(2.0 * q(times), abs=1e-14)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"path": "a.avi"}, "expected a film's suffix, .gif or .mp4, got '.avi'"),
        ({"fps": 0.0}, "fps: expected a number above 0 and below 10000, got 0.0"),
        ({"fps": math.nan}, "fps: expected a number above 0"),
        ({"speed": "fast"}, "speed: expected a number above 0"),
        ({"speed": 1e-3, "fps": 1e-3}, "shows each frame for 1200 s, more than 655 s; raise fps"),
        ({"fps": 51}, "fps: expected at most 50 for .gif, got 51; use .mp4"),
        ({"fps": 50, "speed": 1e-3}, "more than 5000; lower fps or raise speed"),
        ({"size": (10, 10)}, "size: expected width and height from 64 to 4096 pixels"),
        ({"size": 300}, "size: expected width and height"),
        ({"size": [[64], [64, 64]]}, "size: expected width and height"),
        ({"size": (201, 100), "path": "a.mp4"}, "size: expected even numbers for .mp4"),
        ({"view": (10.0, 100.0)}, r"view: expected azimuth and elevation \(-90 to 90\)"),
        ({"view": "front"}, "view: expected azimuth"),
        ({"view": (10**400, 0.0)}, "view: expected azimuth"),
        ({"verbose": np.ones(2)}, "verbose: expected True, False or None"),
    ],
)
def test_bad_options_are_named(tmp_path, options, message):
    path = tmp_path / options.pop("path", "a.gif")
    with pytest.raises(predyn.InputError, match=message):
        fake_solution().animate(path, **options)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("path", [None, 3, b"a.gif"])
def test_what_is_no_path_is_named(path):
    solution = fake_solution()
    for write in (solution.animate, solution.report, solution.export):
        with pytest.raises(predyn.InputError, match="path: expected a str or a Path, got"):
            write(path)


def test_numbers_of_numpy_are_numbers(tmp_path):
    options = {"fps": np.float32(4.0), "speed": np.int64(2), "verbose": np.False_}
    fake_solution().animate(tmp_path / "a.mp4", size=np.array([64, 64]), **options)
    assert (tmp_path / "a.mp4").stat().st_size > 0


def test_a_motion_of_a_nanosecond_is_filmed(tmp_path):
    solution = fake_solution()
    brief = tuple(curve._replace(duration=1e-9 * curve.duration) for curve in solution.curves)
    for name in ("a.gif", "a.mp4"):
        replace(solution, curves=brief).animate(tmp_path / name, size=(64, 64))
        assert (tmp_path / name).stat().st_size > 0


def test_an_interrupted_film_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "a.gif"
    path.write_bytes(b"old")
    drawn = []

    def frame(self, k):
        drawn.append(k)
        if len(drawn) > 2:
            raise KeyboardInterrupt
        return np.zeros((64, 64, 3), np.uint8)

    monkeypatch.setattr(Painter, "frame", frame)
    with pytest.raises(KeyboardInterrupt):
        fake_solution().animate(path, size=(64, 64))
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_progress_only_where_it_is_wanted(tmp_path, capfd):
    solution = fake_solution()
    solution.animate(tmp_path / "a.gif", fps=3, size=(64, 64))
    assert capfd.readouterr().err == ""
    solution.animate(tmp_path / "a.gif", fps=3, size=(64, 64), verbose=True)
    assert capfd.readouterr().err.endswith("frame 5 of 5\n")
    with pytest.raises(predyn.InputError, match="verbose: expected True, False or None"):
        solution.animate(tmp_path / "b.gif", verbose="loud")


def test_missing_extras_are_named_with_their_command(tmp_path, monkeypatch):
    solution = fake_solution()
    monkeypatch.setitem(sys.modules, "av", None)
    with pytest.raises(predyn.InputError, match=r"pip install 'predyn\[video\]'"):
        solution.animate(tmp_path / "a.mp4", fps=2, size=(64, 64))
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(predyn.InputError, match=r"pip install 'predyn\[pictures\]'"):
        solution.animate(tmp_path / "a.gif")
    assert list(tmp_path.iterdir()) == []


def test_the_same_motion_gives_the_same_bytes(tmp_path):
    for name in ("a.gif", "b.gif"):
        fake_solution().animate(tmp_path / name, fps=4, size=(64, 64))
    assert (tmp_path / "a.gif").read_bytes() == (tmp_path / "b.gif").read_bytes()
