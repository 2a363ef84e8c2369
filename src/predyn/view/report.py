"""The report of a motion: one HTML file that needs nothing but a browser."""

from __future__ import annotations

import json
import os
from base64 import b64encode
from hashlib import sha256
from html import escape
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from predyn.files import write_text
from predyn.solution import Solution
from predyn.view import tables
from predyn.view.curves import history_charts, motion_charts
from predyn.view.figures import (
    film_poses,
    film_svg,
    path_legend,
    sparsity_svg,
    strobe_poses,
    strobe_svg,
)
from predyn.view.method import method_words
from predyn.view.numbers import seconds
from predyn.view.scene import scene_data
from predyn.view.stage import Stage, is_finite, set_stage
from predyn.view.verification import (
    verification_cards,
    verification_data,
    verification_html,
    verified,
)

NOTHING = (
    '<p class="message">The last iterate holds values that are not finite numbers: there are no '
    "curves and no animation.</p>"
)
NO_MOTION = "<p>There is no motion to draw.</p>"
SCRIPTS = ("chart.js", "solids.js", "raster.js", "scene.js", "page.js")


def write_report(solution: Solution, path: str | os.PathLike[str]) -> None:
    """Write the report, or leave what was there: a half-written file never appears."""
    write_text(path, report_html(solution))


def report_html(solution: Solution) -> str:
    """The whole page as text; it loads nothing from anywhere."""
    stage = set_stage(solution) if is_finite(solution) else None
    checks = verified(solution) if stage else None
    data = {
        "motion": motion_charts(solution) if stage else None,
        "history": history_charts(solution),
        "scene": scene_data(stage) if stage else None,
        "verification": verification_data(checks) if checks else [],
    }
    style = _part("page.css")
    script = "\n".join(_part(name) for name in SCRIPTS)
    values = {
        "policy": (
            f"default-src 'none'; img-src data:; style-src {_digest(style)}; "
            f"script-src {_digest(script)}; base-uri 'none'; form-action 'none'"
        ),
        "title": escape(solution.name),
        "tab": escape(solution.name if solution.success else f"Not converged: {solution.name}"),
        "model": escape(solution.model.name),
        "badge": tables.badge(solution, checks.doubts if checks else ()),
        "nothing": "" if stage else NOTHING,
        "verdict": tables.verdict(solution),
        "numbers": tables.key_numbers(solution, verification_cards(checks) if checks else []),
        "costs": tables.costs(solution),
        "strobe": strobe_svg(stage) if stage else NO_MOTION,
        "strobe_step": _step(stage, strobe_poses(stage)) if stage else "",
        "paths": path_legend(stage) if stage else "",
        "method": escape(method_words(solution)),
        "film": film_svg(stage) if stage else NO_MOTION,
        "film_step": _step(stage, film_poses(stage)) if stage else "",
        "pattern": sparsity_svg(solution.jacobian, solution.n_constraints, solution.n_variables),
        "nonzeros": f"{len(solution.jacobian[0])}",
        "size": f"{solution.n_constraints} by {solution.n_variables}",
        "dense": tables.violations(tables.between_only(solution)),
        "imposed": tables.violations(solution.violations),
        "active": tables.active(solution),
        "verification": verification_html(checks) if checks else NO_MOTION,
        "starts": _section("Starts", tables.starts(solution)) if solution.starts else "",
        "links": tables.links(solution),
        "joints": tables.joints(solution),
        "forces": ("<h3>External forces</h3>" + tables.forces(solution) if solution.forces else ""),
        "provenance": tables.provenance(solution),
        "style": style,
        "data": _embedded(data),
        "script": script,
    }
    return _fill(_part("page.html"), values)


def _part(name: str) -> str:
    return files("predyn.view").joinpath(name).read_text(encoding="utf-8")


def _fill(template: str, values: dict[str, str]) -> str:
    """Put each value in place of its {{name}}; values are not looked at again."""
    pieces = template.split("{{")
    filled = [pieces[0]]
    for piece in pieces[1:]:
        name, rest = piece.split("}}", 1)
        filled += [values[name], rest]
    return "".join(filled)


def _step(stage: Stage, poses: NDArray[np.int64]) -> str:
    """How many poses there are and how far apart in time."""
    return f"{len(poses)} poses, every {seconds(float(stage.times[-1]) / (len(poses) - 1))}"


def _section(title: str, body: str) -> str:
    return f"<section><h2>{escape(title)}</h2>{body}</section>"


def _digest(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def _embedded(data: dict[str, Any]) -> str:
    """JSON that cannot end the script element it stands in."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text
