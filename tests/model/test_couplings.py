"""Couplings of a model: functions, limits, edits, files, and what is refused."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest
from scipy.interpolate import PPoly

from coupled_trees import coupled_tree, quintic
from predyn.dynamics import inverse_dynamics
from predyn.errors import InputError, ModelError
from predyn.model import Model
from predyn.model.builder import ModelBuilder
from predyn.model.couplings import Coupling, PiecewisePolynomial, joint_positions, sources

BODY = {"mass": 1.0, "com": (0.1, 0.0, 0.0), "inertia": (0.01, 0.02, 0.02)}


def chain(**limits) -> ModelBuilder:
    builder = ModelBuilder("chain")
    builder.add_link("a", joint="a", position=(-2.0, 2.0), velocity=4.0, **BODY)
    builder.add_link("b", "a", joint="b", origin=(0.5, 0, 0), axis=(1, 0, 0), **BODY, **limits)
    return builder.add_link("c", "b", joint="c", origin=(0.5, 0, 0), axis=(0, 1, 0), **BODY)


def test_a_function_agrees_with_scipy_and_goes_on_in_straight_lines() -> None:
    f = quintic(np.random.default_rng(0))
    theirs = PPoly(f.coefficients[:, ::-1].T, f.breaks)
    x = np.random.default_rng(1).uniform(f.breaks[0], f.breaks[-1], (5, 8))
    for order in range(5):
        np.testing.assert_allclose(f(x, order), theirs(x, order), rtol=1e-13, atol=1e-13)
    for end, beyond in ((f.breaks[0], -1.5), (f.breaks[-1], 2.5)):
        line = theirs(end) + beyond * theirs(end, 1)
        assert f(end + beyond) == pytest.approx(float(line), rel=1e-13)
        assert f(end + beyond, 1) == pytest.approx(float(theirs(end, 1)), rel=1e-13)
        assert [f(end + beyond, k) for k in (2, 3, 4)] == [0.0, 0.0, 0.0]
        assert f(end, 2) == pytest.approx(float(theirs(end, 2)), rel=1e-12)  # an end is inside
    assert f(0.3).shape == ()
    cubic = PiecewisePolynomial.polynomial((1.0, 2.0, 0.0, 0.5))
    assert [float(cubic(100.0, k)) for k in range(5)] == [500201.0, 15002.0, 300.0, 3.0, 0.0]
    assert cubic.line is None
    assert PiecewisePolynomial.linear(3.0, -1.0).line == (3.0, -1.0)


WRONG = {
    "jump": (([0, 1, 2], [[0, 1], [2, 1]]), "jumps by 1 at the break 1"),
    "order": (([0, 2, 1], [[0, 1], [2, 1]]), "breaks: expected increasing"),
    "rows": (([0, 1], [[0, 1], [1, 1]]), "got 2 breaks and 2 rows of 2"),
    "one break": (([0], [[0, 1]]), "got 1 breaks"),
    "nan": (([], [[np.nan, 1]]), "coefficients: expected finite"),
    "flat": (([], [1, 2]), "one row for each piece"),
    "text": (([], [["a"]]), "coefficients: expected numbers"),
}


@pytest.mark.parametrize("case", WRONG)
def test_impossible_functions_are_refused(case: str) -> None:
    arguments, message = WRONG[case]
    with pytest.raises(InputError, match=message):
        PiecewisePolynomial(*arguments)


def test_a_model_has_the_arrays_of_its_coordinates_and_of_all_links() -> None:
    model = chain().couple("b", "a", (2.0, 0.5)).build()
    assert (model.n, model.joint_names, model.link_names) == (2, ("a", "c"), ("a", "b", "c"))
    assert model.kind.shape == model.armature.shape == (2,)
    assert model.parent.shape == (3,)
    assert model.limits.position.shape == (2, 2)
    assert model.expanded.joint_names == ("a", "b", "c")
    assert model.expanded.expanded is model.expanded
    assert sources(model).tolist() == [0, 0, 1]
    np.testing.assert_array_equal(joint_positions(model, [[0.5, 3.0]]), [[0.5, 1.5, 3.0]])
    assert "n=2" in repr(model)
    with pytest.raises(InputError, match=r"joint 'b' follows joint 'a' .* use 'a'"):
        model.joint_index("b")
    plain = chain().build()
    assert plain.expanded is plain
    assert plain.couplings == ()


def test_lines_pass_limits_on_to_the_source_and_curves_do_not() -> None:
    model = chain(position=(-1.0, 3.0), velocity=2.0, effort=5.0).couple("b", "a", (-2.0, 1.0))
    built = model.build()
    np.testing.assert_allclose(built.limits.position[0], [-1.0, 1.0])
    np.testing.assert_allclose(built.limits.velocity[0], [-1.0, 1.0])
    assert any("restrict 'a' to -1 .. 1" in note for note in built.notes)
    assert any("effort limits are not imposed" in note for note in built.notes)
    curved = chain(position=(-1.0, 3.0)).couple("b", "a", PiecewisePolynomial.polynomial((0, 0, 1)))
    built = curved.build()
    np.testing.assert_array_equal(built.limits.position[0], [-2.0, 2.0])
    assert any("by a curve: its position limits are not imposed" in x for x in built.notes)
    built = chain(position=(5.0, 6.0)).couple("b", "a", (1.0, 0.0)).build()
    assert any("contradict those of 'a'" in note for note in built.notes)


REFUSED = {
    "unknown joint": ([("x", "a")], "no joint 'x'; joints: 'a', 'b', 'c'"),
    "unknown source": ([("b", "x")], "no joint 'x'"),
    "itself": ([("b", "b")], "itself follows a joint"),
    "chain": ([("b", "a"), ("c", "b")], "'c' follows 'b', which itself follows"),
    "twice": ([("b", "a"), ("b", "c")], "already follows another joint"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_impossible_couplings_are_refused_by_name(case: str) -> None:
    pairs, message = REFUSED[case]
    builder = chain()
    for joint, source in pairs:
        builder.couple(joint, source, (1.0, 0.0))
    with pytest.raises(ModelError, match=message):
        builder.build()


def test_wrong_arguments_of_couple_are_named() -> None:
    with pytest.raises(InputError, match="coupling of joint 'b': function"):
        chain().couple("b", "a", "twice")  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"coupling of joint 'b': .*finite"):
        chain().couple("b", "a", (np.inf, 0.0))
    idle = chain().add_coordinate("free")
    with pytest.raises(ModelError, match="joint 'free' moves no inertia"):
        idle.couple("b", "a", (1.0, 0.0)).build()


def agree(one: Model, other: Model) -> None:
    """Whether two models have the same coordinates and torques."""
    assert one.joint_names == other.joint_names
    q, v, a = np.random.default_rng(0).uniform(-1.0, 1.0, (3, 5, one.n))
    wanted = inverse_dynamics(one, q, v, a)
    np.testing.assert_array_equal(inverse_dynamics(other, q, v, a), wanted)


def test_copies_have_the_same_couplings() -> None:
    model = coupled_tree(3)
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model), replace(model)):
        assert other.notes == model.notes
        agree(model, other)
    coordinate = chain().add_coordinate("k").couple("a", "k", (1.0, 0.0)).build()
    agree(coordinate, pickle.loads(pickle.dumps(coordinate)))


def test_edits_reach_the_tree() -> None:
    """An edit of the coupled model is the same edit of a model built with the new numbers."""
    builder = chain().couple("b", "a", (2.0, 0.5))
    model = builder.build()
    heavy = model.attach_payload("b", 2.0, (0.1, 0.2, 0.3)).with_mass("c", 3.0)
    heavy = heavy.with_gravity((1.0, 0.0, -5.0)).with_length("a", 0.7)
    tree = model.expanded.attach_payload("b", 2.0, (0.1, 0.2, 0.3)).with_mass("c", 3.0)
    tree = tree.with_gravity((1.0, 0.0, -5.0)).with_length("a", 0.7)
    for field in ("inertia", "gravity", "p"):
        np.testing.assert_array_equal(getattr(heavy.expanded, field), getattr(tree, field))
        np.testing.assert_array_equal(getattr(heavy, field), getattr(tree, field))
    stiff = replace(model, stiffness=np.array([3.0, 4.0]))
    np.testing.assert_array_equal(stiff.expanded.stiffness, [3.0, 0.0, 4.0])
    moved = model.with_placement("b", p=(0.6, 0.0, 0.0))
    np.testing.assert_array_equal(moved.p[1], [0.6, 0.0, 0.0])
    limited = model.with_limits(position={"c": 0.5})
    np.testing.assert_array_equal(limited.limits.position, [[-2.0, 2.0], [-0.5, 0.5]])


def test_a_locked_source_locks_its_followers() -> None:
    model = chain().couple("b", "a", PiecewisePolynomial.polynomial((0.1, 0.0, 2.0))).build()
    locked = model.lock({"a": 0.5})
    assert (locked.n, locked.couplings, locked.joint_names) == (1, (), ("c",))
    agree(locked, chain().build().lock({"a": 0.5, "b": 0.6}))
    half = model.lock({"c": 0.3})
    assert (half.n, len(half.couplings)) == (1, 1)
    q, v, a = 0.4, 0.2, -0.3
    full = inverse_dynamics(model, [q, 0.3], [v, 0.0], [a, 0.0])
    np.testing.assert_allclose(inverse_dynamics(half, [q], [v], [a]), full[:1], rtol=1e-12)
    with pytest.raises(InputError, match="joint 'b' follows joint 'a'"):
        model.lock({"b": 0.0})


def test_a_coupling_shows_its_joints() -> None:
    assert repr(Coupling("b", "a", (1.0, 0.0))) == "Coupling(joint='b', source='a')"  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [((0.5, 1.0), "order: expected 0 to 4"), ((0.5, 5), "order"), (("a",), "x: expected numbers")],
)
def test_bad_arguments_of_a_function_are_named(arguments: tuple, message: str) -> None:
    with pytest.raises(InputError, match=message):
        PiecewisePolynomial.linear(1.0, 0.0)(*arguments)
