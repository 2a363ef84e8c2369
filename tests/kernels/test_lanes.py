"""The number type that kernels run on: arithmetic and functions of lanes against NumPy, and every
kernel on lanes against the same source on plain numbers, compiled and with the JIT off.

Run as a program, `test_lanes.py FILE [KERNEL ...]`, it saves what kernels give on lanes (with the
JIT off: on plain numbers) at the inputs of this file, for comparison with other settings.
"""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from predyn import dynamics
from predyn.kernels.batch import Kernel
from predyn.kernels.lane_functions import exp, sincos, sqrt, tanh
from predyn.kernels.lanes import WIDTH, entry, load, store
from predyn.published.dh import dh_tree_of
from registry import LANES, outputs
from registry_cases import DH_SITES, SITES, Case, dh_forest, forest, make_case

EPS = float(np.finfo(float).eps)
TESTS = Path(__file__).parents[1]

# -- arithmetic and functions -------------------------------------------------------------------


def as_lanes(x: np.ndarray) -> np.ndarray:
    """(1, k, WIDTH) with the numbers of x in order, the last one repeated."""
    count = -(-len(x) // WIDTH) * WIDTH
    return np.pad(x, (0, count - len(x)), mode="edge").reshape(1, -1, WIDTH)


def numbers(seed: int, size: int = 4000) -> np.ndarray:
    """Numbers of all sizes and signs, and the special ones, in random order."""
    rng = np.random.default_rng(seed)
    wide = 10.0 ** rng.uniform(-323, 308, size) * rng.choice([-1.0, 1.0], size)
    usual = rng.normal(scale=3.0, size=size)
    special = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 5e-324, 1.7e308, 2.2e-308]
    return rng.permutation(np.concatenate([wide, usual, special]))


@entry
def arithmetic(x, y, out):
    for k in range(x.shape[1]):
        a, b = load(x, 0, k), load(y, 0, k)
        store(out, 0, k, a + b)
        store(out, 1, k, a - b)
        store(out, 2, k, a * b)
        store(out, 3, k, a / b)
        store(out, 4, k, -a)
        store(out, 5, k, 2.5 + a)
        store(out, 6, k, 2.5 - a)
        store(out, 7, k, a * 2.5)
        store(out, 8, k, 2.5 / a)
        store(out, 9, k, a - 3)
        store(out, 10, k, 0.75)
        store(out, 11, k, sqrt(a))


def test_arithmetic_follows_ieee_754() -> None:
    x, y = as_lanes(numbers(1)), as_lanes(numbers(2))
    out = np.zeros((12, *x.shape[1:]))
    arithmetic(x, y, out)
    a, b = x[0], y[0]
    with np.errstate(all="ignore"):
        expected = [a + b, a - b, a * b, a / b, -a, 2.5 + a, 2.5 - a, a * 2.5, 2.5 / a, a - 3]
        expected += [np.full_like(a, 0.75), np.sqrt(a)]
    for row, reference in zip(out, expected, strict=True):
        np.testing.assert_array_equal(row, reference)  # but for the sign of zero


@entry
def functions(x, out):
    for k in range(x.shape[1]):
        sine, cosine = sincos(load(x, 0, k))
        store(out, 0, k, sine)
        store(out, 1, k, cosine)
        store(out, 2, k, tanh(load(x, 0, k)))
        store(out, 3, k, exp(load(x, 0, k)))


def evaluated(x: np.ndarray) -> np.ndarray:
    """sin, cos, tanh and exp of lanes, (4, len(x))."""
    lanes = as_lanes(x)
    out = np.full((4, *lanes.shape[1:]), np.nan)
    functions(lanes, out)
    return out.reshape(4, -1)[:, : len(x)]


def assert_within(ulps: float, got: np.ndarray, exact: np.ndarray, beyond: object = 0.0) -> None:
    """Error in units in the last place of the exact value (a long double), plus `beyond`."""
    rounded = exact.astype(float)
    np.testing.assert_array_equal(np.isnan(got), np.isnan(rounded))
    allowed = ulps * np.spacing(np.abs(rounded)) + beyond
    excess = np.abs(got - exact) - allowed
    assert np.nanmax(excess) <= 0.0


