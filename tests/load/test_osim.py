"""load_osim against OpenSim's numbers and closed forms; its notes, and which files it refuses."""

import json
import os
import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from load.mutate_osim import mutants
from predyn import inverse_dynamics, load_osim
from predyn.dynamics import frame_kinematics
from predyn.errors import FileError, InputError, ModelWarning
from predyn.model.couplings import joint_positions
from predyn.model.mass_check import link_poses, plain_mass_matrix
from recorded_motions import SHARED, needs_shared

DATA = Path(__file__).parent / "data"
JIG = {version: DATA / f"jig_v{version}.osim" for version in (3, 4)}
MUTANTS = int(os.environ.get("PREDYN_MUTANTS", "150"))
BODY = (
    '<Body name="{}"><mass>1</mass><mass_center>0 0.1 0</mass_center>'
    "<inertia>1 1 1 0 0 0</inertia></Body>"
)


def osim(joints, bodies=("arm",), rest="", coordinate="q"):
    """An OpenSim 4 model with the given joints."""
    inside = "".join(BODY.format(name) for name in bodies)
    return (
        f'<OpenSimDocument Version="40000"><Model name="m">{rest}\n'
        f"<BodySet><objects>{inside}</objects></BodySet>\n"
        f"<JointSet><objects>{joints}</objects></JointSet></Model></OpenSimDocument>"
    )


def coordinates(inside):
    return f"<coordinates>{inside}</coordinates>"


def joint(kind="PinJoint", inside="", parent="/ground", child="/bodyset/arm", name="j"):
    coordinates = (
        "" if "<coordinates" in inside else '<coordinates><Coordinate name="q"/></coordinates>'
    )
    return (
        f'<{kind} name="{name}">\n<socket_parent_frame>{parent}</socket_parent_frame>\n'
        f"<socket_child_frame>{child}</socket_child_frame>{coordinates}{inside}</{kind}>\n"
    )


def custom(*axes, coordinates=("q",)):
    """A CustomJoint; axes: name, coordinate, direction, function."""
    inside = "".join(f'<Coordinate name="{name}"/>' for name in coordinates)
    rows = "".join(
        f'<TransformAxis name="{name}"><coordinates>{driver}</coordinates><axis>{axis}</axis>'
        f"{function}</TransformAxis>\n"
        for name, driver, axis, function in axes
    )
    return joint(
        "CustomJoint",
        f"<coordinates>{inside}</coordinates><SpatialTransform>{rows}</SpatialTransform>",
    )


def line(slope, offset):
    return f"<LinearFunction><coefficients>{slope} {offset}</coefficients></LinearFunction>"


def points(x, y, kind="SimmSpline"):
    words = [" ".join(map(str, values)) for values in (x, y)]
    return f"<{kind}><x>{words[0]}</x><y>{words[1]}</y></{kind}>"


@pytest.fixture
def load(tmp_path):
    def load(text, **options):
        path = tmp_path / "model.osim"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return load_osim(path, **options)

    return load


def pose(model, frame, q):
    """(R, p) of a frame at coordinates q, by plain matrices."""
    R, p = link_poses(model.expanded, joint_positions(model, q))
    place = model.frame(frame)
    if place.link < 0:
        return place.R, place.p
    return R[place.link] @ place.R, R[place.link] @ place.p + p[place.link]


def numbers(model, case, what):
    return np.array([case[what][name] for name in model.joint_names])


def check_against_opensim(model, cases, springs=None):
    """Poses of all bodies and markers, and torques, to rounding error."""
    for case in cases:
        q, v, a = (numbers(model, case, what) for what in "qva")
        for name, place in {**case["bodies"], **case.get("markers", {})}.items():
            R, p = pose(
                model, "cross_2" if isinstance(place, list) and name == "cross" else name, q
            )
            if isinstance(place, dict):
                assert np.abs(R - np.array(place["R"])).max() < 1e-14
                place = place["p"]
            assert np.abs(p - np.array(place)).max() < 1e-14
        wanted = numbers(model, case, "tau")
        passive = model.stiffness * (q - model.rest) + model.damping * v
        torque = inverse_dynamics(model, q, v, a) - passive
        assert np.abs(torque - wanted).max() < 1e-14 * np.abs(wanted).max()


