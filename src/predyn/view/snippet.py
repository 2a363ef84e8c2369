"""The output of a notebook cell: a small page in a frame, complete in itself.

The frame isolates the page from the notebook: neither its style nor its script reaches the other,
and names in a model cannot become code. It needs no network, and is the same in JupyterLab,
Notebook, VS Code and exported HTML.
"""

from __future__ import annotations

from html import escape

from predyn.estimate.result import Estimate
from predyn.model import Model
from predyn.problem import Problem
from predyn.simulation.trajectories import Trajectory
from predyn.solution import Solution
from predyn.view.excerpts import Excerpt, excerpt_of
from predyn.view.motions import name_of
from predyn.view.pages import assembled

Displayed = Model | Problem | Solution | Estimate | Trajectory

STILL, MOVING, TALLEST = 480, 720, 1080  # px of the frame
HEAD, CHART, JOINT = 190, 250, 80  # px above the curves, of a chart, of all uses of a name


def snippet(thing: Displayed) -> str:
    """HTML of the frame."""
    if isinstance(thing, Trajectory) and thing.q.ndim != 2:
        return f"<pre>{escape(repr(thing))}</pre>"
    excerpt = excerpt_of(thing)
    page = escape(_page(thing, excerpt))
    return (
        f'<iframe srcdoc="{page}" sandbox="allow-scripts allow-downloads" loading="lazy" '
        f'title="{escape(name_of(thing))}" '
        f'style="width: 100%; height: {_height(excerpt)}px; border: 0"></iframe>'
    )


def snippet_page(thing: Displayed) -> str:
    """The page in the frame; it loads nothing from anywhere."""
    return _page(thing, excerpt_of(thing))


def _height(excerpt: Excerpt) -> int:
    """Enough for all curves in the usual width of a notebook, if there are few."""
    if excerpt.words:
        return STILL
    charts = excerpt.data["charts"].get("charts", [])
    more = max((len(chart["series"]) - 2 for chart in charts), default=0)
    return min(max(MOVING, HEAD + CHART * len(charts) + JOINT * max(more, 0)), TALLEST)


def _page(thing: Displayed, excerpt: Excerpt) -> str:
    values = {
        "title": escape(name_of(thing)),
        "tab": escape(name_of(thing)),
        "badge": excerpt.badge,
        "sub": escape(excerpt.sub),
        "facts": excerpt.facts,
        "message": excerpt.message,
        "kind": "still" if excerpt.words else "moving",
        "words": excerpt.words,
    }
    return assembled("snippet.html", values, excerpt.data, packed=True)
