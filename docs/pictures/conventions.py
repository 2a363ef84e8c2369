"""Draws conventions.svg: python docs/pictures/conventions.py [other.png]

A two-link arm in an oblique projection: world x to the right, z up, y into the page.
"""

import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib import pyplot as plt
from matplotlib.patches import Circle, FancyArrowPatch

OUT = Path(__file__).with_suffix(".svg")
INK, GREY, BODY = "#222222", "#777777", "#d9dde3"
AXES = ("#c0392b", "#2e8b57", "#2563c9")  # x, y, z
FORCE, REACTION = "#d35400", "#7d3c98"


def page(p):
    """World point to page point."""
    x, y, z = p
    return np.array([x - 0.36 * y, z + 0.42 * y])


def turn(angle):
    """Link axes in world after a turn about the joint axis, which points out of the page."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0.0], [0.0, 0.0, -1.0], [s, c, 0.0]])


class Drawing:
    def __init__(self):
        self.figure, self.ax = plt.subplots(figsize=(11.5, 7.0))
        self.ax.set_aspect("equal")
        self.ax.axis("off")

    def arrow(self, start, end, color, width=2.0, head=13, line="-", gap=0):
        patch = FancyArrowPatch(
            page(start),
            page(end),
            arrowstyle="-|>",
            mutation_scale=head,
            color=color,
            lw=width,
            linestyle=line,
            shrinkA=0,
            shrinkB=gap,
            zorder=5,
        )
        self.ax.add_patch(patch)

    def text(self, p, words, dx=0.0, dy=0.0, color=INK, size=11, ha="center"):
        x, y = page(p) + (dx, dy)
        self.ax.text(x, y, words, color=color, fontsize=size, ha=ha, va="center", zorder=9)

    def line(self, a, b, color, width, line="-", z=2):
        (x0, y0), (x1, y1) = page(a), page(b)
        self.ax.plot(
            [x0, x1], [y0, y1], color=color, lw=width, ls=line, zorder=z, solid_capstyle="round"
        )

    def frame(self, R, p, names=("x", "y", "z"), size=0.5, line="-", width=2.4):
        for k in range(3):
            end = p + size * R[:, k]
            self.arrow(p, end, AXES[k], width, 12, line=line)
            u, w = (page(end) - page(p)) / np.hypot(*(page(end) - page(p)))
            self.text(end, names[k], 0.09 * (u + w), 0.09 * (w - u), AXES[k])

    def body(self, a, b):
        self.line(a, b, GREY, 25)
        self.line(a, b, BODY, 22, z=3)

    def joint(self, p, axis, label, side):
        self.line(p - 0.8 * axis, p + 1.75 * axis, GREY, 1.2, "-.", z=4)
        self.ax.add_patch(Circle(page(p), 0.085, fc="white", ec=INK, lw=1.6, zorder=6))
        around = np.linspace(*np.deg2rad(side), 40)
        arc = page(p + 1.4 * axis)[:, None] + 0.17 * np.array([np.cos(around), np.sin(around)])
        self.ax.plot(*arc[:, :-2], color=INK, lw=1.6, zorder=6)
        tip = FancyArrowPatch(
            arc[:, -4], arc[:, -1], arrowstyle="-|>", mutation_scale=12, color=INK, zorder=6
        )
        self.ax.add_patch(tip)
        self.text(p + 1.75 * axis, label, 0.06, -0.06, ha="left")


def draw():
    d = Drawing()
    axis = np.array([0.0, -1.0, 0.0])
    R_W = np.eye(3)
    R0, R1 = turn(np.deg2rad(38)), turn(np.deg2rad(-8))
    p_W, p0 = np.zeros(3), np.array([1.5, 0.0, 0.95])
    p1 = p0 + 2.3 * R0[:, 0]
    tip = p1 + 3.0 * R1[:, 0]
    point = p1 + R1 @ (1.75, 0.0, 0.0)
    com = p1 + R1 @ (1.15, 0.0, 0.0)

    d.frame(R_W, p_W, ("$x_W$", "$y_W$", "$z_W$"), 0.62)
    d.text(p_W, "world frame W\nz up, parent -1", 0.2, -0.36)
    g = np.array([-1.0, 0.0, 1.5])
    d.arrow(g, g - (0, 0, 0.75), INK, 2.2, 15)
    d.text(g, "gravity\n(0, 0, -9.81)", 0.0, 0.22)

    d.body(p0, p1)
    d.body(p1, tip)
    d.joint(p0, axis, "axis[0], angle q[0]", (-60, 215))
    d.joint(p1, axis, "axis[1], angle q[1]", (-60, 215))
    d.frame(R0, p0, ("$x_0$", "$y_0$", "$z_0$"), 0.6)
    d.frame(R1, p1, ("$x_1$", "$y_1$", "$z_1$"), 0.6)

    d.arrow(p_W, p0, INK, 1.5, 13, line=(0, (4, 3)), gap=8)
    d.text(0.6 * p0, "R[0], p[0]", 0.36, -0.18)
    d.arrow(p0, p1, INK, 1.5, 13, line=(0, (4, 3)), gap=8)
    d.text(0.55 * p0 + 0.45 * p1, "R[1], p[1]\nin axes of link 0", 0.7, -0.3)
    d.text(0.35 * p0 + 0.65 * p1, "link 0", -0.28, 0.3, size=12)

    d.frame(R1, tip, ("$x$", "$y$", "$z$"), 0.5, (0, (2, 1.5)), 1.8)
    d.text(tip, "distal frame of a DH row:\na named frame of link 1", 0.1, -0.75)
    d.text(0.2 * p1 + 0.8 * tip, "link 1", 0.0, 0.3, size=12)

    x, y = page(com)
    d.ax.add_patch(Circle((x, y), 0.075, fc="white", ec=INK, lw=1.3, zorder=6))
    d.ax.plot([x - 0.075, x + 0.075], [y, y], color=INK, lw=1, zorder=7)
    d.ax.plot([x, x], [y - 0.075, y + 0.075], color=INK, lw=1, zorder=7)
    d.text(com, "centre of mass c", 0.0, 0.3)

    d.ax.add_patch(Circle(page(point), 0.05, fc=FORCE, ec=FORCE, zorder=7))
    d.arrow(point, point + (0.45, 0.0, 0.95), FORCE, 3.0, 18)
    words = "external force ON link 1\nat a point fixed in the link"
    d.text(point + (0.45, 0.0, 0.95), words, 0.1, 0.22, FORCE)

    force, moment = np.array([-0.1, 0.0, 1.05]), np.array([-1.0, 0.0, 0.42])
    d.arrow(p1, p1 + force, REACTION, 3.0, 18)
    d.arrow(p1, p1 + moment, REACTION, 3.0, 18)
    d.arrow(p1, p1 + 0.86 * moment, REACTION, 3.0, 18)
    d.text(p1 + force, "force", -0.02, 0.14, REACTION)
    d.text(p1 + moment, "moment", -0.36, 0.0, REACTION)
    d.text(p1, "reaction that link 1\nreceives through joint 1", -2.05, 1.0, REACTION)
    return d.figure


if __name__ == "__main__":
    mpl.rcParams.update({"svg.hashsalt": "predyn", "font.family": "DejaVu Sans"})
    out = Path(sys.argv[1]) if len(sys.argv) > 1 else OUT
    metadata = {"Date": None} if out.suffix == ".svg" else None
    draw().savefig(out, bbox_inches="tight", metadata=metadata, dpi=110)