def angles() -> dict[str, np.ndarray]:
    """One reduction of the argument is used below 1e6 if all lanes are, another one beyond."""
    rng = np.random.default_rng(3)
    near = np.arange(-200_000, 200_001, 7) * (np.pi / 2)  # where sine or cosine vanish
    edge = 1e6 + np.arange(-40, 41) * 1e-3
    small = 10.0 ** rng.uniform(-323, 0, 3000) * rng.choice([-1, 1], 3000)
    huge = 10.0 ** rng.uniform(6, 308, 3000) * rng.choice([-1, 1], 3000)
    return {
        "usual": rng.uniform(-10, 10, 20_000),
        "far": rng.uniform(-1e6, 1e6, 20_000),
        "near multiples": np.concatenate([near, np.nextafter(near, 0), np.nextafter(near, 9e9)]),
        "edge": np.concatenate([edge, -edge]),
        "small": small,
        "huge": huge[np.argsort(np.abs(huge))],  # neighbours alike
        "mixed": rng.permutation(np.concatenate([huge, small])),
    }


@pytest.mark.parametrize("name", angles())
def test_sine_and_cosine(name: str) -> None:
    """Within 2 ulps (measured: 1.7) and half a one of the reference if long double is double.

    Multiples of pi/2 are subtracted as two doubles, exact to 2^-53 of the second one, 6e-17: near
    a zero of sine or cosine, an error of 4e-33 |x| remains.
    """
    x = angles()[name]
    sine, cosine, *_ = evaluated(x)
    exact = x.astype(np.longdouble)
    assert_within(2.5, sine, np.sin(exact), 4e-33 * np.abs(x))
    assert_within(2.5, cosine, np.cos(exact), 4e-33 * np.abs(x))
    assert (np.abs(sine) <= 1.0).all()
    assert (np.abs(cosine) <= 1.0).all()


def test_tanh() -> None:
    """Within 4 ulps (measured: 3.0), and never beyond one."""
    rng = np.random.default_rng(4)
    small = 10.0 ** rng.uniform(-6, 1, 20_000)
    x = np.concatenate([rng.uniform(-25, 25, 20_000), small, -small, numbers(4)])
    got = evaluated(x)[2]
    assert_within(4.0, got, np.tanh(x.astype(np.longdouble)))
    assert np.nanmax(np.abs(got)) <= 1.0


def test_exp() -> None:
    """Within 2 ulps (measured: 1.1), from -708 to 708; constant beyond."""
    rng = np.random.default_rng(5)
    small = 10.0 ** rng.uniform(-12, 1, 20_000)
    x = np.concatenate([rng.uniform(-710, 710, 20_000), small, -small, numbers(5)])
    assert_within(2.0, evaluated(x)[3], np.exp(np.clip(x, -708, 708).astype(np.longdouble)))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", range(WIDTH))
def test_a_bad_number_stays_in_its_lane(bad: float, place: int) -> None:
    x = np.linspace(0.1, 2.0, WIDTH)
    fine = np.delete(np.arange(WIDTH), place)
    x[place] = bad
    with np.errstate(invalid="ignore"):
        expected = np.array([np.sin(x), np.cos(x), np.tanh(x), np.exp(x)])
    got = evaluated(x)
    np.testing.assert_array_equal(np.isnan(got[:, place]), np.isnan(expected[:, place]))
    np.testing.assert_allclose(got[:, fine], expected[:, fine], rtol=4 * EPS, atol=0)


@entry
def copied(source, target):
    for i in range(source.shape[0]):
        for j in range(source.shape[1]):
            store(target, i, j, load(source, i, j))


@pytest.mark.parametrize(
    ("shape", "dtype"), [((3, 4, WIDTH), float), ((3, 4), float), ((3, 4), complex)]
)
def test_load_and_store(shape: tuple[int, ...], dtype: type) -> None:
    source = np.random.default_rng(5).normal(size=shape).astype(dtype)
    room = np.full((shape[0] + 2, *shape[1:]), 7.0, dtype)
    copied(source, room[1:-1])
    np.testing.assert_array_equal(room[1:-1], source)
    assert (room[[0, -1]] == 7.0).all(), "wrote outside"


