"""Fit a model to a person: link lengths and marker places from a recording of a static pose."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from predyn.dynamics.kinematics import frame_kinematics
from predyn.errors import DataWarning, InputError, unknown_name
from predyn.estimate.limited_pose import limited_pose, pose_warnings
from predyn.estimate.marker_points import Point
from predyn.estimate.pose_fit import PoseFit
from predyn.estimate.scaling import Lengths, measured_scale, scaled, spans_of
from predyn.estimate.tracking import first_poses
from predyn.model import Frame, Model
from predyn.model.couplings import sources
from predyn.recordings.measurements import Measurements

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

USUAL_SCALES = (0.5, 2.0)
FAR = 0.03  # m between a landmark and its place in the model
MOVED = 0.05  # m between the 10th and 90th percentile of a marker that should stand still
FARTHEST = 1e4  # rad or m, of a given joint


class _Target(NamedTuple):
    """A marker, and the point of the model that it marks."""

    name: str
    point: Point


@dataclass(frozen=True, eq=False)
class Placed:
    """A model fitted to a static pose."""

    model: Model  # scaled, with a frame for each marker, named like it
    pose: Mapping[str, float]  # joint: rad or m in the static pose
    scales: Mapping[str, float]  # link: measured over model length
    residuals: Mapping[str, float]  # marker that the pose was found from: m to its place
    warnings: tuple[str, ...]  # what was issued as DataWarning


def place_markers(
    model: Model,
    static: Measurements,
    markers: Mapping[str, str],
    *,
    pose: Mapping[str, float] | None = None,
    lengths: Lengths | None = None,
) -> Placed:
    """The model with its links scaled and with markers where they are in a static recording.

    markers  marker: link that it sits on
    pose     joint: value (rad or m) in the static pose; the other joints are fitted
    lengths  link: (marker at its joint, marker at its far end), or with the name of the child
             joint or frame that is its far end as a third, where it has several; with four, the
             third and fourth name the child joints or frames at both markers

    A link in `lengths` is scaled by measured over model length: its child joints, frames, shapes
    and centre of mass by that factor, its inertia by the square at equal mass. The joints are then
    fitted to markers named like frames that the model has, to the pairs in `lengths` and to
    measured angles, within the position limits of the model; what these leave open stays at 0 (or
    the nearest limit). Warnings name such joints, those stopped at a limit, and angles of hips,
    knees and ankles that no person reaches. Each
    marker counts by the median of its samples. A component that a marker does not have (planar
    data) is taken from the origin of its link.
    """
    if not isinstance(model, Model):
        raise InputError(f"model: expected a predyn.Model, got {type(model).__name__}")
    if not isinstance(static, Measurements):
        raise InputError(
            f"static: expected predyn.Measurements, got {type(static).__name__}; "
            "load_measurements reads them from a file"
        )
    links = _links(model, static, markers)
    known = _joint_values(model, pose)
    spans = spans_of(model, lengths, static.markers)
    ends = [name for span in spans for name in (span.start, span.end)]
    if not links and not spans:
        raise InputError(
            "place_markers: nothing to place or to scale; give markers as {marker: link} or "
            "lengths as {link: (marker at its joint, marker at its far end)}"
        )
    landmarks = [frame.name for frame in model.frames if frame.name in static.markers]
    places = {name: _standing(static.markers[name]) for name in (*links, *ends, *landmarks)}
    _check_measured({name: places[name] for name in (*links, *ends)})
    messages = [
        f"marker {name!r} moves by {moved:.3g} m in the static recording"
        for name in places
        if (moved := _movement(static.markers[name])) > MOVED
    ]
    scales = {model.link_names[span.link]: measured_scale(model, span, places) for span in spans}
    targets = []
    for span, (link, scale) in zip(spans, scales.items(), strict=True):
        model = scaled(model, span.link, scale)
        targets.append(_Target(span.start, Point(span.link, scale * span.near)))
        targets.append(_Target(span.end, Point(span.link, scale * span.far)))
        if not USUAL_SCALES[0] <= scale <= USUAL_SCALES[1]:
            messages.append(
                f"link {link!r} is scaled by {scale:.3g}: check the units of the markers and "
                f"that {span.start!r} and {span.end!r} are at its ends"
            )
    for frame in model.frames:
        if frame.name in landmarks and frame.link >= 0 and np.isfinite(places[frame.name]).any():
            targets.append(_Target(frame.name, Point(frame.link, frame.p)))

    q, seen, strange = _fitted_pose(model, known, static, targets, places)
    messages += strange
    residuals = _residuals(model, q, targets, places)
    messages += [
        f"marker {name!r} is {distance:.3g} m from its place in the model: check the lengths, the "
        "pose, and where the model's base stands (Model.with_placement moves it)"
        for name, distance in residuals.items()
        if distance > FAR
    ]
    messages += [
        f"joint {model.joint_names[j]!r}: the static recording does not determine its value; "
        f"{q[j]:.3g} is used; give it in pose, or record markers that are frames of the model"
        for j in np.flatnonzero(_carrying(model, links.values()) & ~seen)
    ]
    frames = tuple(
        Frame(name, model.link_index(link), np.eye(3), _in_link(model, q, link, places[name]))
        for name, link in links.items()
    )
    for message in messages:
        warnings.warn(message, DataWarning, stacklevel=2)
    return Placed(
        model=replace(model, frames=model.frames + frames),
        pose=dict(zip(model.joint_names, q.tolist(), strict=True)),
        scales=scales,
        residuals=residuals,
        warnings=tuple(messages),
    )


def _links(model: Model, static: Measurements, markers: Mapping[str, str]) -> dict[str, str]:
    """marker: link, every name checked."""
    if not isinstance(markers, Mapping):
        raise InputError(f"markers: expected {{marker: link, ...}}, got {markers!r:.60}")
    problems = []
    for name, link in markers.items():
        if name not in static.markers:
            problems.append(str(unknown_name("marker", name, static.markers)))
        elif name in model.frame_names:
            problems.append(
                f"marker {name!r}: the model has a frame or link of that name; a marker that is "
                "already in the model serves as a landmark: remove it from markers"
            )
        if link not in model.link_names:
            problems.append(
                str(unknown_name(f"link of marker {name!r:.60}", link, model.link_names))
            )
    if problems:
        raise InputError("place_markers: " + "; ".join(problems))
    return dict(markers)


def _joint_values(model: Model, pose: Mapping[str, float] | None) -> Floats:
    """(n,) values of the joints in `pose`, NaN for the others."""
    known = np.full(model.n, np.nan)
    if pose is not None and not isinstance(pose, Mapping):
        raise InputError(f"pose: expected {{joint: value, ...}}, got {pose!r:.60}")
    for joint, value in (pose or {}).items():
        j = model.joint_index(joint)
        if isinstance(value, bool) or not isinstance(value, int | float | np.number):
            raise InputError(f"pose of joint {joint!r}: expected a number, got {value!r:.60}")
        if not abs(value) <= FARTHEST:
            raise InputError(
                f"pose of joint {joint!r}: expected a number up to {FARTHEST:g}, got {value}"
            )
        known[j] = float(value)
    return known


def _standing(values: Floats) -> Floats:
    """(3,) median of a marker's samples; NaN for a component that is always missing."""
    place = np.full(3, np.nan)
    for k in range(3):
        present = np.isfinite(values[:, k])
        if present.any():
            place[k] = np.median(values[present, k])
    return place


