"""Show a report in the browser, served on this machine only."""

from __future__ import annotations

import os
import webbrowser
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from predyn.analysis.gait import GaitCycles
from predyn.errors import FileError, InputError
from predyn.estimate.result import Estimate
from predyn.results.stored import load_result, result_path
from predyn.solution import Solution
from predyn.storage.reading import refuse_irregular
from predyn.view.estimate_report import estimate_html
from predyn.view.report import report_html

ADDRESS = "127.0.0.1"


def serve(
    source: Solution | Estimate | str | os.PathLike[str], port: int = 0, open_browser: bool = True
) -> None:
    """Serve the report until Ctrl-C; port 0 takes any that is free.

    source: a Solution, an Estimate, a file of one, the folder that holds it, or a report (.html).
    """
    serve_page(page_of(source), port, open_browser)


def serve_page(page: bytes, port: int, open_browser: bool) -> None:
    """Serve a page until Ctrl-C."""
    server = page_server(page, port)
    address = f"http://{ADDRESS}:{server.server_port}/"
    try:
        print(f"Serving the report at {address} (Ctrl-C to stop)", flush=True)
        if open_browser:
            webbrowser.open(address)
        server.serve_forever()
    except KeyboardInterrupt:
        print("Stopped.")
    finally:
        server.server_close()


def page_of(source: Solution | Estimate | str | os.PathLike[str]) -> bytes:
    """The page to serve."""
    if not isinstance(source, Solution | Estimate):
        path = result_path(Path(source))
        refuse_irregular(path)
        if path.suffix.lower() in (".html", ".htm"):
            try:
                return path.read_bytes()
            except OSError as error:
                raise FileError(f"{path}: cannot be read: {error.strerror}") from error
        source = load_result(path)
    return html_of(source).encode("utf-8", "backslashreplace")


def html_of(result: Solution | Estimate, gait: GaitCycles | None = None) -> str:
    """The report of either; gait: by default the gait cycles that it has."""
    if isinstance(result, Solution):
        return report_html(result, gait=gait)
    return estimate_html(result, gait)


def page_server(page: bytes, port: int = 0) -> ThreadingHTTPServer:
    """A server, already bound, of this one page at "/"."""
    if isinstance(port, bool) or not isinstance(port, int) or not 0 <= port <= 65535:
        raise InputError(f"port: expected a number from 0 (any) to 65535, got {port!r:.60}")

    class Handler(BaseHTTPRequestHandler):
        timeout = 10  # s; a silent client does not hold a thread for ever

        def do_GET(self) -> None:
            if self._answer(page):
                self.wfile.write(page)

        def do_HEAD(self) -> None:
            self._answer(page)

        def _answer(self, body: bytes) -> bool:
            """Send the head of the answer; whether the page follows."""
            # another site whose name resolves to this machine must not read the page
            if self.headers.get("Host", "") not in (f"{ADDRESS}:{bound}", f"localhost:{bound}"):
                self.send_error(HTTPStatus.FORBIDDEN, "Only this machine may connect")
                return False
            if self.path != "/":
                self.send_error(HTTPStatus.NOT_FOUND, "Only the report is served, at /")
                return False
            self.send_response(HTTPStatus.OK)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Cache-Control", "no-store")
            self.send_header("X-Content-Type-Options", "nosniff")
            self.send_header("X-Frame-Options", "DENY")
            self.send_header("Referrer-Policy", "no-referrer")
            self.end_headers()
            return True

        def log_message(self, format: str, *args: object) -> None:
            """Requests are not logged."""

    try:
        server = ThreadingHTTPServer((ADDRESS, port), Handler)
    except OSError as error:
        raise InputError(
            f"port {port}: cannot be used: {error.strerror}; choose another, or 0 for any"
        ) from error
    server.daemon_threads = True
    bound = server.server_port
    return server
