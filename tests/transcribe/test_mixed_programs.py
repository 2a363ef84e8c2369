"""Derivatives of programs that mix all terms, against extrapolated differences of the values."""

from __future__ import annotations

import numpy as np
import pytest

from predyn.channels import derived, frames
from predyn.kernels.batch import aligned
from predyn.nlp import check_derivatives
from predyn.terms import TERMS
from predyn.transcribe import chained, instants, row_bends, row_values
from predyn.transcribe.methods import transcribe
from predyn.transcribe.spline import SplineProgram
from terms.term_cases import ON_UNKNOWNS, SUMS
from transcribe.problem_cases import PAIRS, SINGLE, problem_cases
from transcribe.program_values import declared, values

CASES = problem_cases()


def point(program: SplineProgram, seed: int) -> np.ndarray:
    """Control points of a lively motion, durations away from their guess."""
    rng = np.random.default_rng(seed)
    x = 0.1 * rng.standard_normal(program.n)
    for phase in program.phases:
        if phase.T_column >= 0:
            x[phase.T_column] = rng.uniform(1.2, 1.8)
    return x


@pytest.fixture(autouse=True)
def _poisoned(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fill uninitialized memory with NaN."""

    def nothing(*shape: int) -> np.ndarray:
        array = aligned(*shape)
        array[:] = np.nan
        return array

    for module in (chained, derived, frames, instants, row_bends, row_values):
        monkeypatch.setattr(module, "aligned", nothing)


def test_every_term_takes_part() -> None:
    taking_part = {term.kind for term in (*PAIRS.values(), *SINGLE.values())}
    assert taking_part == set(TERMS) - ON_UNKNOWNS - SUMS
    assert any(len(set(p.model.parent[1:])) < p.model.n - 1 for p in CASES.values())


@pytest.mark.parametrize("name", CASES)
def test_derivatives(name: str) -> None:
    program = transcribe(CASES[name])
    assert program.n <= 300  # every entry is differenced, also those outside the pattern
    report = check_derivatives(program, point(program, 5), step=1e-4)
    for entry in report:
        assert entry is not None
        # ten times: what cancels inside a row is larger than what is left of it
        assert abs(entry.given - entry.expected) <= 10.0 * entry.tolerance, str(report)


@pytest.mark.parametrize("name", CASES)
def test_sparsity_has_no_superfluous_entries(name: str) -> None:
    program = transcribe(CASES[name])
    n, m = program.n, program.m
    told = [declared(program.jacobian_pattern, (m, n)), declared(program.hessian_pattern, (n, n))]
    there = [np.zeros_like(flags) for flags in told]
    for seed in range(3):
        weights = np.random.default_rng(seed).standard_normal(m) / program.g_scale
        found = values(program, point(program, seed), 1.0, weights)
        there[0] |= found.jacobian != 0.0
        there[1] |= np.tril(found.hessian) != 0.0
    for flags, used in zip(told, there, strict=True):
        assert flags.sum() <= 1.05 * used.sum()
