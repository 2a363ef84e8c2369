"""Model: messages about invalid fields, effects of edits, and read-only arrays."""

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest

from predyn.dynamics import forward_dynamics
from predyn.errors import InputError, ModelError, ModelWarning
from predyn.model import Frame, Limits, Model, Shape
from predyn.model.builder import ModelBuilder
from predyn.model.mass_check import link_poses, plain_mass_matrix
from predyn.model.parts import move_inertia, pack_inertia, unpack_inertia
from predyn.models import branched_acrobot, manutec_r3, random_tree, two_link


def frame_pose(model, name, q):
    frame = model.frame(name)
    if frame.link < 0:
        return frame.R, frame.p
    R, p = link_poses(model, q)
    return R[frame.link] @ frame.R, p[frame.link] + R[frame.link] @ frame.p


def changed(model, field, index, value):
    array = getattr(model, field).copy()
    array[index] = value
    return replace(model, **{field: array})


def test_arrays_are_read_only_copies():
    given = np.array([0.0, 0.0, -1.0])
    model = two_link(gravity=given)
    given[:] = 7.0
    assert model.gravity.tolist() == [0.0, 0.0, -1.0]
    arrays = [value for value in vars(model).values() if isinstance(value, np.ndarray)]
    arrays += [*model.limits, model.dh.a, model.frames[0].R]
    assert len(arrays) > 15
    for array in arrays:
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 1
    assert model.parent.dtype == np.int64


def test_mass_and_weight():
    model = two_link().with_gravity((0.0, 3.0, -4.0))
    masses = [model.inertia[k, 0] for k in range(model.n)]
    assert model.mass == pytest.approx(sum(masses), rel=1e-15)
    assert model.weight == pytest.approx(5.0 * sum(masses), rel=1e-15)


def test_survives_pickling():
    model = pickle.loads(pickle.dumps(manutec_r3()))
    assert model.joint_names == ("joint1", "joint2", "joint3")
    assert np.array_equal(model.rotor, manutec_r3().rotor)


def test_names_are_found_or_the_nearest_listed():
    model = two_link()
    assert model.n == 2
    assert model.link_index("link2") == 1
    assert model.joint_index("joint2") == 1
    assert model.frame("world").link == -1
    assert model.frame("link2").p.tolist() == [0.0, 0.0, 0.0]
    assert model.frame("tip").p.tolist() == [0.4, 0.0, 0.0]
    with pytest.raises(InputError, match=r"unknown joint 'joint3'.*'joint2'"):
        model.joint_index("joint3")
    with pytest.raises(InputError, match=r"unknown link 'lnk1'.*'link1'"):
        model.link_index("lnk1")
    with pytest.raises(InputError, match=r"unknown frame or link 'tpi'.*'tip'"):
        model.frame("tpi")
    with pytest.raises(InputError, match="expected a name"):
        model.frame(3)
    assert repr(model) == "Model('two_link', n=2, joints: joint1, joint2)"


BAD = {
    "parent": ([1, -1], "depth first"),
    "kind": ([0, 5], "joint 'joint2': kind 5"),
    "axis": ([[0, 0, 1], [0, 0, 0.5]], "joint 'joint2': axis .* not a unit"),
    "pitch": ([0.1, 0.0], "joint 'joint1': pitch"),
    "R": (np.stack([np.eye(3), np.diag([1.0, 1.0, -1.0])]), "joint 'joint2': R is not a rotation"),
    "p": ([[0, 0, 0], [0, np.nan, 0]], "joint 'joint2': p contains nan"),
    "gravity": ([0, 0, np.inf], "gravity contains inf"),
    "damping": ([-1.0, 0], "joint 'joint1': damping -1.0 is negative"),
    "coulomb": ([0, -2.0], "joint 'joint2': coulomb -2.0 is negative"),
    "armature": ([-1.0, 0], "joint 'joint1': armature -1.0 is negative"),
    "stiffness": ([2e12, 0], "joint 'joint1': stiffness contains 2000000000000.0"),
    "ligaments": (
        [[[0, 0, 0], [1, -2, 3]], [[0, 0, 0]] * 2],
        "joint 'joint1': rate -2.0 of the upper ligament is negative",
    ),
    "rotor": ([[1, 2], [0, 1]], "rotor matrix is not symmetric"),
    "link_names": (("a",), "expected 2 link names, got 1"),
    "joint_names": (("a", "a"), "joint name 'a' is used twice"),
}


