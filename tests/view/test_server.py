"""The server of one page: reachable from this machine, by its own name, at "/" only."""

import http.client
import signal
import subprocess
import sys
import threading

import pytest

from fake_estimate import fake_estimate
from fake_solution import fake_solution
from predyn.errors import FileError, InputError
from predyn.view.server import page_of, page_server


@pytest.fixture
def server():
    running = page_server(b"<!DOCTYPE html>page")
    thread = threading.Thread(target=running.serve_forever, args=(0.05,))
    thread.start()
    yield running
    running.shutdown()
    running.server_close()
    thread.join()


def ask(server, path="/", method="GET", host=None):
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=10)
    headers = {"Host": host} if host is not None else {}
    connection.request(method, path, headers=headers)
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer, body


def test_page_and_nothing_else(server):
    assert server.server_address[0] == "127.0.0.1"
    answer, body = ask(server)
    assert (answer.status, body) == (200, b"<!DOCTYPE html>page")
    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    answer, body = ask(server, method="HEAD")
    assert (answer.status, body) == (200, b"")
    for path in ("/favicon.ico", "/../etc/passwd", "/report.html", "/?x", "*"):
        assert ask(server, path)[0].status == 404
    assert ask(server, method="POST")[0].status == 501


def test_other_names_are_refused(server):
    port = server.server_port
    for host in (f"localhost:{port}", f"127.0.0.1:{port}"):
        assert ask(server, host=host)[0].status == 200
    for host in ("evil.example", f"evil.example:{port}", "127.0.0.1", f"127.0.0.1:{port + 1}", ""):
        answer, body = ask(server, host=host)
        assert answer.status == 403
        assert b"page" not in body


def test_port_in_use_and_bad_port(server):
    with pytest.raises(InputError, match="choose another"):
        page_server(b"", server.server_port)
    for port in (-1, 65536, True, "80"):
        with pytest.raises(InputError, match="from 0"):
            page_server(b"", port)


def test_sources(tmp_path):
    solution = fake_solution()
    assert b"two-link-lifting" in page_of(solution)
    solution.save(tmp_path / "solution.h5")
    assert page_of(tmp_path / "solution.h5") == page_of(solution)
    assert page_of(tmp_path) == page_of(solution)
    (tmp_path / "report.html").write_bytes(b"as it is")
    assert page_of(str(tmp_path / "report.html")) == b"as it is"
    with pytest.raises(FileError, match=r"nothing\.html"):
        page_of(tmp_path / "nothing.html")


def test_control_c_stops(tmp_path):
    page = tmp_path / "report.html"
    page.write_bytes(b"x")
    code = f"from predyn.view.server import serve; serve({str(page)!r}, open_browser=False)"
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    try:
        line = process.stdout.readline()
        assert "http://127.0.0.1:" in line
        process.send_signal(signal.SIGINT)
        rest, _ = process.communicate(timeout=30)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 0
    assert rest == "Stopped.\n"


def test_estimates_have_their_page(tmp_path):
    fake_estimate().save(tmp_path / "result.h5")
    page = page_of(fake_estimate())
    assert b"arm-trial" in page
    assert page_of(tmp_path) == page_of(str(tmp_path / "result.h5")) == page
    fake_solution().save(tmp_path / "solution.h5")
    assert b"two-link-lifting" in page_of(tmp_path)
