"""Joint centres of hips, knees and ankles from the markers of a clinical set.

Pelvis: origin midway between the ASIS markers, x forward from the middle of the PSIS markers (or
the sacrum), y to the left along the ASIS markers, z up.

Hip, in those axes, with PW the distance of the ASIS markers, PD that of their middle from the
middle of the PSIS markers, L the length of the leg, all in m, left with +, right with -:

    Harrington et al. 2007, J Biomech 40:595-602
        x = -0.24 PD - 0.0099,  y = +-(0.33 PW + 0.0073),  z = -0.30 PW - 0.0109
    Bell, Brand, Pedersen 1989, Hum Mov Sci 8:3-16
        x = -0.22 PW,  y = +-0.36 PW,  z = -0.30 PW
    Davis et al. 1991, Hum Mov Sci 10:575-587
        C = 0.115 L - 0.0153,  theta = 28.4 deg,  beta = 18 deg,  d: ASIS to trochanter along x,
        r: radius of a marker
        x = -(d + r) cos beta + C cos theta sin beta,  y = +-(PW / 2 - C sin theta),
        z = -(d + r) sin beta - C cos theta cos beta;  d = 0.1288 L - 0.04856 if not measured

Knee and ankle: midway between the lateral and the medial marker. Without a medial marker by the
chord: in the plane of the joint centre above, the wand and the lateral marker, half a joint width
and a marker's radius away from the lateral marker, at a right angle to the segment above, on the
side away from the wand (the conventional gait model; Davis 1991, Kadaba et al. 1990).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from predyn.analysis.marker_sets import (
    MARKER_SETS,
    Landmarks,
    find_landmarks,
    find_marker_set,
    missing_landmarks,
)
from predyn.analysis.motions import Floats
from predyn.analysis.sides import LEFT, SIDES
from predyn.errors import InputError, unknown_name
from predyn.recordings.measurements import Measurements

HIPS = HARRINGTON, BELL, DAVIS = "harrington", "bell", "davis"
CENTRES = {"hip": "HJC", "knee": "KJC", "ankle": "AJC"}
SIZES = ("leg_length", "asis_trochanter", "knee_width", "ankle_width")
THETA, BETA = np.deg2rad(28.4), np.deg2rad(18.0)
MARKER = 0.014  # m, usual diameter
LARGEST = 2.0  # m


class Pelvis(NamedTuple):
    """Its axes over time: (M, 3) each; width and depth (M,) m."""

    origin: Floats
    x: Floats
    y: Floats
    z: Floats
    width: Floats
    depth: Floats


def add_joint_centres(
    data: Measurements,
    *,
    marker_set: str | None = None,
    hip: str = HARRINGTON,
    body: Mapping[str, float] | None = None,
    names: Mapping[str, str] | None = None,
    marker_diameter: float = MARKER,
) -> Measurements:
    """The recording with markers LHJC, RHJC, LKJC, RKJC, LAJC, RAJC at the joint centres.

    marker_set       "plug-in gait" (CGM) or "helen hayes"; by default the one that is complete
    hip              regression: "harrington", "bell" or "davis" (needs leg_length)
    body             m: leg_length, asis_trochanter, knee_width, ankle_width, each also with
                     "left_" or "right_" before it; widths are needed without medial markers
    names            {"left knee": marker}: markers with other spellings
    marker_diameter  m

    Centres are missing (NaN) where a marker that they come from is. `notes` of the result says how
    each was found. Regressions place the hip within about 1 to 3 cm.
    """
    if not isinstance(data, Measurements):
        raise InputError(f"expected Measurements, got {type(data).__name__}")
    if hip not in HIPS:
        raise unknown_name("hip", hip, HIPS)
    landmarks = find_landmarks(data.markers, names)
    chosen = find_marker_set(landmarks) if marker_set is None else str(marker_set).lower()
    if chosen not in MARKER_SETS:
        raise unknown_name("marker_set", chosen, MARKER_SETS)
    if absent := missing_landmarks(landmarks, chosen):
        raise InputError(f"{chosen}: no marker for {', '.join(absent)}; name them in names=")
    size = _Sizes(body, marker_diameter)
    pelvis = pelvis_axes(data, landmarks, chosen)
    centres: dict[str, Floats] = {}
    notes = [f"{chosen}: hip centres by the regression of {hip.capitalize()}"]
    for side in SIDES:
        letter = "L" if side == LEFT else "R"
        has = landmarks.side(side)
        place = hip_centre(pelvis, side, hip, size)
        centres[letter + CENTRES["hip"]] = place
        for joint, wand in (("knee", "thigh"), ("ankle", "shank")):
            lateral = data.markers[has[joint]]
            if f"{joint} medial" in has:
                place = 0.5 * (lateral + data.markers[has[f"{joint} medial"]])
                how = "midway between its lateral and medial marker"
            else:
                offset = 0.5 * (size.of(side, f"{joint}_width") + size.marker)
                place = chord_centre(place, data.markers[has[wand]], lateral, offset)
                how = f"by the chord, {1e3 * offset:.3g} mm from its lateral marker"
            centres[letter + CENTRES[joint]] = place
            notes.append(f"{side} {joint} centre {how}")
    taken = [name for name in centres if name in data.markers]
    if taken:
        raise InputError(f"the recording already has {', '.join(taken)}; remove these markers")
    return replace(data, markers={**data.markers, **centres}, notes=(*data.notes, *notes))


def pelvis_axes(data: Measurements, landmarks: Landmarks, marker_set: str) -> Pelvis:
    """From ASIS and, in Helen Hayes, the sacrum, else the PSIS markers."""
    left, right = (data.markers[landmarks.side(side)["asis"]] for side in SIDES)
    if "sacrum" in MARKER_SETS[marker_set] and landmarks.sacrum is not None:
        back = data.markers[landmarks.sacrum]
    else:
        back = 0.5 * sum(
            (data.markers[landmarks.side(side)["psis"]] for side in SIDES), np.zeros(3)
        )
    origin = 0.5 * (left + right)
    y, width = _unit(left - right)
    forward = origin - back
    depth = np.linalg.norm(forward, axis=1)
    x, _ = _unit(forward - np.sum(forward * y, axis=1, keepdims=True) * y)
    return Pelvis(origin, x, y, np.cross(x, y), width[:, 0], depth)


def hip_centre(pelvis: Pelvis, side: str, hip: str, size: _Sizes) -> Floats:
    """(M, 3) by a regression."""
    width, depth = pelvis.width, pelvis.depth
    if hip == HARRINGTON:
        x, y, z = -0.24 * depth - 0.0099, 0.33 * width + 0.0073, -0.30 * width - 0.0109
    elif hip == BELL:
        x, y, z = -0.22 * width, 0.36 * width, -0.30 * width
    else:
        length = size.of(side, "leg_length")
        c = 0.115 * length - 0.0153
        trochanter = size.given(side, "asis_trochanter")
        back = 0.1288 * length - 0.04856 if trochanter is None else trochanter
        back += 0.5 * size.marker
        x = np.full(len(width), -back * np.cos(BETA) + c * np.cos(THETA) * np.sin(BETA))
        y = 0.5 * width - c * np.sin(THETA)
        z = np.full(len(width), -back * np.sin(BETA) - c * np.cos(THETA) * np.cos(BETA))
    y = y if side == LEFT else -y
    axes = ((x, pelvis.x), (y, pelvis.y), (z, pelvis.z))
    return pelvis.origin + sum((a[:, None] * axis for a, axis in axes), np.zeros(3))


def chord_centre(above: Floats, wand: Floats, lateral: Floats, offset: float) -> Floats:
    """(M, 3) joint centre: `offset` from the lateral marker, at a right angle to the segment.

    With u from the lateral marker to the centre above, d away, and w at a right angle to it away
    from the wand: lateral + offset (cos u + sin w), cos = offset / d. NaN where the wand is within
    5 mm of the line, which leaves the plane open.
    """
    u, distance = _unit(above - lateral)
    to_wand = wand - lateral
    aside = to_wand - np.sum(to_wand * u, axis=1, keepdims=True) * u
    w, size = _unit(aside)
    w = np.where(size > 0.005, -w, np.nan)
    cos = offset / distance
    with np.errstate(invalid="ignore"):  # NaN where the marker is farther than the segment is long
        sin = np.sqrt(1.0 - cos**2)
    return np.asarray(lateral + offset * (cos * u + sin * w))


def _unit(vectors: Floats) -> tuple[Floats, Floats]:
    """Directions (M, 3) and lengths (M, 1)."""
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        return vectors / length, length


class _Sizes:
    """Measured sizes of the body, checked."""

    def __init__(self, body: Mapping[str, float] | None, marker: float) -> None:
        if body is not None and not isinstance(body, Mapping):
            raise InputError(f"body: expected {{name: m}}, got {body!r:.60}")
        self.body = dict(body or {})
        self.marker = marker
        valid = [*SIZES, *(f"{side}_{name}" for side in SIDES for name in SIZES)]
        for name, value in {**self.body, "marker_diameter": marker}.items():
            if name not in (*valid, "marker_diameter"):
                raise unknown_name("size of the body", name, valid)
            number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
            if not number or not 0.0 < value < LARGEST:
                raise InputError(
                    f"{name}: expected metres between 0 and {LARGEST:g}, got {value!r:.40}"
                )

    def given(self, side: str, name: str) -> float | None:
        value = self.body.get(f"{side}_{name}", self.body.get(name))
        return None if value is None else float(value)

    def of(self, side: str, name: str) -> float:
        value = self.given(side, name)
        if value is None:
            advice = (
                ""
                if name == "leg_length"
                else f", or record a medial {name.partition('_')[0]} marker"
            )
            raise InputError(f"body: expected {name!r} (m) for the {side} side{advice}")
        return value