@pytest.mark.parametrize("field", BAD)
def test_bad_field_is_named(field):
    value, message = BAD[field]
    with pytest.raises(ModelError, match=message):
        replace(two_link(), **{field: value})


def test_more_invalid_fields():
    model = two_link()
    with pytest.raises(ModelError, match="rotor matrix is not positive semidefinite"):
        replace(model, rotor=[[1.0, 2.0], [2.0, 1.0]])
    with pytest.raises(ModelError, match=r"joint 'joint1': coulomb_speed 0.0 must be positive"):
        replace(model, coulomb=[1.0, 0.0], coulomb_speed=[0.0, 0.0])
    with pytest.raises(ModelError, match=r"link 'link1': mass -1.0 is negative"):
        changed(model, "inertia", (0, 0), -1.0)
    with pytest.raises(ModelError, match="link 'link1': mass 0 but first moments"):
        changed(model, "inertia", (0, 0), 0.0)
    with pytest.raises(ModelError, match="expected shape"):
        replace(model, p=np.zeros((3, 3)))
    with pytest.raises(ModelError, match="parent: expected whole numbers of shape"):
        replace(model, parent=[-1.0, 0.5])
    with pytest.raises(ModelError, match="frame name 'link1' is used twice"):
        replace(model, frames=(Frame("link1", 0, np.eye(3), np.zeros(3)),))
    with pytest.raises(ModelError, match=r"frame 'a': link 2 is not in -1..1"):
        replace(model, frames=(Frame("a", 2, np.eye(3), np.zeros(3)),))
    with pytest.raises(ModelError, match="shape 'ball'"):
        replace(model, shapes=(Shape(0, "ball", np.eye(3), np.zeros(3), (1.0,)),))
    with pytest.raises(InputError, match="frame 'a': R: expected shape"):
        Frame("a", 0, np.eye(2), np.zeros(3))


def test_limits_are_checked():
    model = two_link()
    with pytest.raises(ModelError, match="joint 'joint2': position limits are reversed"):
        model.with_limits(position=[[-1, 1], [1, -1]])
    with pytest.raises(ModelError, match=r"joint 'joint1': effort limits \(nan, nan\)"):
        model.with_limits(effort=[np.nan, 1.0])
    with pytest.raises(ModelError, match="limits"):
        replace(model, limits=Limits(*(np.zeros((3, 2)),) * 4))


def test_all_problems_are_listed_together():
    model = two_link()
    with pytest.raises(ModelError) as caught:
        replace(model, damping=[-1.0, -2.0], armature=[-3.0, 0.0])
    assert "3 problems" in str(caught.value)
    for text in ("damping -1.0", "damping -2.0", "armature -3.0"):
        assert text in str(caught.value)


@pytest.mark.parametrize("parent", [[-1, 0, 1, 0, 1], [-1, 0, 5, 0, 0], [0, 0, 0, 0, 0]])
def test_numbering_must_be_depth_first(parent):
    model = random_tree(5, 0)
    with pytest.raises(ModelError, match="depth first"):
        replace(model, parent=parent)


def test_inertia_must_be_physical():
    with pytest.raises(ModelError, match="link 'a': inertia about the centre of mass is not pos"):
        ModelBuilder().add_link("a", mass=1.0, com=(1, 0, 0), inertia=(1.0, 1.0, -0.1)).build()
    with pytest.warns(ModelWarning, match=r"link 'a'.*triangle inequality"):
        ModelBuilder().add_link("a", mass=1.0, inertia=0.1).build()
    # a thin rod far from its joint is on the border of both rules: rounding must not break them
    for distance in (0.1, 3.3, 1e4):
        ModelBuilder().add_link("a", mass=0.7, com=(0, distance, 1), inertia=(0.3, 0, 0.3)).build()


