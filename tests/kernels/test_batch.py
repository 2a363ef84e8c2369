"""Arrays of kernels: batch sizes, leading shapes, out=, threads, memory."""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys

import numpy as np
import pytest

from predyn import InputError, dynamics, models
from predyn.dynamics import ExternalForce, FrameMotion
from predyn.dynamics.rnea_derivatives import RNEA_DERIVATIVES
from predyn.kernels.batch import aligned
from predyn.kernels.fields import pairs, symmetric_pairs
from predyn.kernels.forces import NO_LOADS
from predyn.kernels.lanes import STREAMED_FROM, WIDTH
from predyn.kernels.tree import ancestor_pairs, tree_of
from registry_cases import DH_SITES, SITES, dh_forest, forest, make_case

MODEL = forest(5)
N = MODEL.n


def states(*lead: int, seed: int = 0) -> np.ndarray:
    """q, v, a of shape (..., n)."""
    return np.random.default_rng([seed, 9]).normal(size=(3, *lead, N))


def derivatives(q, v, a, **more):
    return dynamics.inverse_dynamics_derivatives(MODEL, q, v, a, **more)


def one_by_one(q, v, a) -> list[np.ndarray]:
    """One call per sample, stacked."""
    results = [derivatives(*sample) for sample in zip(q, v, a, strict=True)]
    return [np.stack(parts) for parts in zip(*results, strict=True)]


@pytest.mark.parametrize("batch", [1, 3, 4, 5, 8, 9, 511])
def test_a_batch_equals_its_samples(batch: int) -> None:
    q, v, a = states(batch)
    some = slice(None) if batch < 16 else [0, 1, 254, 255, 256, 508, 509, 510]
    for got, expected in zip(
        derivatives(q, v, a), one_by_one(q[some], v[some], a[some]), strict=True
    ):
        assert got.shape[0] == batch
        np.testing.assert_array_equal(got[some], expected)  # to the bit: lanes do not mix


def test_an_empty_batch_gives_empty_arrays() -> None:
    tau, *partials = derivatives(*states(0))
    assert tau.shape == (0, N)
    assert all(x.shape == (0, N, N) for x in partials)
    assert derivatives(*states(2, 0, 3))[0].shape == (2, 0, 3, N)
    assert dynamics.mass_matrix(MODEL, np.zeros((0, N))).shape == (0, N, N)


@pytest.mark.parametrize("lead", [(), (1,), (7,), (2, 3), (2, 1, 5), (1, 1, 1, 1)])
def test_leading_shapes_are_kept(lead: tuple[int, ...]) -> None:
    q, v, a = states(*lead)
    flat = [x.reshape(-1, N) for x in (q, v, a)]
    for got, expected in zip(derivatives(q, v, a), derivatives(*flat), strict=True):
        assert got.shape == lead + expected.shape[1:]
        np.testing.assert_array_equal(got.reshape(expected.shape), expected)
    point = dynamics.frame_kinematics(MODEL, "tool", q, v, a)
    assert point.R.shape == (*lead, 3, 3)
    assert point.a.shape == (*lead, 3)
    assert dynamics.kinetic_energy(MODEL, q, v).shape == lead
    assert dynamics.joint_reactions(MODEL, q, v, a).shape == (*lead, N, 6)


def test_leading_shapes_broadcast() -> None:
    q, v, a = states(4, 3)
    load = np.random.default_rng(1).normal(size=(4, 1, 3))
    forces = [ExternalForce("tool", load), ExternalForce("l2", (1.0, 2.0, 3.0), frame="link")]
    got = derivatives(q[:1], v[:, :1], a[0, 0], forces=forces)
    q, v, a = np.broadcast_arrays(q[:1], v[:, :1], a[0, 0])
    forces = [
        ExternalForce(f.link, np.broadcast_to(f.force, (4, 3, 3)), frame=f.frame) for f in forces
    ]
    for x, y in zip(got, derivatives(q, v, a, forces=forces), strict=True):
        assert x.shape[:2] == (4, 3)
        np.testing.assert_array_equal(x, y)


