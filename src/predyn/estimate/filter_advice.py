"""When the filter's torques may be better than the estimated ones, in plain words.

The estimate weighs smoothness against noise by a model of both. It is the better of the two where
this model holds; residuals that do not look like noise show that it does not.
"""

from __future__ import annotations

import numpy as np

from predyn.estimate.channel_warnings import EXCESS, join_names, lag_correlation, marker_name
from predyn.estimate.result import CONVERGED, IMPLAUSIBLE, OF_JOINTS, OF_TIME, Estimate
from predyn.estimate.samples import roughness

CLOSE = 0.9  # share of the filter's torques within the bands that counts as agreement
CORRELATED = {OF_JOINTS: "between joints, as after inverse kinematics", OF_TIME: "in time"}
ENDS = 0.1  # s at each end, where a filter lacks data


def filter_advice(estimate: Estimate) -> str:
    """Whether the two agree, and what suggests that the filter's curve is the better one; empty
    without a comparison."""
    if estimate.comparison is None:
        return ""
    if estimate.status == IMPLAUSIBLE:
        return "Neither curve can be right as long as the recording contains the mistake above."
    share = agreement(estimate)
    words = (
        f"Apart from the ends, {share:.0%} of the filter's torques lie within the 95 % bands"
        + (": the two agree." if share >= CLOSE else ".")
    )
    reasons = _reasons(estimate)
    if not reasons:
        return (
            f"{words} Nothing in the residuals suggests that the filter's curve is the better one. "
            "Prefer it only for comparison with other results that were filtered at the same "
            "cut-off frequency."
        )
    listed = "; ".join(reasons)
    return f"{words} Where the two differ, the filter's curve may be the better one: {listed}."


def agreement(estimate: Estimate) -> float:
    """Share of the filter's torques of actuated joints within the bands, apart from the ends."""
    usual = estimate.comparison
    assert usual is not None
    inside = (estimate.t_tau > estimate.t[0] + ENDS) & (estimate.t_tau < estimate.t[-1] - ENDS)
    at = estimate.t_tau[inside] if inside.any() else estimate.t_tau
    root = estimate.root_residual
    idle = {*estimate.unactuated, *(root.joints if root is not None else ())}
    driven = [j for j, name in enumerate(estimate.model.joint_names) if name not in idle]
    filtered = np.stack([np.interp(at, usual.t, usual.tau[:, j]) for j in driven], axis=1)
    low, high = (x[np.isin(estimate.t_tau, at)][:, driven] for x in estimate.tau_band)
    return float(((low <= filtered) & (filtered <= high)).mean())


def _reasons(estimate: Estimate) -> list[str]:
    reasons = []
    if estimate.status != CONVERGED:
        reasons.append(f"the estimate ended with {estimate.status}")
    if estimate.noise_model in CORRELATED:
        reasons.append(
            f"the noise is correlated {CORRELATED[estimate.noise_model]}, which makes it hard to "
            "tell from motion; the filter assumes only that motion is slower than its cut-off"
        )
    coloured = [x for x in estimate.channels if lag_correlation(x) > 0.0]
    if coloured:
        names = list(dict.fromkeys(marker_name(x) or x.name for x in coloured))
        most = max(lag_correlation(x) for x in coloured)
        reasons.append(
            f"neighbouring residuals of {join_names(names)} are correlated (up to {most:.2f}), as "
            "after soft-tissue motion, inverse kinematics or an earlier filter, so that part of "
            "what the estimate follows or removes is not what it takes it for"
        )
    misfit = [
        x.name
        for x in estimate.channels
        if x.estimated and x.sd > EXCESS * roughness((x.t, x.measured)) and x not in coloured
    ]
    if misfit:
        reasons.append(
            f"the residuals of {join_names(misfit)} are far larger than the noise between "
            "neighbouring samples: the model does not fit there, and the filter, which follows the "
            "data, does not depend on it"
        )
    return reasons