def test_massless_tip_is_named_and_massless_inner_link_is_fine():
    def chain(axis=(1, 0, 0), **tip):
        builder = ModelBuilder().add_link("a", mass=1.0, com=(1, 0, 0))
        return builder.add_link("b", "a", axis=axis, origin=(1, 0, 0), **tip).build()

    for tip in (
        {},
        {"mass": 1.0},  # a point at the joint
        {"mass": 1.0, "com": (0.1, 0.2, 0.3), "axis": (1, 2, 3)},  # on the axis, but for rounding
        {"mass": 1.0, "com": (0.5, 0, 0), "inertia": (0, 1, 1)},  # a thin rod about itself
    ):
        with pytest.raises(
            ModelError, match=r"singular.* joint 'b_joint' moves no inertia; .*give it mass"
        ):
            chain(**tip)
    # a point mass on the axis of a joint further in, but for rounding
    for axis in np.random.default_rng(0).standard_normal((8, 3)):
        further = ModelBuilder().add_link("a", axis=axis, origin=(5, 6, 7))
        further.add_link("b", "a", kind="prismatic", axis=axis, origin=0.7 * axis, mass=1.0)
        with pytest.raises(ModelError, match="joint 'a_joint' moves no inertia"):
            further.build()
    assert chain(armature=0.1).n == 2
    assert chain(mass=1.0, inertia=(0.1, 0.1, 0.1)).n == 2
    massless_inside = ModelBuilder().add_link("a").add_link("b", "a", axis=(0, 1, 0))
    massless_inside.add_link("c", "b", axis=(1, 0, 0), mass=1.0, com=(1, 2, 3), inertia=(1, 1, 1))
    assert massless_inside.build().n == 3


def test_two_joints_that_move_the_same_are_singular():
    builder = ModelBuilder().add_link("a").add_link("b", "a", mass=1.0, com=(1, 0, 0))
    with pytest.raises(ModelError, match="joints 'a_joint', 'b_joint' together"):
        builder.build()


def test_masses_may_differ_widely():
    builder = ModelBuilder(gravity=(0, 0, 0)).add_link("a", kind="prismatic", mass=1e9)
    builder.add_link("b", "a", kind="prismatic", axis=(1, 0, 0), mass=1e-9)
    a = forward_dynamics(builder.build(), np.zeros(2), np.zeros(2), np.ones(2))
    np.testing.assert_allclose(a, [1e-9, 1e9], rtol=1e-14)


def test_inertia_packing():
    rng = np.random.default_rng(3)
    model = random_tree(1, 5)
    mass, com, inertia = unpack_inertia(model.inertia[0])
    row = pack_inertia(mass, com, inertia)
    assert np.abs(row - model.inertia[0]).max() < 1e-15 * 8
    # kinetic energy of the same motion from both frames
    R, p = model.R[0], rng.standard_normal(3)
    moved_mass, moved_com, moved = unpack_inertia(move_inertia(row, R, p))
    w, v = rng.standard_normal(3), rng.standard_normal(3)

    def energy(m, c, about_com, w, v):
        at_com = v + np.cross(w, c)
        return 0.5 * (m * at_com @ at_com + w @ about_com @ w)

    there = energy(moved_mass, moved_com, moved, R @ w, R @ v - np.cross(R @ w, p))
    assert abs(there - energy(mass, com, inertia, w, v)) < 1e-14 * 8


