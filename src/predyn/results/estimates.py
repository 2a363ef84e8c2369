"""The folder of an estimate, and its summary for a terminal."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np

from predyn.analysis.cycles import find_gait
from predyn.analysis.gait import GaitCycles
from predyn.estimate.result import BAND, OF_JOINTS, WHITE, Estimate, prior_words
from predyn.model import PRISMATIC
from predyn.results.folder import replace_together
from predyn.results.stored import ESTIMATE, REPORT, SOLUTION, SUMMARY, folder_for, refuse_other
from predyn.storage.files import write_text

TORQUES, GAIT = "torques.csv", "gait.csv"
MOST = 60  # joints and channels listed


def write_estimate(
    estimate: Estimate, folder: Path, report: bool = True, gait: GaitCycles | None = None
) -> list[Path]:
    """Write result, torques, summary, report and curves of gait cycles; returns their paths.

    All or none. An estimate that did not converge goes to a subfolder if the folder holds one that
    did. A report or gait cycles of an earlier estimate are removed if this one has none.
    """
    refuse_other(folder, SOLUTION)
    gait = find_gait(estimate) if gait is None else gait
    summary = estimate.summary() | ({} if gait is None else {"gait": gait.summary()})
    texts = {
        TORQUES: estimate.torques_csv(),
        SUMMARY: json.dumps(summary, indent=2) + "\n",
    }
    if gait is not None:
        texts[GAIT] = gait.csv()
    if report:
        from predyn.view.estimate_report import estimate_html

        texts[REPORT] = estimate_html(estimate, gait)
    writers: dict[str, Callable[[Path], None]] = {ESTIMATE: estimate.save}
    writers |= {name: _writer(text) for name, text in texts.items()}
    with folder_for(estimate, folder, ESTIMATE) as target:
        stale = [name for name in (REPORT, GAIT) if name not in writers]
        return replace_together(target, writers, stale=stale)


def _writer(text: str) -> Callable[[Path], None]:
    return lambda path: write_text(path, text)


def _root_lines(estimate: Estimate) -> list[str]:
    root = estimate.root_residual
    if root is None:
        return []
    share = f" ({root.force_rms_percent:.1f} % of body weight)" if root.weight else ""
    return [f"root residual: rms {root.force_rms:.3g} N{share}, {root.moment_rms:.3g} N m"]


def estimate_text(estimate: Estimate) -> str:
    """Status, regularisation, torques with their bands, noise."""
    step = float(estimate.t[1] - estimate.t[0])
    what = prior_words(estimate.order, estimate.independent, estimate.corner)
    if estimate.noise_model != WHITE:
        between = "between joints" if estimate.noise_model == OF_JOINTS else "in time"
        what += f"; noise correlated {between}"
    lines = [
        f"{estimate.name}: {estimate.status}, {estimate.iterations} iterations, "
        f"{estimate.solve_seconds:.3g} s",
        f"{len(estimate.measurements.t)} samples, {len(estimate.t_tau)} intervals of {step:.4g} s, "
        f"{'total variation' if estimate.total_variation else what}",
    ]
    lines += _root_lines(estimate)
    lines += [f"warning: {text}" for text in estimate.warnings]
    names = estimate.model.joint_names[:MOST]
    width = max(map(len, names))
    lines.append(f"{'joint':<{width}}  {'rms torque':>14}  mean 95 % band")
    for j, name in enumerate(names):
        if name in estimate.unactuated:
            lines.append(f"{name:<{width}}  {'no motor':>14}")
            continue
        unit = "N" if estimate.model.kind[j] == PRISMATIC else "N m"
        size = float(np.sqrt(np.mean(estimate.tau[:, j] ** 2)))
        band = BAND * float(estimate.tau_sd[:, j].mean())
        lines.append(f"{name:<{width}}  {size:10.4g} {unit:<3}  ±{band:.3g} {unit}")
    lines.append("noise (standard deviation):")
    for channel in estimate.channels[:MOST]:
        how = "estimated" if channel.estimated else "given"
        shown = f"{channel.sd:.3g} {channel.unit}"
        if channel.unit == "rad":
            shown = f"{np.rad2deg(channel.sd):.3g} deg ({shown})"
        lines.append(f"  {channel.name}: {shown}, {how}")
    if len(estimate.channels) > MOST:
        lines.append(f"  ... and {len(estimate.channels) - MOST} more")
    return "\n".join(lines)