# -- kernels ------------------------------------------------------------------------------------

OTHER_INPUTS = {
    "CRBA": ("q",),
    "ENERGIES": ("q", "v"),
    "ENERGY_GRADIENTS": ("q", "v"),
    "GRADIENTS_BY_PART": ("q", "v"),
    "ENERGY_GRADIENTS_DERIVATIVES": ("q", "v"),
    "ENERGY_GRADIENTS_HESSIAN": ("q", "v"),
    "DISCRETE": ("q", "v", "a", "h", "unloaded", "unloaded"),
    "DISCRETE_DERIVATIVES": ("q", "v", "a", "h", "unloaded", "unloaded"),
    "DISCRETE_HESSIAN": ("q", "v", "a", "h", "tau", "unloaded", "unloaded"),
    "ABA": ("q", "v", "tau"),
    "HYBRID": ("q", "v", "a", "tau"),
    "HYBRID_PARTITIONED": ("q", "v", "a", "tau"),
    "HYBRID_RECURSION": ("q", "v", "a", "tau"),
    "HYBRID_RECURSION_SENSITIVITY": ("q", "v", "a", "tau"),
}
WEIGHTS = {
    "RNEA_HESSIAN": (9,),
    "REACTIONS_HESSIAN": (54,),
    "ENERGY_GRADIENTS_HESSIAN": (18,),
    "FRAME_HESSIAN": (9, 3, 3, 3, 3, 3),
}


def kernels() -> dict[str, Kernel]:
    found = {}
    for module in pkgutil.iter_modules(dynamics.__path__):
        home = importlib.import_module(f"predyn.dynamics.{module.name}")
        found |= {name: x for name, x in vars(home).items() if isinstance(x, Kernel)}
    return found


# those of ground forces take the outputs of others; tests/channels/test_ground.py compares them
KERNELS = {name: x for name, x in kernels().items() if not name.startswith("GROUND")}


def kernel_case(name: str) -> tuple[Case, tuple[str, ...]]:
    """Inputs on which a kernel is run, and the names of those that it takes."""
    site = {"point": (0.4, -0.3, 0.8)}
    if name.startswith("FRAME"):
        case = make_case(name, forest(5), 5, frame="tool", **site)
    elif name.startswith("POINT"):
        case = make_case(name, dh_forest(2), 2, link="link5", **site)
    elif name.startswith("HYBRID"):
        case = make_case(name, forest(5), 5, SITES, active=np.arange(9) % 3 != 1)
    elif KERNELS[name].view is dh_tree_of:
        case = make_case(name, dh_forest(2), 2, DH_SITES)
    elif name.startswith("DISCRETE"):  # three nodes and a step
        case = make_case(name, forest(5), 5)
        case.x["h"], case.x["unloaded"] = 0.5 + np.abs(case.x["tau"][:, :1]), case.x["q"][:, :0]
    else:
        case = make_case(name, forest(5), 5, SITES)
    names = OTHER_INPUTS.get(name, ("q", "v", "a"))
    ends = np.cumsum(WEIGHTS.get(name, ()))
    for k, part in enumerate(np.split(case.x["weights"], ends, axis=1)[: len(ends)]):
        names = (*names, f"weights {k}")
        case.x[f"weights {k}"] = np.ascontiguousarray(part)
    return case, names


def on_plain_numbers(name: str) -> list[np.ndarray]:
    case, names = kernel_case(name)
    return outputs(KERNELS[name], case, case.x, names, np.float64)


def on_lanes(name: str) -> list[np.ndarray]:
    case, names = kernel_case(name)
    return outputs(KERNELS[name], case, case.x, names, LANES)


