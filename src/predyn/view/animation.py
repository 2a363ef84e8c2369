"""Films of a motion: frames by the painter, written as GIF (Pillow) or MP4 (PyAV, H.264)."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from predyn.errors import InputError
from predyn.solvers.live_table import LiveTable, chosen_place
from predyn.storage.files import checked_path, write_atomically
from predyn.view.motions import span_of, stage_at
from predyn.view.painter import Painter
from predyn.view.panels import Motion
from predyn.view.plots import pyplot

Pictures = Iterator[NDArray[np.uint8]]

LEAST, MOST = 64, 4096  # pixels
NUMBERS = (int, float, np.integer, np.floating)
MOST_FRAMES = 5000
TICK = 0.01  # s, the resolution of time in a GIF
LONGEST = 655.0  # s that a GIF can show a frame
FASTEST = 1e4  # pictures a second of an MP4: a film of a nanosecond lasts longer
FASTEST_GIF = 50  # pictures a second: viewers slow frames of less than two ticks down
TRAIL = 200  # instants of a trail at least


def animate(
    motion: Motion,
    path: str | os.PathLike[str],
    *,
    fps: float,
    speed: float,
    size: tuple[int, int],
    view: tuple[float, float] | None,
    verbose: bool | None,
) -> None:
    """See `Moving.animate` in display.py."""
    suffix = checked_path(path).suffix.lower()
    if suffix not in WRITERS:
        raise InputError(f"{path}: expected a film's suffix, .gif or .mp4, got {suffix!r:.20}")
    pyplot()
    for name, value in (("fps", fps), ("speed", speed)):
        if isinstance(value, bool) or not isinstance(value, NUMBERS) or not 0 < value < 1e4:
            raise InputError(
                f"{name}: expected a number above 0 and below 10000, got {value!r:.60}"
            )
    fps, speed = float(fps), float(speed)
    if suffix == ".gif" and fps > FASTEST_GIF:
        raise InputError(f"fps: expected at most {FASTEST_GIF} for .gif, got {fps:g}; use .mp4")
    size, view = checked_size(size, suffix), checked_view(view)
    start, end = span_of(motion)
    count = max(2, round((end - start) * fps / speed) + 1)
    if count > MOST_FRAMES:
        raise InputError(
            f"fps: {fps:g} with speed {speed:g} gives {count} frames, more than {MOST_FRAMES}; "
            "lower fps or raise speed"
        )
    seconds = (end - start) / speed
    if seconds > LONGEST * (count - 1):
        raise InputError(
            f"fps: {fps:g} with speed {speed:g} shows each frame for {seconds / (count - 1):g} s, "
            f"more than {LONGEST:g} s; raise fps or speed"
        )
    every = math.ceil(TRAIL / count)  # trails are finer than the frames of a short film
    times = np.linspace(start, end, (count - 1) * every + 1)
    painter = Painter(stage_at(motion, times), size, view)
    place = chosen_place(verbose)

    def write(file: Path) -> None:
        chosen = range(0, len(times), every)
        with LiveTable(f"Writing {path}", place) if place else nullcontext() as table:
            WRITERS[suffix](file, _frames(painter, chosen, table), count, seconds)

    write_atomically(path, write)


def _frames(painter: Painter, chosen: Sequence[int], table: LiveTable | None) -> Pictures:
    for done, k in enumerate(chosen, start=1):
        yield painter.frame(k)
        if table is not None:
            text = f"frame {done} of {len(chosen)}"
            table.row(lambda text=text: text)  # type: ignore[misc]


def _write_gif(file: Path, frames: Pictures, count: int, seconds: float) -> None:
    """Frames last whole ticks, in turn shorter and longer, so that the film has its length."""
    from PIL import Image

    pictures = [Image.fromarray(frame) for frame in frames]
    # one palette for all frames, from every third pixel of a few: colours do not flicker
    few = [np.asarray(picture)[::3, ::3] for picture in pictures[:: max(1, count // 6)]]
    together = Image.fromarray(np.concatenate(few))
    palette = together.quantize(256, Image.Quantize.MAXCOVERAGE, kmeans=2)
    indexed = [x.quantize(palette=palette, dither=Image.Dither.NONE) for x in pictures]
    ticks = np.round(np.arange(count) * seconds / (count - 1) / TICK).astype(int)
    lasting = [*(10 * np.diff(ticks)).tolist(), 500]  # ms; the end is held before it loops
    indexed[0].save(
        file, format="GIF", save_all=True, append_images=indexed[1:], duration=lasting, loop=0
    )


def _write_mp4(file: Path, frames: Pictures, count: int, seconds: float) -> None:
    av = _pyav()
    rate = Fraction(min((count - 1) / seconds, FASTEST)).limit_denominator(1001)
    with av.open(str(file), "w", format="mp4", options={"movflags": "faststart"}) as film:
        stream: Any = None
        for frame in frames:
            if stream is None:
                stream = film.add_stream("libx264", rate=rate, options={"crf": "20"})
                stream.height, stream.width = frame.shape[:2]
                stream.pix_fmt = "yuv420p"
            film.mux(stream.encode(av.VideoFrame.from_ndarray(frame, format="rgb24")))
        film.mux(stream.encode(None))


def _pyav() -> Any:
    try:
        import av
    except ImportError:
        raise InputError(
            ".mp4 films need PyAV, which is not installed: pip install 'predyn[video]'; "
            "a .gif needs only 'predyn[pictures]'"
        ) from None
    return av


WRITERS = {".gif": _write_gif, ".mp4": _write_mp4}


def checked_size(size: Any, suffix: str) -> tuple[int, int]:
    """Width and height; H.264 needs even ones."""
    pair = isinstance(size, Sequence | np.ndarray) and len(size) == 2
    whole = pair and all(isinstance(x, int | np.integer) for x in size)
    if not whole or not all(LEAST <= x <= MOST for x in size):
        raise InputError(
            f"size: expected width and height from {LEAST} to {MOST} pixels, got {size!r:.60}"
        )
    if suffix == ".mp4" and any(x % 2 for x in size):
        raise InputError(f"size: expected even numbers for .mp4, got {size!r:.60}")
    return int(size[0]), int(size[1])


def checked_view(view: Any) -> tuple[float, float] | None:
    if view is None:
        return None
    try:
        azimuth, elevation = (float(x) for x in view)
    except (TypeError, ValueError, OverflowError):
        azimuth = elevation = math.nan
    if not math.isfinite(azimuth) or not -90.0 <= elevation <= 90.0:
        raise InputError(
            "view: expected azimuth and elevation (-90 to 90) in degrees, or None, got "
            f"{view!r:.60}"
        )
    return azimuth, elevation
