"""Every registered derivative against complex steps or differences; none may be missing.

Tolerances. A number at the end of a recursion over n links is a sum of some dozens of products a
link, each rounded by at most eps/2 of its size; errors of either sign add up like a root. Hence,
where the reference is exact to rounding (a complex step, or the difference of a linear function),
the error may be 32 sqrt(n) eps of the largest number in the array, or in the value if differences
of it were taken. Central differences with the step h = eps^(1/3) err by h^2/6 of the third
derivative and by eps/h of the value: both are eps^(2/3) = 4e-11 of sizes that are alike here, and
we allow 8 of them. Masses and lengths are of order one, so nothing counts as smaller than one.
What multiplies rounding in the problem itself, the condition of the mass matrix, multiplies this.
"""

import importlib
import inspect
import pkgutil
import re

import numpy as np
import pytest

from predyn import dynamics
from predyn.model import KINDS
from registry import CENTRAL, COMPLEX, ENTRIES, LINEAR, Case, Entry

EPS = float(np.finfo(float).eps)
ROUNDINGS, DIFFERENCES = 32.0, 8.0
STEP = {COMPLEX: 1e-40j, CENTRAL: EPS ** (1 / 3), LINEAR: 1.0}  # (1e-40)^2 is nothing beside one
CASES = [(entry, case) for entry in ENTRIES for case in entry.cases()]
NAMES = [f"{entry.name}-{case.label}" for entry, case in CASES]


def differences(entry: Entry, case: Case, name: str) -> np.ndarray:
    """(B, m, k): partials of the entry's value in input `name`."""
    start, h = case.x[name], STEP[entry.step]

    def value(k: int, step: complex) -> np.ndarray:
        x = start.astype(type(step))
        x[..., k] += step
        return entry.value(case, case.x | {name: x})

    columns = []
    for k in range(start.shape[-1]):
        if entry.step == COMPLEX:
            columns.append(value(k, h).imag / h.imag)
        elif entry.step == CENTRAL:
            columns.append((value(k, h) - value(k, -h)) / (2.0 * h))
        else:
            columns.append(value(k, h) - value(k, 0.0))
    return np.stack(columns, axis=-1)


def tolerance(entry: Entry, case: Case, reference: np.ndarray) -> np.ndarray:
    """Of each sample, (B,)."""
    size = np.maximum(np.abs(reference).max(axis=(1, 2)), 1.0)
    if entry.step != COMPLEX:
        size = np.maximum(size, np.abs(entry.value(case, case.x)).max(axis=1))
    relative = ROUNDINGS * np.sqrt(case.model.n) * EPS
    if entry.step == CENTRAL:
        relative = DIFFERENCES * EPS ** (2 / 3)
    return relative * size * entry.condition(case)


@pytest.mark.parametrize(("entry", "case"), CASES, ids=NAMES)
def test_partials_match_the_value_function(entry: Entry, case: Case) -> None:
    for name, exact in entry.partials(case).items():
        if name == "value":
            exact, reference = exact[..., None], entry.value(case, case.x).real[..., None]
        else:
            reference = differences(entry, case, name)
        assert exact.shape == reference.shape
        error = np.abs(exact - reference).max(axis=(1, 2)) / tolerance(entry, case, reference)
        assert error.max() <= 1.0, f"{name}: {error.max():.3g} times the tolerance"


def derivative_functions() -> set[str]:
    """Functions of a model in any module of predyn.dynamics that are derivatives by their name."""
    found = set(dynamics.__all__)
    for module in pkgutil.iter_modules(dynamics.__path__):
        home = importlib.import_module(f"predyn.dynamics.{module.name}")
        for name, value in vars(home).items():
            if inspect.isfunction(value) and value.__module__ == home.__name__:
                takes_model = next(iter(inspect.signature(value).parameters), "") == "model"
                if takes_model and not name.startswith("_"):
                    found.add(name)
    pattern = r"_derivatives$|_hessian$|_sensitivity$|_sensitivities$|regressor$"
    return {name for name in found if re.search(pattern, name)}


def test_every_derivative_is_registered() -> None:
    internal = {"force_hessian", "reaction_force_hessian"}  # the parts qf of other functions
    missing = derivative_functions() - internal - {entry.name for entry in ENTRIES}
    assert not missing, f"register {sorted(missing)} in tests/registry.py"


def test_cases_cover_all_branches_of_kernels() -> None:
    models = [case.model for entry in ENTRIES for case in entry.cases()]
    big = [model for model in models if model.n > 1 and model.name != "biped"]
    assert {kind for model in models for kind in model.kind} == set(range(len(KINDS)))
    assert all((model.parent == -1).sum() == 2 for model in big)
    inner = [set(model.parent) & set(np.flatnonzero(~model.inertia.any(axis=1))) for model in big]
    assert all(inner), "massless links inside the tree"
    assert any(model.stiffness.any() and model.coulomb.any() for model in big)
    assert any(model.rotor[0, 1] != 0.0 for model in big)
    sites = [site.frame for entry in ENTRIES for case in entry.cases() for site in case.sites]
    assert {"world", "link"} == set(sites)