def test_all_parts_of_a_result_have_the_common_leading_shape() -> None:
    """Also those that depend on only some of the inputs."""
    q, v, a = states(4, 3)
    forces = [ExternalForce("tool", np.ones((4, 1, 3)))]
    h = dynamics.inverse_dynamics_hessian(MODEL, q[0, 0], v[0], a[0], v[1, 0], forces=forces)
    assert [x.shape for x in h[:4]] == [(4, 3, N, N)] * 4
    assert [x.shape for x in h.qf] == [(4, 3, N, 6)]
    weights = np.ones((N, 6))
    h = dynamics.joint_reactions_hessian(MODEL, q[0, 0], v[0], a[0], weights, forces=forces)
    assert [x.shape for x in h.qf] == [(4, 3, N, 6)]
    shapes = [x.shape for x in dynamics.spatial_momentum(MODEL, q[0], v[:, :1])[1:]]
    assert shapes == [(4, 3, 3)] * 5


# -- what is accepted and left alone ------------------------------------------------------------


def test_inputs_of_any_layout_give_the_same() -> None:
    q, v, a = states(6)
    expected = dynamics.inverse_dynamics(MODEL, q, v, a)
    wide = np.zeros((12, 2 * N))
    wide[::2, ::2] = q
    frozen = v.copy()
    frozen.setflags(write=False)
    got = dynamics.inverse_dynamics(MODEL, wide[::2, ::2], frozen, np.asfortranarray(a))
    np.testing.assert_array_equal(got, expected)
    got = dynamics.inverse_dynamics(MODEL, q[::-1], v[::-1], a[::-1])
    np.testing.assert_array_equal(got, expected[::-1])
    got = dynamics.inverse_dynamics(MODEL, q.tolist(), v.astype(">f8"), a)
    np.testing.assert_array_equal(got, expected)


def test_integers_and_short_floats_are_accepted() -> None:
    whole = np.arange(-4, 5)
    expected = dynamics.inverse_dynamics(MODEL, whole.astype(float), np.ones(N), np.zeros(N))
    for kind in (np.int64, np.int8, np.float32):
        got = dynamics.inverse_dynamics(MODEL, whole.astype(kind), [1] * N, np.zeros(N, kind))
        np.testing.assert_array_equal(got, expected)
    got = dynamics.inverse_dynamics(MODEL, whole, np.ones(N, np.uint8), np.zeros(N))
    np.testing.assert_array_equal(got, expected)


def test_inputs_are_never_changed() -> None:
    case = make_case("all inputs", MODEL, 1, SITES)
    before = {name: x.copy() for name, x in case.x.items()}
    q, v, a = case.state()
    w, forces = case.x["tau"], case.forces()
    dynamics.inverse_dynamics_hessian(MODEL, q, v, a, w, forces=forces)
    dynamics.inverse_dynamics_derivatives(MODEL, q, v, a, forces=forces)
    dynamics.forward_dynamics_derivatives(MODEL, q, v, case.x["tau"], forces=forces)
    dynamics.joint_reactions(MODEL, q, v, a, forces=forces)
    for name, x in case.x.items():
        np.testing.assert_array_equal(x, before[name])


def test_results_belong_to_the_caller() -> None:
    """A later call does not overwrite the results of an earlier one."""
    first = derivatives(*states(5, seed=1))
    kept = [x.copy() for x in first]
    derivatives(*states(5, seed=2))
    for x, y in zip(first, kept, strict=True):
        assert x.flags.writeable
        np.testing.assert_array_equal(x, y)


# -- out= ---------------------------------------------------------------------------------------


def room(*lead: int) -> tuple[np.ndarray, ...]:
    return tuple(np.full((*lead, *shape), np.nan) for shape in ((N,), (N, N), (N, N), (N, N)))


@pytest.mark.parametrize("lead", [(), (5,), (2, 3)])
def test_out_is_filled_and_returned(lead: tuple[int, ...]) -> None:
    q, v, a = states(*lead)
    out = room(*lead)
    got = derivatives(q, v, a, out=out)
    for x, y, z in zip(got, out, derivatives(q, v, a), strict=True):
        assert x is y
        np.testing.assert_array_equal(y, z)


