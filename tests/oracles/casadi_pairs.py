"""Terms that compare two instants, as CasADi expressions of the symbols at both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import casadi as ca
import numpy as np

from oracles.casadi_terms import Residuals, Symbols

STATES = ("q", "v", "a", "jerk")


def _gain(
    first: Symbols, second: Symbols, channels: Sequence[str], joints: list[int], mirror: Callable
) -> Residuals:
    """Each channel at the second instant minus what the mirror makes of it at the first."""
    names = [f"{first.model.joint_names[j]} {x}" for x in channels for j in joints]
    gains = [getattr(second, x) - mirror(getattr(first, x)) for x in channels]
    return names, ca.vertcat(*(gain[joints] for gain in gains))


def _periodic(term: Any, first: Symbols, second: Symbols) -> Residuals:
    joints, channels = first.joints(term.joints), list(term.channels)
    names, r = _gain(first, second, channels, joints, lambda x: x)
    offset = np.zeros((len(channels), len(joints)))
    if "q" in channels:
        offset[channels.index("q")] = term.offset
    return names, r - ca.DM(offset.ravel())


def _symmetric(term: Any, first: Symbols, second: Symbols) -> Residuals:
    every = list(first.model.joint_names)
    image = {**term.swap, **{b: a for a, b in term.swap.items()}}
    mirror = np.zeros((len(every), len(every)))
    for j, name in enumerate(every):
        other = image.get(name, name)
        mirror[j, every.index(other)] = term.signs.get(name, term.signs.get(other, 1.0))
    matrix = ca.sparsify(ca.DM(mirror))
    joints, channels = first.joints(term.joints), list(term.channels)
    names, r = _gain(first, second, channels, joints, lambda x: matrix @ x)
    offset = np.zeros((len(channels), len(joints)))
    for name, gain in term.offset.items():
        offset[channels.index("q"), joints.index(every.index(name))] = gain
    return names, r - ca.DM(offset.ravel())


def _continuity(term: Any, first: Symbols, second: Symbols) -> Residuals:
    joints = first.joints(term.joints)
    return _gain(first, second, STATES[: term.order + 1], joints, lambda x: x)


def _frame_step(term: Any, first: Symbols, second: Symbols) -> Residuals:
    along = term.axis
    along = np.eye(3)["xyz".index(along)] if isinstance(along, str) else np.asarray(along, float)
    along = ca.sparsify(ca.DM(along / np.linalg.norm(along)))
    step = second.frame(term.frame)["p"] - first.frame(term.frame)["p"]
    return [f"{term.frame} step"], along.T @ step - term.target


PAIRS: dict[str, Callable[[Any, Symbols, Symbols], Residuals]] = {
    "periodic": _periodic,
    "symmetric": _symmetric,
    "continuity": _continuity,
    "frame_step": _frame_step,
}
