"""Motions of a study inside its page: compressed one by one, as many as the page may hold.

Each is what the player of a report needs, with curves of positions and efforts. What a motion has
in common with the first one (usually the solids, the grid, the light) is left out of it.
"""

from __future__ import annotations

import gzip
import json
from base64 import b64encode
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from predyn.errors import FileError, InputError
from predyn.solution import Solution
from predyn.view.curves import clock_data
from predyn.view.excerpts import panel_chart
from predyn.view.panels import default_names, in_degrees, panels_of
from predyn.view.scene import scene_data
from predyn.view.sheets import FEW, FIRST, Spec, Times, page_data, picker
from predyn.view.stage import set_stage

MOST_MOTIONS = 2_000
MOST_BYTES = 12_000_000  # of all of them in the page
FRAMES = 61  # of an animation
POINTS = 101  # of a curve
WIDTH = 7  # numbers of a pose
DIGITS, FINE = 4, 4  # of curves, relative to the largest value; decimals of poses, at least

Loader = Callable[[], Solution]


@dataclass
class Embedded:
    """Motions in the page by row, the ranges of their curves, and the rows without, by reason."""

    packed: dict[int, str] = field(default_factory=dict)
    common: Spec | None = None
    ranges: dict[tuple[str, str], list[float]] = field(default_factory=dict)
    too_many: list[int] = field(default_factory=list)
    unreadable: list[int] = field(default_factory=list)
    still: list[int] = field(default_factory=list)  # with values that are not finite

    def curves(self) -> list[Spec]:
        """Charts that small multiples can show, with axes that hold all motions."""
        return [
            {"title": title, "unit": unit, "low": low, "high": high, "end": end}
            for (title, unit), (low, high, end) in self.ranges.items()
        ]


def embed_motions(
    motions: Iterable[tuple[int, Loader]], first: Iterable[int], most_bytes: int = MOST_BYTES
) -> Embedded:
    """Pack motions, given by row; those of the rows `first` before the others.

    The others come in an order that spreads over the cases, so that what does not fit is missing
    evenly. Each motion is loaded only when its turn comes, and let go at once.
    """
    loaders, found, size = dict(motions), Embedded(), 0
    order = [row for row in first if row in loaders]
    taken = set(order)
    order += [row for row in _spread(sorted(loaders)) if row not in taken]
    for k, row in enumerate(order):
        if len(found.packed) >= MOST_MOTIONS or size >= most_bytes:
            found.too_many = sorted(order[k:])
            break
        try:
            solution = loaders[row]()
        except (FileError, InputError, OSError):
            found.unreadable.append(row)
            continue
        if not (solution.finite and solution.duration > 0.0):
            found.still.append(row)
            continue
        data = motion_data(solution)
        short = coded(data)
        if found.common is None:
            found.common = short
        text = packed(_difference(short, found.common))
        if size + len(text) > most_bytes:
            found.too_many = sorted(order[k:])
            break
        size += len(text)
        found.packed[row] = text
        _widen(found.ranges, data)
    return found


def motion_data(solution: Solution) -> Spec:
    """What the page of one motion is given: fewer frames and points than a report has."""
    times = Times()
    stage = set_stage(solution, np.linspace(0.0, solution.duration, FRAMES))
    joints = solution.model.joint_names
    index = {name: j for j, name in enumerate(joints)}
    charts = [
        panel_chart(in_degrees(panel), times, index, POINTS)
        for name in default_names(solution)
        for panel in panels_of(solution, name, None)
    ]
    chosen = range(len(joints) if len(joints) <= FEW else FIRST)
    pickers = [picker("picker", ["charts"], joints, chosen)]
    return page_data(times, {"charts": charts}, pickers, clock_data(solution), scene_data(stage))


def coded(data: Spec) -> Spec:
    """The same with curves and poses as second differences of whole numbers.

    They are small where a motion is smooth, so that they compress three times better. The page
    undoes this (web/src/study/data.ts).
    """
    scene = data["scene"]
    motions = [
        motion | {"poses": [_steps(pose, WIDTH) for pose in motion["poses"]]}
        for motion in scene["motions"]
    ]
    charts = [
        chart | {"series": [line | {"y": _steps(line["y"], 1)} for line in chart["series"]]}
        for chart in data["charts"]["charts"]
    ]
    return data | {"scene": scene | {"motions": motions}, "charts": {"charts": charts}}


def _steps(values: Sequence[float | None], width: int) -> Spec | Sequence[float | None]:
    """Rows of `width` numbers, column by column: the first, its step, then changes of the step.

    As multiples of the power of ten that leaves four digits to the largest number, five in poses.
    Curves with gaps stay as they are.
    """
    if not values or None in values:
        return values
    columns = np.array(values, float).reshape(-1, width).T
    largest = np.abs(columns).max()
    # not beyond what 10.0**places can be: numbers next to zero are zero here
    places = min(DIGITS - int(np.ceil(np.log10(largest))), 300) if largest > 0.0 else 0
    if width == WIDTH:
        places = max(places + 1, FINE)  # quaternions are at most 1, however far a motion goes
    whole = np.round(columns * 10.0**places).astype(np.int64)
    whole = np.diff(whole, n=2, axis=1, prepend=np.zeros((width, 2), np.int64))
    return {"places": places, "width": width, "steps": whole.ravel().tolist()}


def _spread(rows: Sequence[int]) -> list[int]:
    """First and last, then always the middle of what is between (bits reversed)."""
    bits = max(len(rows) - 1, 1).bit_length()
    places = sorted(range(len(rows)), key=lambda k: f"{k:0{bits}b}"[::-1])
    return [rows[k] for k in places]


def _difference(data: Spec, common: Spec) -> Spec:
    """Without what is the same in `common`; the parts of the scene one by one."""
    if data is common:
        return {}
    own = {key: value for key, value in data.items() if value != common[key]}
    if "scene" in own:
        own["scene"] = {
            key: value
            for key, value in data["scene"].items()
            if key not in common["scene"] or value != common["scene"][key]
        }
    return own


def packed(data: Any) -> str:
    """JSON, compressed, in signs that a page may contain anywhere."""
    return packed_text(json.dumps(data, separators=(",", ":"), allow_nan=False))


def packed_text(text: str) -> str:
    return b64encode(gzip.compress(text.encode(), mtime=0)).decode()


def _widen(ranges: dict[tuple[str, str], list[float]], data: Spec) -> None:
    """Let the ranges of values and times hold the curves of one more motion."""
    for chart in data["charts"]["charts"]:
        values = [y for line in chart["series"] for y in line["y"] if y is not None]
        if not values:
            continue
        end = max(data["times"][line["x"]][-1] for line in chart["series"])
        low, high, longest = ranges.get((chart["title"], chart["unit"]), [np.inf, -np.inf, 0.0])
        ranges[chart["title"], chart["unit"]] = [
            min(low, *values), max(high, *values), max(longest, end)
        ]  # fmt: skip
