"""load_urdf against Pinocchio's reader; its notes, and which files it refuses with little work."""

import os
import re
import sys
import tracemalloc
import warnings
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

from counted_calls import count_calls
from load.mutate_urdf import mutants
from predyn.errors import FileError, InputError, ModelWarning
from predyn.load.urdf import load_urdf
from predyn.model import PRISMATIC, REVOLUTE
from predyn.model.mass_check import link_poses, plain_mass_matrix

DATA = Path(__file__).parent / "data"
MAX = sys.float_info.max
MUTANTS = int(os.environ.get("PREDYN_MUTANTS", "500"))
INERTIAL = (
    '<inertial><origin xyz="0.1 0.2 0.3"/><mass value="1"/>'
    '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'
)


def robot(*parts, links=("base", "arm")):
    """A robot with a base, an arm with inertia and the given parts."""
    bodies = "".join(f'<link name="{name}">{INERTIAL}</link>\n' for name in links)
    return f'<robot name="r">\n{bodies}{"".join(parts)}</robot>'


def joint(inside="", name="j", kind="revolute", parent="base", child="arm"):
    ends = f'<parent link="{parent}"/><child link="{child}"/>'
    return f'<joint name="{name}" type="{kind}">\n{ends}{inside}</joint>\n'


@pytest.fixture
def load(tmp_path):
    def load(text, **options):
        path = tmp_path / "robot.urdf"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return load_urdf(path, **options)

    return load


def in_pinocchio(model, reference, q):
    """q in Pinocchio's order, with cosine and sine for continuous joints; and our joint numbers."""
    values, order = [], []
    for name, kind in zip(list(reference.names)[1:], list(reference.joints)[1:], strict=True):
        j = model.joint_index(name)
        order.append(j)
        values += [np.cos(q[j]), np.sin(q[j])] if kind.nq == 2 else [q[j]]
    return np.array(values), order


def test_mass_matrix_and_frames_equal_pinocchio():
    path = DATA / "arm.urdf"
    model, reference = load_urdf(path), pin.buildModelFromUrdf(str(path))
    data, rng = reference.createData(), np.random.default_rng(1)
    for _ in range(5):
        q = rng.uniform(-1, 1, model.n)
        theirs, order = in_pinocchio(model, reference, q)
        M = np.triu(pin.crba(reference, data, theirs))
        M = M + np.triu(M, 1).T
        ours = plain_mass_matrix(model, q)[0]
        assert np.abs(ours[np.ix_(order, order)] - M).max() < 1e-14 * np.abs(M).max() * 8
        pin.framesForwardKinematics(reference, data, theirs)
        R, p = link_poses(model, q)
        for name in ("table", "pedestal", "turret", "upper", "flange", "rod", "tool"):
            pose, frame = (
                data.oMf[reference.getFrameId(name, pin.FrameType.BODY)],
                model.frame(name),
            )
            R_link, p_link = (R[frame.link], p[frame.link]) if frame.link >= 0 else (np.eye(3), 0)
            assert np.abs(R_link @ frame.R - pose.rotation).max() < 1e-14
            assert np.abs(R_link @ frame.p + p_link - pose.translation).max() < 1e-14


