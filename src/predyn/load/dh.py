"""Denavit-Hartenberg tables, standard and modified, serial and branched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from predyn.errors import InputError, ModelError, unknown_name
from predyn.model import DHTable, Model
from predyn.model.builder import Bound, ModelBuilder
from predyn.model.edits import number
from predyn.model.parts import Array, frozen, inertia_matrix, turn

X, Z = (1.0, 0.0, 0.0), (0.0, 0.0, 1.0)
CONVENTIONS = ("standard", "modified")


@dataclass(frozen=True, eq=False)
class DHRow:
    """One row: the constant DH parameters (rad, m) of a joint and the body it moves.

    q is added to theta (revolute) or to d (prismatic). com (m) and inertia (about the centre of
    mass; (3, 3), a diagonal or zz alone) are given in the DH frame of the link: the distal frame
    of a standard table, the frame at the joint of a modified one. A limit is one number (plus and
    minus), (lower, upper) or None.
    """

    theta: float = 0.0
    d: float = 0.0
    a: float = 0.0
    alpha: float = 0.0
    kind: str = "revolute"
    mass: float = 0.0
    com: ArrayLike = (0.0, 0.0, 0.0)
    inertia: ArrayLike | None = None
    position: Bound = None
    velocity: Bound = None
    acceleration: Bound = None
    effort: Bound = None
    stiffness: float = 0.0
    rest: float = 0.0
    damping: float = 0.0
    coulomb: float = 0.0
    coulomb_speed: float | None = None
    armature: float = 0.0
    ligaments: ArrayLike | None = None


# fields of a row that ModelBuilder.add_link takes unchanged
PASSED = ("kind", "mass", "position", "velocity", "acceleration", "effort", "stiffness", "rest",
          "damping", "coulomb", "coulomb_speed", "armature", "ligaments")  # fmt: skip


def load_dh(
    table: Sequence[DHRow | Mapping[str, Any]],
    *,
    convention: str = "standard",
    parents: Sequence[int] | None = None,
    names: Sequence[str] | None = None,
    joint_names: Sequence[str] | None = None,
    base: ArrayLike | None = None,
    gravity: ArrayLike = (0.0, 0.0, -9.81),
    tip: str = "tip",
    name: str = "dh",
    coulomb_speed: float | None = None,
) -> Model:
    """Build a Model from DH rows (DHRow or dicts with its fields).

    standard: T = Rz(theta) Tz(d) Tx(a) Rx(alpha), joint j about or along z of the previous frame.
    modified: T = Rx(alpha) Tx(a) Rz(theta) Tz(d), joint j about or along its own z.
    parents[j] is the row that row j follows (-1: the base); a serial chain by default. `base`
    (4, 4) is the pose of the base frame in the world. Links are named link1, link2, ... and
    joints joint1, ... in the order of the rows; the model numbers them depth first.

    The link frame is at the joint with its z along the axis. The DH frame of link "x" becomes frame
    "x_dh"; that of the last link of a serial chain also becomes `tip`, and that of each leaf "x" of
    a branched table "x_tip". A standard table is kept in model.dh; a modified one is not.
    coulomb_speed is for rows without one of their own; None as in `ModelBuilder.add_link`.
    """
    if convention not in CONVENTIONS:
        raise unknown_name("convention", convention, CONVENTIONS)
    if not isinstance(table, Sequence):
        raise InputError(f"DH table: expected a list of rows, got {type(table).__name__}")
    rows = [_read_row(row, j) for j, row in enumerate(table)]
    n = len(rows)
    links = _make_names(names, "link", n)
    joints = _make_names(joint_names, "joint", n)
    serial = list(range(-1, n - 1))
    before = serial if parents is None else [_check_parent(k, j, n) for j, k in enumerate(parents)]
    if len(before) != n:
        raise InputError(f"parents: expected {n} numbers, one per row, got {len(before)}")
    pose = _read_base(base)

    numbers = np.array([[row.theta, row.d, row.a, row.alpha] for row in rows]).reshape(n, 4)
    builder = ModelBuilder(name, gravity)
    for j, row in enumerate(rows):
        if row.coulomb_speed is None:
            row = replace(row, coulomb_speed=coulomb_speed)
        follows = _end_pose(rows[before[j]], convention) if before[j] >= 0 else pose
        start = _start_pose(row, convention)
        R_end, p_end = _end_pose(row, convention)
        what = f"row {j} ({links[j]!r})"
        inertia = inertia_matrix(row.inertia, f"{what}: inertia")
        builder.add_link(
            links[j],
            links[before[j]] if before[j] >= 0 else "world",
            joints[j],
            rotation=follows[0] @ start[0],
            origin=follows[0] @ start[1] + follows[1],
            com=R_end @ frozen(row.com, f"{what}: com", (3,)) + p_end,
            inertia=R_end @ inertia @ R_end.T,
            **{field: getattr(row, field) for field in PASSED},
        )
        builder.add_frame(f"{links[j]}_dh", links[j], p_end, R_end)
    for j in set(range(n)) - set(before):
        R_end, p_end = _end_pose(rows[j], convention)
        builder.add_frame(tip if before == serial else f"{links[j]}_tip", links[j], p_end, R_end)
    dh = None
    if convention == "standard":
        base_matrix = np.eye(4)
        base_matrix[:3, :3], base_matrix[:3, 3] = pose
        order = [links.index(link) for link in builder.order()]
        theta, d, a, alpha = numbers[order].T
        dh = DHTable(theta, d, a, alpha, base_matrix)
    return builder.build(dh=dh)


def _start_pose(row: DHRow, convention: str) -> tuple[Array, Array]:
    """Pose of the link frame at q = 0 in the frame that the row follows."""
    if convention == "modified":
        tilt = turn(X, row.alpha)
        return tilt @ turn(Z, row.theta), tilt @ np.array([row.a, 0.0, row.d])
    return turn(Z, row.theta), np.array([0.0, 0.0, row.d if row.kind == "prismatic" else 0.0])


def _end_pose(row: DHRow, convention: str) -> tuple[Array, Array]:
    """Pose of the row's DH frame in its link frame."""
    if convention == "modified":
        return np.eye(3), np.zeros(3)
    return turn(X, row.alpha), np.array([row.a, 0.0, 0.0 if row.kind == "prismatic" else row.d])


