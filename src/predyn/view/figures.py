"""Still figures as SVG text: the motion as a stroboscopic picture, all poses in one and side by
side, and the Jacobian's pattern.

Colours come from the page's style sheet, through classes.
"""

from __future__ import annotations

from html import escape

import numpy as np
from numpy.typing import NDArray

from predyn.view.bodies import floating_chain, massless_links
from predyn.view.ground_charts import outline
from predyn.view.numbers import shown
from predyn.view.scene import nice_step
from predyn.view.solids import Floats, sphere_points
from predyn.view.stage import Stage

WIDTH, HEIGHT, MARGIN = 540.0, 360.0, 44.0
POSES_FEW, POSES_MANY = 9, 4
CELLS_ACROSS, CELLS_DOWN, CELL, CELL_MARGIN, LABEL = 8, 2, 130.0, 8.0, 16.0  # of the film, px
THINNEST = 1.5  # px, of a bar
CORNERS = 60  # points of a ball's outline
PATTERN, CELLS = 360.0, 200  # px and cells of the longer side of the pattern


class Projection:
    """World points on a picture of a given size that holds the whole motion."""

    def __init__(self, stage: Stage, width: float, height: float, margin: float) -> None:
        view = stage.view
        self.axes = np.array([view.right, np.cross(view.toward, view.right)])
        self.bars = [
            (stage.placed(bar.link, bar.start), stage.placed(bar.link, bar.end), bar.radius)
            for bar in stage.bars
        ]
        self.joints = _joints(stage)
        points = [stage.p[self.joints].reshape(-1, 3), *(x for bar in self.bars for x in bar[:2])]
        flat = np.concatenate(points) @ self.axes.T
        self.middle = 0.5 * (flat.max(axis=0) + flat.min(axis=0))
        space = np.array([width, height]) - 2 * margin
        self.scale = float((space / np.maximum(np.ptp(flat, axis=0), 0.1 * view.radius)).min())
        self.centre = np.array([width, height]) / 2

    def screen(self, points: Floats) -> Floats:
        away = self.scale * (points @ self.axes.T - self.middle) * (1.0, -1.0)
        return np.asarray(away + self.centre)

    def pose(self, stage: Stage, k: int, radius: float) -> str:
        """The bodies at frame k, with joints of this radius (px)."""
        by_width: dict[float, list[str]] = {}
        for tail, tip, thick in self.bars:
            width = max(round(4.0 * thick * self.scale) / 2.0, THINNEST)
            line = f"M{_xy(self.screen(tail[k]))}L{_xy(self.screen(tip[k]))}"
            by_width.setdefault(width, []).append(line)
        bodies = "".join(
            f'<path stroke-width="{width:g}" d="{"".join(lines)}"/>'
            for width, lines in by_width.items()
        )
        joints = []
        for j in self.joints:
            x, y = self.screen(stage.p[j, k])
            joints.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}"/>')
        return bodies + "".join(joints)


def _joints(stage: Stage) -> list[int]:
    """Joints that connect bodies: not those of floating bases and of massless links."""
    hidden = floating_chain(stage.model) | massless_links(stage.model)
    shown = [j for j in range(stage.model.n) if j not in hidden]
    return shown or list(range(stage.model.n))


def strobe_poses(stage: Stage) -> NDArray[np.int64]:
    """Frames of the stroboscopic picture: equal steps in time."""
    poses = POSES_FEW if stage.model.n <= 12 else POSES_MANY
    return _spread(len(stage.times), poses)


def _spread(frames: int, count: int) -> NDArray[np.int64]:
    return np.round(np.linspace(0, frames - 1, count)).astype(np.int64)


def strobe_svg(stage: Stage) -> str:
    """The bodies at equal time steps, light to dark, with the paths of the ends."""
    projection = Projection(stage, WIDTH, HEIGHT, MARGIN)
    parts = [
        f'<svg class="figure" viewBox="0 0 {WIDTH:g} {HEIGHT:g}" role="img" '
        f'aria-label="Stroboscopic picture of the motion">'
    ]
    if stage.view.planar:
        parts += _rulers(projection.scale, projection.middle)
    else:
        parts.append(_scale_bar(projection.scale))
    parts += _obstacles(stage, projection)
    frames = strobe_poses(stage)
    for rank, k in enumerate(frames):
        opacity = 0.16 + 0.84 * (rank / (len(frames) - 1)) ** 1.5
        parts.append(
            f'<g class="pose" opacity="{opacity:.2f}"><title>t = '
            f"{shown(stage.times[k], 4)} s</title>{projection.pose(stage, k, 3.2)}</g>"
        )
    for number, (end, path) in enumerate(zip(stage.ends, stage.paths, strict=True)):
        points = projection.screen(path)
        parts.append(
            f'<path class="path way{number}" d="M{"L".join(_xy(point) for point in points)}">'
            f"<title>path of {escape(end.name)}</title></path>"
        )
        for point, label in ((points[0], "start"), (points[-1], "finish")):
            x, y = point.tolist()
            parts.append(f'<circle class="{label} way{number}" cx="{x:.1f}" cy="{y:.1f}" r="5"/>')
    return "".join(parts) + "</svg>"


def _obstacles(stage: Stage, projection: Projection) -> list[str]:
    """Outlines of the obstacles that are there at the start; moving ones where they start."""
    n, parts = len(stage.model.parent), []
    for solid in stage.solids:
        still = solid.link < 0 or solid.link >= n
        if solid.role not in ("obstacle", "payload") or not still:
            continue
        if solid.shown is not None and solid.shown[0] > 0.0:
            continue
        points, radius = solid.outline
        ball = radius * sphere_points(CORNERS)
        cloud = stage.placed(solid.link, (points[:, None] + ball).reshape(-1, 3))[:, 0]
        edge = "L".join(_xy(point) for point in outline(projection.screen(cloud)))
        parts.append(f'<path class="edge" fill-opacity="0.1" d="M{edge}Z"/>')
    return parts