@pytest.mark.parametrize("batch", [3, 8, 11])
def test_nothing_is_written_beside_out(batch: int) -> None:
    """Lanes are stored several numbers at a time; n and n^2 are no multiples of their number."""
    q, v, a = states(batch)
    wide = tuple(np.full((batch + 2, *x.shape[1:]), 7.0) for x in room(1))
    derivatives(q, v, a, out=tuple(x[1:-1] for x in wide))
    for x, y in zip(wide, derivatives(q, v, a), strict=True):
        np.testing.assert_array_equal(x[1:-1], y)
        assert (x[[0, -1]] == 7.0).all()


def functions_with_out() -> list[str]:
    nested = {"hybrid_dynamics_derivatives", "hybrid_recursion_derivatives"}  # test_hybrid.py
    names = [name for name in dynamics.__all__ if name not in nested]
    public = [name for name in names if inspect.isfunction(getattr(dynamics, name))]
    return [x for x in public if "out" in inspect.signature(getattr(dynamics, x)).parameters]


@pytest.mark.parametrize("name", functions_with_out())
def test_every_function_with_out_writes_every_element(name: str) -> None:
    function = getattr(dynamics, name)
    model, sites = (dh_forest(2), DH_SITES) if "dh" in name else (MODEL, SITES)
    case = make_case(name, model, 2, sites)
    weights = case.x["weights"][:, : 6 * N].reshape(-1, N, 6)
    given = {
        "q": case.x["q"],
        "v": case.x["v"],
        "a": case.x["a"],
        "tau": case.x["tau"],
        "weights": weights if name.startswith("joint") else case.x["tau"],
        "q0": case.x["q"],
        "q1": case.x["v"],
        "q2": case.x["a"],
        "h": 0.1,
        "active": np.arange(N) % 2 == 0,
        "forces": case.forces(),
        "frame": "tool",
        "link": "link5",
        "point": (0.1, 0.2, 0.3),
    }
    if name == "energy_gradients_hessian":
        given["weights"] = case.x["weights"][:, : 2 * N]
    if name == "frame_kinematics_hessian":
        given["weights"] = FrameMotion(np.ones((3, 3)), *np.ones((5, 3)))
    wanted = set(inspect.signature(function).parameters) - {"model", "out"}
    arguments = {key: given[key] for key in wanted}
    expected = function(model, **arguments)
    results = (expected,) if isinstance(expected, np.ndarray) else expected
    results = [x for x in results if isinstance(x, np.ndarray)]  # not the mass, not the tuple qf
    if name == "energy_gradients_derivatives":  # what it returns are halves of three arrays
        f, p, *by_input = results
        by_q, by_v = (np.concatenate(by_input[k::2], axis=-2) for k in range(2))
        results = [np.concatenate([f, p], axis=-1), by_q, by_v]
    out = tuple(np.full_like(x, np.nan) for x in results)
    function(model, **arguments, out=out if len(out) > 1 else out[0])
    for x, y in zip(out, results, strict=True):
        np.testing.assert_array_equal(x, y)


def refused(out, text: str, q=None) -> None:
    q = states(4)[0] if q is None else q
    with pytest.raises(InputError, match=text):
        derivatives(q, *states(4)[1:], out=out)


def test_an_out_that_does_not_fit_is_refused() -> None:
    tau, dq, dv, da = room(4)
    refused((tau, dq, dv), "expected 4 arrays in the order returned, got 3")
    refused(tau, "expected 4 arrays in the order returned, got 1")
    refused((tau, dq, dv, da[:3]), r"out\[3\]: .* \(4, 9, 9\), got float64 \(3, 9, 9\)")
    refused(
        (tau, dq, dv.astype(np.float32), da), r"out\[2\]: .* float64 .* got float32 \(4, 9, 9\)"
    )
    refused((tau, np.asfortranarray(dq), dv, da), r"out\[1\]: .* C-contiguous")
    refused((tau, dq.tolist(), dv, da), r"out\[1\]: .* got list")
    da.setflags(write=False)
    refused((tau, dq, dv, da), r"out\[3\]: .* writable")