@needs_shared
@pytest.mark.parametrize("name", ["arm26", "gait10dof18musc"])
def test_shared_models_equal_opensim(name):
    folder = SHARED / "data" / "muscles"
    answer = json.loads((folder / "oracle_dynamics.json").read_text())[name]
    model = load_osim(folder / f"{name}.osim")
    assert model.gravity.tolist() == answer["gravity"]
    assert sorted(model.joint_names) == sorted(answer["coordinates"])
    assert len(answer["cases"]) == 20
    check_against_opensim(model, answer["cases"])
    moving = sum(mass for body, mass in answer["mass"].items() if model.frame(body).link >= 0)
    assert model.inertia[:, 0].sum() == pytest.approx(moving, rel=1e-14)


@needs_shared
def test_shared_models_load_with_smooth_functions_and_stated_errors():
    folder = SHARED / "data" / "muscles"
    answer = json.loads((folder / "oracle_dynamics.json").read_text())["gait10dof18musc"]
    smooth = load_osim(folder / "gait10dof18musc.osim", functions="smooth")
    stated = [
        float(re.search(r"error is at most (\S+),", x)[1]) for x in smooth.notes if "refit" in x
    ]
    assert len(stated) == 4
    assert max(stated) < 1e-5
    for case in answer["cases"]:
        q = numbers(smooth, case, "q")
        for name, place in case["bodies"].items():  # the ways along both knees add up
            assert np.abs(pose(smooth, name, q)[1] - place["p"]).max() <= 2.0 * max(stated)
    squat = load_osim(folder / "squatToStand_3dof9musc.osim")
    assert squat.joint_names == ("ankle_angle_r", "knee_angle_r", "hip_flexion_r")
    assert "coordinate 'knee_angle_r_beta' depends on 'knee_angle_r'" in squat.notes


@pytest.mark.parametrize("version", [3, 4])
def test_every_joint_and_function_equals_opensim(version):
    answer = json.loads((DATA / "jig_opensim.json").read_text())
    model = load_osim(JIG[version])
    assert model.n == 21
    assert len(model.expanded.parent) == 26
    check_against_opensim(model, answer["cases"])
    assert model.inertia[:, 0].sum() == pytest.approx(sum(answer["mass"].values()), rel=1e-14)


def test_both_layouts_give_the_same_model():
    old, new = (load_osim(path) for path in JIG.values())
    for field in ("parent", "axis", "R", "p", "inertia", "stiffness", "rest", "damping", "gravity"):
        assert np.array_equal(getattr(old, field), getattr(new, field)), field
    assert old.joint_names == new.joint_names
    assert old.frame_names == new.frame_names
    assert np.array_equal(old.limits.position, new.limits.position)
    for one, two in zip(old.couplings, new.couplings, strict=True):
        assert np.array_equal(one.function.coefficients, two.function.coefficients)


def test_coordinates_keep_limits_springs_and_names():
    model = load_osim(JIG[4])
    j = model.joint_index("pin")
    assert (model.stiffness[j], model.rest[j], model.damping[j]) == (12.0, 0.3, 0.7)
    assert model.limits.position[j].tolist() == [-1.0, 1.0]
    assert model.limits.position[model.joint_index("across")].tolist() == [-5.0, 5.0]
    notes = "\n".join(model.notes)
    for text in (
        "coordinate 'cap' depends on 'knee'",
        "along 0.2, pin 0.4, knee -0.2",
        "not read: forces: 1 CoordinateLimitForce ('stop')",
        "joints ball, free",
        "marker 'cross' is called 'cross_2'",
    ):
        assert text in notes
    assert "across" not in notes.split("not enforced by the file: ")[1].split("\n")[0]


