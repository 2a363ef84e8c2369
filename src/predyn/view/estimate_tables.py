"""The numbers of an estimate as HTML: badge, verdict, key numbers, tables. Text is escaped here."""

from __future__ import annotations

from html import escape

import numpy as np

from predyn.analysis.curves import base_joints
from predyn.estimate.channel_warnings import COLOURED
from predyn.estimate.filter_advice import filter_advice
from predyn.estimate.result import BAND, INDEPENDENT, Channel, Estimate, OrderTrial, prior_words
from predyn.model import PRISMATIC
from predyn.view.estimate_charts import DEGREES, residuals
from predyn.view.numbers import NOTHING, seconds, shown
from predyn.view.tables import Card, card_list, table

NOISES = {"white": "white", "joints": "correlated between joints", "time": "correlated in time"}


def badge(estimate: Estimate) -> str:
    """The status in one word, with a mark that does not rely on colour; then the warnings."""
    good = estimate.success
    word = estimate.status.replace("_", " ")
    text = f"✓ {word}" if good else f"✗ {word}"
    badges = f'<span class="badge {"good" if good else "bad"}">{escape(text)}</span>'
    if estimate.warnings:
        count = len(estimate.warnings)
        words = "1 warning" if count == 1 else f"{count} warnings"
        badges += f'<a class="badge warning" href="#warnings">⚠ {words}</a>'
    return badges


def verdict(estimate: Estimate) -> str:
    """Why there is no valid estimate, and every warning."""
    message = f"<p>{escape(estimate.message)}</p>" if estimate.message else ""
    if not estimate.success:
        message = (
            '<div class="alarm" role="alert"><h2>These torques are not a valid estimate</h2>'
            f"{message}<p>The estimator stopped with status "
            f"<strong>{escape(estimate.status)}</strong>. The best result it reached is shown "
            "below; do not use it without checking.</p></div>"
        )
    elif message:
        message = f'<div class="message">{message}</div>'
    if not estimate.warnings:
        return message
    items = "".join(f"<li>{escape(text)}</li>" for text in estimate.warnings)
    return (
        f'{message}<div class="message caution" id="warnings">'
        f"<p>Before using these torques, note:</p><ul>{items}</ul></div>"
    )


def key_numbers(estimate: Estimate) -> str:
    count, step = len(estimate.measurements.t), float(estimate.t[1] - estimate.t[0])
    rate = 1.0 / float(np.median(np.diff(estimate.measurements.t)))
    cards = [
        Card("Samples", str(count), f"{shown(rate, 3)} per second"),
        Card("Intervals", str(len(estimate.t_tau)), f"of {seconds(step)}, constant torque in each"),
        _order_card(estimate),
        *_noise_cards(estimate),
        *_band_cards(estimate),
        *_root_cards(estimate),
        Card("Iterations", str(estimate.iterations), f"in {seconds(estimate.solve_seconds)}"),
    ]
    return card_list(cards)


def _order_card(estimate: Estimate) -> Card:
    if estimate.total_variation:
        return Card("Regularisation", "total variation", "torques that switch")
    tried = sorted((trial.log_evidence for trial in estimate.orders), reverse=True)
    if len(tried) < 2:
        return Card("Order of regularisation", str(estimate.order), "as given")
    note = f"log evidence {shown(tried[0], 6)}, {shown(tried[0] - tried[1], 3)} above the next"
    value = prior_words(estimate.order, estimate.independent, estimate.corner)
    return Card("Assumed smoothness", value, note)


def _noise_cards(estimate: Estimate) -> list[Card]:
    cards = []
    for kind, unit, factor in (
        ("angle", "rad", DEGREES),
        ("angle", "m", 1e3),
        ("marker", "m", 1e3),
    ):
        channels = [c for c in estimate.channels if c.kind == kind and c.unit == unit]
        if not channels:
            continue
        levels = [factor * c.sd for c in channels]
        low, high = shown(min(levels), 3), shown(max(levels), 3)
        how = {c.estimated for c in channels}
        note = "estimated" if how == {True} else "given" if how == {False} else "given or estimated"
        what = {"rad": "angles", "m": "slides" if kind == "angle" else "markers"}[unit]
        text = low if low == high else f"{low} to {high}"
        cards.append(Card(f"Noise of {what}", f"{text} {'°' if unit == 'rad' else 'mm'}", note))
    return cards