def _movement(values: Floats) -> float:
    """How far apart the 10th and 90th percentile of a marker's samples are, m."""
    seen = [x[np.isfinite(x)] for x in values.T]
    return float(np.linalg.norm([np.ptp(np.percentile(x, (10, 90))) for x in seen if len(x)]))


def _check_measured(places: Mapping[str, Floats]) -> None:
    """Markers to place or to measure between need two components at least."""
    for name, place in places.items():
        if np.isfinite(place).sum() < 2:
            got = "".join(axis for axis, x in zip("xyz", place, strict=True) if np.isfinite(x))
            raise InputError(
                f"marker {name!r}: expected at least two of its components x, y, z in some sample "
                f"of the static recording, got {got or 'none'}; remove it, or record it again"
            )


def _fitted_pose(
    model: Model,
    known: Floats,
    static: Measurements,
    targets: Sequence[_Target],
    places: Mapping[str, Floats],
) -> tuple[Floats, Bools, list[str]]:
    """The pose (n,), which of its joints are given, measured or determined, and warnings."""
    given = np.isfinite(known)
    angles = {}
    for name, values in static.angles.items():
        present = np.isfinite(values)
        if name in model.joint_names and present.any() and not given[model.joint_index(name)]:
            angles[model.joint_index(name)] = np.array([np.median(values[present])])
    low, high = model.limits.position.T
    rest = np.where(given, known, np.clip(0.0, low, high))
    where = np.array([places[name] for name, _ in targets]).reshape(1, len(targets), 3)
    fit = PoseFit(model, [point for _, point in targets], where, angles, ~given)
    pose = limited_pose(fit, first_poses(fit, 0, rest))
    seen = given | fit.seen(pose.fitted.normal)[0]
    return pose.fitted.q[0], seen, pose_warnings(model, pose, given)


def _residuals(
    model: Model, q: Floats, targets: Sequence[_Target], places: Mapping[str, Floats]
) -> dict[str, float]:
    """Distance of each marker from where the pose has it, the larger one if it has two places."""
    residuals: dict[str, float] = {}
    for name, (link, p) in targets:
        modelled = frame_kinematics(model, model.link_names[link], q, point=p).p
        distance = float(np.linalg.norm((places[name] - modelled)[np.isfinite(places[name])]))
        residuals[name] = max(distance, residuals.get(name, 0.0))
    return residuals


def _carrying(model: Model, links: Iterable[str]) -> Bools:
    """(n,) joints between the world and one of the links."""
    carrying, coordinate = np.zeros(model.n, bool), sources(model)
    for link in links:
        j = model.link_index(link)
        while j >= 0:
            carrying[coordinate[j]] = True
            j = int(model.parent[j])
    return carrying


def _in_link(model: Model, q: Floats, link: str, place: Floats) -> Floats:
    """A place (3,) in the axes of a link; what is missing of it is that of the link's origin."""
    pose = frame_kinematics(model, link, q)
    point: Floats = pose.R.T @ np.where(np.isfinite(place), place - pose.p, 0.0)
    return point
