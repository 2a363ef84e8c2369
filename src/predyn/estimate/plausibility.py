"""Mistakes in a recording that show in its numbers: forces, pressure points, residuals, units.

All checks look at the motion of the comparison filter, which does not depend on what the estimate
assumes, and at the measured forces. Those of a floating body compare with its weight: it has no
motor at its base, so the forces must explain its motion. What is found is a warning; where the
torques cannot be right, it also decides the status of the estimate.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from predyn.dynamics.kinematics import frame_kinematics
from predyn.estimate.channel_warnings import join_names
from predyn.estimate.driving import Push
from predyn.estimate.result import Filtered
from predyn.estimate.root_residual import Base, smoothed_force, smoothed_moment
from predyn.estimate.spline_grid import Floats
from predyn.model import PRISMATIC, Model

LOADED = 0.05  # force over the weight above which a plate carries the body
WEIGHT_WARNED, WEIGHT_REFUSED = 0.15, 0.5  # difference of the mean vertical force, over the weight
ROOT_WARNED, ROOT_REFUSED = 0.05, 0.35  # residual force of the base, over the weight
ARM_WARNED, ARM_REFUSED = 0.035, 0.2  # residual moment of the base, over weight and longest limb
LARGEST_MOMENT = 10.0  # N m per kg of the body; jumping and landing stay below
MOST = 0.98  # share of the time for which it counts: single jumps in the data have warnings already
FAR, ABSURD = 0.3, 3.0  # distance of a pressure point from its link, over the longest limb
SWAPPED = 0.5  # distance after an exchange of links, over that before, that suggests a mistake
FEW_FORCES = 4  # up to which all exchanges are tried
STILL, STEP_LOAD = np.radians(2.0), 0.5  # rad; largest force of a step, over the weight
BEYOND, BEYOND_SHARE = np.radians(5.0), 0.1  # rad or m outside limits, for that share of the time


class Finding(NamedTuple):
    """A probable mistake: a sentence, and whether the torques cannot be right."""

    text: str
    fatal: bool


class Recorded(NamedTuple):
    """A motion at K times, and the forces that act then."""

    model: Model
    t: Floats
    q: Floats  # (K, n)
    tau: Floats  # (K, n)
    pushes: Mapping[str, Push]  # by the name of the force


def find_mistakes(
    model: Model, by_filter: Filtered, pushes: Mapping[str, Push], base: Base | None
) -> list[Finding]:
    """Probable mistakes; pushes: the forces at the times of the filter."""
    seen = Recorded(model, by_filter.t, by_filter.q, by_filter.tau, pushes)
    found = list(_outside_limits(seen, base))
    if base is None or base.weight == 0.0:
        return found
    if not any(push.force.any() for push in pushes.values()):
        return found + list(_without_forces(seen, base))
    found += _pressure_points(seen, base)
    unexplained = _root_share(seen, base)
    if unexplained > ROOT_WARNED:  # or the forces do explain the motion
        found += _vertical_force(seen, base)
        found.append(_root_force(base, unexplained))
    found += _root_moment(seen, base)
    found += _moments(seen, base)
    found += _still(seen, base)
    return found


def _vertical_force(seen: Recorded, base: Base) -> Iterator[Finding]:
    """The mean vertical force is the weight, over a whole motion or while forces act."""
    up = -seen.model.gravity / np.linalg.norm(seen.model.gravity)
    vertical = sum(push.force for push in seen.pushes.values()) @ up
    loaded = _loaded(seen, base.weight)
    means = [vertical.mean(), vertical[loaded].mean() if loaded.any() else 0.0]
    share = float(min(means, key=lambda x: abs(x - base.weight))) / base.weight
    away = abs(share - 1.0)
    if away <= WEIGHT_WARNED:
        return
    cause = "forces may be missing, or the model's mass is not that of the person"
    if abs(share + 1.0) < WEIGHT_REFUSED:
        cause = "the forces seem to be those on the plates; expected those on the body, which have "
        cause += "the opposite sign"
    elif abs(share) < WEIGHT_REFUSED:
        cause = "check the axes of the file, and the units of masses and of forces"
    elif share > 1.0 + WEIGHT_REFUSED:
        cause = "check the units of masses and of forces"
    yield Finding(
        f"the mean vertical force on the body is {share * base.weight:.4g} N, {share:.3g} times "
        f"its weight of {base.weight:.4g} N: {cause}",
        away > WEIGHT_REFUSED,
    )


def _pressure_points(seen: Recorded, base: Base) -> Iterator[Finding]:
    """Forces act near the link that they are assigned to."""
    reach = _reach(seen.model)
    names, distance = _distances(seen, base.weight)
    far = {
        name: distance[k, k] for k, name in enumerate(names) if distance[k, k] > FAR * reach
    }  # NaN: the force is never large
    if not far:
        return
    exchanged = _exchange(distance)
    if exchanged is not None:
        links = [push.link for push in seen.pushes.values()]
        better = ", ".join(
            f"{name} moves with {links[k]}, not with {links[own]}"
            for own, (name, k) in enumerate(zip(names, exchanged, strict=True))
            if k != own
        )
        yield Finding(
            "the links of the forces look swapped, such as left and right: centres of pressure are "
            f"up to {max(far.values()):.2g} m from their links; {better}",
            True,
        )
        return
    places = [f"{name} ({x:.3g} m from {seen.pushes[name].link})" for name, x in far.items()]
    absurd = max(far.values()) > ABSURD * reach
    hint = "check the assigned links, the axes, and whether forces and motion start together"
    if absurd:
        hint = "check the units: the centre of pressure or a position may be in mm or cm"
    yield Finding(
        f"the centre of pressure of {join_names(places)} is far from the link that the force acts "
        f"on: {hint}",
        absurd,
    )


def _root_share(seen: Recorded, base: Base) -> float:
    """Force at the base that nothing explains while forces act, over the weight."""
    loaded = _loaded(seen, base.weight)
    return smoothed_force(seen.model, base.joints, seen.t, seen.tau, loaded) / base.weight


def _root_force(base: Base, share: float) -> Finding:
    """Motion and forces should agree, but for a small residual at the base."""
    return Finding(
        f"the floating base needs {share * base.weight:.3g} N, {100.0 * share:.3g} % of the body's "
        "weight, that no measured force explains (root mean square while forces act): check for "
        "forces that are missing or late, and check their signs and axes, the signs of joints and "
        "the masses of the model",
        share > ROOT_REFUSED,
    )


def _root_moment(seen: Recorded, base: Base) -> Iterator[Finding]:
    """Forces in the right places leave no moment at the base, but for a small residual."""
    loaded = _loaded(seen, base.weight)
    moment = smoothed_moment(seen.model, base.joints, seen.t, seen.tau, loaded)
    share = moment / (base.weight * _reach(seen.model))
    if share > ARM_WARNED:
        yield Finding(
            f"the floating base needs a moment of {moment:.3g} N m that no measured force explains "
            "(root mean square while forces act), as if the weight acted "
            f"{moment / base.weight:.2g} m beside its place: check the origin and axes of the "
            "plates, the centres of pressure, and the positions of the body",
            share > ARM_REFUSED,
        )


def _moments(seen: Recorded, base: Base) -> Iterator[Finding]:
    """No body can produce the moments that wrong units ask for."""
    model = seen.model
    hinges = np.setdiff1d(np.flatnonzero(model.kind != PRISMATIC), base.joints)
    mass = model.mass
    peaks = np.quantile(np.abs(seen.tau[:, hinges]), MOST, axis=0) / mass
    large = [
        f"{model.joint_names[j]} ({peak:.3g} N m/kg)"
        for j, peak in zip(hinges, peaks, strict=True)
        if peak > LARGEST_MOMENT
    ]
    if large:
        yield Finding(
            f"the moments of {join_names(large)} exceed {LARGEST_MOMENT:g} N m per kg of body "
            "mass, which no person can produce: check units, centres of pressure and jumps",
            True,
        )


def _still(seen: Recorded, base: Base) -> Iterator[Finding]:
    """A body that steps moves its joints."""
    model = seen.model
    hinges = np.setdiff1d(np.flatnonzero(model.kind != PRISMATIC), base.joints)
    if not len(hinges) or np.ptp(seen.q[:, hinges], axis=0).max() > STILL:
        return
    sizes = [np.linalg.norm(push.force, axis=1) / base.weight for push in seen.pushes.values()]
    if any(size.max() > STEP_LOAD and size.min() < LOADED for size in sizes):
        yield Finding(
            f"every joint moves by less than {np.degrees(STILL):.0f} degrees, while the forces "
            "show steps: the angles may be in radians where the file or `units` states degrees",
            False,
        )


def _without_forces(seen: Recorded, base: Base) -> Iterator[Finding]:
    """A floating body on the ground needs its forces; one in flight does not."""
    every = np.ones(len(seen.t), bool)
    share = smoothed_force(seen.model, base.joints, seen.t, seen.tau, every) / base.weight
    if share > ROOT_REFUSED:
        yield Finding(
            "a floating body without ground forces: its base carries "
            f"{share:.0%} of its weight, so the torques of all joints between the base and the "
            "ground lack the forces on the feet; "
            + (
                f"{join_names(list(seen.pushes))} recorded zero throughout"
                if seen.pushes
                else "give the recorded forces and their links"
            ),
            False,
        )


def _outside_limits(seen: Recorded, base: Base | None) -> Iterator[Finding]:
    """Positions outside the limits of the model point to signs, units or offsets."""
    model = seen.model
    low, high = model.limits.position.T
    out = np.maximum(low - seen.q, seen.q - high)
    share = (out > BEYOND).mean(axis=0)
    odd = [
        f"{model.joint_names[j]} ({_worst(model, j, out)} outside, {share[j]:.0%} of the time)"
        for j in np.flatnonzero(share > BEYOND_SHARE).tolist()
        if base is None or j not in base.joints
    ]
    if odd:
        yield Finding(
            f"the position of {join_names(odd)} is outside the limits of the model: check its "
            "sign, its zero and its unit",
            False,
        )


def _worst(model: Model, j: int, out: Floats) -> str:
    most = float(out[:, j].max())
    return f"{most:.2g} m" if model.kind[j] == PRISMATIC else f"{np.degrees(most):.0f} degrees"


def _loaded(seen: Recorded, weight: float) -> NDArray[np.bool_]:
    """(K,) whether any force acts that matters."""
    sizes = [np.linalg.norm(push.force, axis=1) for push in seen.pushes.values()]
    largest = np.max(sizes, axis=0)
    return np.asarray(largest > LOADED * min(weight, float(largest.max())))


def _distances(seen: Recorded, weight: float) -> tuple[list[str], Floats]:
    """(forces, links): how far each centre of pressure is from each assigned link, m, the median
    over the time in which the force is large; NaN if it never is."""
    names, pushes = list(seen.pushes), list(seen.pushes.values())
    distance = np.full((len(pushes), len(pushes)), np.nan)
    for k, push in enumerate(pushes):
        size = np.linalg.norm(push.force, axis=1)
        large = size > LOADED * min(weight, float(size.max()))
        if large.any():
            for other, link in enumerate(pushes):
                away = _distance(seen.model, link.link, seen.q[large], push.point[large])
                distance[k, other] = np.median(away)
    return names, distance


def _distance(model: Model, name: str, q: Floats, point: Floats) -> Floats:
    """From points (K, 3) to the nearest place that is known of a link: its origin, its frames, the
    joints that it carries."""
    link = model.frame(name).link
    frames = [frame.name for frame in model.frames if frame.link == link]
    carried = [model.link_names[j] for j in np.flatnonzero(np.asarray(model.parent) == link)]
    places = dict.fromkeys([name, model.link_names[link], *frames, *carried])
    away = [np.linalg.norm(frame_kinematics(model, x, q).p - point, axis=1) for x in places]
    return np.asarray(np.min(away, axis=0))


def _exchange(distance: Floats) -> Sequence[int] | None:
    """Links in another order that are all much nearer to the forces; None if there is none."""
    count = len(distance)
    if not 2 <= count <= FEW_FORCES or np.isnan(distance).any():
        return None
    rows = np.arange(count)
    best = min(permutations(range(count)), key=lambda order: distance[rows, order].sum())
    own, other = distance.diagonal(), distance[rows, best]
    moved = rows != np.array(best)
    return best if moved.any() and (other < SWAPPED * own)[moved].all() else None


def _reach(model: Model) -> float:
    """Length of the longest chain of links beyond the first joint, m."""
    length = np.zeros(len(model.parent))
    for j, up in enumerate(model.parent):
        if up >= 0:
            length[j] = length[up] + np.linalg.norm(model.p[j])
    return float(length.max(initial=0.0))
