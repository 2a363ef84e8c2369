"""Check what carries a body on the ground: its base, shared forces, and the height of places."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from predyn.model import PRISMATIC
from predyn.model.floating_base import floating_base, root_chain
from predyn.problem.check_phases import Finding, Path
from predyn.problem.offers import phase_name
from predyn.problem.stances import Neighbours, Node, Stances

if TYPE_CHECKING:
    from predyn.kernels.forces import ExternalForce
    from predyn.problem.problem import Problem

SAME_HEIGHT = 1e-6  # m


def shared_problems(problem: Problem) -> Iterator[Finding]:
    """Forces that belong to whole patches, and patches without a vertical force."""
    patch = {point.name: point.patch for point in problem.model.contact_points}
    before: dict[str, tuple[str, str]] = {}
    for p, phase in enumerate(problem.phases):
        where: Path = ("phases", p, "contacts")
        pushed: dict[str, str] = {}
        seen: dict[str, str] = {}
        for k, contact in enumerate(phase.contacts):
            name = patch[contact.point]
            pushed[name] = pushed.get(name, "") + contact.push
            if not contact.shared or name == contact.point:
                continue
            if name in seen:
                yield (
                    (*where, k, "shared"),
                    f"patch {name!r} has one force along each shared axis, but {seen[name]!r} and "
                    f"{contact.point!r} both share in this phase; share at one of them",
                )
            seen[name] = contact.point
            axes, there = before.setdefault(name, (contact.shared, phase_name(problem, p)))
            if {*axes} != {*contact.shared}:
                yield (
                    (*where, k, "shared"),
                    f"expected {axes!r}, as for patch {name!r} in phase {there!r}, got "
                    f"{contact.shared!r}: a patch has the same unknown forces in all phases",
                )
        for name, axes in pushed.items():
            if {*axes} & {"x", "y"} and "z" not in axes:
                yield (
                    where,
                    f"patch {name!r} is pushed along {axes!r} without z in phase "
                    f"{phase_name(problem, p)!r}: friction needs a vertical force; add z to push",
                )


def carrying_problems(problem: Problem) -> Iterator[Finding]:
    """The ground carries the body along z, at points that stay on it."""
    gravity = problem.model.gravity
    sideways = np.abs(gravity[:2]).max() > 1e-9 * np.abs(gravity).max(initial=1.0)
    if sideways and problem.ground.slope == 0.0 and abs(gravity[2]) < np.abs(gravity[:2]).max():
        yield (
            ("ground",),
            "the ground pushes along z, but gravity is "
            f"({', '.join(f'{x:g}' for x in gravity)}) m/s^2; turn the model so that z is up",
        )
    for p, phase in enumerate(problem.phases):
        pushed = [x for x in phase.contacts if "z" in x.push]
        if pushed and not any("z" in x.hold for x in phase.contacts):
            yield (
                ("phases", p, "contacts"),
                f"the ground pushes {pushed[0].point!r} along z, but no contact of phase "
                f"{phase_name(problem, p)!r} is held along z, so that it need not touch; add z to "
                "hold",
            )
    points = {x.point for phase in problem.phases for x in phase.contacts}
    own: list[tuple[Path, ExternalForce]]
    own = [(("forces", k), x) for k, x in enumerate(problem.forces)]
    for name, system in problem.systems.items():
        own += [(("systems", name, "forces", k), x) for k, x in enumerate(system.forces or ())]
    for where, force in own:
        for part in ("force", "moment"):
            signal: Any = getattr(force, part, None)
            if isinstance(signal, str) and signal in points:
                yield (
                    (*where, part),
                    f"{signal!r} is the force of the ground on a contact point, which "
                    "already acts there; name another signal",
                )


def motor_problems(problem: Problem) -> Iterator[Finding]:
    """A floating base must not have motors while it stands on the ground."""
    base = floating_base(problem.model)
    if base is None:
        model, tree = problem.model, problem.model.expanded
        for link in root_chain(model):
            name = tree.joint_names[link]
            free = tree.kind[link] == PRISMATIC and not np.isfinite(tree.limits.effort[link]).any()
            if free and name not in problem.passive and not _passive_in_systems(problem, name):
                yield (
                    ("passive",),
                    f"slide {name!r} holds the body and would have a motor without limit, which "
                    "carries it in place of the ground; add it to passive, or give it an effort "
                    "limit if it has a motor",
                )
        return
    joints = {problem.model.joint_names[j] for j in base}
    given: list[tuple[Path, Sequence[str]]]
    given = [(("passive",), problem.passive)] if problem.passive else []
    for name, system in problem.systems.items():
        if system.passive is not None:
            given.append((("systems", name, "passive"), system.passive))
    for where, passive in given:
        driven = sorted(joints - {*passive})
        if driven:
            yield (
                where,
                f"joints {', '.join(driven)} of the floating base would have motors, which carry "
                "the body in place of the ground; add them to passive, or leave passive out",
            )


def step_problems(problem: Problem, neighbours: Neighbours, stances: Stances) -> Iterator[Finding]:
    """Contacts that a cycle takes to a place above or inside the ground."""
    for p, contacts in enumerate(neighbours.contacts):
        for k, (name, contact) in enumerate(contacts.items()):
            if "x" not in contact.hold or "z" not in contact.hold:
                continue
            x, z = (stances.place(Node(p, name), axis) for axis in "xz")
            if x.parameters or z.parameters:
                continue
            given = None if contact.place is None else contact.place[2]
            height = problem.ground.height_at(x.number)
            if given is None and abs(z.number - height) > SAME_HEIGHT:
                yield (
                    ("phases", p, "contacts", k),
                    f"{name!r} stands at x = {x.number:g} m, where the ground is at {height:g} m, "
                    f"but from other phases or the cycle its height is {z.number:g} m; let the "
                    "steps of the ground and the advance of the cycle agree, or give its place "
                    "along z",
                )


def _passive_in_systems(problem: Problem, joint: str) -> bool:
    """Whether all phases have systems in which a joint has no motor."""
    own = [problem.systems[x.system].passive for x in problem.phases if x.system is not None]
    return len(own) == len(problem.phases) and all(x is not None and joint in x for x in own)
