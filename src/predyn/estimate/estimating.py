"""From a recording to torques: names, first guess, levels by evidence, the minimum, doubts."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

import numpy as np

from predyn.errors import DataWarning, InputError
from predyn.estimate import doubts
from predyn.estimate.butterworth import filtered
from predyn.estimate.curve_of_weights import curve_of_weights
from predyn.estimate.driving import Driving
from predyn.estimate.evidence import Trial, relaxed
from predyn.estimate.matching import match, match_forces, match_joints
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
    weights_of,
)
from predyn.estimate.result import (
    CONVERGED,
    INTERRUPTED,
    LIMITED,
    UNIDENTIFIABLE,
    Estimate,
    OrderTrial,
)
from predyn.estimate.smoother import Levels, Posterior
from predyn.estimate.spline_grid import Floats
from predyn.estimate.states import channels_of, node_deviations, torque_deviations
from predyn.estimate.total_variation import switching
from predyn.estimate.tracking import followed
from predyn.estimate.trials import Report, Search
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
    forces: Mapping[str, str] | None = None,
    step: float | None = None,
    cutoff: float | None = None,
    guess: Mapping[str, float] | None = None,
    name: str | None = None,
    report: Report | None = None,
) -> Estimate:
    """The torques that made a recorded motion, with 95 % bands.

    data        a recording, or the path of one (.csv, .trc, .c3d, .mot, .sto); its joints and
                markers are those joints and frames of the model that have the same names
    order       0, 1 or 2: what is taken as likely is that torques, their changes from interval to
                interval, or the changes of those are small; by evidence unless told
    total_variation  torques that switch: few changes, of any size
    independent  what changes independently: the torques of "joints"; those on "links" (a link's
                joint less the joints it carries about parallel axes); or "accelerations" of joints,
                so that torques go together; by evidence unless told
    weight      usual size of a torque (order 0) or of its change over a step (1, 2), N m or N, for
                all joints or by name; by evidence unless told. Larger follows the data more
    noise       standard deviation of the noise, rad or m, for all or by joint and marker; estimated
                unless told
    unactuated  joints without torque, such as those of a floating base
    forces      recorded force -> link it acts on
    step        s, of the grid on which torques are held; the usual sample interval unless told
    cutoff      Hz, of the filter in the comparison; by residual analysis unless told
    guess       joint -> rad or m, a pose near the first one, if the markers allow several
    report      called with iteration, value, largest step, text

    Doubts are in `warnings` of the result and issued as DataWarning. Errors of the model (lengths,
    masses, marker places) are not in the bands. Ctrl-C returns what was reached.
    """
    began = time.perf_counter()
    if not isinstance(model, Model):
        raise InputError(f"model: expected a predyn.Model, got {type(model).__name__}")
    recording = data if isinstance(data, Measurements) else load_measurements(data)
    orders = orders_of(order, total_variation)
    kinds = kinds_of(independent, total_variation, weight)
    matched = match(model, recording)
    links = match_forces(model, recording, forces, matched.warnings)
    grid = grid_of(model, recording.t, step)
    free = match_joints(model, unactuated)
    start = pose_of(model, guess)
    with held_back():
        q, told = followed(model, recording.t, matched.angles, matched.markers, start)
        nodes = np.stack([np.interp(grid.nodes, recording.t, column) for column in q.T], axis=1)
        usual_way = filtered(model, grid.nodes, nodes, recording, links, None)
        comparison = usual_way
        if positive("cutoff", cutoff) is not None:
            comparison = filtered(model, grid.nodes, nodes, recording, links, cutoff)
    matched.warnings.extend(told)
    least, likely, most = noise_range(matched)
    known = known_noise(matched, noise)
    search = Search(
        matched,
        Observations(model, grid, recording.t, matched.observed),
        Driving(model, grid, recording.forces, links),
        usual_way,
        np.array(free, np.int64),
        np.where(np.isnan(known), likely, known),
        np.isnan(known),
        (least, most),
        weights_of(model, weight, free),
        called(report),
    )
    try:
        trials = search.trials(orders, kinds, grid.through(nodes))
        estimate = _finished(search, trials, total_variation)
    except InputError as error:  # what was found before may be the cause
        raise InputError("; ".join((*matched.warnings, str(error)))) from None
    for text in estimate["warnings"]:
        warnings.warn(text, DataWarning, stacklevel=2)
    return Estimate(
        name=name or model.name,
        model=model,
        measurements=recording,
        comparison=comparison,
        unactuated=tuple(np.array(model.joint_names)[search.unactuated].tolist()),
        force_links=links,
        total_variation=total_variation,
        iterations=search.iterations,
        solve_seconds=time.perf_counter() - began,
        **estimate,
    )


def _finished(search: Search, trials: list[Trial], total_variation: bool) -> dict[str, Any]:
    """The best trial brought to its minimum, with bands, doubts and the L-curve."""
    best = max(trials, key=lambda trial: trial.log_evidence)
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
            tell = search.teller("sum of |changes|, total variation")
            end = switching(best, search.free_noise, search.free_scale, bounds, tell)
            c, levels, scale, posterior = end.c, end.levels, end.mean, end.posterior
            reached = reached and end.reached
        else:
            if np.isfinite(best.log_evidence):
                with held_back():
                    levels = relaxed(best, search.free_scale, smoother.sizes[-1])
                scale = levels.scale
            tell = search.teller("gain per unknown, minimum")
            c, minimal = smoother.minimum(c, levels, report=tell)
            reached = reached and minimal
    except KeyboardInterrupt:
        interrupted = True
    found: dict[str, Any] = {}
    while not found:  # Ctrl-C may come before it is held back
        try:
            with held_back():
                known = posterior or smoother.posterior(c, levels)
                found = _described(search, trials, best, c, levels, scale, known, interrupted)
                noise = levels.noise[search.observations.thing]
                about = known.linear.about
                unseen, carried = doubts.unseen(model, about.seen, noise, search.unactuated)
                found["warnings"] += tuple(doubts.carried(carried))
                usual = search.usual_way.tau
                tau, error = found["tau"], found["grid_error"]
                senseless = doubts.senseless(model, found["channels"], tau, error, usual)
                found |= _status(interrupted, reached, known.damping, unseen, senseless)
        except KeyboardInterrupt:
            interrupted = True
            found |= _status(True, reached, 0.0, (), "") if found else {}
    return found


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
    """States, torques, bands, doubts and the L-curve of a motion."""
    smoother, grid, model = best.smoother, best.smoother.grid, search.driving.model
    tau, tau_sd = search.driving.torques(c), torque_deviations(grid, posterior)
    tau[:, search.unactuated] = 0.0
    tau_sd[:, search.unactuated] = 0.0
    q, v = grid.at_nodes(c)
    q_sd, v_sd = node_deviations(grid, posterior.C)
    channels = channels_of(search.observations, c, levels, search.free_noise)
    error = doubts.grid_error(smoother, c)
    told: list[str] = []
    if not interrupted:
        told = doubts.told(
            model, smoother, Levels(levels.noise, scale), search.bounds(smoother), best.measured,
            search.weight is not None, tau, tau_sd, q_sd, error, channels,
            np.where(search.free_noise, search.noise, np.nan),
        )  # fmt: skip
        if levels.scale is scale and not posterior.damping:  # one size for all changes
            told += doubts.bursts(model, smoother, c, levels)
            told += search.rivals(trials, best, tau, tau_sd)
    weights = np.zeros(model.n)
    weights[search.active] = scale
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
        "independent": best.of,
        "weights": weights,
        "orders": tuple(
            _order_trial(search, trial, trial is best)
            for trial in trials
            if np.isfinite(trial.log_evidence)
        ),
        "lcurve": curve_of_weights(smoother, posterior.linear, levels),
        "warnings": (*search.matched.warnings, *told),
    }


def _order_trial(search: Search, trial: Trial, chosen: bool) -> OrderTrial:
    weights = np.zeros(search.driving.model.n)
    weights[search.active] = trial.levels.scale
    return OrderTrial(trial.smoother.order, trial.of, trial.log_evidence, weights, chosen)


def _status(
    interrupted: bool, reached: bool, damping: float, unseen: Sequence[str], senseless: str
) -> dict[str, str]:
    if interrupted:
        return {"status": INTERRUPTED, "message": "levels and motion as they were at Ctrl-C"}
    if unseen:
        message = (
            f"the measurements leave the position of {', '.join(unseen[:8])} open: it, and all "
            "torques that go with it, rest on smoothness alone, and the bands do not hold; measure "
            "the joint or markers beyond it, or name it as unactuated if it has no motor"
        )
        return {"status": UNIDENTIFIABLE, "message": message}
    if damping > 0.0:
        message = (
            "the normal equations are singular to rounding: the measurements do not determine the "
            "motion, or a weight or noise level that was given is far off (see the warnings); "
            "measure more joints or markers, leave levels to be found, or use a longer step"
        )
        return {"status": UNIDENTIFIABLE, "message": message}
    if senseless:
        return {"status": LIMITED, "message": senseless}
    if not reached:
        message = (
            "levels or motion had not settled; give noise and weight, or leave out channels that "
            "do not fit the model"
        )
        return {"status": LIMITED, "message": message}
    return {"status": CONVERGED, "message": "noise, sizes and motion found"}
