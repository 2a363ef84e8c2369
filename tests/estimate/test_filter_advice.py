"""When the filter may be better: correlated residuals, misfit, no convergence."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fake_estimate import fake_estimate
from predyn.estimate.filter_advice import agreement, filter_advice
from predyn.estimate.result import Channel, Estimate, Filtered


def compared(shift: float = 0.0, status: str = "converged") -> Estimate:
    """An estimate whose filter differs from it by so many half widths of the band."""
    found = fake_estimate(status)
    low, high = found.tau_band
    tau = found.tau + shift * 0.5 * (high - low)
    zero = np.zeros_like(tau)
    return replace(found, comparison=Filtered(6.0, found.t_tau, zero, zero, zero, tau))


def with_residuals(found: Estimate, left: np.ndarray) -> Estimate:
    first = found.channels[0]
    channel: Channel = first._replace(measured=first.fitted + left, sd=float(np.std(left)))
    return replace(found, channels=(channel, *found.channels[1:]))


@pytest.mark.parametrize(("shift", "share"), [(0.0, 1.0), (0.9, 1.0), (1.1, 0.0)])
def test_agreement_counts_torques_within_bands(shift: float, share: float) -> None:
    assert agreement(compared(shift)) == share


def test_white_residuals_do_not_speak_for_the_filter() -> None:
    words = filter_advice(compared())
    assert "100% of the filter's torques" in words
    assert "Nothing in the residuals" in words


def test_correlated_residuals_speak_for_the_filter() -> None:
    found = compared(2.0)
    rng = np.random.default_rng(0)
    left = np.convolve(rng.standard_normal(len(found.t) + 9), np.ones(10), "valid") * 1e-3
    words = filter_advice(with_residuals(found, left))
    assert "0% of the filter's torques" in words
    assert f"residuals of {found.channels[0].name} are correlated" in words


def test_misfit_and_lack_of_convergence_are_named() -> None:
    found = compared(status="iteration_limit")
    steps = np.where(np.arange(len(found.t)) % 2, 0.3, -0.3)  # not correlated with its neighbour
    first = with_residuals(found, steps).channels[0]
    smooth = first._replace(measured=found.channels[0].fitted, fitted=first.measured)
    words = filter_advice(replace(found, channels=(smooth, *found.channels[1:])))
    assert "ended with iteration_limit" in words
    assert f"residuals of {smooth.name} are far larger" in words


def test_noise_that_is_correlated_between_joints_speaks_for_the_filter() -> None:
    words = filter_advice(replace(compared(), noise_model="joints"))
    assert "correlated between joints, as after inverse kinematics" in words


def test_mistakes_rule_out_both() -> None:
    assert "Neither curve" in filter_advice(compared(status="implausible"))


def test_without_comparison_there_is_no_advice() -> None:
    assert filter_advice(replace(fake_estimate(), comparison=None)) == ""
