"""Pages out of templates, style and scripts: one HTML file that loads nothing from anywhere."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping, Sequence
from hashlib import sha256
from importlib.resources import files
from typing import Any

CHARTS = ("axis.js", "chart.js")
ANIMATION = ("solids.js", "raster.js", "scene.js", "player.js")


def assembled(
    template: str, values: Mapping[str, str], data: Mapping[str, Any], scripts: Sequence[str]
) -> str:
    """The template with each value (HTML) in the place of its {{name}}; `tab` is in the head.

    {{head}}, {{player}}, {{data}} and {{script}} are filled here. The policy in the head lets the
    browser run this page's own style and script and nothing else.
    """
    style = _part("page.css")
    script = "\n".join(_part(name) for name in scripts)
    policy = (
        f"default-src 'none'; img-src data:; style-src {_digest(style)}; "
        f"script-src {_digest(script)}; base-uri 'none'; form-action 'none'"
    )
    head = {"policy": policy, "tab": values["tab"], "style": style}
    own = {
        "head": _filled(_part("head.html"), head),
        "player": _part("player.html"),
        "data": _embedded(data),
        "script": script,
    }
    return _filled(_part(template), {**values, **own})


def _part(name: str) -> str:
    return files("predyn.view").joinpath(name).read_text(encoding="utf-8")


def _filled(template: str, values: Mapping[str, str]) -> str:
    """Values are not looked at again."""
    pieces = template.split("{{")
    filled = [pieces[0]]
    for piece in pieces[1:]:
        name, rest = piece.split("}}", 1)
        filled += [values[name], rest]
    return "".join(filled)


def _digest(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def _embedded(data: Mapping[str, Any]) -> str:
    """JSON that cannot end the script element it stands in."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text