def test_the_arm_is_read_completely():
    model = load_urdf(DATA / "arm.urdf", gravity=(0, 0, -1))
    assert model.name == "arm"
    assert model.joint_names == ("yaw", "shoulder", "slide")
    assert model.kind.tolist() == [REVOLUTE, REVOLUTE, PRISMATIC]
    assert np.allclose(model.axis, [[0, 0, 1], [0, 0.5**0.5, 0.5**0.5], [1, 0, 0]], atol=1e-16)
    assert model.gravity.tolist() == [0.0, 0.0, -1.0]
    assert model.limits.position.tolist() == [[-np.inf, np.inf], [-1.5, 2.0], [-0.1, 0.3]]
    assert model.limits.velocity[:, 1].tolist() == [3.0, 2.0, 0.5]
    assert model.limits.effort[:, 0].tolist() == [-30.0, -40.0, -100.0]
    assert model.damping.tolist() == [0.4, 0.0, 0.0]
    assert model.coulomb.tolist() == [0.2, 0.0, 0.0]
    kinds = [(shape.kind, shape.role, shape.link) for shape in model.shapes]
    assert kinds == [("box", "visual", -1), ("mesh", "visual", 0), ("cylinder", "collision", 0),
                     ("sphere", "collision", 1)]  # fmt: skip
    flange, sphere = model.frame("flange"), model.shapes[3]
    assert np.abs(sphere.p - flange.R @ [0.1, 0.2, 0.3] - flange.p).max() < 1e-15
    turned = flange.R @ pin.rpy.rpyToMatrix(0.4, 0.5, 0.6)
    assert np.abs(sphere.R - turned).max() < 1e-15
    assert model.shapes[1].mesh == "package://arm/turret.stl"
    assert model.shapes[1].size == (0.001, 0.001, 0.001)
    assert model.shapes[2].size == (0.05, 0.2)
    notes = "\n".join(model.notes)
    for text in ("root link 'table'", "link 'pedestal' is fixed to the world", "'glue' is fixed",
                 "<transmission>", "<gazebo>", "<material>", "<safety_controller>",
                 "joint 'yaw': friction"):  # fmt: skip
        assert text in notes


def test_floating_base_moves_freely():
    model = load_urdf(DATA / "drone.urdf", floating_base=True)
    six = ["frame_tx", "frame_ty", "frame_tz", "frame_rz", "frame_ry", "frame_rx"]
    assert list(model.joint_names) == [*six, "hinge_left", "hinge_right"]
    assert model.parent.tolist() == [-1, 0, 1, 2, 3, 4, 5, 5]
    assert (model.inertia[:5] == 0).all()
    assert model.link_names[5] == "frame"
    q = np.array([1.0, 2.0, 3.0, 0.3, -0.4, 0.5, 0.1, -0.2])
    M = plain_mass_matrix(model, q)[0]
    assert np.abs(M[:3, :3] - 1.4 * np.eye(3)).max() < 1e-15 * 4
    turn = pin.rpy.rpyToMatrix(0.5, -0.4, 0.3)  # roll, pitch, yaw: fixed x, then y, then z
    R, p = link_poses(model, q)
    assert np.abs(R[5] - turn).max() < 1e-15
    assert np.abs(p[5] - [1, 2, 3]).max() < 1e-15
    assert "became six joints" in model.notes[0]
    assert load_urdf(DATA / "drone.urdf").n == 2


def test_floating_joint_inside():
    model = load_urdf(DATA / "thrown.urdf")
    assert model.n == 7
    assert model.joint_names[0] == "flight_tx"
    assert model.link_names == ("ball_tx", "ball_ty", "ball_tz", "ball_rz", "ball_ry", "ball",
                                "weight")  # fmt: skip
    assert model.p[0].tolist() == [0.0, 0.0, 1.0]
    assert model.axis[6].tolist() == [1.0, 0.0, 0.0]
    assert np.isinf(model.limits.position).all()
    assert "no <limit>" in "\n".join(model.notes)
    assert "<visual> without a known shape" in "\n".join(model.notes)


def test_floating_base_needs_a_link_that_can_move():
    with pytest.raises(FileError, match=r"line 2, <link name='world'>: .*floating_base"):
        load_urdf(DATA / "thrown.urdf", floating_base=True)


@pytest.mark.parametrize(
    "huge", ["1e16", "1e308", "1e999", "inf", "Infinity", "1.00001e12", f"{MAX:f}"]
)
def test_huge_limits_mean_no_limit(load, huge):
    """Exporters write various values for "none"."""
    model = load(
        robot(joint(f'<limit lower="-{huge}" upper="{huge}" effort="{huge}" velocity="3"/>'))
    )
    assert model.limits.position.tolist() == [[-np.inf, np.inf]]
    assert model.limits.effort.tolist() == [[-np.inf, np.inf]]
    assert model.limits.velocity.tolist() == [[-3.0, 3.0]]
    notes = "\n".join(model.notes)
    for entry, value in (("lower", f"-{huge}"), ("upper", huge), ("effort", huge)):
        assert f"joint 'j': {entry}={value!r:.40} is beyond 1e+12: no limit" in notes
    half = load(robot(joint(f'<limit lower="-1e12" upper="{huge}" effort="1" velocity="1"/>')))
    assert half.limits.position.tolist() == [[-1e12, np.inf]]


