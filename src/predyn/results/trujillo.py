"""Run the complete published example: two models, four estimates of the torques, result files."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from predyn import __version__
from predyn.estimate.estimating import estimate_torques
from predyn.estimate.result import INTERRUPTED, Estimate
from predyn.models.trujillo import trujillo_two_link
from predyn.published import trujillo_example as paper_example
from predyn.published.trujillo_example import Comparison, Reproduction
from predyn.recordings.measurements import Measurements
from predyn.results.folder import replace_together
from predyn.results.stored import ESTIMATE, REPORT, SOLUTION, SUMMARY, refuse_other
from predyn.storage.files import write_text

Floats = NDArray[np.float64]

TORQUES = "torques.csv"
METHODS = {
    "published": "published method, B = 1e-4",
    "estimate": "smoother, weight and order by evidence",
    "switching": "smoother, total variation",
    "filtered": "Butterworth filter, differences, inverse dynamics",
}


class PaperRun(NamedTuple):
    """One start of the example: figures 2 to 7, and other methods on the same data."""

    start: str
    models: Comparison
    published: Reproduction
    estimate: Estimate
    switching: Estimate

    def link_torques(self) -> dict[str, Floats]:
        """Torques on the links (N, 2) by method, as METHODS names them."""
        usual = self.estimate.comparison
        assert usual is not None
        return {
            "published": self.published.estimate.u,
            "estimate": on_links(self.estimate.tau),
            "switching": on_links(self.switching.tau),
            "filtered": on_links(0.5 * (usual.tau[1:] + usual.tau[:-1])),
        }

    def errors(self) -> dict[str, float]:
        """RMSE, N m, over both torques and all intervals, by method."""
        true = self.published.rigid.torques
        return {name: paper_example.rmse(x, true) for name, x in self.link_torques().items()}

    def coverage(self) -> float:
        """Share of the intervals whose true joint torques lie in the 95 % bands."""
        lower, upper = self.estimate.tau_band
        true = at_joints(self.published.rigid.torques)
        return float(np.mean((true >= lower) & (true <= upper)))


def on_links(tau: Floats) -> Floats:
    """Torques on the links out of those at the joints."""
    return np.stack([tau[:, 0] - tau[:, 1], tau[:, 1]], axis=1)


def at_joints(torques: Floats) -> Floats:
    """Torques at the joints out of those on the links."""
    return np.stack([torques.sum(axis=1), torques[:, 1]], axis=1)


def run_paper(start: str, seed: int = 0, report: Callable[[str], None] | None = None) -> PaperRun:
    """The example from one start with one random seed for the noise; Ctrl-C ends it."""
    report = report or (lambda _: None)
    report(f"{start}: rigid model and natural links")
    models = paper_example.compare(start)
    report(f"{start}: published method and its L-curve")
    published = paper_example.reproduce(start, seed)
    places = published.measured.reshape(-1, 2, 2)
    markers = {
        end: np.column_stack((places[:, k], np.full(len(places), np.nan)))
        for k, end in enumerate(paper_example.ENDS)
    }
    data = Measurements(published.rigid.t, markers=markers, source=f"{start}, seed {seed}")
    estimates = []
    for switching in (False, True):
        report(f"{start}: smoother{', total variation' if switching else ''}")
        name = f"{start}{', total variation' if switching else ''}"
        one = estimate_torques(trujillo_two_link(), data, total_variation=switching, name=name)
        if one.status == INTERRUPTED:
            raise KeyboardInterrupt
        estimates.append(one)
    return PaperRun(start, models, published, *estimates)


def paper_text(runs: list[PaperRun]) -> str:
    """The table of errors for a terminal."""
    width = max(map(len, METHODS.values()))
    lines = [f"{'RMSE [N m]':<{width}}" + "".join(f"{run.start:>10}" for run in runs)]
    errors = [run.errors() for run in runs]
    for key, name in METHODS.items():
        lines.append(f"{name:<{width}}" + "".join(f"{error[key]:10.4f}" for error in errors))
    shares = "".join(f"{100.0 * run.coverage():8.1f} %" for run in runs)
    lines.append(f"{'true torques within the 95 % bands':<{width}}{shares}")
    return "\n".join(lines)


def write_paper(runs: list[PaperRun], folder: Path, report: bool = True) -> list[Path]:
    """Write the estimates, torques, summary and report, all or none; returns their paths."""
    for other in (SOLUTION, ESTIMATE):
        refuse_other(folder, other)
    texts = {TORQUES: torques_csv(runs), SUMMARY: json.dumps(summary(runs), indent=2) + "\n"}
    if report:
        from predyn.view.paper_report import paper_html

        texts[REPORT] = paper_html(runs)
    writers: dict[str, Callable[[Path], None]] = {
        f"{run.start}.h5": run.estimate.save for run in runs
    }
    writers |= {name: _writer(text) for name, text in texts.items()}
    return replace_together(folder, writers, stale=() if report else (REPORT,))


def _writer(text: str) -> Callable[[Path], None]:
    return lambda path: write_text(path, text)


def summary(runs: list[PaperRun]) -> dict[str, Any]:
    """Numbers for summary.json."""
    return {
        "name": "trujillo-two-link",
        "success": all(succeeded(run) for run in runs),
        "rmse": {run.start: run.errors() for run in runs},
        "coverage": {run.start: run.coverage() for run in runs},
        "lcurve_corner": {run.start: corner_weight(run) for run in runs},
        "estimates": {run.start: run.estimate.summary() for run in runs},
        "predyn_version": __version__,
    }


def succeeded(run: PaperRun) -> bool:
    estimates = (run.estimate, run.switching)
    return run.published.estimate.converged and all(one.success for one in estimates)


def corner_weight(run: PaperRun) -> float | None:
    """B at the corner of the L-curve."""
    curve = run.published.lcurve
    return float(curve.weights[curve.corner]) if curve.corner >= 0 else None


def torques_csv(runs: list[PaperRun]) -> str:
    """Torques on the links by start, interval and method."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    columns = ("true", *METHODS)
    names = [f"T{k} {column} [N m]" for column in columns for k in (1, 2)]
    writer.writerow(["case", "start [s]", "end [s]", *names])
    for run in runs:
        t, torques = run.published.rigid.t, run.link_torques()
        all_of_them = (run.published.rigid.torques, *(torques[key] for key in METHODS))
        rows = np.column_stack((t[:-1], t[1:], *all_of_them)).tolist()
        writer.writerows([run.start, *row] for row in rows)
    return buffer.getvalue()
