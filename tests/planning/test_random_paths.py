"""Random paths of random arms: every one is solved, and keeps its limits between the nodes."""

from __future__ import annotations

import numpy as np
import pytest

import predyn
from planning.random_paths import random_case


def check_path(seed: int) -> None:
    case = random_case(seed)
    model = case.model
    result = predyn.retime(model, case.path, **case.options)
    assert result.status == "optimal", f"{result}"
    assert result.gap <= 1e-7 * result.objective
    t = np.random.default_rng(seed).uniform(0.0, result.duration, 500)
    _, v, a, tau = result.at(t)
    for x, kind in ((v, "velocity"), (a, "acceleration"), (tau, "effort")):
        low, high = getattr(model.limits, kind).T
        slack = 0.0051 * 0.5 * np.where(np.isfinite(high - low), high - low, 0.0)
        assert (x <= high + slack).all(), kind
        assert (x >= low - slack).all(), kind


@pytest.mark.parametrize("seed", range(30))
def test_path(seed: int) -> None:
    check_path(seed)


@pytest.mark.verify
def test_thousand_paths() -> None:
    for seed in range(30, 1030):
        check_path(seed)
