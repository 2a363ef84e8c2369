"""Angles, moments, powers, ground forces and reactions of a motion over its gait cycles."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from predyn.analysis.feet import Foot, Walk
from predyn.analysis.gait import PERCENT, Curve, Cycle
from predyn.analysis.motions import Floats, Motion, interpolated
from predyn.analysis.sides import LEFT, RIGHT, SIDES, Pair, checked_pairs, find_pairs, plain_name
from predyn.dynamics.kinematics import frame_kinematics
from predyn.errors import InputError, unknown_name
from predyn.model import PRISMATIC, Model
from predyn.model.couplings import sources
from predyn.model.floating_base import floating_base

ANATOMY = {"hip": ("hip",), "knee": ("knee",), "ankle": ("ankle", "talocrural")}  # in this order
FIRST = ("flexion", "pitch", "extension")  # of several axes of a joint
ANGLE, MOMENT, POWER, REACTION, RESIDUAL = "angle", "moment", "power", "reaction", "residual"
PRESSURE = "pressure"  # of which the centre is meant
STANDING = 0.3  # share of stance after which the heel stands flat
SMALLEST = 1e-6  # m, of a way that is not rounding
DEGREES = 180.0 / np.pi
WEIGHTS = "BW"  # body weights

Sampler = Callable[[str, Floats], Floats]  # side, times (M,) -> values (M,)


def _free_name(joint: str, taken: set[str]) -> str:
    """A name for the curves of a joint without a partner, unlike those of other curves."""
    options = (plain_name(joint), joint, *(f"{joint}_{k}" for k in range(2, len(taken) + 3)))
    return next(name for name in options if name not in taken)


def cycle_curves(
    motion: Motion,
    walk: Walk,
    cycles: Sequence[Cycle],
    mass: float,
    pairs: Mapping[str, Sequence[str]] | None,
    signs: Mapping[str, float] | None,
) -> dict[str, Curve]:
    """All curves by name: hips, knees and ankles, other joints, the ground, the base."""
    model, base = motion.model, base_joints(motion.model)
    weight = mass * float(np.linalg.norm(model.gravity))
    joints = model.joint_names
    given = None if pairs is None else checked_pairs(pairs, joints, "joint")
    legs = sorted(find_pairs(joints) if given is None else given, key=_rank)
    paired = {name for pair in legs for name in (pair.left, pair.right)}
    for name in joints:
        if name not in paired:
            legs.append(Pair(_free_name(name, {pair.name for pair in legs}), name, name))
    sampled = _Sampled(cycles)
    curves: dict[str, Curve] = {}

    def add(joint: str, quantity: str, unit: str, values: Sampler, needs: str = "side") -> None:
        curves[f"{joint}_{quantity}"] = sampled.curve(joint, quantity, unit, values, needs)

    for pair in legs:
        j = {LEFT: model.joint_index(pair.left), RIGHT: model.joint_index(pair.right)}
        slide = bool((model.kind[list(j.values())] == PRISMATIC).any())
        if not slide:
            add(pair.name, ANGLE, "°", _angle(motion, j))
        if j[LEFT] in base:
            unit = "N" if slide else "N m"
            add(pair.name, RESIDUAL, unit, _linear(motion, motion.moments, j), "both forces")
        elif not slide:
            moments, powers = motion.moments / mass, motion.moments * motion.v / mass
            add(pair.name, MOMENT, "N m/kg", _linear(motion, moments, j), "force")
            add(pair.name, POWER, "W/kg", _linear(motion, powers, j), "force")
    reacting = _reacting(model, legs)
    if "hip" in reacting and "knee" in reacting:
        add("thigh", ANGLE, "°", _thigh(motion, walk, reacting["hip"], reacting["knee"]))
    for name, links in reacting.items():
        sizes = np.linalg.norm(motion.reactions, axis=2) / weight
        add(name, REACTION, WEIGHTS, _linear(motion, sizes, links), "force")
    if any(cycle.kinetic for cycle in cycles):
        for name, axis in (("vertical", walk.up), ("forward", walk.forward)):
            add(f"ground_{name}", "force", WEIGHTS, _ground(walk, axis / weight), "force")
        if any((walk.foot(side).force @ walk.sideways).any() for side in SIDES):
            medial = {LEFT: -walk.sideways / weight, RIGHT: walk.sideways / weight}
            add("ground_medial", "force", WEIGHTS, _ground(walk, medial), "force")
    curves |= pressure_curves(motion, walk, cycles)
    return _signed(curves, signs)


def base_joints(model: Model) -> set[int]:
    """The joints of a floating base.

    What acts there is no joint moment but a residual: forces that the data leave unexplained.
    """
    joints = floating_base(model)
    return set() if joints is None else set(joints.tolist())


def _rank(pair: Pair) -> tuple[int, bool]:
    """Hips, knees, ankles, then others; flexion before other axes."""
    name = pair.name.lower()
    order = [k for k, words in enumerate(ANATOMY.values()) if any(w in name for w in words)]
    return (order[0] if order else len(ANATOMY)), not any(word in name for word in FIRST)


def _reacting(model: Model, legs: Sequence[Pair]) -> dict[str, dict[str, int]]:
    """Of each hip, knee and ankle the links with mass that its joints carry, by side."""
    found: dict[str, dict[str, int]] = {}
    coordinate, heavy = sources(model), model.inertia.any(axis=1)
    for pair in legs:
        links = {}
        for side, name in ((LEFT, pair.left), (RIGHT, pair.right)):
            moved = np.flatnonzero((coordinate == model.joint_index(name)) & heavy)
            if len(moved):
                links[side] = int(moved[0])
        for joint, words in ANATOMY.items():
            if len(set(links.values())) == 2 and any(w in pair.name.lower() for w in words):
                found.setdefault(joint, links)
    return {joint: found[joint] for joint in ANATOMY if joint in found}


class _Sampled:
    """The times of all cycles of each side."""

    def __init__(self, cycles: Sequence[Cycle]) -> None:
        self.cycles = cycles

    def curve(
        self, joint: str, quantity: str, unit: str, values: Sampler, needs: str = "side"
    ) -> Curve:
        rows = []
        for side in SIDES:
            chosen = [
                cycle
                for cycle in self.cycles
                if cycle.side == side
                and (needs == "side" or (cycle.whole if needs == "both forces" else cycle.kinetic))
            ]
            times = [c.start + PERCENT / 100.0 * c.duration for c in chosen]
            flat = np.concatenate(times) if times else np.zeros(0)
            rows.append(values(side, flat).reshape(len(chosen), len(PERCENT)))
        return Curve(joint, quantity, unit, *rows)


def _angle(motion: Motion, joint: Mapping[str, int]) -> Sampler:
    def values(side: str, times: Floats) -> Floats:
        return DEGREES * motion.position_at(joint[side], times)

    return values


def _linear(motion: Motion, quantity: Floats, joint: Mapping[str, int]) -> Sampler:
    def values(side: str, times: Floats) -> Floats:
        return interpolated(motion.t, quantity[:, joint[side]], times)

    return values


def _ground(walk: Walk, axis: Floats | Mapping[str, Floats]) -> Sampler:
    def values(side: str, times: Floats) -> Floats:
        foot: Foot = walk.foot(side)
        if not len(foot.t_force):
            return np.zeros(len(times))
        along = axis[side] if isinstance(axis, Mapping) else axis
        return interpolated(foot.t_force, foot.force @ along, times)

    return values


def _thigh(
    motion: Motion, walk: Walk, hips: Mapping[str, int], knees: Mapping[str, int]
) -> Sampler:
    """Of the line from hip to knee against the vertical, seen from the side; forward positive."""
    angles = {}
    for side in SIDES:
        hip, knee = (
            frame_kinematics(motion.model, motion.model.link_names[links[side]], motion.q).p
            for links in (hips, knees)
        )
        along = knee - hip
        angles[side] = DEGREES * np.arctan2(along @ walk.forward, -along @ walk.up)

    def values(side: str, times: Floats) -> Floats:
        return interpolated(motion.t, angles[side], times)

    return values


def pressure_curves(motion: Motion, walk: Walk, cycles: Sequence[Cycle]) -> dict[str, Curve]:
    """The centre of pressure relative to where the heel stands, m; NaN while the foot swings.

    Given only where it is known for both feet, and over ground.
    """
    if any(walk.foot(side).pressure is None for side in SIDES):
        return {}
    axes = {"forward": {LEFT: walk.ahead, RIGHT: walk.ahead}}
    axes["medial"] = {LEFT: -walk.sideways, RIGHT: walk.sideways}
    curves = {}
    for name, axis in axes.items():
        rows: dict[str, list[Floats]] = {side: [] for side in SIDES}
        for cycle in cycles:
            foot = walk.foot(cycle.side)
            assert foot.pressure is not None
            flat = np.array([cycle.start + STANDING * (cycle.toe_off - cycle.start)])
            heel = interpolated(motion.t, foot.heel, flat)[0]
            times = cycle.start + PERCENT / 100.0 * cycle.duration
            there = interpolated(foot.t_force, (foot.pressure - heel) @ axis[cycle.side], times)
            rows[cycle.side].append(np.where(times <= cycle.toe_off, there, np.nan))
        if any(np.abs(np.nan_to_num(row)).max() > SMALLEST for x in rows.values() for row in x):
            shape = (-1, len(PERCENT))
            left, right = (np.array(rows[side], float).reshape(shape) for side in SIDES)
            curves[f"{name}_{PRESSURE}"] = Curve(name, PRESSURE, "m", left, right)
    return curves


def _signed(curves: dict[str, Curve], signs: Mapping[str, float] | None) -> dict[str, Curve]:
    """Curves times the given factors; that of a joint counts for its angle and moment."""
    if signs is not None and not isinstance(signs, Mapping):
        raise InputError(f'signs: expected {{"knee_moment": -1, ...}}, got {signs!r:.60}')
    joints = {curve.joint for curve in curves.values()}
    out = dict(curves)
    for name, factor in (signs or {}).items():
        if name not in curves and name not in joints:
            raise unknown_name("joint or curve of signs", name, [*joints, *curves])
        if factor not in (1, -1):
            raise InputError(f"sign of {name!r}: expected 1 or -1, got {factor!r:.40}")
        chosen = [name] if name in curves else [f"{name}_{x}" for x in (ANGLE, MOMENT)]
        for key in chosen:
            if key in out:
                curve = out[key]
                out[key] = curve._replace(left=factor * curve.left, right=factor * curve.right)
    return out
