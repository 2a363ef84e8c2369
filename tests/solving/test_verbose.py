"""Progress of a solve: on terminals and in notebooks, silent elsewhere, or as asked for."""

import io
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import predyn
from predyn.errors import InputError
from predyn.solvers.live_table import CLEAR

TASK = "two-link-lifting"


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Notebook(SimpleNamespace):
    """What IPython offers, and what a page would show: one text for each output."""

    def __init__(self) -> None:
        self.outputs: list[str] = []
        self.updates = 0
        super().__init__(
            get_ipython=lambda: SimpleNamespace(kernel=object()),
            display=SimpleNamespace(display=self._display),
        )

    def _display(self, data, *, raw, display_id):
        assert raw
        assert display_id is True
        self.outputs.append(data["text/plain"])
        at = len(self.outputs) - 1

        def update(data, *, raw):
            assert raw
            self.updates += 1
            self.outputs[at] = data["text/plain"]

        return SimpleNamespace(update=update)


@pytest.fixture
def error(monkeypatch):
    """Replaces standard error."""

    def replaced(stream):
        monkeypatch.setattr(sys, "stderr", stream)
        return stream

    return replaced


@pytest.mark.parametrize(
    ("stream", "verbose", "shown"),
    [
        (io.StringIO, None, False),
        (io.StringIO, True, True),
        (io.StringIO, False, False),
        (Terminal, None, True),
        (Terminal, True, True),
        (Terminal, False, False),
    ],
)
def test_pipes_are_silent_and_terminals_are_not(error, capsys, stream, verbose, shown):
    stream = error(stream())
    solution = predyn.solve(TASK, verbose=verbose)
    text = stream.getvalue()
    assert bool(text) is shown
    assert capsys.readouterr().out == ""
    if shown:
        last = text.rstrip("\n").replace(CLEAR, "\n").split("\n")[-1].split()
        assert int(last[0].rstrip("r")) == solution.iterations
        assert float(last[1]) == pytest.approx(solution.objective, rel=1e-6)
        assert (CLEAR in text) is isinstance(stream, Terminal)


def test_a_report_takes_the_place_of_progress(error):
    stream, iterates = error(Terminal()), []
    solution = predyn.solve(TASK, report=lambda iterate: iterates.append(iterate.iteration))
    assert iterates == list(range(solution.iterations + 1))
    assert stream.getvalue() == ""
    stopped = predyn.solve(TASK, report=lambda iterate: iterate.iteration < 2, verbose=True)
    assert stopped.status == "interrupted"
    assert "iteration" in stream.getvalue()


def test_refinements_and_stages_are_named(error):
    stream = error(io.StringIO())
    predyn.solve(TASK, refine=True, verbose=True)
    assert "refinement 1 of at most 4" in stream.getvalue()
    stream = error(io.StringIO())
    problem = predyn.load_task(TASK)
    energy = predyn.Cost(predyn.terms.MechanicalEnergy())
    predyn.solve(predyn.Problem(problem.model, problem.phases, [energy]), verbose=True)
    assert "stage 1" in stream.getvalue()
    assert ", the last" in stream.getvalue()


def test_a_notebook_has_one_output_that_is_updated(error, monkeypatch):
    notebook, stream = Notebook(), error(io.StringIO())
    monkeypatch.setitem(sys.modules, "IPython", notebook)
    for verbose in (None, True):
        solution = predyn.solve(TASK, verbose=verbose)
        titles, row = notebook.outputs[-1].splitlines()
        assert titles.split()[:3] == ["iteration", "objective", "violation"]
        assert int(row.split()[0].rstrip("r")) == solution.iterations
    assert len(notebook.outputs) == 2
    assert notebook.updates >= 2
    predyn.solve(TASK, verbose=False)
    assert len(notebook.outputs) == 2
    assert stream.getvalue() == ""
    # a shell without a notebook
    notebook.get_ipython = lambda: SimpleNamespace()
    predyn.solve(TASK)
    assert len(notebook.outputs) == 2


@pytest.mark.filterwarnings("ignore::predyn.errors.DataWarning")
def test_estimates_too(error):
    t = np.linspace(0.0, 1.0, 41)
    angles = {"joint1": np.sin(3.0 * t), "joint2": np.cos(2.0 * t)}
    recording = predyn.Measurements(t, angles)
    noise = {"order": 1, "independent": "joints", "noise": 1e-3}
    stream = error(Terminal())
    found = predyn.estimate_torques(predyn.models.two_link(), recording, **noise)
    rows = stream.getvalue().rstrip("\n").split(CLEAR)
    assert int(rows[-1].split()[0]) == found.iterations
    stream = error(io.StringIO())
    predyn.estimate_torques(predyn.models.two_link(), recording, **noise)
    assert stream.getvalue() == ""
    predyn.estimate_torques(predyn.models.two_link(), recording, verbose=True, **noise)
    assert "log evidence" in stream.getvalue()


@pytest.mark.parametrize("verbose", ["yes", 2, 0.5])
def test_other_values_are_refused(verbose):
    with pytest.raises(InputError, match="verbose: expected True, False or None"):
        predyn.solve(TASK, verbose=verbose)
