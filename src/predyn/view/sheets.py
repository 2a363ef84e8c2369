"""The data of a page, as web/src/data.ts describes it, with the lists of times kept once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from predyn.view.numbers import rounded

Floats = NDArray[np.float64]
Spec = dict[str, Any]  # of a chart or of one of its series, as web/src/data.ts explains
FEW = 8  # joints or channels that are all shown at first; of more only some
FIRST = 6


class Times:
    """Lists of times that charts name by their number; equal lists are kept once."""

    def __init__(self) -> None:
        self.lists: list[list[float | None]] = []
        self._known: dict[bytes, int] = {}

    def number(self, t: Floats) -> int:
        key = np.asarray(t, np.float64).tobytes()
        if key not in self._known:
            self._known[key] = len(self.lists)
            self.lists.append(rounded(t, 7))
        return self._known[key]


def series(times: Times, t: Floats, y: Floats, name: str, joint: int, **more: Any) -> Spec:
    """A curve; more: band (lower, upper), limits, step, dots, faint."""
    spec: Spec = {"joint": joint, "name": name, "x": times.number(t), "y": rounded(y)}
    if "band" in more:
        spec["band"] = [rounded(end) for end in more.pop("band")]
    return spec | more


def chart(title: str, unit: str, lines: list[Spec], **more: Any) -> Spec:
    """A chart over time that follows the clock of the page unless `timed=False`."""
    return {
        "title": title,
        "unit": unit,
        "xLabel": "time [s]",
        "timed": True,
        "series": lines,
    } | more


def page_data(
    times: Times,
    charts: dict[str, list[Spec]],
    pickers: Sequence[Spec] = (),
    clock: Spec | None = None,
    scene: Spec | None = None,
    state: Sequence[Spec] = (),
) -> Spec:
    """All that the script of a page is given; charts by the id of the element they go into."""
    return {
        "times": times.lists,
        "clock": clock,
        "scene": scene,
        "state": list(state),
        "charts": charts,
        "pickers": list(pickers),
    }


def picker(place: str, charts: Sequence[str], names: Sequence[str], first: Sequence[int]) -> Spec:
    """Buttons in `place` that choose what the charts show, by the `joint` of their series."""
    return {"place": place, "charts": list(charts), "names": list(names), "first": list(first)}


def thinned(count: int, most: int) -> NDArray[np.int64]:
    """Indices of at most about `most` of `count` points, evenly, first and last included."""
    return np.unique(np.round(np.linspace(0, count - 1, min(count, most))).astype(np.int64))