def test_mass_matrix_is_kinetic_energy():
    """M against energies from differences of poses; the error of a central difference is h^2."""
    h, rng = 1e-5, np.random.default_rng(0)
    for seed in range(3):
        model = random_tree(7, seed)
        q, v = rng.standard_normal((2, model.n))
        (R0, p0), (R1, p1) = link_poses(model, q - h * v), link_poses(model, q + h * v)
        R = link_poses(model, q)[0]
        energy = 0.0
        for j in range(model.n):
            mass, com, inertia = unpack_inertia(model.inertia[j])
            velocity = (p1[j] + R1[j] @ com - p0[j] - R0[j] @ com) / (2 * h)
            spin = R[j].T @ (R1[j] - R0[j]) / (2 * h)
            w = np.array([spin[2, 1], spin[0, 2], spin[1, 0]])
            energy += 0.5 * (mass * velocity @ velocity + w @ inertia @ w)
        M, _ = plain_mass_matrix(model, q)
        assert abs(0.5 * v @ M @ v / energy - 1.0) < 1e-7


def test_payload_adds_its_kinetic_energy():
    model, q = manutec_r3(), np.array([0.3, -0.7, 1.1])
    h = 1e-6
    ends = [[frame_pose(model, "load", q + s * h * e)[1] for e in np.eye(3)] for s in (1, -1)]
    jacobian = ((np.array(ends[0]) - np.array(ends[1])) / (2 * h)).T
    added = plain_mass_matrix(model.attach_payload("load", 15.0), q)[0]
    expected = plain_mass_matrix(model, q)[0] + 15.0 * jacobian.T @ jacobian
    assert np.abs(added - expected).max() < 1e-7
    same = model.attach_payload("arm3", 15.0, point=(0, 0, 0.98))
    assert np.abs(same.inertia - model.attach_payload("load", 15.0).inertia).max() < 1e-13
    with pytest.raises(InputError, match="payload mass: expected at least 0"):
        model.attach_payload("load", -1.0)
    with pytest.raises(InputError, match="fixed to the world"):
        model.attach_payload("world", 1.0)


@pytest.mark.parametrize("seed", range(4))
def test_locked_model_equals_the_whole_with_joints_held(seed):
    whole = random_tree(9, seed)
    shape = Shape(6, "box", np.eye(3), np.array([1.0, 2.0, 3.0]), (1.0, 1.0, 1.0))
    frame = Frame("mark", 5, whole.R[2], np.array([0.3, -0.1, 0.2]))
    rotor = np.diag(np.arange(9.0))
    whole = replace(whole, frames=(frame,), shapes=(shape,), rotor=rotor)
    rng = np.random.default_rng(seed)
    q = rng.standard_normal(9)
    held = sorted(rng.choice(9, 4, replace=False))
    free = [j for j in range(9) if j not in held]
    locked = whole.lock({whole.joint_names[j]: q[j] for j in held})
    assert locked.joint_names == tuple(whole.joint_names[j] for j in free)
    M, inner = plain_mass_matrix(whole, q)[0], plain_mass_matrix(locked, q[free])[0]
    assert np.abs(inner - M[np.ix_(free, free)]).max() < 1e-13 * np.abs(M).max()
    for name in (*whole.link_names, "mark"):
        before, after = frame_pose(whole, name, q), frame_pose(locked, name, q[free])
        assert np.abs(before[0] - after[0]).max() < 1e-14
        assert np.abs(before[1] - after[1]).max() < 1e-13
    R, p = link_poses(whole, q)
    moved = locked.shapes[0]
    base = (np.eye(3), np.zeros(3))
    host = base if moved.link < 0 else tuple(x[moved.link] for x in link_poses(locked, q[free]))
    assert np.abs(host[0] @ moved.p + host[1] - R[6] @ shape.p - p[6]).max() < 1e-13


def test_lock_refuses():
    model = manutec_r3()
    with pytest.raises(InputError, match=r"lock joint 'joint2' at 3.0: outside its limits"):
        model.lock({"joint2": 3.0})
    with pytest.raises(InputError, match="unknown joint 'elbow'"):
        model.lock({"elbow": 0.0})
    with pytest.raises(InputError, match="expected a finite number"):
        model.lock({"joint2": np.nan})
    with pytest.raises(ModelError, match="at least one moving link"):
        model.lock({"joint1": 0, "joint2": 0, "joint3": 0})