def test_an_out_that_overlaps_is_refused() -> None:
    tau, dq, dv, da = room(4)
    refused((tau, dq, dq, da), r"out\[2\]: shares memory")
    q = states(4)[0]
    refused((q, dq, dv, da), r"out\[0\]: shares memory", q=q)
    both = np.zeros((5, N, N))
    refused((tau, both[:4], both[1:], da), r"out\[2\]: shares memory")
    load = np.zeros((4, N))
    with pytest.raises(InputError, match="shares memory"):
        dynamics.inverse_dynamics(MODEL, load, load, load, out=load)


@pytest.mark.parametrize("model", [MODEL, forest(7, coupled=True)], ids=["", "coupled rotors"])
@pytest.mark.parametrize("which", range(3))
def test_an_out_of_forward_dynamics_that_is_an_input_is_refused(model, which: int) -> None:
    """The accelerations are put there before the partials are computed from the inputs."""
    inputs = list(states(4))
    before = inputs[which].copy()
    for call, rest in (
        (dynamics.forward_dynamics, ()),
        (dynamics.forward_dynamics_derivatives, room(4)[1:]),
    ):
        out = (inputs[which], *rest) if rest else inputs[which]
        with pytest.raises(InputError, match="shares memory"):
            call(model, *inputs, out=out)
        np.testing.assert_array_equal(inputs[which], before)


# -- structure, threads, memory -----------------------------------------------------------------


def test_packed_outputs_grow_with_the_ancestor_pairs() -> None:
    """A star of n links keeps n pairs, a chain n (n + 1) / 2, a comb of short legs a few n."""
    for n in (10, 40, 160):
        legs = models.random_tree(n, 1, depth_like=0.0)
        tree = tree_of(legs)
        depth = np.zeros(n, int)
        for j in range(n):
            depth[j] = 1 + (depth[legs.parent[j]] if legs.parent[j] >= 0 else 0)
        count = len(ancestor_pairs(tree))
        assert count == depth.sum()
        assert pairs(tree).packed == 2 * count
        assert symmetric_pairs(tree).packed == count
        assert sum(f.packed for f in RNEA_DERIVATIVES.fields(tree)) == n + 5 * count
    chain = tree_of(models.pendulum_chain(30))
    assert len(ancestor_pairs(chain)) == 30 * 31 // 2


def test_elements_without_a_pair_are_zero() -> None:
    """Joints on different branches do not affect each other."""
    related = np.zeros((N, N), bool)
    for i, j in ancestor_pairs(tree_of(MODEL)):
        related[i, j] = related[j, i] = True
    assert not related.all()
    for x in derivatives(*states(3))[1:]:
        assert (x[:, ~related] == 0.0).all()
        assert (x[:, related] != 0.0).any(axis=0).sum() > N


PROGRAM = """
import hashlib, json, resource, sys, tracemalloc
import numpy as np
from predyn import dynamics, models

def peak():  # kB on Linux, bytes on macOS
    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return size / 1024 if sys.platform != "darwin" else size / 1024**2

batch = int(sys.argv[1])
model = models.random_tree(20, 2)
q, v, a = np.random.default_rng(0).normal(size=(3, batch, 20))
dynamics.inverse_dynamics_derivatives(model, q[:9], v[:9], a[:9])
before = peak()
tracemalloc.start()
results = dynamics.inverse_dynamics_derivatives(model, q, v, a)
traced = tracemalloc.get_traced_memory()[1] / 1024**2
tracemalloc.stop()
print(json.dumps({
    "outputs": sum(x.nbytes for x in results) / 1024**2,
    "traced": traced,
    "resident": peak() - before,
    "digest": hashlib.sha256(b"".join(x.tobytes() for x in results)).hexdigest(),
}))
"""


