"""Pictures of a mechanism by the painter's algorithm, with matplotlib.

Bodies are flat facets, shaded by one light, drawn from the farthest to the nearest; so are the
trails of the ends and the arrows of forces. Where large facets cross each other, the order of
their middles decides, which is not exact.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from predyn.view.arrows import AT_POINTS
from predyn.view.bodies import side_tones
from predyn.view.camera import Camera
from predyn.view.facets import facets_of
from predyn.view.plots import COLOURS
from predyn.view.scene import nice_step
from predyn.view.solids import Floats
from predyn.view.stage import Stage

BODY = (*COLOURS[:-1], "#4a515b")  # links have the colours of their joints' curves, none is black
NEUTRAL = "#98a2ae"  # of links between left and right ones
ROLES = {
    "hub": "#6f7a87", "base": "#9aa4af", "payload": "#c49a52", "tool": "#394350",
    "obstacle": "#b9a583",
}  # fmt: skip
TRAILS = ("#d55e00", "#008f68", "#b8578c", "#b07800", "#6b5bb0", "#2b2f36")
ARROWS = {"force": "#b3261e", "moment": "#7b4fb3"}
PAPER, GROUND, GRID, SHADOW, INK = "#ffffff", "#f1f4f8", "#d3dae3", "#d5dce4", "#3b4450"
AMBIENT, DIFFUSE, SHINE = 0.56, 0.56, 0.2
LINE, HEAD = 2.4, 9.0  # pixels: width of trails and arrows, length of an arrow's head
FACING = 0.999  # cosine of the angle to a planar motion within which it is seen from the front
STEEP = 0.06  # sine of the elevation above which the ground is seen from above


class Bodies(NamedTuple):
    """Facets of all solids."""

    link: NDArray[np.int64]  # (F,) -1: the world
    corners: Floats  # (F, 4, 3) in link axes
    colour: Floats  # (F, 3)
    shown: Floats  # (F, 2) s, when they are there

    def chosen(self, rows: NDArray[np.bool_]) -> Bodies:
        return Bodies(self.link[rows], self.corners[rows], self.colour[rows], self.shown[rows])


class Painter:
    """Draws the frames of a stage into one canvas, one after the other."""

    def __init__(
        self, stage: Stage, size: tuple[int, int], angles: tuple[float, float] | None = None
    ) -> None:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.collections import PolyCollection
        from matplotlib.figure import Figure

        self.stage, self._bodies = stage, _bodies(stage)
        frames = np.unique(np.linspace(0, len(stage.times) - 1, 40).astype(int))
        reach = [self._placed(k, self._bodies)[:, 0] for k in frames]
        self.camera = Camera(stage.view, size, angles, np.concatenate([*reach, *stage.paths]))
        light = self.camera.axes.T @ (-0.45, 0.75, 0.6)
        self._light = light / np.linalg.norm(light)
        figure = Figure(figsize=(size[0] / 100, size[1] / 100), dpi=100, facecolor=PAPER)
        self._canvas = FigureCanvasAgg(figure)
        ax = figure.add_axes((0.0, 0.0, 1.0, 1.0))
        ax.set_axis_off()
        ax.set(xlim=(0, size[0]), ylim=(0, size[1]))
        self._paint_grid(ax)
        self._shadows = PolyCollection([], facecolors=SHADOW, edgecolors=SHADOW, linewidths=0.7)
        self._facets = PolyCollection([], linewidths=0.5)
        ax.add_collection(self._shadows, autolim=False)
        ax.add_collection(self._facets, autolim=False)
        self._clock = ax.text(12, size[1] - 12, "", va="top", color=INK, fontsize=11)

    def frame(self, k: int) -> NDArray[np.uint8]:
        """Pixels (height, width, 3) of frame k."""
        time = float(self.stage.times[k])
        there = (self._bodies.shown[:, 0] <= time) & (time <= self._bodies.shown[:, 1])
        bodies = self._bodies.chosen(there)
        world = self._placed(k, bodies)
        flat, depth = self.camera.project(world)
        seen = _area(flat) > 0.0  # others are turned away
        colours = self._shaded(world[seen], bodies.colour[seen])
        parts = [(flat[seen], depth[seen].mean(axis=1), colours)]
        parts += self._trails(k) + self._arrows(k)
        polygons, depths, colours = (np.concatenate(x) for x in zip(*parts, strict=True))
        order = np.argsort(-depths, kind="stable")
        self._facets.set_verts(list(polygons[order]))
        self._facets.set_facecolor(colours[order])
        self._facets.set_edgecolor(colours[order])  # closes the seams between facets
        if self._grounded:
            self._shadows.set_verts(list(self.camera.project(self._cast(world))[0]))
        self._clock.set_text(f"{time:.2f} s")
        self._canvas.draw()
        return np.array(self._canvas.buffer_rgba())[..., :3]

    def _placed(self, k: int, bodies: Bodies) -> Floats:
        """Facets (F, 4, 3) in world axes."""
        R = np.concatenate([self.stage.R[:, k], np.eye(3)[None]])  # the last one is the world
        p = np.concatenate([self.stage.p[:, k], np.zeros((1, 3))])
        turned = np.einsum("fij,fcj->fci", R[bodies.link], bodies.corners)
        return np.asarray(turned + p[bodies.link][:, None])

    def _shaded(self, world: Floats, colour: Floats) -> Floats:
        normal = np.cross(world[:, 2] - world[:, 0], world[:, 3] - world[:, 1])
        normal /= np.linalg.norm(normal, axis=1, keepdims=True) + 1e-300
        facing = np.maximum(normal @ self._light, 0.0)
        between = self._light + self.camera.toward
        shine = np.maximum(normal @ between / np.linalg.norm(between), 0.0) ** 24
        lit = colour * (AMBIENT + DIFFUSE * facing)[:, None] + SHINE * shine[:, None]
        return np.asarray(np.clip(lit, 0.0, 1.0))

    @property
    def _walled(self) -> bool:
        """Whether a planar motion is seen from the front: its grid is upright then."""
        view = self.stage.view
        return bool(view.planar and self.camera.toward @ view.toward > FACING)

    @property
    def _grounded(self) -> bool:
        """Whether the ground is seen from above."""
        return not self._walled and bool(self.camera.toward @ self.stage.view.up > STEEP)

    def _paint_grid(self, ax: Any) -> None:
        """Lines of a plane, with the world's origin on one of them."""
        from matplotlib.collections import LineCollection
        from matplotlib.patches import Polygon

        view, step = self.stage.view, nice_step(self.stage.view.radius / 4.0)
        end = step * np.ceil(2.4 * view.radius / step)
        a, b, middle = view.right, np.cross(view.toward, view.right), view.centre
        if not self._walled:
            a, b = view.east, view.north
            middle = middle + (self.stage.level - middle @ view.up) * view.up
        middle = middle + sum((step * np.round(middle @ x / step) - middle @ x) * x for x in (a, b))
        if self._grounded:
            corners = ((1, 1), (-1, 1), (-1, -1), (1, -1))
            around = np.array([middle + end * (x * a + y * b) for x, y in corners])
            flat, _ = self.camera.project(around)
            ax.add_patch(Polygon(flat, facecolor=GROUND, edgecolor="none", zorder=0.4))
        lines = [
            [middle + place * across - end * along, middle + place * across + end * along]
            for along, across in ((a, b), (b, a))
            for place in np.arange(-end, end + 0.5 * step, step)
        ]
        flat, _ = self.camera.project(np.array(lines))
        grid = LineCollection(list(flat), colors=GRID, linewidths=0.7, zorder=0.5)
        ax.add_collection(grid, autolim=False)

    def _cast(self, world: Floats) -> Floats:
        """Facets along the light onto the ground."""
        up = self.stage.normal
        light = up + 0.25 * self.camera.right + 0.15 * np.cross(up, self.camera.right)
        height = world @ up - self.stage.level
        return np.asarray(world - np.maximum(height, 0.0)[..., None] * light)

    def _trails(self, k: int) -> list[tuple[Floats, Floats, Floats]]:
        parts = []
        for number, path in enumerate(self.stage.paths):
            if k > 0:
                flat, depth = self.camera.project(path[: k + 1])
                colour = np.broadcast_to(_rgb(TRAILS[number % len(TRAILS)]), (k, 3))
                fading = np.linspace(0.75, 0.0, k)[:, None]  # toward the paper, the older the more
                colours = colour + fading * (1.0 - colour)
                parts.append(_lines(flat[:-1], flat[1:], depth[1:], colours))
        return parts

    def _arrows(self, k: int) -> list[tuple[Floats, Floats, Floats]]:
        stage, feet, tips, kinds = self.stage, [], [], []
        for arrow in stage.arrows:
            R = stage.R[arrow.link, k] if arrow.link >= 0 else np.eye(3)
            feet.append(stage.placed(arrow.link, arrow.point)[k])
            tips.append(feet[-1] + (arrow.vector if arrow.world else R @ arrow.vector))
            kinds.append(arrow.kind)
        for moving in stage.moving:
            if moving.seen[k] and moving.option != AT_POINTS:
                feet.append(moving.feet[k])
                tips.append(moving.tips[k])
                kinds.append(moving.kind)
        if not feet:
            return []
        (foot, _), (tip, depth) = (self.camera.project(np.array(x)) for x in (feet, tips))
        along = tip - foot
        along /= np.linalg.norm(along, axis=1, keepdims=True) + 1e-12
        side = along[:, ::-1] * (-1.0, 1.0)
        neck = tip - HEAD * along
        colours = np.array([_rgb(ARROWS[kind]) for kind in kinds])
        head = np.stack([neck + 0.45 * HEAD * side, neck - 0.45 * HEAD * side, tip, tip], axis=1)
        return [_lines(foot, neck, depth, colours), (head, depth, colours)]


