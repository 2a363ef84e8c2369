"""load_dh against products of the 4x4 matrices that define the two conventions."""

import numpy as np
import pytest

from predyn.errors import InputError, ModelError
from predyn.load.dh import DHRow, load_dh
from predyn.model.mass_check import link_poses, plain_mass_matrix
from predyn.model.parts import unpack_inertia


def rot(axis, angle):
    c, s = np.cos(angle), np.sin(angle)
    T = np.eye(4)
    i, j = {"x": (1, 2), "z": (0, 1)}[axis]
    T[i, i], T[i, j], T[j, i], T[j, j] = c, -s, s, c
    return T


def slide(x=0.0, z=0.0):
    T = np.eye(4)
    T[0, 3], T[2, 3] = x, z
    return T


def step(row, q, convention):
    theta = row.theta + (q if row.kind == "revolute" else 0.0)
    d = row.d + (q if row.kind == "prismatic" else 0.0)
    if convention == "standard":
        return rot("z", theta) @ slide(z=d) @ slide(x=row.a) @ rot("x", row.alpha)
    return rot("x", row.alpha) @ slide(x=row.a) @ rot("z", theta) @ slide(z=d)


def random_rows(n, rng):
    rows = []
    for _ in range(n):
        theta, d, a, alpha = rng.standard_normal(4)
        kind = "revolute" if rng.random() < 0.6 else "prismatic"
        points = rng.standard_normal((6, 3))
        second = points.T @ points
        inertia = np.trace(second) * np.eye(3) - second
        com = rng.standard_normal(3)
        rows.append(DHRow(theta, d, a, alpha, kind, rng.uniform(1, 2), com, inertia))
    return rows


@pytest.mark.parametrize("convention", ["standard", "modified"])
@pytest.mark.parametrize("parents", [None, [-1, 0, 0, 2, 1, -1, 5]])
def test_frames_and_bodies_follow_the_table(convention, parents):
    rng = np.random.default_rng(11)
    base = rot("x", 0.4) @ rot("z", -1.0) @ slide(0.3, 0.7)
    for _ in range(5):
        rows = random_rows(7, rng)
        q = rng.standard_normal(7)
        model = load_dh(rows, convention=convention, parents=parents, base=base)
        order = [int(name[4:]) - 1 for name in model.link_names]
        R, p = link_poses(model, q[order])
        before = range(-1, 6) if parents is None else parents
        T = [np.eye(4)] * 7
        moves = np.zeros((7, 7), dtype=bool)
        for j, k in enumerate(before):
            T[j] = (T[k] if k >= 0 else base) @ step(rows[j], q[j], convention)
            moves[j] = moves[k] if k >= 0 else False
            moves[j, j] = True
        M = np.zeros((7, 7))
        for j, row in enumerate(rows):
            i = model.link_index(f"link{j + 1}")
            frame = model.frame(f"link{j + 1}_dh")
            assert frame.link == i
            assert np.abs(R[i] @ frame.R - T[j][:3, :3]).max() < 1e-14
            assert np.abs(R[i] @ frame.p + p[i] - T[j][:3, 3]).max() < 1e-13
            mass, com, inertia = unpack_inertia(model.inertia[i])
            world_com = (T[j] @ [*row.com, 1.0])[:3]
            assert mass == row.mass
            assert np.abs(R[i] @ com + p[i] - world_com).max() < 1e-13
            world_inertia = T[j][:3, :3] @ row.inertia @ T[j][:3, :3].T
            assert np.abs(R[i] @ inertia @ R[i].T - world_inertia).max() < 1e-12
            M += jacobian_part(rows, before, base, T, j, moves[j], world_com, world_inertia,
                               convention)  # fmt: skip
        ours = plain_mass_matrix(model, q[order])[0]
        assert np.abs(ours - M[np.ix_(order, order)]).max() < 1e-12 * np.abs(M).max()


