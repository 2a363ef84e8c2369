"""Loops of a model: declaration, edits, files, and what is refused."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest

import predyn
from fake_solution import fake_solution
from predyn.errors import InputError, ModelError
from predyn.model.builder import ModelBuilder
from predyn.model.loops import Loop, loop_gap, loop_values
from predyn.model.parts import turn
from predyn.results.descriptions import model_text

BODY = {"mass": 1.0, "com": (0.1, 0.0, 0.0), "inertia": (0.01, 0.02, 0.02)}


def parallelogram() -> ModelBuilder:
    """Crank, coupler and rocker in the x-y plane; bars of 0.5 m and 1 m."""
    builder = ModelBuilder("parallelogram", gravity=(0, -9.81, 0))
    builder.add_link("crank", joint="motor", **BODY)
    builder.add_link("coupler", "crank", joint="elbow", origin=(0.5, 0, 0), **BODY)
    builder.add_frame("coupler end", "coupler", (1.0, 0, 0))
    builder.add_link("rocker", joint="pivot", origin=(1.0, 0, 0), **BODY)
    return builder.add_frame("rocker end", "rocker", (0.5, 0, 0))


def closed() -> predyn.Model:
    return parallelogram().close_loop("pin", "hinge", "coupler end", "rocker end").build()


def test_a_model_keeps_its_loops() -> None:
    model = closed()
    assert model.loops == (Loop("pin", "hinge", "coupler end", "rocker end"),)
    assert "loops: pin" in repr(model)
    assert model.loops[0].equations == ("pin x", "pin y", "pin z", "pin tilt x", "pin tilt y")
    rod = model.with_loop("rod", "distance", "rocker", "coupler", distance=1)
    assert rod.loops[1] == Loop("rod", "distance", "rocker", "coupler", 1.0)
    assert parallelogram().build().loops == ()
    for other in (
        pickle.loads(pickle.dumps(rod)),
        copy.deepcopy(rod),
        rod.attach_payload("coupler", 1.0).with_mass("crank", 2.0).with_gravity((0, 0, 0)),
        rod.with_length("rocker", 0.6).with_limits(position=3.0),
    ):
        assert other.loops == rod.loops
    text = model_text(rod)
    assert "loop 'pin': hinge, coupler end to rocker end, 5 equations" in text
    assert "loop 'rod': distance of 1 m, rocker to coupler, 1 equation" in text


def test_frames_may_be_those_of_the_world() -> None:
    builder = parallelogram().add_frame("wall", "world", (0, 0, 1))
    builder.close_loop("a", "point", "coupler end", "world")
    assert builder.close_loop("b", "weld", "wall", "rocker").build().loops[1].frame_a == "wall"


def test_gears_are_couplings() -> None:
    model = parallelogram().close_loop("gear", "gear", "pivot", "motor", ratio=-2, offset=1).build()
    assert model.n == 2
    assert model.loops == ()
    assert model.couplings[0].function.line == (-2.0, 1.0)
    both = parallelogram().close_loop("gear", "gear", "pivot", "motor", ratio=1)
    loop = both.close_loop("pin", "hinge", "coupler end", "rocker end").build()
    assert (loop.n, len(loop.loops), len(loop.expanded.loops)) == (2, 1, 1)
    assert pickle.loads(pickle.dumps(loop)).loops == loop.loops


def test_locked_joints_keep_a_loop_or_close_it_for_good() -> None:
    model = closed()
    one = model.lock({"motor": 0.7})
    assert (one.n, one.loops) == (2, model.loops)
    all_but_one = parallelogram().add_link("tool", "rocker", **BODY)
    mechanism = all_but_one.close_loop("pin", "hinge", "coupler end", "rocker end").build()
    tool = mechanism.lock({"motor": 0.7, "elbow": -0.7, "pivot": 0.7})
    assert (tool.n, tool.loops) == (1, ())
    assert "loop 'pin' is closed by locked joints and dropped" in tool.notes
    with pytest.raises(InputError, match=r"loop 'pin' cannot be closed: .* 0\.0\d* m and 0 rad"):
        mechanism.lock({"motor": 0.7, "elbow": -0.7, "pivot": 0.8})


def test_values_and_gaps() -> None:
    """Elements of R_b^T R_a, and half turns, which are false roots."""
    random = np.random.default_rng(0)
    axis = random.normal(size=(2, 3))
    R_a, R_b = (turn(x / np.linalg.norm(x), 1.0) for x in axis)
    p_a, p_b = random.normal(size=(2, 3))
    R, apart = R_b.T @ R_a, p_a - p_b
    values = loop_values(Loop("w", "weld", "a", "b"), R_a, p_a, R_b, p_b)
    np.testing.assert_allclose(values, [*apart, R[2, 1], R[0, 2], R[1, 0]], rtol=0, atol=1e-15)
    values = loop_values(Loop("h", "hinge", "a", "b"), R_a, p_a, R_b, p_b)
    np.testing.assert_allclose(values, [*apart, R[0, 2], R[1, 2]], rtol=0, atol=1e-15)
    rod = Loop("d", "distance", "a", "b", 0.5)
    values = loop_values(rod, R_a, p_a, R_b, p_b)
    np.testing.assert_allclose(values, [apart @ apart - 0.25], rtol=1e-14)
    gap = loop_gap(rod, R_a, p_a, R_b, p_b)
    assert gap.distance == pytest.approx(abs(np.linalg.norm(apart) - 0.5))
    weld, hinge = Loop("w", "weld", "a", "b"), Loop("h", "hinge", "a", "b")
    for small in (1e-9, 1.0, np.pi):
        turned = R_b @ turn((0, 1, 0), small)
        for loop in (weld, hinge):
            assert loop_gap(loop, turned, p_b, R_b, p_b).angle == pytest.approx(small, rel=1e-7)
    assert loop_gap(hinge, R_b @ turn((0, 0, 1), 1.0), p_b, R_b, p_b).angle < 1e-15
    half = R_b @ turn((1, 0, 0), np.pi)
    assert np.abs(loop_values(weld, half, p_b, R_b, p_b)).max() < 1e-15


REFUSED = {
    "frame": (("l", "hinge", "couple end", "rocker"), {}, "did you mean 'coupler end'"),
    "same link": (("l", "weld", "coupler end", "coupler"), {}, "both fixed to link 'coupler'"),
    "world": (("l", "point", "world", "world"), {}, "both fixed to the world"),
    "kind": (("l", "hinges", "coupler end", "rocker"), {}, "unknown kind of loop 'l' 'hinges'"),
    "no kind": (("l", 3, "coupler end", "rocker"), {}, "kind of loop 'l': expected a name"),
    "no name": (("", "hinge", "coupler end", "rocker"), {}, "loop name: expected a name"),
    "no frame": (("l", "hinge", None, "rocker"), {}, "loop 'l': frame_a: expected a name"),
    "missing distance": (("l", "distance", "crank", "rocker"), {}, "'l': expected the distance"),
    "negative": (("l", "distance", "crank", "rocker"), {"distance": -1}, "above 0 .*got -1"),
    "zero": (("l", "distance", "crank", "rocker"), {"distance": 0}, "above 0 .*got 0"),
    "nan": (("l", "distance", "crank", "rocker"), {"distance": np.nan}, "above 0 .*got nan"),
    "text": (("l", "distance", "crank", "rocker"), {"distance": "1"}, "'l': distance: expected a"),
    "surplus": (("l", "point", "crank", "rocker"), {"distance": 1}, "only a loop of kind 'dist"),
    "ratio": (("l", "point", "crank", "rocker"), {"ratio": 1}, "only a gear has one"),
    "no ratio": (("l", "gear", "pivot", "motor"), {}, "'l': expected the ratio"),
    "zero ratio": (("l", "gear", "pivot", "motor"), {"ratio": 0}, "other than 0"),
    "nan ratio": (("l", "gear", "pivot", "motor"), {"ratio": np.nan}, "'l': ratio: .*finite"),
    "gear distance": (("l", "gear", "pivot", "motor"), {"ratio": 1, "distance": 1}, "has a ratio"),
    "no joint": (("l", "gear", "pivot", "crank"), {"ratio": 1}, "no joint 'crank'"),
    "twice": (("pin", "point", "crank", "rocker"), {}, "loop 'pin' was added twice"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_bad_loops_are_refused_by_name(case: str) -> None:
    arguments, options, message = REFUSED[case]
    builder = parallelogram().close_loop("pin", "hinge", "coupler end", "rocker end")
    with pytest.raises((InputError, ModelError), match=message):
        builder.close_loop(*arguments, **options).build()  # type: ignore[arg-type]


def test_edits_that_break_a_loop_are_refused_by_name() -> None:
    model = closed()
    with pytest.raises(ModelError, match="loop 'pin': unknown frame 'rocker end'"):
        replace(model, frames=model.frames[:1])
    with pytest.raises(ModelError, match="loop 'pin' is used twice"):
        model.with_loop("pin", "point", "crank", "rocker")
    with pytest.raises(ModelError, match="loops: expected Loop, got str"):
        replace(model, loops=("pin",))  # type: ignore[arg-type]


def test_files_with_loops_are_version_2(tmp_path) -> None:
    """Version 0.2 would ignore them."""
    path = tmp_path / "s.h5"
    model = closed().with_loop("rod", "distance", "rocker", "coupler", distance=1.0)
    fake_solution(model=model).save(path)
    assert path.read_bytes().split(b"\n")[1] == b"version 2"
    assert predyn.load_solution(path).model.loops == model.loops
    geared = parallelogram().close_loop("gear", "gear", "pivot", "motor", ratio=1.0)
    model = geared.close_loop("pin", "hinge", "coupler end", "rocker end").build()
    fake_solution(model=model).save(path)
    assert predyn.load_solution(path).model.loops == model.loops