def _bodies(stage: Stage) -> Bodies:
    parts, tones = [], side_tones(stage.model)
    for solid in stage.solids:
        corners = facets_of(solid)
        tone = tones.get(solid.link, solid.link)
        body = NEUTRAL if tone < 0 else BODY[tone % len(BODY)]
        colour = _rgb(ROLES.get(solid.role, body))
        shown = (-np.inf, np.inf) if solid.shown is None else solid.shown
        rows = len(corners)
        colours, times = (np.tile(x, (rows, 1)) for x in (colour, shown))
        parts.append((np.full(rows, solid.link), corners, colours, times))
    links, *others = (np.concatenate(x) for x in zip(*parts, strict=True))
    return Bodies(links, *others)


def _lines(
    start: Floats, end: Floats, depth: Floats, colours: Floats
) -> tuple[Floats, Floats, Floats]:
    """Segments as thin quadrilaterals."""
    along = end - start
    length = np.linalg.norm(along, axis=1, keepdims=True)
    side = 0.5 * LINE * along[:, ::-1] * (-1.0, 1.0) / np.maximum(length, 1e-9)
    return np.stack([start + side, start - side, end - side, end + side], axis=1), depth, colours


def _area(flat: Floats) -> Floats:
    """Signed area of quadrilaterals (F, 4, 2); positive if counter-clockwise."""
    u, v = flat[:, 2] - flat[:, 0], flat[:, 3] - flat[:, 1]
    return np.asarray(0.5 * (u[:, 0] * v[:, 1] - u[:, 1] * v[:, 0]))


def _rgb(colour: str) -> Floats:
    from matplotlib.colors import to_rgb

    return np.array(to_rgb(colour))