def test_mass_and_inertia_edits():
    model = two_link()
    heavier = model.with_mass("link2", 1.0)
    assert np.allclose(heavier.inertia[1], 2 * model.inertia[1], rtol=1e-15, atol=0)
    assert np.array_equal(heavier.inertia[0], model.inertia[0])
    assert heavier.dh is model.dh
    new = model.with_inertia("link1", 2.0, (0.1, 0, 0), np.diag([0.0, 0.3, 0.3]))
    expected = [2.0, 0.2, 0, 0, 0, 0, 0.32, 0, 0, 0.32]
    assert np.allclose(new.inertia[0], expected, rtol=1e-15, atol=0)
    with pytest.raises(InputError, match="link 'arm1' is massless"):
        manutec_r3().with_mass("arm1", 1.0)
    with pytest.raises(ModelError, match=r"mass -0.5 is negative"):
        model.with_mass("link2", -0.5)


def test_length_moves_everything_at_the_end():
    model = two_link()
    longer = model.with_length("link1", 0.7)
    assert longer.p[1].tolist() == [0.7, 0.0, 0.0]
    assert longer.frame("link1_dh").p.tolist() == [0.7, 0.0, 0.0]
    assert longer.frame("tip").p.tolist() == [0.4, 0.0, 0.0]
    assert longer.dh is None
    assert np.array_equal(longer.inertia, model.inertia)
    end = model.with_length("link2", 0.5)
    assert end.frame("tip").p.tolist() == [0.5, 0.0, 0.0]
    assert branched_acrobot().with_length("link1", 3.0).p[:, 0].tolist() == [0.0, 3.0, 3.0]
    assert manutec_r3().with_length("arm3", 1.2, to="load").frame("load").p[2] == 1.2
    with pytest.raises(InputError, match="is at its origin"):
        manutec_r3().with_length("arm1", 1.0)
    with pytest.raises(InputError, match="expected more than 0"):
        model.with_length("link1", 0.0)
    with pytest.raises(InputError, match="unknown child joint or frame of link 'link1' 'tip'"):
        model.with_length("link1", 1.0, to="tip")
    fork = ModelBuilder().add_link("a").add_link("b", "a", origin=(1, 0, 0), mass=1, com=(1, 1, 0))
    fork.add_link("c", "a", origin=(0, 2, 0), mass=1, com=(1, 1, 0))
    with pytest.raises(InputError, match=r"2 ends; choose one with to=: \['b_joint', 'c_joint'\]"):
        fork.build().with_length("a", 1.0)
    assert fork.build().with_length("a", 5.0, to="c_joint").p[2].tolist() == [0.0, 5.0, 0.0]


def test_gravity_limits_and_placement_edits():
    model = two_link()
    assert model.with_gravity((1, 2, 3)).gravity.tolist() == [1.0, 2.0, 3.0]
    assert model.with_gravity((1, 2, 3)).dh is model.dh
    limited = model.with_limits(position=2.0, velocity=[1.0, 3.0], effort=[[-1, 2], [-3, 4]])
    assert limited.limits.position.tolist() == [[-2.0, 2.0], [-2.0, 2.0]]
    assert limited.limits.velocity.tolist() == [[-1.0, 1.0], [-3.0, 3.0]]
    assert limited.limits.effort.tolist() == [[-1.0, 2.0], [-3.0, 4.0]]
    assert limited.limits.acceleration is not None
    assert np.isinf(limited.limits.acceleration).all()
    with pytest.raises(InputError, match=r"effort limits: expected a number or 2 .*\[1, 2, 3\]"):
        model.with_limits(effort=[1, 2, 3])
    by_name = limited.with_limits(velocity={"joint2": 5.0}, effort={"joint1": [-7, 8]}).limits
    assert by_name.velocity.tolist() == [[-1.0, 1.0], [-5.0, 5.0]]
    assert by_name.effort.tolist() == [[-7.0, 8.0], [-3.0, 4.0]]
    for given, message in (
        ({"elbow": 1.0}, "unknown joint 'elbow'"),
        ({"joint1": -1.0}, "velocity limits of joint 'joint1': got -1.0 for plus and minus"),
        ({"joint1": (1, 2, 3)}, r"velocity limits of joint 'joint1': expected shape \(2,\)"),
        ({"joint1": "fast"}, "velocity limits of joint 'joint1': expected a number"),
        ("fast", "velocity limits: expected a number or 2 .* or a dict by joint name, got 'fast'"),
    ):
        with pytest.raises(InputError, match=message):
            model.with_limits(velocity=given)
    moved = model.with_placement("joint2", p=(0.1, 0.2, 0.3))
    assert moved.p[1].tolist() == [0.1, 0.2, 0.3]
    assert np.array_equal(moved.R, model.R)
    assert moved.dh is None
    with pytest.raises(ModelError, match="joint 'joint2': R is not a rotation"):
        model.with_placement("joint2", R=2 * np.eye(3))


