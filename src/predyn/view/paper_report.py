"""The report of the published example: its figures, and other estimates from the same data."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from predyn.estimate.result import prior_words
from predyn.published.trujillo_example import ENDS, WEIGHT, two_links
from predyn.results.trujillo import METHODS, PaperRun, at_joints, corner_weight, succeeded
from predyn.view.estimate_charts import lcurve_chart
from predyn.view.numbers import NOTHING, shown
from predyn.view.pages import assembled
from predyn.view.sheets import Floats, Spec, Times, chart, page_data, series
from predyn.view.tables import table

TRUE, BLUE, ORANGE, GREEN = 7, 0, 1, 2  # colours of the page
ABOUT = {
    "hanging": "The links hang down at the start.",
    "upright": "The links stand upright at the start: small errors grow.",
}


def paper_html(runs: Sequence[PaperRun]) -> str:
    """The whole page as text; it loads nothing from anywhere."""
    times = Times()
    charts: dict[str, list[Spec]] = {}
    for run in runs:
        charts |= {f"{run.start}-{place}": specs for place, specs in _charts(run, times).items()}
    good = all(succeeded(run) for run in runs)
    word = "✓ reproduced" if good else "✗ not converged"
    values = {
        "tab": "Torques of a two-link mechanism",
        "badge": f'<span class="badge {"good" if good else "bad"}">{word}</span>',
        "errors": _errors(runs),
        "cases": "".join(_section(run) for run in runs),
    }
    return assembled("paper.html", values, page_data(times, charts))


def _errors(runs: Sequence[PaperRun]) -> str:
    errors = [run.errors() for run in runs]
    rows = [[name, *(shown(error[key], 3) for error in errors)] for key, name in METHODS.items()]
    covered = [f"{shown(100.0 * run.coverage(), 4)} %" for run in runs]
    rows.append(["true torques within the smoother's 95 % bands", *covered])
    head = ("Method", *(f"{run.start.capitalize()} start [N m]" for run in runs))
    return table(head, rows, "t" + "n" * len(runs))


def _section(run: PaperRun) -> str:
    start, published = run.start, run.published.estimate
    apart = float(np.abs(run.models.link_rates - run.models.rigid.rates).max())
    corner = corner_weight(run)
    estimate, usual = run.estimate, run.estimate.comparison
    cutoff = NOTHING if usual is None else shown(usual.cutoff, 3)
    noise = ", ".join(
        f"{shown(1e3 * c.sd, 3)} mm ({c.name.partition('.')[0]})"
        for c in estimate.channels
        if c.name.endswith(".x")
    )
    parts = (
        (
            "models",
            "Two models of one mechanism",
            "Links as end points joined by stiff springs, integrated by the trapezoidal rule at "
            "10 ms, compared with rigid links in joint angles. Largest difference in angular "
            f"velocity: {shown(apart, 3)} rad/s.",
        ),
        ("data", "Noisy data", "The data that the estimates use, and their errors."),
        (
            "published",
            "Published method",
            f"Dynamic programming on the links with springs, B = {WEIGHT:g}: "
            f"{published.iterations} iterations, RMSE {shown(run.published.rmse, 3)} N m. "
            "Corner of the L-curve: "
            + ("none" if corner is None else f"B = {shown(corner, 2)}")
            + "; a smaller weight follows more of the noise.",
        ),
        (
            "others",
            "Other estimates from the same data",
            "Torques at the joints. Assumed smoothness, chosen by evidence: "
            f"{prior_words(estimate.order, estimate.independent, estimate.corner)}; noise {noise}; "
            f"the initial state is estimated. The filter has a cut-off of {cutoff} Hz.",
        ),
    )
    body = "".join(
        f'<h3>{title}</h3><p class="note">{words}</p><div id="{start}-{place}" class="charts">'
        "</div>"
        for place, title, words in parts
    )
    return f"<section><h2>{start.capitalize()} start</h2><p>{ABOUT[start]}</p>{body}</section>"


def _charts(run: PaperRun, times: Times) -> dict[str, list[Spec]]:
    return {
        "models": _model_charts(run, times),
        "data": _data_charts(run, times),
        "published": [*_published_charts(run, times), *_lcurve(run, times)],
        "others": _other_charts(run, times),
    }


def _still(title: str, unit: str, lines: list[Spec]) -> Spec:
    return chart(title, unit, lines, timed=False, legend=True)


def _model_charts(run: PaperRun, times: Times) -> list[Spec]:
    """Figures 2 to 4."""
    t, rigid = run.models.rigid.t, run.models.rigid
    tip = two_links().links.positions(run.models.links.z, ENDS[:1])
    charts = [
        _still(
            f"Figure {k + 2}: angular velocity of link {k + 1}",
            "rad/s",
            [
                series(times, t, run.models.link_rates[:, k], "links with springs", ORANGE),
                series(times, t, rigid.rates[:, k], "rigid links", TRUE, dashed=True),
            ],
        )
        for k in range(2)
    ]
    lines = []
    for k, (axis, colour) in enumerate(zip("xy", (BLUE, ORANGE), strict=True)):
        lines.append(series(times, t, tip[:, k], f"{axis}, links with springs", colour))
        rigid_tip = rigid.positions[:, k]
        lines.append(series(times, t, rigid_tip, f"{axis}, rigid links", TRUE, dashed=True))
    return [*charts, _still("Figure 4: end of link 1", "m", lines)]


def _data_charts(run: PaperRun, times: Times) -> list[Spec]:
    t, exact, measured = (
        run.published.rigid.t,
        run.published.rigid.positions,
        run.published.measured,
    )
    names = [f"{axis} of {end}" for end in ENDS for axis in "xy"]
    places, noise = [], []
    for k, name in enumerate(names):
        places.append(series(times, t, measured[:, k], name, k, dots=True))
        noise.append(series(times, t, 1e3 * (measured - exact)[:, k], name, k, dots=True))
    return [_still("Measured positions", "m", places), _still("Noise", "mm", noise)]


def _published_charts(run: PaperRun, times: Times) -> list[Spec]:
    """Figures 5 and 6."""
    t, true, estimated = (
        run.published.rigid.t,
        run.published.rigid.torques,
        run.published.estimate.u,
    )
    return [
        _still(
            f"Figure {k + 5}: torque on link {k + 1}",
            "N m",
            [
                series(times, t, estimated[:, k], "published method", ORANGE, step=True),
                series(times, t, true[:, k], "true", TRUE, step=True),
            ],
        )
        for k in range(2)
    ]


def _lcurve(run: PaperRun, times: Times) -> list[Spec]:
    """Figure 7."""
    curve = run.published.lcurve
    chosen = int(np.argmin(np.abs(np.log(curve.weights / WEIGHT))))
    marks = [_mark(curve.misfit, curve.size, chosen, f"B = {WEIGHT:g}")]
    if curve.corner >= 0 and curve.corner != chosen:
        label = f"corner, B = {curve.weights[curve.corner]:.2g}"
        marks.append(_mark(curve.misfit, curve.size, curve.corner, label))
    return lcurve_chart("Figure 7: L-curve", curve.misfit, curve.size, marks, times)


def _mark(misfit: Floats, size: Floats, k: int, label: str) -> Spec:
    return {"x": float(misfit[k]), "y": float(size[k]), "label": label}


def _other_charts(run: PaperRun, times: Times) -> list[Spec]:
    t, true = run.published.rigid.t, at_joints(run.published.rigid.torques)
    lower, upper = run.estimate.tau_band
    usual, charts = run.estimate.comparison, []
    for k in range(2):
        band = (lower[:, k], upper[:, k])
        smooth = run.estimate.tau[:, k]
        lines = [
            series(times, t, true[:, k], "true", TRUE, step=True),
            series(times, t, run.switching.tau[:, k], "total variation", GREEN, step=True),
            series(times, t, smooth, "smoother", BLUE, step=True, band=band),
        ]
        if usual is not None:
            lines.append(series(times, usual.t, usual.tau[:, k], "filter", TRUE, faint=True))
        charts.append(_still(f"Torque at joint {k + 1}", "N m", lines))
    return charts
