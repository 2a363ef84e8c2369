"""Show a model, problem or result: in a notebook below its cell, elsewhere in the browser."""

from __future__ import annotations

import os
import sys
import webbrowser
from threading import Thread

from predyn.analysis.gait import GaitCycles
from predyn.estimate.result import Estimate
from predyn.solution import Solution
from predyn.solvers.live_table import in_notebook
from predyn.storage.files import write_text
from predyn.view.estimate_report import estimate_html
from predyn.view.panels import Motion
from predyn.view.report import report_html
from predyn.view.server import ADDRESS, html_of, page_server, serve_page
from predyn.view.snippet import Displayed, snippet_page


def show(thing: Displayed, port: int, browser: bool) -> None:
    """See `Shown.show` in display.py."""
    if in_notebook():
        from IPython.display import display

        display(thing)
        return
    page = page_for(thing).encode("utf-8", "backslashreplace")
    if not hasattr(sys, "ps1"):
        serve_page(page, port, browser)
        return
    server = page_server(page, port)  # a prompt must not be blocked
    Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://{ADDRESS}:{server.server_port}/"
    print(f"Serving at {address} as long as Python runs", flush=True)
    if browser:
        webbrowser.open(address)


def page_for(thing: Displayed) -> str:
    """The report of a result; for others the page of their notebook output."""
    if isinstance(thing, Solution | Estimate):
        return html_of(thing)
    return snippet_page(thing)


def write_page(
    solution: Solution,
    path: str | os.PathLike[str],
    compare: Motion | None = None,
    gait: GaitCycles | None = None,
) -> None:
    """Write the report of a solution, which may compare another motion.

    An earlier file stays until the new one is complete.
    """
    write_text(path, report_html(solution, compare, gait))


def write_estimate_page(
    estimate: Estimate, path: str | os.PathLike[str], gait: GaitCycles | None = None
) -> None:
    """Write the report of an estimate, in the same way."""
    write_text(path, estimate_html(estimate, gait))
