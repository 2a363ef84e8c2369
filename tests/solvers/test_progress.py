"""The progress shown on terminals and in files."""

import io
import sys

import numpy as np
import pytest

from predyn.nlp import Multipliers, SolverOptions
from predyn.solvers.ipopt import Iterate, solve_nlp
from predyn.solvers.live_table import LiveTable, StreamPlace, chosen_place
from predyn.solvers.progress import Progress, progress_line
from solvers.programs import HS071


class Terminal(io.StringIO):
    def isatty(self):
        return True


def iterate(k, worst="joint2 effort[3]", restoration=False):
    nothing = np.empty(0)
    multipliers = Multipliers(nothing, nothing, nothing)
    return Iterate(
        k, 12.3456789, 0.5, worst, 0.25, 1e-3, 0.1, 1.5, restoration, nothing, multipliers
    )


def test_a_progress_line():
    line = progress_line(iterate(7))
    assert line.split() == [
        *("7", "12.345679", "5.00e-01", "2.5e-01", "1.50", "joint2", "effort[3]")
    ]
    assert progress_line(iterate(7, restoration=True)).split()[0] == "7r"
    assert progress_line(iterate(7), "refinement 1").endswith("refinement 1: joint2 effort[3]")
    stream = io.StringIO()
    with Progress(StreamPlace(stream)) as progress:
        progress(iterate(7, worst="bad\x1b[2J\nname"))
    assert stream.getvalue().endswith("bad?[2J?name\n")


def test_a_file_gets_a_few_lines_and_the_last_one():
    stream = io.StringIO()
    with Progress(StreamPlace(stream), interval=1000.0) as progress:
        for k in range(50):
            assert progress(iterate(k)) is None
    lines = stream.getvalue().splitlines()
    assert [line.split()[0] for line in lines] == ["iteration", "0", "49"]
    assert "\x1b" not in stream.getvalue()


def test_the_last_line_comes_once():
    stream = io.StringIO()
    progress = Progress(StreamPlace(stream), interval=0.0)
    progress(iterate(0))
    progress.close()
    progress.close()
    assert len(stream.getvalue().splitlines()) == 2
    progress(iterate(0))  # a new table
    assert len(stream.getvalue().splitlines()) == 4


def test_a_terminal_rewrites_one_line(monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    stream = Terminal()
    with Progress(StreamPlace(stream), interval=0.0) as progress:
        for k in range(3):
            progress(iterate(k))
    table, ended = stream.getvalue().split("\n", 1)[1], stream.getvalue().endswith("\n")
    assert ended
    assert table.count("\r\x1b[K") == 3
    assert table.count("\n") == 1
    assert all(len(part.strip("\n")) <= 39 for part in table.split("\r\x1b[K"))


def test_a_name_that_the_stream_cannot_encode():
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    with Progress(StreamPlace(stream)) as progress:
        progress(iterate(0, worst="Gelenk ü"))
    stream.seek(0)
    assert "Gelenk ?" in stream.read()


class Writer:
    """What some programs put in the place of standard error."""

    def write(self, text):
        raise RuntimeError(text)


@pytest.mark.parametrize("verbose", [None, True, np.True_, 1])
def test_streams_that_cannot_be_written_to_do_not_stop_the_work(monkeypatch, verbose):
    closed = Terminal()
    closed.close()
    for stream in (closed, Writer(), None):
        monkeypatch.setattr(sys, "stderr", stream)
        place = chosen_place(verbose)
        assert place is None or stream is not closed
        if place is not None:
            with LiveTable("titles", place) as table:
                table.row(lambda: "row", at_once=True)


def test_a_stream_that_is_closed_later():
    stream = Terminal()
    with LiveTable("titles", StreamPlace(stream)) as table:
        table.row(lambda: "row", at_once=True)
        stream.close()
        table.row(lambda: "next", at_once=True)


def test_a_dumb_terminal_gets_lines_without_control_characters(monkeypatch):
    monkeypatch.setenv("TERM", "dumb")
    stream = Terminal()
    with LiveTable("a\x1b[31m\nfile", StreamPlace(stream)) as table:
        table.row(lambda: "row\x07", at_once=True)
    assert stream.getvalue() == "a?[31m?file\nrow?\n"


def test_with_the_solver():
    stream = io.StringIO()
    with Progress(StreamPlace(stream), interval=0.0) as progress:
        result = solve_nlp(HS071(), HS071.start, SolverOptions(), report=progress)
    lines = stream.getvalue().splitlines()[1:]
    assert len(lines) == result.iterations + 1
    assert lines[0].endswith("row[1]")