def jacobian_part(rows, before, base, T, j, moves, com, inertia, convention):
    """J^T I J of link j from axes read off the DH matrices: z of the frame before, or its own."""
    linear, angular = np.zeros((3, len(rows))), np.zeros((3, len(rows)))
    for k in np.flatnonzero(moves):
        A = T[k] if convention == "modified" else (T[before[k]] if before[k] >= 0 else base)
        z, origin = A[:3, 2], A[:3, 3]
        if rows[k].kind == "revolute":
            linear[:, k], angular[:, k] = np.cross(z, com - origin), z
        else:
            linear[:, k] = z
    return rows[j].mass * linear.T @ linear + angular.T @ inertia @ angular


def test_names_tips_and_table():
    body = {"mass": 1.0, "com": (0.1, 0.2, 0.3), "inertia": (1.0, 1.0, 1.0)}
    serial = load_dh([{"a": 1.0, **body}, {"d": 2.0, "kind": "prismatic", **body}], tip="hand")
    assert serial.frame("hand").link == 1
    assert serial.joint_names == ("joint1", "joint2")
    assert serial.dh.a.tolist() == [1.0, 0.0]
    assert serial.dh.d.tolist() == [0.0, 2.0]
    assert np.array_equal(serial.dh.base, np.eye(4))
    rows = [{"a": float(j), **body} for j in range(4)]
    forked = load_dh(rows, parents=[-1, 0, 0, 1], names="abcd", joint_names="wxyz")
    assert forked.link_names == ("a", "b", "d", "c")
    assert forked.joint_names == ("w", "x", "z", "y")
    assert forked.parent.tolist() == [-1, 0, 1, 0]
    assert forked.dh.a.tolist() == [0.0, 1.0, 3.0, 2.0]
    assert {"d_tip", "c_tip"} <= set(forked.frame_names)
    assert not {"a_tip", "b_tip", "tip"} & set(forked.frame_names)
    assert load_dh(rows, convention="modified").dh is None


def test_joint_options_are_passed_on():
    row = DHRow(mass=1.0, com=(1, 0, 0), inertia=(1, 1, 1), position=(-1, 2), effort=3.0,
                damping=0.1, armature=0.2, coulomb=0.3, stiffness=0.4, rest=0.5)  # fmt: skip
    model = load_dh([row], gravity=(0, 1, 0), name="one")
    assert model.name == "one"
    assert model.gravity.tolist() == [0.0, 1.0, 0.0]
    assert model.limits.position.tolist() == [[-1.0, 2.0]]
    assert model.limits.effort.tolist() == [[-3.0, 3.0]]
    values = [model.damping, model.armature, model.coulomb, model.stiffness, model.rest]
    assert [value[0] for value in values] == [0.1, 0.2, 0.3, 0.4, 0.5]


@pytest.mark.parametrize(
    ("table", "options", "message"),
    [
        ([{"alfa": 1.0}], {}, "entry of DH row 0: 'alfa'.*'alpha'"),
        ([{"kind": "screw"}], {}, "kind in DH row 0: 'screw'"),
        ([{"a": np.nan}], {}, "DH row 0: a: expected a finite number"),
        ([3], {}, "DH row 0: expected a DHRow or a dict, got int"),
        ([{"com": (1, 2)}], {}, r"row 0 \('link1'\): com: expected shape"),
        ([{}], {"convention": "craig"}, "unknown convention 'craig': valid names: 'standard'"),
        ([{}], {"parents": [0]}, r"parents\[0\]: expected a row number"),
        ([{}, {}], {"parents": [-1, 2]}, r"parents\[1\]: expected a row number in -1..1 not 1"),
        ([{}, {}], {"parents": [-1]}, "parents: expected 2 numbers"),
        ([{}], {"names": ["a", "b"]}, "link names: expected 1"),
        ([{}], {"base": np.eye(3)}, "base: expected shape"),
    ],
)
def test_bad_table_is_named(table, options, message):
    with pytest.raises(InputError, match=message):
        load_dh(table, **options)


def test_impossible_tables():
    with pytest.raises(ModelError, match="cycle of links link1 -> link2 -> link1"):
        load_dh([{}, {}], parents=[1, 0])
    with pytest.raises(ModelError, match="last row"):
        load_dh([{}], base=np.ones((4, 4)))
    with pytest.raises(ModelError, match="no joint"):
        load_dh([])
