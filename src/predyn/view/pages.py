"""Pages out of templates, style and scripts: one HTML file that loads nothing from anywhere."""

from __future__ import annotations

import gzip
import json
from base64 import b64encode
from collections.abc import Mapping
from hashlib import sha256
from importlib.resources import files
from typing import Any

from predyn.errors import FileError

BUILT = ("page.css", "page.js")  # from web/


# Puts the packed script into the page; the policy accepts it by its digest.
UNPACK = """
const packed = document.getElementById("packed").textContent;
const bytes = Uint8Array.from(atob(packed), (sign) => sign.charCodeAt(0));
const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
new Response(stream).text().then((text) => {
  const script = document.createElement("script");
  script.textContent = text;
  document.body.append(script);
});
"""


def assembled(
    template: str,
    values: Mapping[str, str],
    data: Mapping[str, Any],
    packed: bool = False,
    built: tuple[str, str] = BUILT,
    framed: tuple[str, str] | None = None,
) -> str:
    """The template with each value (HTML) in the place of its {{name}}; `tab` is in the head.

    {{head}}, {{data}} and {{script}} are filled here. The policy in the head lets the browser run
    this page's own style and script and nothing else. packed: the script comes compressed, in the
    place of {{packed}}, and the browser unpacks it: a third of the size.
    built: its style and script; framed: those of pages in its frames, which inherit the policy.
    """
    style, script = (_part(name) for name in built)
    styles, scripts = _digest(style), _digest(script) + (f" {_digest(UNPACK)}" if packed else "")
    if framed:
        styles, scripts = (
            f"{own} {_digest(_part(name))}"
            for own, name in zip((styles, scripts), framed, strict=True)
        )
    policy = (
        f"default-src 'none'; img-src data:; style-src {styles}; "
        f"script-src {scripts}; base-uri 'none'; form-action 'none'"
    )
    head = {"policy": policy, "tab": values["tab"], "style": style}
    own = {
        "head": _filled(_part("head.html"), head),
        "data": _embedded(data),
        "script": UNPACK if packed else script,
    }
    if packed:
        own["packed"] = b64encode(gzip.compress(script.encode(), mtime=0)).decode()
    return _filled(_part(template), {**values, **own})


def _part(name: str) -> str:
    try:
        return files("predyn.view").joinpath(name).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise FileError(
            f"predyn.view lacks {name}, which is built from web/ during the installation; "
            "run `make web` in the repository, or install predyn again"
        ) from None


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
