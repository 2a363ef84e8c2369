"""Check the scene of a problem: what it is made of, and that its fixed states keep clear."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from predyn.collision.arguments import LARGEST
from predyn.collision.clearance import checker_of
from predyn.collision.scene import Scene
from predyn.errors import InputError
from predyn.model.numbers import shown
from predyn.problem.check_phases import Finding, numbers
from predyn.problem.offers import phase_names

if TYPE_CHECKING:
    from predyn.problem.problem import Problem

MOST_NAMED = 3  # pairs in one message
ROUNDING = 1e-9  # m


def scene_problems(problem: Problem) -> Iterator[Finding]:
    scene: Any = problem.scene
    margin = numbers(problem.margin)
    if margin is None or margin.shape != () or not 0.0 <= margin <= LARGEST:
        expected = f"a distance of at least 0 m, at most {LARGEST:g} m"
        yield ("margin",), f"expected {expected}, got {shown(problem.margin)}"
        return
    if scene is None:
        if margin > 0.0:
            yield ("margin",), "expected a scene too: a margin is kept from its obstacles"
        return
    if not isinstance(scene, Scene):
        yield ("scene",), f"expected a predyn.Scene, got {type(scene).__name__}"
        return
    names = phase_names(problem)
    if not all(isinstance(name, str) for name in names):
        return  # found with the phases
    try:
        scene.check_phases(names)
        for name in names:
            checker_of(problem.model, scene.in_phase(name))
    except InputError as error:
        yield ("scene",), str(error)
        return
    yield from _touching(problem, scene, names)


def _touching(problem: Problem, scene: Scene, names: list[str]) -> Iterator[Finding]:
    """States whose positions are all given, nearer to something than the margin."""
    for k, phase in enumerate(problem.phases):
        checker = checker_of(problem.model, scene.in_phase(names[k]))
        if not checker.pairs or checker.moving:
            continue
        for end in ("start", "end"):
            # what is no State is found with the phases
            q = numbers(getattr(getattr(phase, end), "q", None))
            if q is None or q.shape != (problem.model.n,) or not np.isfinite(q).all():
                continue
            distance = checker.distances(q)
            near = np.flatnonzero(distance < problem.margin - ROUNDING)
            if not len(near):
                continue
            order = near[np.argsort(distance[near])]
            named = [_named(checker.pairs[i], float(distance[i])) for i in order[:MOST_NAMED]]
            more = f" and {len(near) - MOST_NAMED} more pairs" if len(near) > MOST_NAMED else ""
            yield (
                ("phases", k, end),
                f"{'; '.join(named)}{more}; the margin is {1e3 * problem.margin:g} mm. Move the "
                "robot or the obstacle, or list the pair in 'allowed' of the scene",
            )


def _named(pair: tuple[str, str], distance: float) -> str:
    how = f"overlap by {-1e3 * distance:.3g} mm" if distance < 0.0 else (
        f"are {1e3 * distance:.3g} mm apart"
    )  # fmt: skip
    return f"{pair[0]!r:.60} and {pair[1]!r:.60} {how}"