def path_legend(stage: Stage) -> str:
    """Which point each of the drawn paths is of, in its colour; HTML."""
    names = (
        f'<span class="way{number}">━</span> {escape(end.name)}'
        for number, end in enumerate(stage.ends)
    )
    return f"Path of {', '.join(names)}."


def film_poses(stage: Stage) -> NDArray[np.int64]:
    """Frames of the film: equal steps in time."""
    return _spread(len(stage.times), CELLS_ACROSS * CELLS_DOWN)


def film_svg(stage: Stage) -> str:
    """Poses at equal time steps side by side, each with the paths since the one before."""
    height = CELL + LABEL
    projection = Projection(stage, CELL, CELL, CELL_MARGIN)
    frames = film_poses(stage)
    parts = [
        f'<svg class="figure film-strip" viewBox="0 0 {CELLS_ACROSS * CELL:g} '
        f'{CELLS_DOWN * height:g}" role="img" aria-label="Poses at equal time steps">'
    ]
    for rank, k in enumerate(frames):
        row, column = divmod(rank, CELLS_ACROSS)
        before = frames[max(rank - 1, 0)]
        paths = "".join(
            f'<path class="path way{number}" '
            f'd="M{"L".join(map(_xy, projection.screen(path[before : k + 1])))}"/>'
            for number, path in enumerate(stage.paths)
        )
        earlier = f'<g class="pose" opacity="0.2">{projection.pose(stage, before, 1.6)}</g>'
        parts.append(
            f'<g transform="translate({column * CELL:g} {row * height:g})">'
            f'<rect class="edge" width="{CELL:g}" height="{height:g}"/>'
            f"{earlier if rank else ''}{paths if rank else ''}"
            f'<g class="pose">{projection.pose(stage, k, 2.2)}</g>'
            f'<text class="mid" x="{CELL / 2:g}" y="{height - 5:g}">'
            f"{shown(stage.times[k], 3)} s</text></g>"
        )
    return "".join(parts) + "</svg>"


def _xy(point: Floats) -> str:
    return f"{point[0]:.1f} {point[1]:.1f}"


def _rulers(scale: float, middle: Floats) -> list[str]:
    """Grid lines with their coordinates along the two axes of the picture, in m."""
    step = nice_step(100.0 / scale)
    parts = []
    for axis, size in ((0, WIDTH), (1, HEIGHT)):
        reach = 0.5 * size / scale
        first = int(np.ceil((middle[axis] - reach) / step))
        last = int(np.floor((middle[axis] + reach) / step))
        for k in range(first, last + 1):
            at = 0.5 * size + (k * step - middle[axis]) * scale * (1 if axis == 0 else -1)
            if not 34.0 < at < size - 22.0:
                continue
            text = shown(round(k * step, 9), 4)
            if axis == 0:
                parts.append(f'<path class="rule" d="M{at:.1f} 0V{HEIGHT - 20:g}"/>')
                parts.append(f'<text x="{at:.1f}" y="{HEIGHT - 6:g}" class="mid">{text}</text>')
            else:
                parts.append(f'<path class="rule" d="M34 {at:.1f}H{WIDTH:g}"/>')
                parts.append(f'<text x="30" y="{at + 4:.1f}" class="end">{text}</text>')
    parts.append(f'<text x="{WIDTH - 4:g}" y="{HEIGHT - 6:g}" class="end">m</text>')
    return parts


def _scale_bar(scale: float) -> str:
    step = nice_step(110.0 / scale)
    x, y = 14.0, HEIGHT - 14.0
    return (
        f'<path class="bar" d="M{x:g} {y - 5:g}v5h{step * scale:.1f}v-5"/>'
        f'<text x="{x + step * scale + 8:.1f}" y="{y + 2:g}">{shown(step, 3)} m</text>'
    )


def sparsity_svg(
    pattern: tuple[NDArray[np.int32], NDArray[np.int32]], rows: int, columns: int
) -> str:
    """Where the constraint Jacobian is not zero; of large ones, cells of several rows."""
    side = max(rows, columns, 1)
    cell = max(1.0, side / CELLS)
    width, height = (max(PATTERN / 3, PATTERN * max(count, 1) / side) for count in (columns, rows))
    i, j = (np.floor(np.asarray(indices) / cell).astype(np.int64) for indices in pattern)
    occupied = np.unique(i * side + j)
    starts = np.flatnonzero(np.diff(occupied, prepend=-2) != 1)
    lengths = np.diff(np.append(starts, len(occupied)))
    i, j = np.divmod(occupied[starts], side)
    dx, dy = cell * width / max(columns, 1), cell * height / max(rows, 1)
    path = "".join(
        f"M{x * dx:.1f} {y * dy:.1f}h{length * dx:.1f}v{dy:.2f}h{-length * dx:.1f}z"
        for y, x, length in zip(i.tolist(), j.tolist(), lengths.tolist(), strict=True)
    )
    return (
        f'<svg class="figure pattern" viewBox="-1 -1 {width + 2:.1f} {height + 2:.1f}" '
        f'width="{width + 2:.0f}" role="img" aria-label="Pattern of the constraint Jacobian">'
        f'<rect width="{width:.1f}" height="{height:.1f}" class="edge"/>'
        f'<path class="cells" d="{path}"/></svg>'
    )
