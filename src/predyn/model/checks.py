"""Checks of a Model: names, numbers, tree, joints, inertias, frames."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from predyn.errors import ModelError, ModelWarning
from predyn.model.contacts import contact_point_problems
from predyn.model.couplings import find_problems
from predyn.model.ligaments import negative_parts
from predyn.model.loops import loop_problems
from predyn.model.mass_check import singular_mass_matrix
from predyn.model.parts import EPS, LARGEST, ROLES, SCREW, SHAPES, Array, unpack_inertias

if TYPE_CHECKING:
    from predyn.model.model import Model

MOST_LISTED = 20


def report(name: object, problems: list[str]) -> str:
    """One message for all problems of a model."""
    shown = problems[:MOST_LISTED]
    if len(problems) > MOST_LISTED:
        shown.append(f"... and {len(problems) - MOST_LISTED} more")
    if len(shown) == 1:
        return f"model {name!r:.60}: {shown[0]}"
    return f"model {name!r:.60} has {len(problems)} problems:\n- " + "\n- ".join(shown)


def check(model: Model) -> None:
    """Raise a ModelError that lists everything wrong; warn about merely odd inertias."""
    tree = model.expanded
    problems = _check_names(tree) + find_problems(tree.joint_names, model.couplings)
    if not problems:
        checks = (_check_tree, _check_joints, _check_inertias, _check_attached)
        problems = _check_numbers(tree) or [text for find in checks for text in find(tree)]
        problems += contact_point_problems(model) + loop_problems(model)
    if not problems:
        problems = singular_mass_matrix(model)
    if problems:
        raise ModelError(report(model.name, problems))


def _check_names(model: Model) -> list[str]:
    problems = []
    if model.n == 0:
        problems.append("it has no joints: a model needs at least one moving link")
    frames = [frame.name for frame in model.frames]
    for what, given in (("joint", model.joint_names), ("link", model.link_names)):
        if len(given) != model.n:
            problems.append(f"expected {model.n} {what} names, got {len(given)}")
    for what, names in (
        ("joint", list(model.joint_names)),
        ("link or frame", ["world", *model.link_names, *frames]),
    ):
        seen = set()
        for name in names:
            if not isinstance(name, str) or not name.strip():
                problems.append(f"{what} name {name!r}: expected a nonempty string")
            elif name in seen:
                problems.append(f"{what} name {name!r:.60} is used twice: names must differ")
            seen.add(name)
    return problems


def _check_numbers(model: Model) -> list[str]:
    problems = []
    per_joint = ("pitch", "axis", "R", "p", "stiffness", "rest", "damping", "coulomb",
                 "coulomb_speed", "armature", "rotor", "ligaments")  # fmt: skip
    for field in (*per_joint, "inertia"):
        values = getattr(model, field).reshape(model.n, -1)
        for j in np.flatnonzero(~(np.abs(values) <= LARGEST).all(axis=1)).tolist():
            fault = _describe_fault(values[j])
            problems.append(f"{_name_owner(model, field, j)}: {field} {fault}")
    if not (np.abs(model.gravity) <= LARGEST).all():
        problems.append(f"gravity {_describe_fault(model.gravity)}")
    none: tuple[float, ...] = ()
    poses = [(f"frame {frame.name!r}", frame.R, frame.p, none) for frame in model.frames]
    poses += [(f"shape {shape.kind!r}", shape.R, shape.p, shape.size) for shape in model.shapes]
    for what, R, p, size in poses:
        numbers = np.array([*R.ravel(), *p, *size])
        if not (np.abs(numbers) <= LARGEST).all():
            problems.append(f"{what}: pose or size {_describe_fault(numbers)}")
    if model.dh is not None:
        table = np.concatenate([np.ravel(getattr(model.dh, f)) for f in model.dh.__annotations__])
        if model.dh.theta.shape != (model.n,) or not (np.abs(table) <= LARGEST).all():
            problems.append(f"dh: expected {model.n} rows of finite numbers")
    for field, pairs in zip(model.limits._fields, model.limits, strict=True):
        valid = ((np.abs(pairs) <= LARGEST) | np.isinf(pairs)).all(axis=1)
        valid &= (pairs[:, 0] < np.inf) & (pairs[:, 1] > -np.inf)
        for j in np.flatnonzero(~(valid & (pairs[:, 0] <= pairs[:, 1]))).tolist():
            low, high = pairs[j]
            if not valid[j]:
                problems.append(
                    f"joint {model.joint_names[j]!r}: {field} limits ({low}, {high}) must be "
                    f"numbers up to {LARGEST:g}, or -inf, inf for none"
                )
            else:
                problems.append(
                    f"joint {model.joint_names[j]!r}: {field} limits are reversed: "
                    f"lower {low} > upper {high}"
                )
    return problems


def _name_owner(model: Model, field: str, j: int) -> str:
    if field == "inertia":
        return f"link {model.link_names[j]!r}"
    return f"joint {model.joint_names[j]!r}"


def _describe_fault(values: Array) -> str:
    bad = values[~(np.abs(values) <= LARGEST)]
    return f"contains {bad[0]}: numbers must be finite and at most {LARGEST:g} in magnitude"


def _check_tree(model: Model) -> list[str]:
    open_links = [-1]
    for j, k in enumerate(model.parent):
        while open_links and open_links[-1] != k:
            open_links.pop()
        if not open_links:
            return [
                f"link {model.link_names[j]!r} (number {j}): parent {k} is not an earlier link "
                "whose subtree is still open; number the links depth first, parents before "
                "children (ModelBuilder does this)"
            ]
        open_links.append(j)
    return []


NO_ROTATION = "R is not a rotation matrix (orthonormal to 1e-9, right-handed)"


@np.errstate(all="ignore")  # what overflows is no rotation
def _are_rotations(matrices: Iterable[Array]) -> list[bool]:
    R = np.array(list(matrices)).reshape(-1, 3, 3)
    error = np.abs(R @ R.transpose(0, 2, 1) - np.eye(3)).max(axis=(1, 2), initial=0.0)
    good: list[bool] = ((error <= 1e-9) & (np.linalg.det(R) >= 0.0)).tolist()
    return good


def _check_joints(model: Model) -> list[str]:
    problems = []
    rotations, lengths = _are_rotations(model.R), np.linalg.norm(model.axis, axis=1)
    for j, name in enumerate(model.joint_names):
        found = [] if rotations[j] else [NO_ROTATION]
        if model.kind[j] not in (0, 1, 2):
            found.append(f"kind {model.kind[j]}: expected 0 revolute, 1 prismatic or 2 screw")
        if not abs(lengths[j] - 1.0) <= 1e-9:
            found.append(f"axis {model.axis[j].tolist()} is not a unit vector")
        if model.pitch[j] != 0.0 and model.kind[j] != SCREW:
            found.append(f"pitch {model.pitch[j]} given, but only a screw joint has a pitch")
        for field in ("damping", "coulomb", "armature"):
            value = getattr(model, field)[j]
            if value < 0.0:
                found.append(f"{field} {value} is negative")
        found += negative_parts(model.ligaments[j])
        if model.coulomb[j] != 0.0 and not model.coulomb_speed[j] > 0.0:
            found.append(f"coulomb_speed {model.coulomb_speed[j]} must be positive")
        problems += [f"joint {name!r}: {text}" for text in found]
    rotor = model.rotor
    if rotor.any():
        size = np.abs(rotor).max()
        if not np.array_equal(rotor, rotor.T):
            problems.append("rotor matrix is not symmetric")
        elif np.linalg.eigvalsh(rotor)[0] < -8 * model.n * EPS * size:
            problems.append("rotor matrix is not positive semidefinite")
    return problems


def _check_inertias(model: Model) -> list[str]:
    problems = []
    rows = model.inertia
    with np.errstate(all="ignore"):
        mass, com, inertia = unpack_inertias(rows)
        # I_com = I_origin - m(|c|^2 1 - c c^T): a few roundings of each, and of the eigenvalues
        size = np.abs(rows[:, 4:]).max(axis=1) + (rows[:, 1:4] * com).sum(axis=1)
    only_moments = (mass == 0.0) & rows[:, 1:4].any(axis=1)
    far = ~(np.abs(com).max(axis=1) <= LARGEST)
    usable = ~((mass < 0.0) | only_moments | far)
    principal = np.zeros((len(rows), 3))
    principal[usable] = np.linalg.eigvalsh(inertia[usable])
    for j, name in enumerate(model.link_names):
        (low, middle, high), tolerance = principal[j], 32 * EPS * size[j]
        if mass[j] < 0.0:
            problems.append(f"link {name!r}: mass {mass[j]} is negative")
        elif only_moments[j]:
            problems.append(f"link {name!r}: mass 0 but first moments {rows[j, 1:4].tolist()}")
        elif far[j]:
            problems.append(f"link {name!r}: centre of mass {com[j].tolist()} is out of reach")
        elif low < -tolerance:
            problems.append(
                f"link {name!r}: inertia about the centre of mass is not positive semidefinite "
                f"(principal moments {low:.6g}, {middle:.6g}, {high:.6g}); is it given about "
                "another point or in other axes?"
            )
        elif low + middle < high - tolerance:
            warnings.warn(
                f"model {model.name!r:.60}: link {name!r:.60}: principal moments {low:.6g}, "
                f"{middle:.6g}, {high:.6g} break the triangle inequality: no rigid body has them "
                "(harmless in planar motion)",
                ModelWarning,
                stacklevel=6,
            )
    return problems


def _check_attached(model: Model) -> list[str]:
    problems = []
    rotations = _are_rotations(frame.R for frame in model.frames)
    for frame, rotation in zip(model.frames, rotations, strict=True):
        if not isinstance(frame.link, int | np.integer) or not -1 <= frame.link < model.n:
            problems.append(f"frame {frame.name!r}: link {frame.link} is not in -1..{model.n - 1}")
        if not rotation:
            problems.append(f"frame {frame.name!r}: {NO_ROTATION}")
    rotations = _are_rotations(shape.R for shape in model.shapes)
    for shape, rotation in zip(model.shapes, rotations, strict=True):
        if shape.kind not in SHAPES or shape.role not in ROLES or not -1 <= shape.link < model.n:
            problems.append(
                f"shape {shape.kind!r} ({shape.role!r}) on link {shape.link}: expected a kind from "
                f"{SHAPES}, a role from {ROLES} and a link in -1..{model.n - 1}"
            )
        elif not rotation:
            problems.append(f"shape {shape.kind!r} on link {shape.link}: {NO_ROTATION}")
    return problems
