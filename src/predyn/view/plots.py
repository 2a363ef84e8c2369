"""Curves of a motion with matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from predyn.errors import InputError
from predyn.view.numbers import written_unit
from predyn.view.panels import Motion, Panel, default_names, in_degrees, panels_of, phases_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = (
    "#0072b2", "#d55e00", "#008f68", "#b8578c", "#b07800", "#3a9bd5", "#6b5bb0", "#2b2f36",
)  # fmt: skip
STYLES = ("-", "-.", ":", (0, (5, 1, 1, 1)))  # after each round through the colours
GREY, SHADE = "#5a6472", "#eef1f5"
FLAT = 1e-6  # a curve that varies less, relative to its size, is drawn level
MARGIN = 0.06  # around the curves, of their range
REACH = 0.5  # of the range of the curves: limits that are farther away are not in the picture
WIDTH, HEIGHT = 7.0, 2.6  # inches of one axes
MOST_IN_LEGEND = 16


def plot(
    motion: Motion,
    names: Sequence[str],
    joints: Sequence[str] | None,
    degrees: bool,
    ax: Axes | Sequence[Axes] | None,
) -> list[Axes]:
    """See `Moving.plot` in display.py."""
    if not isinstance(degrees, bool | np.bool_):
        raise InputError(f"degrees: expected True or False, got {degrees!r:.60}")
    shown = [x for name in names or default_names(motion) for x in panels_of(motion, name, joints)]
    if degrees:
        shown = [in_degrees(panel) for panel in shown]
    axes = _new_axes(len(shown)) if ax is None else _given_axes(ax, shown)
    phases = phases_of(motion)
    for each, panel in zip(axes, shown, strict=True):
        _draw(each, panel, phases)
    if len(phases) > 1:
        _name_phases(axes[0], phases)
    return axes


def pyplot() -> Any:
    """matplotlib.pyplot, or an InputError that says how to install it."""
    try:
        from matplotlib import pyplot
    except ImportError:
        raise InputError(
            "plots and animations need matplotlib, which is not installed: "
            "pip install 'predyn[pictures]'"
        ) from None
    return pyplot


def _new_axes(count: int) -> list[Axes]:
    _, grid = pyplot().subplots(
        count, 1, sharex=True, squeeze=False, layout="constrained",
        figsize=(WIDTH, HEIGHT * count + 0.3),
    )  # fmt: skip
    return list(grid[:, 0])


def _given_axes(ax: Any, shown: list[Panel]) -> list[Axes]:
    axes = [ax] if hasattr(ax, "set_ylabel") else list(np.ravel(np.asarray(ax, object)))
    other = [each for each in axes if not hasattr(each, "set_ylabel")]
    if other:
        raise InputError(
            f"ax: expected matplotlib axes, as from plt.subplots()[1], got {other[0]!r:.60}"
        )
    if len(axes) != len(shown):
        what = ", ".join(f"{x.title} [{x.unit}]" for x in shown)
        raise InputError(f"ax: expected {len(shown)} axes ({what}), got {len(axes)}")
    return axes


def _draw(ax: Axes, panel: Panel, phases: list[tuple[str, float, float]]) -> None:
    """Curves with their names, then bands, limits and phases behind them."""
    for k, name in enumerate(panel.names):
        colour, style = COLOURS[k % len(COLOURS)], STYLES[k // len(COLOURS) % len(STYLES)]
        ax.plot(
            panel.t, panel.values[:, k], color=colour, linestyle=style, linewidth=1.6,
            label=f"\N{WORD JOINER}{name}" if name.startswith("_") else name,
        )  # fmt: skip
        if panel.band is not None:
            low, high = (end[:, k] for end in panel.band)
            ax.fill_between(panel.t, low, high, color=colour, alpha=0.2, linewidth=0)
    unit = written_unit(panel.unit)
    label = f"{panel.title} [{unit}]" if unit else panel.title
    ax.set_ylabel(label, parse_math=False)  # a name may have a $
    place = ax.get_subplotspec()
    if place is None or place.is_last_row():
        ax.set_xlabel("time [s]")
    ax.set_xlim(panel.t[0], panel.t[-1])
    _frame_curves(ax, panel)
    _draw_limits(ax, panel, phases)
    _shade_phases(ax, phases)
    ax.grid(True, color="#e4e8ed", linewidth=0.8)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    if len(panel.names) <= MOST_IN_LEGEND:
        legend = ax.legend(
            loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize="small"
        )
        for text in legend.get_texts():
            text.set_parse_math(False)


def _frame_curves(ax: Axes, panel: Panel) -> None:
    """The range of the picture: the curves, and limits that are near."""
    parts = [panel.values, *(panel.band or ())]
    known = np.concatenate([x[np.isfinite(x)] for x in parts])
    if not len(known):
        return
    low, high = float(known.min()), float(known.max())
    size, largest = high - low, max(abs(low), abs(high))
    if size <= FLAT * largest or size == 0.0:
        size = largest or 1.0
    if panel.limits is not None:
        bounds = panel.limits[np.isfinite(panel.limits)]
        near = bounds[(bounds > low - REACH * size) & (bounds < high + REACH * size)]
        low, high = min([low, *near.tolist()]), max([high, *near.tolist()])
    ax.set_ylim(low - MARGIN * size, high + MARGIN * size)


def _draw_limits(ax: Axes, panel: Panel, phases: list[tuple[str, float, float]]) -> None:
    """Dashed, in the colour of the curve; grey where curves share one."""
    if panel.limits is None:
        return
    for limits, (_, start, end) in zip(panel.limits, phases, strict=True):
        for bound in np.unique(limits[np.isfinite(limits)]):
            of = np.flatnonzero((limits == bound).any(axis=1))
            colour = COLOURS[of[0] % len(COLOURS)] if len(of) == 1 else GREY
            ax.hlines(bound, start, end, colors=colour, linestyles="dashed", linewidth=1.0)


def _shade_phases(ax: Axes, phases: list[tuple[str, float, float]]) -> None:
    for _, start, end in phases[1::2]:
        ax.axvspan(start, end, color=SHADE, zorder=-1.0)


def _name_phases(ax: Axes, phases: list[tuple[str, float, float]]) -> None:
    for name, start, end in phases:
        ax.annotate(
            name, (0.5 * (start + end), 1.0), xycoords=("data", "axes fraction"), ha="center",
            va="bottom", fontsize="small", color=GREY, annotation_clip=False, parse_math=False,
        )  # fmt: skip
