"""ModelBuilder: order, defaults, and how mistakes are named."""

import numpy as np
import pytest

from predyn.errors import InputError, ModelError
from predyn.model import PRISMATIC, REVOLUTE, SCREW
from predyn.model.builder import ModelBuilder

BODY = {"mass": 1.0, "com": (0.1, 0.2, 0.3), "inertia": (1.0, 1.0, 1.0)}


def test_links_in_any_order_are_numbered_depth_first():
    model = (
        ModelBuilder()
        .add_link("c", "a", **BODY)
        .add_link("d", "b", **BODY)
        .add_link("a", **BODY)
        .add_link("b", "a", **BODY)
        .add_link("e", **BODY)
        .build()
    )
    assert model.link_names == ("a", "c", "b", "d", "e")
    assert model.parent.tolist() == [-1, 0, 0, 2, -1]
    assert model.joint_names[1] == "c_joint"
    assert model.gravity.tolist() == [0.0, 0.0, -9.81]


def test_every_argument_reaches_the_model():
    R = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    model = (
        ModelBuilder("m", gravity=(0, -1, 0))
        .add_link("a", joint="turn", axis=(0, 3, 4), rotation=R, origin=(1, 2, 3), position=2.0,
                  velocity=(-1, 3), acceleration=5.0, effort=(0, 7), stiffness=1.5, rest=0.2,
                  damping=0.3, coulomb=0.4, coulomb_speed=0.05, armature=0.6, **BODY)
        .add_link("b", "a", kind="screw", pitch=0.1, **BODY)
        .add_link("c", "b", kind="prismatic", **BODY)
        .add_frame("eye", "c", (1, 0, 0), R)
        .add_frame("corner", "world", (0, 1, 0))
        .add_shape("box", "a", (1, 2, 3), point=(0, 0, 1), role="collision")
        .set_rotor([[2.0, 0.5], [0.5, 1.0]], joints=["c_joint", "turn"])
        .build(notes=["n"])
    )  # fmt: skip
    assert model.kind.tolist() == [REVOLUTE, SCREW, PRISMATIC]
    assert model.pitch.tolist() == [0.0, 0.1, 0.0]
    assert np.allclose(model.axis[0], (0, 0.6, 0.8), rtol=0, atol=1e-16)
    assert np.array_equal(model.R[0], R)
    assert model.p[0].tolist() == [1.0, 2.0, 3.0]
    assert [limit[0].tolist() for limit in model.limits] == [[-2, 2], [-1, 3], [-5, 5], [0, 7]]
    assert np.isinf(model.limits.position[1:]).all()
    values = [getattr(model, name)[0] for name in
              ("stiffness", "rest", "damping", "coulomb", "coulomb_speed", "armature")]  # fmt: skip
    assert values == [1.5, 0.2, 0.3, 0.4, 0.05, 0.6]
    assert model.rotor.tolist() == [[1.0, 0.0, 0.5], [0.0, 0.0, 0.0], [0.5, 0.0, 2.0]]
    assert model.frame("eye").link == 2
    assert model.frame("corner").link == -1
    assert model.shapes[0].role == "collision"
    assert model.notes == ("n",)
    # m = 1, c = (.1, .2, .3): I about the origin is 1 + |c|^2 - c c^T
    expected = [1, 0.1, 0.2, 0.3, 1.13, -0.02, 1.10, -0.03, -0.06, 1.05]
    assert np.allclose(model.inertia[0], expected, rtol=0, atol=1e-15)


def test_inertia_forms():
    matrix = np.array([[2.0, 0.1, 0.0], [0.1, 2.0, 0.0], [0.0, 0.0, 3.0]])
    for given, expected in ((matrix, [2, 0.1, 2, 0, 0, 3]), ((2, 2, 3), [2, 0, 2, 0, 0, 3])):
        model = ModelBuilder().add_link("a", mass=1.0, inertia=given).build()
        assert model.inertia[0, 4:].tolist() == expected
    with pytest.warns(UserWarning, match="triangle"):
        model = ModelBuilder().add_link("a", mass=1.0, inertia=0.5).build()
    assert model.inertia[0, 4:].tolist() == [0, 0, 0, 0, 0, 0.5]
    with pytest.raises(ModelError, match=r"link 'a'.*inertia is not symmetric"):
        ModelBuilder().add_link("a", inertia=[[1, 1, 0], [0, 1, 0], [0, 0, 1]])


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"kind": "revolut"}, InputError, "kind of joint 'a_joint' 'revolut'.*'revolute'"),
        ({"axis": (0, 0, 0)}, ModelError, "joint 'a_joint': axis is zero"),
        ({"axis": (0, 0, np.nan)}, InputError, "axis: expected finite"),
        ({"axis": (0, 1)}, InputError, r"axis: expected shape \(3,\), got \(2,\)"),
        ({"mass": "heavy"}, InputError, "mass: expected a number"),
        ({"mass": np.inf}, InputError, "mass: expected a finite number, got inf"),
        ({"com": [1, 2, "x"]}, InputError, "com: expected numbers"),
        ({"position": (1, 2, 3)}, InputError, r"position limits: expected shape \(2,\)"),
        ({"rotation": np.eye(2)}, InputError, "rotation: expected shape"),
        ({"inertia": (1, 2)}, InputError, r"inertia: expected shape \(3,\), got \(2,\)"),
        ({"origin": None}, InputError, "origin: expected numbers"),
    ],
)
def test_bad_argument_is_named(options, error, message):
    with pytest.raises(error, match=message):
        ModelBuilder().add_link("a", **options)


def test_structure_mistakes_are_named():
    def builder():
        return ModelBuilder("m").add_link("base", **BODY)

    with pytest.raises(InputError, match=r"parent of link 'b' 'bse'.*'base'"):
        builder().add_link("b", "bse").build()
    with pytest.raises(ModelError, match="link 'base' was added twice"):
        builder().add_link("base")
    with pytest.raises(ModelError, match="cycle of links x -> z -> y -> x"):
        builder().add_link("x", "z").add_link("y", "x").add_link("z", "y").build()
    with pytest.raises(ModelError, match="cycle of links x -> x"):
        builder().add_link("x", "x").build()
    with pytest.raises(InputError, match=r"link of frame 'f' 'bas'.*'base'"):
        builder().add_frame("f", "bas").build()
    with pytest.raises(InputError, match="joint of the rotor matrix 'j'"):
        builder().set_rotor([[1.0]], joints=["j"]).build()
    with pytest.raises(InputError, match="name a joint twice"):
        builder().set_rotor(np.eye(2), joints=["base_joint", "base_joint"])
    with pytest.raises(InputError, match="link name 'world'"):
        builder().add_link("world")
    with pytest.raises(ModelError, match="no joint"):
        ModelBuilder().build()
    with pytest.raises(InputError, match="gravity"):
        ModelBuilder(gravity=(0, 0, np.nan))


def test_long_chain_needs_no_recursion():
    builder = ModelBuilder()
    for j in range(1500):
        builder.add_link(f"l{j}", f"l{j - 1}" if j else "world", armature=1.0)
    assert builder.order()[-1] == "l1499"