def assert_same_to_rounding(name: str, got: list, expected: list) -> None:
    """Lanes may contract a*b + c and have their own sine: each operation differs by an ulp or so.

    Then the tolerance is that of test_derivatives.py.
    """
    case, _ = kernel_case(name)
    relative = 32 * np.sqrt(case.model.n) * EPS
    if name.startswith(("ABA", "HYBRID")):
        relative *= np.linalg.cond(dynamics.mass_matrix(case.model, case.x["q"])).max()
    for x, y in zip(got, expected, strict=True):
        assert x.shape == y.shape
        if x.size:
            assert np.isfinite(y).all()
            assert np.abs(x - y).max() <= relative * max(1.0, np.abs(y).max())


QUICK = ("RNEA", "RNEA_DERIVATIVES", "RNEA_HESSIAN", "CRBA")  # to compile


@pytest.mark.parametrize(
    "name", [x if x in QUICK else pytest.param(x, marks=pytest.mark.verify) for x in KERNELS]
)
def test_lanes_and_plain_numbers_agree(name: str) -> None:
    assert_same_to_rounding(name, on_lanes(name), on_plain_numbers(name))


def run_as_program(file: Path, names: list[str], **settings: str) -> dict[str, list[np.ndarray]]:
    path = os.pathsep.join([str(TESTS), *sys.path])
    subprocess.run(
        [sys.executable, __file__, str(file), *names],
        env=os.environ | {"PYTHONPATH": path} | settings,
        check=True,
    )
    with np.load(file) as saved:
        return {
            name: [saved[key] for key in saved.files if key.rpartition(".")[0] == name]
            for name in names
        }


def test_every_kernel_gives_the_same_with_the_jit_off(tmp_path: Path) -> None:
    plain = run_as_program(tmp_path / "plain.npz", list(KERNELS), NUMBA_DISABLE_JIT="1")
    for name in KERNELS:
        assert_same_to_rounding(name, plain[name], on_lanes(name))


def test_public_functions_give_the_same_with_the_jit_off() -> None:
    script = (
        "import numpy as np, predyn\n"
        "model = predyn.models.prismatic_revolute()\n"
        "q, v, a = np.linspace(-1.0, 2.0, 24).reshape(3, 4, 2)\n"
        "push = [predyn.ExternalForce('tip', (1.0, 2.0, 3.0))]\n"
        "out = tuple(np.full((4, *s), np.nan) for s in ((2,), (2, 2), (2, 2), (2, 2)))\n"
        "predyn.inverse_dynamics_derivatives(model, q, v, a, forces=push, out=out)\n"
        "tau = predyn.inverse_dynamics(model, q, v, a, forces=push)\n"
        "values = np.concatenate([x.ravel() for x in (tau, *out)]).tolist()"
    )
    here: dict = {}
    exec(script, here)
    run = subprocess.run(
        [sys.executable, "-c", f"{script}\nprint(values)"],
        env=os.environ | {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    np.testing.assert_allclose(json.loads(run.stdout), here["values"], rtol=32 * EPS, atol=32 * EPS)


@pytest.mark.parametrize("width", sorted({2, 4, 8} - {WIDTH}))
def test_any_number_of_lanes_gives_the_same(width: int, tmp_path: Path) -> None:
    settings = {"PREDYN_LANES": str(width), "PREDYN_CACHE_DIR": str(tmp_path)}
    results = run_as_program(tmp_path / "lanes.npz", ["RNEA"], **settings)
    assert_same_to_rounding("RNEA", results["RNEA"], on_lanes("RNEA"))


@pytest.mark.parametrize("bad", ["3", "two", "-2", "32", "2.0"])
def test_a_bad_number_of_lanes_is_refused_by_name(bad: str) -> None:
    settings = {"PREDYN_LANES": bad, "PYTHONPATH": os.pathsep.join(sys.path)}
    run = subprocess.run(
        [sys.executable, "-c", "import predyn.kernels.lanes"],
        env=os.environ | settings,
        capture_output=True,
        text=True,
    )
    assert run.returncode != 0
    assert f"InputError: PREDYN_LANES: expected 1, 2, 4, 8 or 16 lanes, got {bad!r}" in run.stderr


if __name__ == "__main__":
    results = {name: on_lanes(name) for name in sys.argv[2:]}
    np.savez(sys.argv[1], **{f"{k}.{i}": x for k, xs in results.items() for i, x in enumerate(xs)})