def test_simple_joints_have_the_poses_of_their_definitions(load):
    turns = {"q": 0.4, "r": -0.7, "s": 0.3, "x": 0.1, "y": 0.2, "z": -0.3}
    three = ("q", "r", "s")
    cases = {
        "PinJoint": (("q",), Rotation.from_euler("Z", 0.4), (0, 0, 0)),
        "SliderJoint": (("x",), Rotation.identity(), (0.1, 0, 0)),
        "UniversalJoint": (("q", "r"), Rotation.from_euler("XY", (0.4, -0.7)), (0, 0, 0)),
        "PlanarJoint": (("q", "x", "y"), Rotation.from_euler("Z", 0.4), (0.1, 0.2, 0)),
        "GimbalJoint": (three, Rotation.from_euler("XYZ", (0.4, -0.7, 0.3)), (0, 0, 0)),
        "BallJoint": (three, Rotation.from_euler("XYZ", (0.4, -0.7, 0.3)), (0, 0, 0)),
        "FreeJoint": (
            (*three, "x", "y", "z"), Rotation.from_euler("XYZ", (0.4, -0.7, 0.3)), (0.1, 0.2, -0.3)
        ),
    }  # fmt: skip
    for kind, (names, R, p) in cases.items():
        inside = "".join(f'<Coordinate name="{name}"/>' for name in names)
        model = load(osim(joint(kind, f"<coordinates>{inside}</coordinates>")))
        assert sorted(model.joint_names) == sorted(names)
        got = pose(model, "arm", np.array([turns[name] for name in model.joint_names]))
        assert np.abs(got[0] - R.as_matrix()).max() < 1e-15, kind
        assert np.abs(got[1] - p).max() < 1e-15, kind


def test_coordinates_without_names_get_those_of_opensim(load):
    inside = "<coordinates></coordinates>"
    assert load(osim(joint("UniversalJoint", inside))).joint_names == ("j_coord_0", "j_coord_1")


def test_a_coordinate_without_an_axis_of_its_own_gets_a_joint(load):
    x, y = (-1.0, 0.0, 1.0, 2.0), (0.0, 0.1, 0.4, 0.2)
    model = load(osim(custom(
        ("rotation1", "q", "0 0 1", points(x, y)), ("translation1", "q", "1 0 0", line(0.5, 0.2))
    )))  # fmt: skip
    assert model.joint_names == ("q",)
    cubic = np.polyfit(x, y, 3)  # the spline through four points is this cubic
    for q in (-0.6, 0.3, 1.7):
        R, p = pose(model, "arm", np.array([q]))
        assert np.abs(R - Rotation.from_euler("Z", np.polyval(cubic, q)).as_matrix()).max() < 1e-14
        assert np.abs(p - (0.5 * q + 0.2, 0.0, 0.0)).max() < 1e-15


def test_locked_coordinates_are_held_or_free(load):
    held = (
        '<Coordinate name="q"><default_value>0.3</default_value><locked>true</locked></Coordinate>'
    )
    arm = joint(
        "PlanarJoint",
        f'<coordinates>{held}<Coordinate name="x"/><Coordinate name="y"/></coordinates>',
    )
    model = load(osim(arm))
    assert model.joint_names == ("x", "y")
    R = pose(model, "arm", np.zeros(2))[0]
    assert np.abs(R - Rotation.from_euler("Z", 0.3).as_matrix()).max() < 1e-15
    assert "locked, held at their default values: q = 0.3" in model.notes
    free = load(osim(arm), locked="free")
    assert free.joint_names == ("x", "y", "q")
    assert "locked in the file, free here: q" in free.notes
    with pytest.raises(InputError, match="locked 'no': valid names: 'hold', 'free'"):
        load(osim(arm), locked="no")


def test_axes_turn_the_world_and_not_the_coordinates():
    plain, turned = load_osim(JIG[4]), load_osim(JIG[4], axes="x-zy")
    A = np.array([[1.0, 0, 0], [0, 0, -1.0], [0, 1.0, 0]])
    assert np.abs(turned.gravity - (0.0, 0.0, -9.80665)).max() == 0.0
    q, v, a = np.random.default_rng(1).uniform(-0.5, 0.5, (3, plain.n))
    for name in ("drone", "cap", "tip", "plate"):
        (R, p), (R_turned, p_turned) = pose(plain, name, q), pose(turned, name, q)
        assert np.abs(A @ R - R_turned).max() < 1e-15
        assert np.abs(A @ p - p_turned).max() < 1e-15
    one, two = inverse_dynamics(plain, q, v, a), inverse_dynamics(turned, q, v, a)
    assert np.abs(one - two).max() < 1e-14 * np.abs(one).max()
    with pytest.raises(InputError, match="mirrors"):
        load_osim(JIG[4], axes="xzy")


def test_frames_move_in_the_kernels_as_in_plain_matrices():
    model = load_osim(JIG[4])
    q = np.random.default_rng(2).uniform(-0.5, 0.5, model.n)
    for name in ("tip", "shank", "cap"):
        got = frame_kinematics(model, name, q)
        assert np.abs(got.p - pose(model, name, q)[1]).max() < 1e-14