def _read_row(row: DHRow | Mapping[str, Any], j: int) -> DHRow:
    if isinstance(row, Mapping):
        valid = [field.name for field in fields(DHRow)]
        for key in row:
            if key not in valid:
                raise unknown_name(f"entry of DH row {j}:", key, valid)
        row = DHRow(**row)
    if not isinstance(row, DHRow):
        raise InputError(f"DH row {j}: expected a DHRow or a dict, got {type(row).__name__}")
    if row.kind not in ("revolute", "prismatic"):
        raise unknown_name(f"kind in DH row {j}:", row.kind, ("revolute", "prismatic"))
    numbers: dict[str, Any] = {
        field: number(getattr(row, field), f"DH row {j}: {field}")
        for field in ("theta", "d", "a", "alpha")
    }
    return replace(row, **numbers)


def _check_parent(value: int, j: int, n: int) -> int:
    if not isinstance(value, int | np.integer) or not -1 <= value < n or value == j:
        raise InputError(f"parents[{j}]: expected a row number in -1..{n - 1} not {j}, got {value}")
    return int(value)


def _make_names(given: Sequence[str] | None, what: str, n: int) -> list[str]:
    if given is None:
        return [f"{what}{j + 1}" for j in range(n)]
    if not isinstance(given, Sequence) or len(given) != n:
        got = len(given) if isinstance(given, Sequence) else given
        raise InputError(f"{what} names: expected {n}, one per row, got {got!r:.60}")
    return list(given)


def _read_base(base: ArrayLike | None) -> tuple[Array, Array]:
    if base is None:
        return np.eye(3), np.zeros(3)
    matrix = frozen(base, "base", (4, 4))
    if not np.array_equal(matrix[3], [0.0, 0.0, 0.0, 1.0]):
        raise ModelError(f"base: expected a pose with last row (0, 0, 0, 1), got {matrix[3]}")
    return matrix[:3, :3], matrix[:3, 3]