def _band_cards(estimate: Estimate) -> list[Card]:
    """Mean half width of the bands, torques and forces apart."""
    model, cards = estimate.model, []
    driven = np.array([name not in estimate.unactuated for name in model.joint_names])
    for what, unit, chosen in (
        ("torque", "N m", model.kind != PRISMATIC),
        ("force", "N", model.kind == PRISMATIC),
    ):
        joints = np.flatnonzero(chosen & driven)
        if len(joints):
            widths = BAND * estimate.tau_sd[:, joints].mean(axis=0)
            worst = model.joint_names[joints[int(np.argmax(widths))]]
            note = f"95 % band; widest: {worst}, ± {shown(float(widths.max()), 3)} {unit}"
            value = f"± {shown(float(widths.mean()), 3)} {unit}"
            cards.append(Card(f"Mean {what} band", value, note if len(joints) > 1 else "95 % band"))
    return cards


def _root_cards(estimate: Estimate) -> list[Card]:
    """The residual of a floating base, with what was assumed of it."""
    root = estimate.root_residual
    if root is None:
        return []
    share = f"{shown(root.force_rms_percent, 3)} % of body weight, " if root.weight else ""
    how = f"assumed: {shown(100.0 * root.assumed, 3)} %"
    if not root.assumed:
        how = "held at zero"
    elif not np.isfinite(root.assumed):
        how = "not held"
    value = f"{shown(root.force_rms, 3)} N, {shown(root.moment_rms, 3)} N m"
    return [Card("Root residual", value, f"rms; {share}peak {shown(root.force_peak, 3)} N; {how}")]


def torque_words(estimate: Estimate) -> str:
    words = "The torque is constant in each interval; the band contains it with 95 % probability "
    words += "if model, noise and smoothness are as assumed."
    if estimate.comparison is not None:
        words += (
            f" Thin line: the usual method, for comparison: zero-lag Butterworth filter "
            f"({shown(estimate.comparison.cutoff, 3)} Hz), finite differences, inverse dynamics. "
            + filter_advice(estimate)
        )
    base = sorted(base_joints(estimate.model))
    if base:
        names = ", ".join(estimate.model.joint_names[j] for j in base)
        words += (
            f" Residuals, not joint torques: {names}; what acts there is what the motion and the "
            "measured forces leave unexplained."
        )
    if estimate.unactuated:
        words += f" Without a motor: {', '.join(estimate.unactuated)}."
    return escape(words)


def torques(estimate: Estimate) -> str:
    model, rows = estimate.model, []
    for j, name in enumerate(model.joint_names):
        if name in estimate.unactuated:
            rows.append((name, "no motor", *[NOTHING] * 6))
            continue
        tau, unit = estimate.tau[:, j], "N" if model.kind[j] == PRISMATIC else "N m"
        usual = NOTHING
        if estimate.comparison is not None:
            compared = np.interp(
                estimate.t_tau, estimate.comparison.t, estimate.comparison.tau[:, j]
            )
            usual = shown(float(np.sqrt(np.mean((compared - tau) ** 2))), 4)
        rows.append(
            (
                name,
                unit,
                shown(float(np.sqrt(np.mean(tau**2))), 4),
                shown(float(np.abs(tau).max()), 4),
                f"± {shown(BAND * float(estimate.tau_sd[:, j].mean()), 3)}",
                shown(float(np.sqrt(np.mean(estimate.grid_error[:, j] ** 2))), 3),
                usual,
                shown(float(estimate.weights[j]), 3),
            )
        )
    head = ("Joint", "Unit", "RMS", "Largest", "Mean 95 % band", "RMS grid error",
            "RMS from filter", "Assumed size")  # fmt: skip
    return table(head, rows, "wwnnnnnn") + f'<p class="note">{ASSUMED_WORDS}</p>'


ASSUMED_WORDS = (
    "Assumed size: that of the torque (order 0), of its difference between intervals (1) or of its "
    "second difference (2); with a corner frequency, its standard deviation; for accelerations, "
    "multiplied by an inertia."
)


