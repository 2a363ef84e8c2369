"""Names of markers in common sets: Plug-in Gait (CGM) and Helen Hayes, with other spellings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from predyn.analysis.sides import LEFT, RIGHT, SIDES
from predyn.errors import InputError, unknown_name

# landmark: spellings, in capitals without separators; L or R stands before or after them
LANDMARKS: Mapping[str, tuple[str, ...]] = {
    "asis": ("ASI", "ASIS"),
    "psis": ("PSI", "PSIS"),
    "thigh": ("THI", "THIGH", "THIGHWAND"),
    "knee": ("KNE", "KNEE", "KNEELAT", "KNEELATERAL", "LATKNEE", "LFC"),
    "knee medial": ("KNM", "KNEM", "MKNE", "MKN", "KNEEMED", "KNEEMEDIAL", "MEDKNEE", "MFC"),
    "shank": ("TIB", "TIBIA", "SHANK", "SHN", "SHANKWAND"),
    "ankle": ("ANK", "ANKLE", "ANKLELAT", "ANKLELATERAL", "LATANKLE", "LMAL"),
    "ankle medial": ("MED", "ANM", "MANK", "MMA", "ANKLEMED", "ANKLEMEDIAL", "MEDANKLE", "MMAL"),
    "heel": ("HEE", "HEEL"),
    "toe": ("TOE", "TOETIP"),
}
SACRUM = ("SACR", "SACRUM", "SACRAL", "VSACRAL", "VSACRUM", "SAC")
PLUG_IN_GAIT, HELEN_HAYES = "plug-in gait", "helen hayes"
MARKER_SETS: Mapping[str, tuple[str, ...]] = {  # landmarks that a set needs, of both sides
    PLUG_IN_GAIT: ("asis", "psis", "thigh", "knee", "shank", "ankle"),
    HELEN_HAYES: ("asis", "sacrum", "thigh", "knee", "shank", "ankle"),
}


class Landmarks(NamedTuple):
    """Names of markers by landmark."""

    left: Mapping[str, str]
    right: Mapping[str, str]
    sacrum: str | None

    def side(self, side: str) -> Mapping[str, str]:
        return self.left if side == LEFT else self.right


def find_landmarks(markers: Iterable[str], names: Mapping[str, str] | None = None) -> Landmarks:
    """The landmarks among markers.

    names  {"left knee": marker, "sacrum": marker}: what the spelling does not tell

    A name of the subject before a colon, capitals and separators do not count: "Anna:LASI",
    "L.ASIS" and "lasis" are the same landmark.
    """
    known = list(markers)
    if names is not None and not isinstance(names, Mapping):
        raise InputError(f'names: expected {{"left knee": marker, ...}}, got {names!r:.60}')
    spelled: dict[str, str] = {}
    twins: dict[str, str] = {}
    for marker in known:
        if spelled.setdefault(_plain(marker), marker) != marker:
            twins[spelled[_plain(marker)]] = marker
    found: dict[str, dict[str, str]] = {side: {} for side in SIDES}
    for landmark, spellings in LANDMARKS.items():
        for side, letter in ((LEFT, "L"), (RIGHT, "R")):
            word = side.upper()
            ways = [f"{letter}{x}" for x in spellings] + [f"{x}{letter}" for x in spellings]
            ways += [f"{word}{x}" for x in spellings] + [f"{x}{word}" for x in spellings]
            spelling = next((way for way in ways if way in spelled), None)
            if spelling is not None:
                found[side][landmark] = spelled[spelling]
    sacrum = next((spelled[way] for way in SACRUM if way in spelled), None)
    valid = [f"{side} {landmark}" for side in SIDES for landmark in LANDMARKS]
    for place, marker in (names or {}).items():
        if marker not in known:
            raise unknown_name(f"marker of {place!r:.60}", marker, known)
        side, _, landmark = place.partition(" ")
        if place == "sacrum":
            sacrum = marker
        elif place in valid:
            found[side][landmark] = marker
        else:
            raise unknown_name("landmark", place, [*valid, "sacrum"])
    for place, marker in [
        *((f"{side} {landmark}", x) for side in SIDES for landmark, x in found[side].items()),
        ("sacrum", sacrum or ""),
    ]:
        if marker in twins and place not in (names or {}):
            raise InputError(
                f"markers: {marker!r:.60} and {twins[marker]!r:.60} could both be the {place}; "
                "keep the markers of one subject, or name this one in names="
            )
    return Landmarks(found[LEFT], found[RIGHT], sacrum)


def find_marker_set(landmarks: Landmarks) -> str:
    """The name of the set that has all its markers; the first of MARKER_SETS if both have."""
    missing = {name: missing_landmarks(landmarks, name) for name in MARKER_SETS}
    for name, absent in missing.items():
        if not absent:
            return name
    nearest = min(missing, key=lambda name: len(missing[name]))
    raise InputError(
        f"markers: neither {' nor '.join(MARKER_SETS)} is complete; {nearest} lacks "
        f"{', '.join(missing[nearest])}; name markers with other spellings in "
        'names={"left knee": marker, ...}'
    )


def missing_landmarks(landmarks: Landmarks, marker_set: str) -> list[str]:
    """What a set needs and the markers do not have; widths need a wand, medial markers do not."""
    absent = []
    for landmark in MARKER_SETS[marker_set]:
        if landmark == "sacrum":
            absent += [] if landmarks.sacrum else ["sacrum"]
            continue
        for side in SIDES:
            has = landmarks.side(side)
            medial = {"thigh": "knee medial", "shank": "ankle medial"}.get(landmark)
            if landmark not in has and medial not in has:
                absent.append(f"{side} {landmark}" + (f" (or {side} {medial})" if medial else ""))
    return absent


def _plain(marker: str) -> str:
    return re.sub(r"[^A-Z0-9]", "", marker.rpartition(":")[2].upper())
