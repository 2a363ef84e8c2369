"""The joints that let a model move freely."""

import numpy as np
import pytest

from predyn import Model, ModelBuilder
from predyn.errors import InputError
from predyn.model.floating_base import (
    floating_base,
    floating_bases,
    require_free_base,
    root_chain,
    slides_of_base,
)

X, Y, Z = np.eye(3)
HEAVY = {"mass": 2.0, "inertia": (0.1, 0.1, 0.1)}


def planar(builder: ModelBuilder | None = None, name: str = "", **body: object) -> ModelBuilder:
    """Two slides and a hinge; the last link is heavy by default."""
    builder = builder or ModelBuilder("body")
    builder.add_link(f"{name}x", "world", kind="prismatic", axis=X)
    builder.add_link(f"{name}z", f"{name}x", kind="prismatic", axis=Z)
    return builder.add_link(f"{name}trunk", f"{name}z", axis=Y, **(body or HEAVY))


def base_of(model: Model) -> list[int] | None:
    base = floating_base(model)
    return None if base is None else base.tolist()


def test_two_slides_and_a_hinge() -> None:
    model = planar().build()
    assert base_of(model) == root_chain(model) == [0, 1, 2]
    assert require_free_base(model).tolist() == [0, 1, 2]
    np.testing.assert_array_equal(np.array(list(slides_of_base(model).values())), [X, Z])


def test_parallel_slides_do_not_float() -> None:
    cart = ModelBuilder("cart").add_link("x", kind="prismatic", axis=X, armature=1.0)
    cart.add_link("z", "x", kind="prismatic", axis=X)
    model = cart.add_link("trunk", "z", axis=Y, **HEAVY).build()
    assert base_of(model) is None
    with pytest.raises(InputError, match="independent slides; got x_joint, z_joint, trunk_joint"):
        require_free_base(model)


def test_the_last_link_may_have_no_mass_if_it_branches() -> None:
    builder = planar(mass=0.0)
    for side, place in (("rear", -0.2), ("front", 0.2)):
        builder.add_link(side, "trunk", axis=Y, origin=place * X, **HEAVY)
    assert base_of(builder.build()) == [0, 1, 2]


def test_two_bodies_have_two_bases() -> None:
    model = planar(planar(name="a_"), "b_").build()
    assert [base.tolist() for base in floating_bases(model)] == [[0, 1, 2], [3, 4, 5]]
    assert base_of(model) is None
    with pytest.raises(InputError, match="got several roots"):
        require_free_base(model)


def test_coordinates_and_joints_that_follow() -> None:
    led = planar(ModelBuilder("led").add_coordinate("drive"))
    led.add_link("leg", "trunk", axis=Y, **HEAVY).couple("leg_joint", "drive", (2.0, 0.0))
    assert base_of(led.build()) == [1, 2, 3]  # the coordinate does not count
    lifted = planar(ModelBuilder("lifted").add_coordinate("drive"))
    assert base_of(lifted.couple("z_joint", "drive", (2.0, 0.0)).build()) is None


def test_numbers_are_those_of_the_coordinates() -> None:
    first = planar(name="a_").couple("a_trunk_joint", "a_x_joint", (1.0, 0.0))
    model = planar(first, "b_").build()
    (base,) = floating_bases(model)
    assert [model.joint_names[j] for j in base] == ["b_x_joint", "b_z_joint", "b_trunk_joint"]