def test_offset_frames_may_be_nested_and_shared(load):
    frames = (
        '<components><PhysicalOffsetFrame name="a"><socket_parent>/ground</socket_parent>'
        "<translation>1 0 0</translation><orientation>0 0 0.5</orientation></PhysicalOffsetFrame>"
        '<PhysicalOffsetFrame name="b"><socket_parent>/a</socket_parent>'
        "<translation>0 2 0</translation></PhysicalOffsetFrame></components>"
    )
    model = load(osim(joint(parent="/b"), rest=frames))
    R, p = pose(model, "arm", np.zeros(1))
    assert np.abs(R - Rotation.from_euler("Z", 0.5).as_matrix()).max() < 1e-15
    assert np.abs(p - (1.0 - 2.0 * np.sin(0.5), 2.0 * np.cos(0.5), 0.0)).max() < 1e-15


COUPLER = (
    "<ConstraintSet><objects><CoordinateCouplerConstraint name='c'>{}"
    "<coupled_coordinates_function>{}</coupled_coordinates_function>"
    "<independent_coordinate_names>{}</independent_coordinate_names>"
    "<dependent_coordinate_name>{}</dependent_coordinate_name></CoordinateCouplerConstraint>"
    "</objects></ConstraintSet>"
)
PLANE = custom(
    ("rotation1", "q", "0 0 1", line(1, 0)),
    ("translation1", "x", "1 0 0", line(1, 0)),
    coordinates=("q", "x"),
)


def test_couplers_make_coordinates_depend(load):
    follow = COUPLER.format("", points((-1, 0, 1), (0.5, 0.1, 0.5)), "q", "x")
    model = load(osim(PLANE, rest=follow))
    assert model.joint_names == ("q",)
    for q in (-0.8, 0.2, 0.9):
        p = pose(model, "arm", np.array([q]))[1]
        assert np.abs(p - (0.1 + 0.4 * q * q, 0.0, 0.0)).max() < 1e-15
    off = "<isEnforced>false</isEnforced>"
    assert load(osim(PLANE, rest=COUPLER.format(off, line(1, 0), "q", "x"))).n == 2