def test_lenient_limits_are_noted(load):
    model = load(robot(joint('<limit upper="2" effort="0"/>')))
    assert model.limits.position.tolist() == [[0.0, 2.0]]
    assert np.isinf(model.limits.velocity).all()
    notes = "\n".join(model.notes)
    assert "only upper given" in notes
    assert "no velocity limit" in notes
    assert "effort limit is 0" in notes
    model = load(robot(joint('<limit lower="1" upper="2" effort="1" velocity="1"/>',
                             kind="continuous")))  # fmt: skip
    assert np.isinf(model.limits.position).all()
    assert "lower and upper are ignored" in "\n".join(model.notes)


REFUSED = {
    "not XML": ("hello", "line 1: not XML"),
    "empty": ("", "not XML"),
    "unclosed": ("<robot>\n<link name='a'>", "line 2: not XML"),
    "bytes": (b"\x89PNG\r\n\x1a\n\xff\xfe", "not UTF-8"),
    "utf-16": ("<robot/>".encode("utf-16"), "not UTF-8"),
    "latin-1": ('<?xml version="1.0" encoding="latin-1"?><robot/>', "'latin-1': save.*UTF-8"),
    "other root": ("<sdf/>", "line 1, <sdf>: expected <robot>"),
    "xacro": ('<robot><xacro:macro name="m"/></robot>', "expand it to URDF"),
    "no link": ("<robot/>", "at least one <link>"),
    "no joint": (robot(links=("base",)), "no joint"),
    "DTD": ("<!DOCTYPE robot SYSTEM 'x.dtd'><robot/>", "document type or entities"),
    "entity": ("<robot>&boom;</robot>", "undefined entity"),
    "link twice": (robot(joint(), links=("base", "arm", "arm")), "line 4, <link.*used in line 3"),
    "joint twice": (robot(joint(), joint()), "<joint name='j'>: the name is .*in line 4"),
    "no name": (robot(joint(name=" ")), "line 4, <joint name=' '>: expected the attribute 'name'"),
    "long name": (robot(joint(name="x" * 999)), "999 characters"),
    "unknown type": (robot(joint(kind="revolut")), "unknown joint type 'revolut': .*'revolute'"),
    "planar": (robot(joint(kind="planar")), "planar joints are not supported"),
    "mimic of nothing": (robot(joint('<mimic joint="k"/>')), "unknown joint to mimic 'k'"),
    "mimic without name": (robot(joint("<mimic/>")), "<mimic>: expected the attribute 'joint'"),
    "no such link": (robot(joint(child="arn")), "line 5, <child>: unknown link 'arn'.*'arm'"),
    "no child": (robot('<joint name="j" type="fixed"><parent link="base"/></joint>'),
                 "expected a <child> inside"),
    "two parents": (robot(joint(), joint(name="k")), "already the child of joint 'j'"),
    "two roots": (robot(), "2 root links.*'base', 'arm'"),
    "cycle": (robot(joint(), joint(name="k", parent="arm", child="base")), "part of a cycle"),
    "cycle aside": (robot(joint(), joint(name="k", parent="b", child="c"),
                          joint(name="l", parent="c", child="b"), links=("base", "arm", "b", "c")),
                    "<link name='b'>: it is part of a cycle"),
    "axis without xyz": (
        robot(joint("<axis/>")),
        r"line 5, <axis>: expected the attribute 'xyz' with 3 number\(s\), got none",
    ),
    "zero axis": (robot(joint('<axis xyz="0 0 0"/>')), "line 5, <axis>: the axis is zero"),
    "nan": (robot(joint('<axis xyz="0 nan 1"/>')), "line 5, <axis>: xyz: .*finite.*got 'nan'"),
    "inf": (robot(joint('<origin xyz="0 0 inf"/>')), "<origin>: xyz: .*got 'inf'"),
    "underscore": (robot(joint('<origin xyz="0 0 1_0"/>')), "got '1_0'"),
    "other digits": (robot(joint('<origin xyz="0 0 ٣"/>')), "got '٣'"),
    "huge": (robot(joint('<origin xyz="0 0 1e308"/>')), "got '1e308'"),
    "two numbers": (robot(joint('<axis xyz="0 1"/>')), r"expected 3 number\(s\), got 2"),
    "reversed": (robot(joint('<limit lower="1" upper="-1"/>')), "lower 1.0 > upper -1.0"),
    "reversed, infinite": (robot(joint('<limit lower="1e20" upper="-inf"/>')), "reversed"),
    "below a huge lower": (robot(joint('<limit lower="1e20" upper="1"/>')), "reversed"),
    "both huge": (robot(joint('<limit lower="1e16" upper="1e17"/>')), "on the same side"),
    "nan limit": (robot(joint('<limit lower="nan" upper="1"/>')), "<limit>: lower: .*got 'nan'"),
    "nan effort": (robot(joint('<limit effort="NaN"/>')), "<limit>: effort: .*got 'NaN'"),
    "negative infinite effort": (robot(joint('<limit effort="-inf"/>')), "effort -inf is negative"),
    "endless number": (robot(joint(f'<limit effort="{"9" * 401}"/>')), "effort: .*plain finite"),
    "negative effort": (robot(joint('<limit effort="-1"/>')), "effort -1.0 is negative"),
    "negative damping": (robot(joint('<dynamics damping="-1"/>')), "damping -1.0 is negative"),
    "two limits": (robot(joint("<limit/><limit/>")), "<limit>: given twice"),
    "negative mass": (robot(joint()).replace('mass value="1"', 'mass value="-1"'),
                      "<mass>: mass -1.0 of link"),
    "no mass": (robot(joint()).replace('<mass value="1"/>', ""), "<inertial>: expected a <mass>"),
    "no ixy": (robot(joint()).replace('ixy="0"', ""), "<inertia>: expected the attribute 'ixy'"),
    "not definite": (robot(joint()).replace('ixx="1"', 'ixx="-1"'),
                     "link 'arm': inertia about the centre of mass"),
    "no inertia": (robot(joint()).replace(INERTIAL, ""), "joint 'j' moves no inertia"),
    "link named world": (robot(joint(child="world"), links=("base", "world")), "link name 'world'"),
    "mesh": (robot(joint(), "<link name='m'><visual><geometry><mesh/></geometry></visual></link>",
                   joint(name="k", kind="fixed", parent="arm", child="m")), "<mesh>.*'filename'"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_refused_by_name(load, case):
    text, message = REFUSED[case]
    with pytest.raises(FileError, match=message) as caught:
        load(text)
    assert re.match(r".*robot\.urdf(, line \d+)?(, <.*>)?: ", str(caught.value))


def chain(n, kind, inertial):
    links = "".join(f'<link name="l{j}">{inertial}</link>' for j in range(n + 1))
    joints = (joint(name=f"j{j}", kind=kind, parent=f"l{j}", child=f"l{j + 1}") for j in range(n))
    return f"<robot>{links}{''.join(joints)}</robot>"


LAUGHS = "".join(f'<!ENTITY l{j} "{f"&l{j - 1};" * 10}">' for j in range(1, 10))
HOSTILE = {
    "billion laughs": (
        "document type or entities",
        lambda: f'<!DOCTYPE r [<!ENTITY l0 "ha">{LAUGHS}]><robot name="&l9;"/>',
    ),
    "deep": ("nested more than 64 deep", lambda: "<robot>" + "<a>" * 100_000),
    "deep and closed": (
        "nested more than 64 deep",
        lambda: "<robot>" + "<a>" * 100_000 + "</a>" * 100_000 + "</robot>",
    ),
    "33 MB": (
        "larger than 32 MB",
        lambda: "<robot>" + "<!-- nothing -->\n" * (33 * 2**20 // 17) + "</robot>",
    ),
    "31 MB of comments": (
        "at least one <link>",
        lambda: "<robot>" + "<!-- nothing -->\n" * (31 * 2**20 // 17) + "</robot>",
    ),
    "elements": ("more than 20000 elements", lambda: "<robot>" + "<a/>" * 1_000_000 + "</robot>"),
    "attributes": (
        "characters without a new tag",
        lambda: "<robot " + " ".join(f'a{j}="0"' for j in range(1_000_000)) + "/>",
    ),
    "text": ("characters without a new tag", lambda: "<robot>" + "a" * 30_000_000 + "</robot>"),
    "long number": (
        "expected a plain finite number",
        lambda: robot(joint(f'<axis xyz="0 0 {"1" * 90_000}"/>')),
    ),
    "fixed chain": ("no joint", lambda: chain(4_900, "fixed", "")),
    "massless chain": ("joints 'j0'", lambda: chain(500, "revolute", "")),
    "too many joints": ("more than 500 moving joints", lambda: chain(2_000, "revolute", INERTIAL)),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_file_is_refused_fast_and_small(tmp_path, case):
    path = tmp_path / "hostile.urdf"
    message, text = HOSTILE[case]
    path.write_text(text())

    def refuse():
        with pytest.raises(FileError, match=rf"hostile\.urdf.*{message}"):
            load_urdf(path)

    assert count_calls(refuse) < 2_000_000  # tens to hundreds for one of its 20,000 elements
    tracemalloc.start()
    with pytest.raises(FileError):
        load_urdf(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 128 * 2**20  # the bytes and the text of 32 MB, and something to work with


def test_unreadable_paths(tmp_path):
    with pytest.raises(FileError, match=r"none\.urdf: cannot be read: No such file"):
        load_urdf(tmp_path / "none.urdf")
    for path in (tmp_path, "/dev/null"):
        with pytest.raises(FileError, match=r"expected a file, this is a (folder|device)"):
            load_urdf(path)
    with pytest.raises(FileError, match="null byte"):
        load_urdf("a\0b")
    with pytest.raises(InputError, match="expected the path of a file, got int"):
        load_urdf(3)
    with pytest.raises(InputError, match="gravity"):
        load_urdf(DATA / "arm.urdf", gravity=(0, np.nan, 0))


def test_mutated_files_give_models_or_named_errors(tmp_path):
    path = tmp_path / "mutant.urdf"
    bases = [file.read_text() for file in sorted(DATA.glob("*.urdf"))]
    rng = np.random.default_rng(0)
    accepted, messages = 0, []
    for number, text in enumerate(mutants(bases, MUTANTS, seed=2)):
        path.write_text(text)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ModelWarning)
                model = load_urdf(path, floating_base=number % 3 == 0)
        except FileError as error:
            messages.append(str(error))
            continue
        accepted += 1
        for name in ("axis", "R", "p", "inertia", "damping", "coulomb"):
            assert np.isfinite(getattr(model, name)).all(), text
        M = plain_mass_matrix(model, rng.uniform(-1, 1, model.n))[0]
        np.linalg.cholesky(M)
    assert all(message.startswith(str(path)) for message in messages)
    assert accepted > MUTANTS // 10
    assert len(messages) > MUTANTS // 10


def test_floating_joints_count_six_and_names_are_searched_in_bounded_time(tmp_path):
    links = "".join(f'<link name="l{k}"/>' for k in range(100))
    joints = "".join(
        f'<joint name="j{k}" type="floating"><parent link="l0"/><child link="l{k}"/></joint>'
        for k in range(1, 100)
    )
    path = tmp_path / "many.urdf"
    path.write_text(f'<robot name="r">{links}{joints}</robot>')
    with pytest.raises(FileError, match="more than 500 moving joints"):
        load_urdf(path)
    names = [f"{'a' * 190}{k}" for k in range(9000)]
    links = "".join(f'<link name="{name}"/>' for name in names)
    ends = f'<parent link="{"a" * 190}z"/><child link="{names[0]}"/>'
    joint = f'<joint name="j" type="fixed">{ends}</joint>'
    path.write_text(f'<robot name="r">{links}{joint}</robot>')

    def refuse():
        with pytest.raises(FileError):
            load_urdf(path)

    assert count_calls(refuse) < 2_000_000  # an unbounded search for near names takes 1e9