def orders(estimate: Estimate) -> str:
    if estimate.total_variation:
        return "<p>Total variation, as requested: few, sudden changes of the torques.</p>"
    if not estimate.orders:
        return f"<p>Order {estimate.order}, as given.</p>"
    best = max(trial.log_evidence for trial in estimate.orders)
    rows = [
        (
            str(trial.order) + (" ✓" if trial.chosen else ""),
            trial.words,
            NOISES[trial.noise],
            shown(trial.log_evidence, 7),
            shown(best - trial.log_evidence, 4),
        )
        for trial in sorted(estimate.orders, key=_rank)
    ]
    words = (
        '<p class="note">Evidence: how probable the data are if the quantity is small, or varies '
        "as a process with a corner frequency, with the best levels for it; less 3 for a corner "
        "and 1 for each correlation (2 at least). ✓ chosen: the largest; of processes, the lowest "
        "order within 6 of it.</p>"
    )
    head = ("Order", "Assumed", "Noise", "Log evidence", "Below best")
    return table(head, rows, "wttnn") + words


def _rank(trial: OrderTrial) -> tuple[object, ...]:
    return bool(trial.corner), trial.order, INDEPENDENT.index(trial.independent), trial.noise


def noise(estimate: Estimate) -> str:
    rows = []
    for channel in estimate.channels:
        factor, unit = (DEGREES, "°") if channel.unit == "rad" else (1e3, "mm")
        left = residuals(channel) if channel.sd > 0.0 else np.full(len(channel.t), np.nan)
        lag = lag_one(channel)
        rows.append(
            (
                channel.name,
                f"{shown(factor * channel.sd, 4)} {unit}",
                "estimated" if channel.estimated else "given",
                str(len(channel.t)),
                shown(float(np.sqrt(np.mean(left**2))), 3),
                f"{shown(100.0 * float(np.mean(np.abs(left) > BAND)), 3)} %",
                shown(lag, 2) + (" ⚠" if lag > COLOURED else ""),
            )
        )
    head = ("Channel", "Noise level", "Source", "Samples", "RMS residual / level", "Outside 95 %",
            "Lag-1 autocorrelation")  # fmt: skip
    return table(head, rows, "wnwnnnn")


NOISE_WORDS = (
    "White noise, which the estimate assumes unless evidence favours a correlation, has a lag-1 "
    f"autocorrelation near 0 or slightly below. Above {COLOURED:g} (⚠) the noise is coloured: the "
    "data were filtered before, skin moves over bone, or the model does not fit; bands that assume "
    "white noise are then too narrow."
)
LCURVE_WORDS = (
    "Each point is one weight. The corner, where the curve turns, is shown for comparison; the "
    "weight is chosen by evidence."
)


def lag_one(channel: Channel) -> float:
    """Correlation of residuals with the ones a sample before, gaps left out; NaN if too few."""
    left = channel.measured - channel.fitted
    if len(left) < 3:
        return float("nan")
    gaps = np.diff(channel.t)
    near = gaps < 1.5 * np.median(gaps)
    power = float(np.mean(left**2))
    if not near.any() or not power > 0.0:
        return float("nan")
    return float(np.mean(left[1:][near] * left[:-1][near])) / power


def data_table(estimate: Estimate) -> str:
    data = estimate.measurements
    rows = [
        ("source", data.source or NOTHING),
        ("times", f"{shown(float(data.t[0]), 6)} to {shown(float(data.t[-1]), 6)} s"),
        ("angles", ", ".join(data.angles) or "none"),
        ("markers", ", ".join(data.markers) or "none"),
        ("missing values", _missing(estimate)),
    ]
    rows += [(f"force {name}", f"acts on {link}") for name, link in estimate.force_links.items()]
    unused = [name for name in data.forces if name not in estimate.force_links]
    if unused:
        rows.append(("forces not used", ", ".join(unused)))
    rows += [("note", note) for note in data.notes]
    return table(("Item", "Value"), rows, "wt")


def _missing(estimate: Estimate) -> str:
    """Of the channels in use."""
    whole = len(estimate.channels) * len(estimate.measurements.t)
    missing = whole - sum(len(channel.t) for channel in estimate.channels)
    share = 100.0 * missing / whole if whole else 0.0
    return f"{missing} of {whole} ({shown(share, 3)} %)"
