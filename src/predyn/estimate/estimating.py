"""From a recording to torques: names, first guess, levels by evidence, minimum, warnings."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

import numpy as np

from predyn.errors import DataWarning, InputError, listed
from predyn.estimate import torque_warnings
from predyn.estimate.butterworth import filtered
from predyn.estimate.curve_of_weights import curve_of_weights
from predyn.estimate.driving import Driving, push
from predyn.estimate.evidence import Trial, relaxed
from predyn.estimate.force_links import ForceLink, assign_forces, plan_forces
from predyn.estimate.matching import match, match_joints
from predyn.estimate.observations import Observations
from predyn.estimate.options import (
    called,
    grid_of,
    kinds_of,
    known_noise,
    noise_range,
    orders_of,
    pose_of,
    positive,
    process_orders,
    requested_processes,
    weights_of,
)
from predyn.estimate.plausibility import find_mistakes
from predyn.estimate.process_trials import process_trials
from predyn.estimate.progress import Report, shown_progress
from predyn.estimate.result import (
    CONVERGED,
    IMPLAUSIBLE,
    INTERRUPTED,
    LIMITED,
    UNIDENTIFIABLE,
    Estimate,
    OrderTrial,
)
from predyn.estimate.root_residual import (
    assumed_base,
    root_residual,
    warn_of_base,
    zero_torques_of,
)
from predyn.estimate.smoother import Levels, Posterior
from predyn.estimate.spline_grid import Floats
from predyn.estimate.states import channels_of, node_deviations, torque_deviations
from predyn.estimate.total_variation import switching
from predyn.estimate.tracking import track_poses
from predyn.estimate.trials import Search
from predyn.model import Model
from predyn.recordings.loading import load_measurements
from predyn.recordings.measurements import Measurements
from predyn.storage.interrupts import held_back


def estimate_torques(
    model: Model,
    data: Measurements | str | PathLike[str],
    *,
    order: int | None = None,
    total_variation: bool = False,
    independent: str | None = None,
    weight: float | Mapping[str, float] | None = None,
    noise: float | Mapping[str, float] | None = None,
    unactuated: Sequence[str] = (),
    base_residual: float | None = None,
    forces: Mapping[str, ForceLink] | None = None,
    step: float | None = None,
    cutoff: float | None = None,
    guess: Mapping[str, float] | None = None,
    name: str | None = None,
    report: Report | None = None,
    verbose: bool | None = None,
) -> Estimate:
    """The torques that made a recorded motion, with 95 % bands.

    data        a recording, or the path of one (.csv, .trc, .c3d, .mot, .sto); its joints and
                markers are those joints and frames of the model that have the same names
    order       0, 1 or 2: penalise torques, their differences from interval to interval, or
                their second differences (default: by evidence)
    total_variation  torques that switch: few changes, of any size
    independent  what changes independently: the torques of "joints"; those on "links" (a link's
                joint less the joints it carries about parallel axes); or "accelerations" of joints,
                so that torques vary together (default: by evidence)
    weight      usual size of a torque (order 0) or of its change over a step (1, 2), N m or N, for
                all joints or by name (default: by evidence). Larger follows the data more
    noise       standard deviation of the noise, rad or m, for all or by joint and marker
                (default: estimated)
    unactuated  joints without torque, such as those of a floating base
    base_residual  standard deviation of the residual force of a floating base, over the body's
                weight (default: 0.04 if the base has no motor; 0: exactly zero; inf: not held)
    forces      recorded force -> link it acts on; several links (the nearest one for each contact);
                or [(link, start, end), ...] in s if it acts on links in turn
    step        s, interval over which each torque is constant (default: the mean sample interval)
    cutoff      Hz, of the filter in the comparison (default: by residual analysis)
    guess       joint -> rad or m, a pose near the first one, if the markers allow several
    report      called with iteration, value, largest step, text
    verbose     whether to show progress on standard error, or in the notebook; None: on a
                terminal or in a notebook, without a `report`

    Warnings are in `warnings` of the result and issued as DataWarning. The bands do not account
    for errors of the model (lengths, masses, marker positions). Ctrl-C returns partial results.
    """
    began = time.perf_counter()
    if not isinstance(model, Model):
        raise InputError(f"model: expected a predyn.Model, got {type(model).__name__}")
    if model.loops:
        raise InputError(
            f"estimate_torques: model {model.name!r:.60} has closed loops "
            f"({listed([loop.name for loop in model.loops], 4)}), which estimates do not support; "
            "for a known motion, use predyn.dynamics.closed_inverse_dynamics"
        )
    if not isinstance(data, Measurements | str | PathLike):
        raise InputError(
            f"data: expected Measurements or the path of a file, got {type(data).__name__}"
        )
    recording = data if isinstance(data, Measurements) else load_measurements(data)
    orders = orders_of(order, total_variation)
    kinds = kinds_of(independent, total_variation, weight)
    processes = process_orders(order, independent, total_variation, weight)
    requested = requested_processes(order, independent)
    matched = match(model, recording)
    plan = plan_forces(model, recording, forces, matched.warnings)
    grid = grid_of(model, recording.t, step)
    free = match_joints(model, unactuated)
    start = pose_of(model, guess)
    with held_back():
        q, messages = track_poses(model, recording.t, matched.angles, matched.markers, start)
        recording, links = assign_forces(model, recording, plan, q, messages)
        nodes = np.stack([np.interp(grid.nodes, recording.t, column) for column in q.T], axis=1)
        by_filter = filtered(model, grid.nodes, nodes, recording, links, None)
        comparison = by_filter
        if positive("cutoff", cutoff) is not None:
            comparison = filtered(model, grid.nodes, nodes, recording, links, cutoff)
    matched.warnings.extend(messages)
    base = assumed_base(model, free, bool(links), by_filter, base_residual)
    matched.warnings.extend(warn_of_base(base, free, bool(links)))
    pushes = {name: push(grid.nodes, link, recording.forces[name]) for name, link in links.items()}
    mistakes = find_mistakes(model, by_filter, pushes, base)
    matched.warnings.extend(mistake.text for mistake in mistakes)
    wrong = "; ".join(mistake.text for mistake in mistakes if mistake.fatal)
    zero = zero_torques_of(base, free)
    least, likely, most = noise_range(matched)
    known = known_noise(matched, noise)
    search = Search(
        matched,
        Observations(model, grid, recording.t, matched.observed),
        Driving(model, grid, recording.forces, links),
        by_filter,
        zero,
        np.where(np.isnan(known), likely, known),
        np.isnan(known),
        (least, most),
        weights_of(model, weight, free),
        called(report),
        base,
    )
    try:
        with shown_progress(verbose, search.report) as search.report:
            trials = search.trials(orders, kinds, grid.through(nodes))
            trials = process_trials(search, processes, trials, requested)
            estimate = _finished(search, trials, total_variation, wrong)
    except InputError as error:  # earlier warnings may name the cause
        raise InputError("; ".join((*matched.warnings, str(error)))) from None
    for text in estimate["warnings"]:
        warnings.warn(text, DataWarning, stacklevel=2)
    return Estimate(
        name=name or model.name,
        model=model,
        measurements=recording,
        comparison=comparison,
        unactuated=tuple(np.array(model.joint_names)[np.union1d(zero, free).astype(int)].tolist()),
        force_links=links,
        total_variation=total_variation,
        iterations=search.iterations,
        solve_seconds=time.perf_counter() - began,
        **estimate,
    )


def _finished(
    search: Search, trials: list[Trial], total_variation: bool, wrong: str
) -> dict[str, Any]:
    """The best trial brought to its minimum, with bands, warnings and the L-curve.

    wrong: mistakes in the recording with which no torques can be right.
    """
    best = search.chosen(trials)
    smoother, levels, c = best.smoother, best.levels, best.c
    model = search.driving.model
    bounds = search.bounds(smoother)
    interrupted = any(trial.interrupted for trial in trials)
    reached = best.settled
    posterior: Posterior | None = None
    scale = levels.scale
    try:
        if interrupted:
            reached = False
        elif total_variation:
            report = search.reporter("sum of |changes|, total variation")
            end = switching(best, search.free_noise, search.free_scale, bounds, report, search.pool)
            c, levels, scale, posterior = end.c, end.levels, end.mean, end.posterior
            reached = reached and end.reached
        else:
            if np.isfinite(best.log_evidence) and not smoother.corner:
                with held_back():
                    levels = relaxed(best, search.free_scale, smoother.sizes[-1])
                scale = levels.scale
            report = search.reporter("gain per unknown, minimum")
            c, minimal = smoother.minimum(c, levels, report=report)
            reached = reached and minimal
    except KeyboardInterrupt:
        interrupted = True
    result: dict[str, Any] = {}
    while not result:  # Ctrl-C may come before it is held back
        try:
            with held_back():
                known = posterior or smoother.posterior(c, levels)
                result = _described(search, trials, best, c, levels, scale, known, interrupted)
                noise = levels.noise[search.observations.thing]
                unmeasured, passive = torque_warnings.find_unmeasured_joints(
                    model, search.observations.bare_rows(c), noise, search.passive
                )
                result["warnings"] += tuple(torque_warnings.warn_of_unmeasured_passive(passive))
                usual = search.by_filter.tau
                tau, error = result["tau"], result["grid_error"]
                implausible = torque_warnings.check_plausibility(
                    model, result["channels"], tau, error, usual
                )
                result |= _status(interrupted, reached, known.damping, unmeasured, implausible)
                if wrong and not interrupted:
                    result |= {"status": IMPLAUSIBLE, "message": wrong}
        except KeyboardInterrupt:
            interrupted = True
            result |= _status(True, reached, 0.0, (), "") if result else {}
    return result


def _described(
    search: Search,
    trials: list[Trial],
    best: Trial,
    c: Floats,
    levels: Levels,
    scale: Floats,
    posterior: Posterior,
    interrupted: bool,
) -> dict[str, Any]:
    """States, torques, bands, warnings and the L-curve of a motion."""
    smoother, grid, model = best.smoother, best.smoother.grid, search.driving.model
    tau, tau_sd = search.driving.torques(c), torque_deviations(grid, posterior)
    tau[:, search.unactuated] = 0.0
    tau_sd[:, search.unactuated] = 0.0
    q, v = grid.at_nodes(c)
    q_sd, v_sd = node_deviations(grid, posterior.C)
    channels = channels_of(smoother.observations, c, levels, search.free_noise)
    error = torque_warnings.grid_error(smoother, c)
    root = None if search.base is None else root_residual(model, search.base, tau)
    messages: list[str] = []
    if not interrupted:
        messages = torque_warnings.collect_warnings(
            model, smoother, Levels(levels.noise, scale), search.bounds(smoother), best.measured,
            search.weight is not None, tau, tau_sd, q_sd, error, channels,
            np.where(search.free_noise, search.noise, np.nan),
        )  # fmt: skip
        if levels.scale is scale and not posterior.damping:  # one size for all changes
            messages += torque_warnings.warn_of_bursts(model, smoother, c, levels)
            messages += search.warn_of_rivals(trials, best, tau, tau_sd)
    weights = np.zeros(model.n)
    weights[search.active] = scale if levels.scale is not scale else smoother.usual_sizes(levels)
    return {
        "t": grid.nodes,
        "q": q,
        "v": v,
        "q_sd": q_sd,
        "v_sd": v_sd,
        "t_tau": grid.middles,
        "a": grid.middle(c)[2],
        "tau": tau,
        "tau_sd": tau_sd,
        "grid_error": error,
        "channels": channels,
        "order": smoother.order,
        "corner": smoother.corner,
        "noise_model": smoother.observations.noise_model,
        "independent": best.of,
        "weights": weights,
        "orders": tuple(
            _order_trial(search, trial, trial is best)
            for trial in trials
            if np.isfinite(trial.log_evidence)
        ),
        "lcurve": curve_of_weights(smoother, posterior.linear, levels),
        "root_residual": root,
        "warnings": (*search.matched.warnings, *messages),
    }


def _order_trial(search: Search, trial: Trial, chosen: bool) -> OrderTrial:
    weights = np.zeros(search.driving.model.n)
    weights[search.active] = trial.smoother.usual_sizes(trial.levels)
    smoother = trial.smoother
    return OrderTrial(
        smoother.order,
        trial.of,
        trial.log_evidence,
        weights,
        chosen,
        smoother.corner,
        smoother.observations.noise_model,
    )


def _status(
    interrupted: bool, reached: bool, damping: float, unmeasured: Sequence[str], implausible: str
) -> dict[str, str]:
    if interrupted:
        return {
            "status": INTERRUPTED,
            "message": "noise, weights and motion are those reached at Ctrl-C",
        }
    if unmeasured:
        message = (
            f"the measurements do not determine the position of {', '.join(unmeasured[:8])}: it, "
            "and all torques that depend on it, rest on smoothness alone, and the bands do not "
            "hold; measure the joint or markers beyond it, or list it as unactuated if it has no "
            "motor"
        )
        return {"status": UNIDENTIFIABLE, "message": message}
    if damping > 0.0:
        message = (
            "the normal equations are singular to rounding: the measurements do not determine the "
            "motion, or a given weight or noise level is far off (see the warnings); measure "
            "more joints or markers, let the levels be estimated, or use a longer step"
        )
        return {"status": UNIDENTIFIABLE, "message": message}
    if implausible:
        return {"status": IMPLAUSIBLE, "message": implausible}
    if not reached:
        message = (
            "noise, weights or motion did not converge; give noise and weight, or remove channels "
            "that do not fit the model"
        )
        return {"status": LIMITED, "message": message}
    return {"status": CONVERGED, "message": "noise, weights and motion converged"}
