"""Check the cycle of a problem: what changes places, signs, and by how much it moves on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from predyn.errors import unknown_name
from predyn.model.floating_base import slides_of_base
from predyn.problem.check_phases import Finding, finite
from predyn.problem.contacts import Cycle
from predyn.problem.stances import AXES, Neighbours, Node
from predyn.problem.unknowns import Parameter

if TYPE_CHECKING:
    from predyn.problem.problem import Problem


def cycle_problems(problem: Problem) -> Iterator[Finding]:
    cycle: Any = problem.cycle
    if cycle is None:
        return
    if not isinstance(cycle, Cycle):
        yield ("cycle",), f"expected a Cycle, got {type(cycle).__name__}; write Cycle(...)"
        return
    if cycle.mirror not in (None, "x", "y"):
        yield ("cycle", "mirror"), f"expected 'x', 'y' or None, got {cycle.mirror!r:.40}"
    if not isinstance(cycle.advance, tuple) or len(cycle.advance) != 3:
        yield ("cycle", "advance"), f"expected (x, y, z) in m, got {cycle.advance!r:.60}"
    else:
        names = [x.name for x in problem.parameters if isinstance(x, Parameter)]
        for value in cycle.advance:
            if isinstance(value, str) and value not in names:
                yield ("cycle", "advance"), str(unknown_name("parameter", value, names))
            elif not isinstance(value, str) and not finite(value):
                yield ("cycle", "advance"), f"expected numbers in m, got {value!r:.40}"
    model = problem.model
    points = (*(x.name for x in model.contact_points), *model.patches)
    known = (*model.joint_names, *points)
    for field in ("swap", "signs"):
        given = getattr(cycle, field)
        if not isinstance(given, Mapping):
            yield ("cycle", field), f"expected a table by name, got {given!r:.60}"
            continue
        names = [*given, *given.values()] if field == "swap" else list(given)
        choices = known if field == "swap" else model.joint_names
        for name in names:
            if name not in choices:
                what = "joint, contact point or patch" if field == "swap" else "joint"
                yield ("cycle", field), str(unknown_name(what, name, dict.fromkeys(choices)))
        for name, sign in given.items() if field == "signs" else ():
            if isinstance(sign, bool) or sign not in (1, -1):
                yield ("cycle", field), f"sign of {name!r:.40}: expected 1 or -1, got {sign!r:.40}"
        words = [name for name in names if isinstance(name, str)]
        if field == "swap" and len({*words}) < len(words):
            twice = sorted({name for name in words if words.count(name) > 1})
            yield (
                ("cycle", field),
                f"expected each pair once, and each name in one pair; {', '.join(twice):.60} "
                "occurs twice",
            )


def image_problems(problem: Problem) -> Iterator[Finding]:
    """Points that touch, on links whose joints change places, must change places too."""
    cycle, tree = problem.cycle, problem.model.expanded
    if cycle is None:
        return
    patch = {point.name: point.patch for point in problem.model.contact_points}
    seen: set[str | None] = set()
    touching = dict.fromkeys(c.point for phase in problem.phases for c in phase.contacts)
    for name in touching:
        link = problem.model.frame(name).link
        while link >= 0 and cycle.image(tree.joint_names[link]) == tree.joint_names[link]:
            link = int(tree.parent[link])
        if link < 0:
            continue
        image = cycle.image(name)
        if image == name:
            yield (
                ("cycle", "swap"),
                f"contact point {name!r} moves with joint {tree.joint_names[link]!r}, which "
                "changes places, so it must change places too; add it, with its image",
            )
        elif patch.get(image) != cycle.image(patch[name]) and patch[name] not in seen:
            seen |= {patch[name], patch.get(image)}
            yield (
                ("cycle", "swap"),
                f"{name!r} changes places with {image!r}, but its patch {patch[name]!r} does not "
                f"change places with {patch.get(image)!r}; add the patches",
            )


def base_problems(problem: Problem) -> Iterator[Finding]:
    """In a mirror, slides of the base along its axis change sign."""
    cycle = problem.cycle
    if cycle is None:
        return
    slides = slides_of_base(problem.model)
    if not slides and any(x != 0.0 for x in cycle.advance):
        yield (
            ("cycle", "advance"),
            f"expected (0, 0, 0), since model {problem.model.name!r} has no floating base to move "
            f"on, got {cycle.advance!r:.60}",
        )
    for j, direction in slides.items():
        name, axis = problem.model.joint_names[j], int(np.argmax(np.abs(direction)))
        if np.abs(direction[axis]) < 1.0 - 1e-9 and any(x != 0.0 for x in cycle.advance):
            yield (
                ("cycle", "advance"),
                f"slide {name!r} of the base is not along a world axis; turn the base",
            )
        turned = isinstance(cycle.advance[axis], str) and direction[axis] < 0.0
        if turned:
            yield (
                ("cycle", "advance"),
                f"slide {name!r} points along -{AXES[axis]}, and the advance is a parameter; turn "
                "the base",
            )
        if AXES[axis] == cycle.mirror and cycle.signs.get(name, 1.0) != -1:
            yield (
                ("cycle", "signs"),
                f"joint {name!r} slides along {cycle.mirror}, which the mirror turns; add it with "
                "sign -1",
            )


def stuck_problems(problem: Problem, neighbours: Neighbours) -> Iterator[Finding]:
    """Points that never leave the ground, although the cycle moves them on."""
    cycle = problem.cycle
    if cycle is None:
        return
    for name, contact in neighbours.contacts[0].items():
        node, first, held = neighbours.after(Node(0, name)), Node(0, name), {*contact.hold}
        while neighbours.touches(node) and node != first:
            assert node is not None
            held |= {*neighbours.contacts[node.phase][node.name].hold}
            node = neighbours.after(node)
        for axis in sorted(held) if node == first else ():
            step = cycle.advance[AXES.index(axis)]
            if step != 0.0 and axis != cycle.mirror:
                moved = f"{step!r:.40}" if isinstance(step, str) else f"{step:g} m"
                yield (
                    ("phases",),
                    f"contact {name!r} touches in all phases, but the cycle moves it on by "
                    f"{moved} along {axis}; add a phase without this contact, or swap it with "
                    "that of the other side",
                )