REFUSED = {
    "no joint": (osim(""), "no joint has this body as its child"),
    "unknown joint": (osim(joint("EllipsoidJoint")), "supported are WeldJoint, PinJoint"),
    "unknown body": (osim(joint(child="/bodyset/amr")), "unknown frame or body 'amr'"),
    "no socket": (osim("<PinJoint name='j'/>"), "expected a <socket_parent_frame> inside"),
    "two parents": (osim(joint() + joint(name="k")), "already the child of joint 'j'"),
    "child is ground": (osim(joint(child="/ground")), "its child is ground"),
    "cycle": (
        osim(
            joint(parent="/bodyset/leg")
            + joint(name="k", parent="/bodyset/arm", child="/bodyset/leg"),
            bodies=("arm", "leg"),
        ),
        "its joints form a cycle",
    ),
    "same coordinate": (
        osim(joint() + joint(name="k", child="/bodyset/leg"), bodies=("arm", "leg")),
        "names of coordinates must differ",
    ),
    "body twice": (osim(joint(), bodies=("arm", "arm")), "already used in line"),
    "too many coordinates": (
        osim(joint(inside=coordinates("<Coordinate name='q'/><Coordinate name='r'/>"))),
        "a PinJoint has 1 coordinates, got 2",
    ),
    "function": (
        osim(custom(("rotation1", "q", "0 0 1", "<GCVSpline><x>0 1</x></GCVSpline>"))),
        "this function is not supported; supported are Constant, LinearFunction, SimmSpline",
    ),
    "x not increasing": (
        osim(custom(("rotation1", "q", "0 0 1", points((0, 1, 1), (0, 1, 2))))),
        "x must increase, got 1 and then 1",
    ),
    "x and y": (
        osim(custom(("rotation1", "q", "0 0 1", points((0, 1), (0, 1, 2))))),
        "got 2 and 3",
    ),
    "axis": (osim(custom(("rotation1", "q", "0 0 0", line(1, 0)))), "the axis is zero"),
    "axis name": (
        osim(custom(("turn", "q", "0 0 1", line(1, 0)))),
        "name of a TransformAxis 'turn'",
    ),
    "axis coordinate": (
        osim(custom(("rotation1", "p", "0 0 1", line(1, 0)))),
        "unknown coordinate of the joint 'p'",
    ),
    "no coordinate": (osim(custom(("rotation1", "", "0 0 1", line(1, 0)))), "needs one coordinate"),
    "number": (
        osim(joint()).replace("<mass>1</mass>", "<mass>1 kg</mass>"),
        "expected 1 number.s., got 2",
    ),
    "nan": (osim(joint()).replace("<mass>1<", "<mass>nan<"), "expected finite numbers"),
    "negative mass": (osim(joint()).replace("<mass>1<", "<mass>-1<"), "mass -1.0 of body 'arm'"),
    "range": (
        osim(joint(inside=coordinates("<Coordinate name='q'><range>1 -1</range></Coordinate>"))),
        "the range is reversed",
    ),
    "flag": (
        osim(joint(inside=coordinates("<Coordinate name='q'><locked>maybe</locked></Coordinate>"))),
        "expected true or false, got 'maybe'",
    ),
    "marker": (
        osim(
            joint(),
            rest="<MarkerSet><objects><Marker name='m'><socket_parent_frame>/bodyset/x"
            "</socket_parent_frame></Marker></objects></MarkerSet>",
        ),
        "unknown frame or body 'x'",
    ),
    "coupler": (
        osim(PLANE, rest=COUPLER.format("", line(1, 0), "q", "z")),
        "unknown coordinate 'z'",
    ),
    "circular coupler": (
        osim(PLANE, rest=COUPLER.format("", line(1, 0), "q", "q")),
        "depend on each other in a circle",
    ),
    "two sources": (
        osim(PLANE, rest=COUPLER.format("", line(1, 0), "q x", "q")),
        "expected one independent",
    ),
    "massless": (
        osim(joint()).replace("<mass>1<", "<mass>0<").replace("1 1 1", "0 0 0"),
        "singular",
    ),
    "frame cycle": (
        osim(
            joint(parent="/a"),
            rest="<components><PhysicalOffsetFrame name='a'><socket_parent>/a"
            "</socket_parent></PhysicalOffsetFrame></components>",
        ),
        "is it a cycle",
    ),
    "version 1": (osim(joint("CustomJoint", "<TransformAxisSet/>")), "OpenSim 1 wrote this file"),
    "not OpenSim": ("<robot/>", "expected <OpenSimDocument> as the outermost element"),
    "entity": (
        '<!DOCTYPE a [<!ENTITY b "c">]><OpenSimDocument>&b;</OpenSimDocument>',
        "document type",
    ),
    "deep": ("<OpenSimDocument>" + "<a>" * 100 + "</a>" * 100 + "</OpenSimDocument>", "64 deep"),
    "not XML": ("<OpenSimDocument><Model>", "not XML"),
    "not UTF-8": (b"<OpenSimDocument>\xff</OpenSimDocument>", "not UTF-8"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_files_name_the_element_and_what_is_expected(load, name):
    text, message = REFUSED[name]
    with pytest.raises(FileError, match=message) as caught:
        load(text)
    assert "model.osim" in str(caught.value)


def test_many_elements_are_refused(load):
    text = "<OpenSimDocument>" + "<a/>" * 500_000 + "</OpenSimDocument>"
    with pytest.raises(FileError, match="more than 400000 elements"):
        load(text)


def test_damaged_files_are_refused_or_give_sound_models(tmp_path):
    path = tmp_path / "model.osim"
    bases = [path.read_text() for path in JIG.values()]
    rng = np.random.default_rng(0)
    accepted, messages = 0, []
    for text in mutants(bases, MUTANTS, seed=3):
        path.write_text(text)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ModelWarning)
                model = load_osim(path)
        except FileError as error:
            messages.append(str(error))
            continue
        accepted += 1
        for name in ("axis", "R", "p", "inertia", "stiffness", "rest"):
            assert np.isfinite(getattr(model, name)).all(), text
        q = joint_positions(model, rng.uniform(-1, 1, model.n))
        assert np.isfinite(plain_mass_matrix(model.expanded, q)[0]).all()
    assert all(message.startswith(str(path)) for message in messages)
    assert accepted > MUTANTS // 10
    assert len(messages) > MUTANTS // 10
