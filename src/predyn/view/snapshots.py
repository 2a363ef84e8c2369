"""Snapshots of a motion side by side in one picture: frames by the painter, at equal time steps."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from predyn.errors import InputError
from predyn.storage.files import checked_path, write_atomically
from predyn.view.animation import TRAIL, checked_size, checked_view
from predyn.view.motions import span_of, stage_at
from predyn.view.painter import Painter
from predyn.view.panels import Motion
from predyn.view.plots import pyplot

MOST = 50


def snapshots(
    motion: Motion,
    path: str | os.PathLike[str],
    *,
    count: int,
    size: tuple[int, int],
    view: tuple[float, float] | None,
) -> None:
    """See `Moving.snapshots` in display.py."""
    suffix = checked_path(path).suffix.lower()
    if suffix != ".png":
        raise InputError(f"{path}: expected a picture's suffix, .png, got {suffix!r:.20}")
    pyplot()
    size, view = checked_size(size, suffix), checked_view(view)
    start, end = span_of(motion)
    every = -(-TRAIL // _checked_count(count))  # trails are finer than the snapshots
    times = np.linspace(start, end, (count - 1) * every + 1)
    painter = Painter(stage_at(motion, times), size, view)
    row = np.concatenate([painter.frame(k) for k in range(0, len(times), every)], axis=1)

    def write(file: Path) -> None:
        from PIL import Image

        Image.fromarray(row).save(file, format="PNG", optimize=True)

    write_atomically(path, write)


def _checked_count(count: Any) -> int:
    whole = isinstance(count, int | np.integer) and not isinstance(count, bool)
    if not whole or not 2 <= count <= MOST:
        raise InputError(f"count: expected 2 to {MOST} snapshots, got {count!r:.60}")
    return int(count)