def test_edits_leave_the_original_unchanged():
    model = two_link()
    before = {k: v.copy() for k, v in vars(model).items() if isinstance(v, np.ndarray)}
    model.attach_payload("tip", 1.0)
    model.lock({"joint1": 1.0})
    model.with_length("link1", 2.0)
    assert all(np.array_equal(getattr(model, k), v) for k, v in before.items())
    assert isinstance(model, Model)


def test_edits_accept_a_diagonal_inertia_and_refuse_a_skew_one() -> None:
    model = branched_acrobot()
    heavier = model.attach_payload("link2", 1.0, inertia=(0.1, 0.2, 0.25))
    same = model.attach_payload("link2", 1.0, inertia=np.diag([0.1, 0.2, 0.25]))
    np.testing.assert_array_equal(heavier.inertia, same.inertia)
    with pytest.raises(ModelError, match="not symmetric"):
        model.with_inertia("link2", 1.0, (0, 0, 0), [[1, 1, 0], [0, 1, 0], [0, 0, 1]])


def test_messages_of_edits_name_what_is_expected() -> None:
    model = branched_acrobot()
    with pytest.raises(InputError, match=r"lock: expected \{joint: value, ...\}"):
        model.lock("joint2")  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"got -1.0 for plus and minus.*\(3, 2\)"):
        model.with_limits(position=(-1.0, 1.0, 1.0))
    bare = ModelBuilder("bare").add_link("a", mass=1.0, com=(1, 0, 0)).build()
    with pytest.raises(InputError, match="no child joint and no frame"):
        bare.with_length("a", 2.0)


@pytest.mark.parametrize(
    "again", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))]
)
def test_copies_are_read_only_and_checked_too(again) -> None:
    model = again(two_link())
    arrays = [model.parent, model.R, model.gravity, model.limits.effort, model.frames[0].p]
    for array in [*arrays, model.dh.theta]:
        assert not array.flags.writeable
    broken = two_link()
    object.__setattr__(broken, "gravity", np.full(3, np.nan))
    with pytest.raises(ModelError, match="gravity"):
        again(broken)


def test_invalid_names_and_ragged_rows() -> None:
    builder = ModelBuilder("arm")
    for bad in (["a"], np.zeros(2), None, 3, ""):
        with pytest.raises(InputError, match="expected a name"):
            builder.add_link("a", parent=bad)
        with pytest.raises(InputError, match="expected a name"):
            builder.add_frame("tip", bad)
        with pytest.raises(InputError, match="expected a name"):
            two_link().frame(bad)
    for ragged in ({"inertia": [[1, 2], [3]]}, {"effort": [[1, 2], [3]]}):
        with pytest.raises(InputError, match="rows of different lengths"):
            builder.add_link("a", **ragged)
    with pytest.raises(InputError, match="rows of different lengths"):
        two_link().with_limits(position=[[1, 2], [3]])