def run_program(script: str, *arguments: str, **settings: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-c", script, *arguments],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)} | settings,
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.mark.skipif(sys.platform == "win32", reason="no getrusage")
def test_threads_give_the_same_bits_and_little_more_than_the_outputs_is_allocated() -> None:
    runs = [run_program(PROGRAM, "20011", PREDYN_THREADS=threads) for threads in "123"]
    results = [json.loads(run.stdout) for run in runs if run.returncode == 0]
    assert len(results) == 3, [run.stderr for run in runs]
    assert len({result["digest"] for result in results}) == 1
    for result in results:
        assert result["outputs"] > 180.0
        assert result["traced"] - result["outputs"] < 50.0
        assert result["resident"] - result["outputs"] < 50.0


FORK = """
import os, sys
import numpy as np
from predyn import dynamics, models

model = models.random_tree(20, 2)
q, v, a = np.random.default_rng(0).normal(size=(3, 2000, 20))
expected = dynamics.inverse_dynamics(model, q, v, a)
child = os.fork()
same = np.array_equal(dynamics.inverse_dynamics(model, q, v, a), expected)
if child == 0:
    os._exit(0 if same else 1)
print(same, os.waitpid(child, 0)[1])
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_process_starts_its_own_threads() -> None:
    run = run_program(FORK, PREDYN_THREADS="2")
    assert run.stdout == "True 0\n", run.stderr


NOT_FINITE = """
import numpy as np
from predyn import dynamics, models

model = models.random_tree(20, 2)
q = np.zeros((2000, 20))
q[1999, 19] = np.inf
dynamics.inverse_dynamics(model, q, q[0], q[0])
"""


def test_nonfinite_inputs_are_found_in_every_thread() -> None:
    run = run_program(NOT_FINITE, PREDYN_THREADS="2")
    assert "InputError: q: expected finite numbers, got inf at index (1999, 19)" in run.stderr


@pytest.mark.parametrize("bad", ["0", "two", "-1", "1.5", ""])
def test_a_bad_number_of_threads_is_refused_by_name(bad: str) -> None:
    script = "from predyn.kernels.batch import _threads; _threads()"
    run = run_program(script, PREDYN_THREADS=bad)
    text = f"InputError: PREDYN_THREADS: expected a whole number of at least 1, got {bad!r}"
    assert run.returncode != 0
    assert text in run.stderr


def test_packed_results_larger_than_the_cache_are_the_same() -> None:
    """Large aligned arrays are written past the cache, others as usual: equal bit for bit."""
    model = models.random_tree(20, 1)
    tree, random = tree_of(model), np.random.default_rng(0)
    sizes = [field.packed for field in RNEA_DERIVATIVES.fields(tree)]
    chunks = 1 + STREAMED_FROM // (min(sizes[1:]) * WIDTH)
    ins = tuple(random.standard_normal((chunks, k, WIDTH)) for k in (20, 20, 20, 0))
    work = aligned(*RNEA_DERIVATIVES.work(tree), WIDTH)
    large = [aligned(chunks, size, WIDTH) for size in sizes]
    assert min(x.size for x in large[1:]) > STREAMED_FROM
    RNEA_DERIVATIVES.sweep(tree, NO_LOADS, ins, tuple(large), work)
    raw = [aligned(chunks * size * WIDTH + 1)[1:] for size in sizes]  # off the cache lines
    skewed = [x.reshape(chunks, size, WIDTH) for x, size in zip(raw, sizes, strict=True)]
    RNEA_DERIVATIVES.sweep(tree, NO_LOADS, ins, tuple(skewed), work)
    for c in range(0, chunks, 21):
        part = tuple(np.ascontiguousarray(x[c : c + 1]) for x in ins)
        small = [aligned(1, size, WIDTH) for size in sizes]
        RNEA_DERIVATIVES.sweep(tree, NO_LOADS, part, tuple(small), work)
        for x, y, z in zip(large, skewed, small, strict=True):
            np.testing.assert_array_equal(x[c], z[0])
            np.testing.assert_array_equal(y[c], z[0])
