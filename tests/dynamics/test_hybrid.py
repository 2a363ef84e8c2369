"""Hybrid dynamics and its partials on two hundred random trees with random masks.

References are Pinocchio's mass matrix M, bias and inverse-dynamics partials, partitioned by the
mask. Tolerances are those of test_pinocchio.py. At passive joints both sides solve with M_pp, so

    |error of a_p| <= 2 * 36 n eps cond(M_pp) (|a_p| + |terms of the right side| / |M_pp|)

in Euclidean norms; at active joints M_ap passes it on, in addition to the rounding of the terms:

    |error of tau_a| <= 2 * 36 n eps |terms| + |M_ap| |error of a_p|

The partials obey the same with matrices in place of vectors.
"""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from numpy.typing import NDArray

import predyn
from oracles.pinocchio_oracle import TREES, Case, make_case
from predyn import InputError, ModelBuilder, ModelError, dynamics
from predyn.dynamics import hybrid_dynamics, hybrid_dynamics_derivatives
from registry_cases import SITES, forest
from registry_cases import make_case as make_inputs

EPS = np.finfo(float).eps
PER_JOINT = 36  # roundings, as in test_pinocchio.py
N = 9


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    return [make_case(seed) for seed in range(TREES)]


def mask_and_torques(case: Case) -> tuple[NDArray, NDArray]:
    rng = np.random.default_rng([case.seed, 11])
    share = (0.5, 0.2, 0.8)[case.seed % 3]
    return rng.random(case.model.n) < share, rng.standard_normal(case.q.shape)


class Partition:
    """Pinocchio's M at one sample, partitioned by a mask; checks of the results."""

    def __init__(self, case: Case, q: NDArray, mask: NDArray) -> None:
        upper = np.triu(pin.crba(*case.twin(), q))
        self.M = upper + np.triu(upper, 1).T
        self.p, self.a = np.flatnonzero(~mask), np.flatnonzero(mask)
        self.pp, self.ap = self.M[np.ix_(self.p, self.p)], self.M[np.ix_(self.a, self.p)]
        self.label, self.rounding = f"tree {case.seed}", 2 * PER_JOINT * case.model.n * EPS
        self.condition = np.linalg.cond(self.pp) if len(self.p) else 0.0
        self.size = np.linalg.norm(self.pp, 2) if len(self.p) else 1.0

    def solve(self, right: NDArray) -> NDArray:
        return np.linalg.solve(self.pp, right) if len(self.p) else right

    def passive_bound(self, reference: NDArray, right: float) -> float:
        scale = np.linalg.norm(reference) + max(1.0, right) / self.size
        return self.rounding * self.condition * scale

    def check(self, what: str, got: NDArray, reference: NDArray, bound: float) -> None:
        error = np.linalg.norm(got - reference)
        assert error <= bound, f"{self.label}: {what} off by {error:.1e}, allowed {bound:.1e}"

    def check_both(
        self, what: str, got: tuple[NDArray, NDArray], x: NDArray, own: NDArray, terms: float
    ) -> None:
        """Passive rows solve M_pp y = x, active rows are own + M_ap y; terms is their size."""
        y = self.solve(x)
        bound = self.passive_bound(y, terms)
        self.check(f"{what} at passive joints", got[0], y, bound)
        handed = np.linalg.norm(self.ap) * (bound + self.rounding * np.linalg.norm(y))
        active = self.rounding * max(1.0, terms) + handed
        self.check(f"{what} at active joints", got[1], own + self.ap @ y, active)


def test_the_partitioned_system(cases: list[Case]) -> None:
    for case in cases:
        mask, torques = mask_and_torques(case)
        a, tau = hybrid_dynamics(
            case.model, case.q, case.v, case.a, torques, mask, forces=case.forces
        )
        np.testing.assert_array_equal(a[:, mask], case.a[:, mask])
        np.testing.assert_array_equal(tau[:, ~mask], torques[:, ~mask])
        for k, q, v, given in case.states():
            cut = Partition(case, q, mask)
            bias = pin.rnea(*case.twin(), q, v, np.where(mask, given, 0.0), case.fext(k))
            rest = pin.rnea(*case.twin(), q, v, np.zeros(case.model.n), case.fext(k))
            push = np.linalg.norm(cut.M[:, cut.a]) * np.linalg.norm(given[cut.a])
            terms = np.linalg.norm(torques[k, cut.p]) + np.linalg.norm(rest) + push
            right = torques[k, cut.p] - bias[cut.p]
            found = a[k, cut.p], tau[k, cut.a]
            cut.check_both("result", found, right, bias[cut.a], float(terms))


def test_partials_by_the_partitioned_system(cases: list[Case]) -> None:
    for case in cases:
        mask, torques = mask_and_torques(case)
        state = case.model, case.q, case.v, case.a, torques, mask
        a, tau, da, dtau = hybrid_dynamics_derivatives(*state, forces=case.forces)
        for x, y in zip((a, tau), hybrid_dynamics(*state, forces=case.forces), strict=True):
            np.testing.assert_array_equal(x, y)
        for k, q, v, _ in case.states():
            cut = Partition(case, q, mask)
            fext, turning = case.fext(k), case.turning(k)
            parts = pin.computeRNEADerivatives(*case.twin(), q, v, a[k], fext)
            n = case.model.n
            both = (parts[0] + turning).reshape(n, n), parts[1].reshape(n, n)
            for what, by, D in zip("qv", (0, 1), both, strict=True):
                found = da[by][k][cut.p], dtau[by][k][cut.a]
                cut.check_both(what, found, -D[cut.p], D[cut.a], float(np.linalg.norm(D)))
            size = float(np.linalg.norm(cut.M))
            aa = cut.M[np.ix_(cut.a, cut.a)]
            found = da[2][k][np.ix_(cut.p, cut.a)], dtau[2][k][np.ix_(cut.a, cut.a)]
            cut.check_both("a", found, -cut.ap.T, aa, size)
            found = da[3][k][np.ix_(cut.p, cut.p)], dtau[3][k][np.ix_(cut.a, cut.p)]
            one = np.eye(len(cut.p))
            cut.check_both("tau", found, one, np.zeros(cut.ap.shape), np.sqrt(n))
        check_structure(mask, da, dtau)


def check_structure(mask: NDArray, da: tuple, dtau: tuple) -> None:
    """Zero where no result depends on the input; given quantities depend only on themselves."""
    identity = np.eye(len(mask))
    for parts, known, own in ((da, mask, 2), (dtau, ~mask, 3)):
        for by, part in enumerate(parts):
            fixed = identity if by == own else 0.0 * identity
            assert (part[:, known] == fixed[known]).all()
        assert (parts[2][:, ~known][..., ~mask] == 0.0).all()
        assert (parts[3][:, ~known][..., mask] == 0.0).all()


def test_all_active_equals_inverse_dynamics(cases: list[Case]) -> None:
    for case in cases:
        state, n = (case.model, case.q, case.v, case.a), case.model.n
        a, tau, da, dtau = hybrid_dynamics_derivatives(
            *state, None, np.ones(n, bool), forces=case.forces
        )
        np.testing.assert_array_equal(a, case.a)
        reference = dynamics.inverse_dynamics_derivatives(*state, forces=case.forces)
        for x, y in zip((tau, *dtau[:3]), reference, strict=True):
            # both sum the same terms; those of tau cancel where it is small
            size = max(1.0, float(np.abs(y).max()), float(np.abs(reference[0]).max()))
            assert np.abs(x - y).max() <= 2 * PER_JOINT * n * EPS * size
        check_structure(np.ones(n, bool), da, dtau)


def test_all_passive_equals_forward_dynamics(cases: list[Case]) -> None:
    for case in cases:
        n, nobody = case.model.n, np.zeros(case.model.n, bool)
        torques = mask_and_torques(case)[1]
        state, loads = (case.model, case.q, case.v), {"forces": case.forces}
        a, tau, da, dtau = hybrid_dynamics_derivatives(*state, None, torques, nobody, **loads)
        np.testing.assert_array_equal(tau, torques)
        bias = dynamics.inverse_dynamics(*state, np.zeros(n), **loads)
        forward = dynamics.forward_dynamics(*state, torques, **loads)
        check_structure(nobody, da, dtau)
        for k, q, v, _ in case.states():
            cut = Partition(case, q, nobody)
            right = float(np.linalg.norm(torques[k]) + np.linalg.norm(bias[k]))
            fext, turning = case.fext(k), case.turning(k)
            parts = pin.computeABADerivatives(*case.twin(), q, v, torques[k], fext)
            sides = pin.computeRNEADerivatives(*case.twin(), q, v, a[k], fext)
            upper = np.triu(case.data.Minv)
            inverse = upper + np.triu(upper, 1).T
            in_q = parts[0].reshape(n, n) - inverse @ turning
            references = {
                "forward_dynamics": (a[k], forward[k], right),
                "aba": (a[k], np.array(case.data.ddq), right),
                "a_q": (da[0][k], in_q, float(np.linalg.norm(sides[0] + turning))),
                "a_v": (da[1][k], parts[1].reshape(n, n), float(np.linalg.norm(sides[1]))),
                "a_tau": (da[3][k], inverse, np.sqrt(n)),
            }
            for what, (got, reference, size) in references.items():
                cut.check(what, got, reference, cut.passive_bound(reference, size))


def test_the_published_recursion_agrees(cases: list[Case]) -> None:
    for case in cases[::8]:
        mask, torques = mask_and_torques(case)
        args = case.model, case.q, case.v, case.a, torques, mask
        a, tau, da, dtau = dynamics.hybrid_recursion_derivatives(*args, forces=case.forces)
        values = dynamics.hybrid_recursion_dynamics(*args, forces=case.forces)
        np.testing.assert_array_equal(values, (a, tau))
        reference = hybrid_dynamics_derivatives(*args, forces=case.forces)
        condition = 1.0
        if not mask.all():
            M = dynamics.mass_matrix(case.model, case.q)
            condition = np.linalg.cond(M[:, ~mask][..., ~mask]).max()
        got = (a, tau, *da, *dtau)
        for x, y in zip(got, (*reference[:2], *reference[2], *reference[3]), strict=True):
            size = max(1.0, float(np.abs(y).max()))
            assert np.abs(x - y).max() <= 2 * PER_JOINT * case.model.n * EPS * condition * size


# -- what callers may do ------------------------------------------------------------------------

MODEL = forest(5)
MASK = np.arange(N) % 3 != 1


def numbers() -> list[NDArray]:
    case = make_inputs("hybrid", MODEL, 5, SITES)
    return [case.x[name] for name in ("q", "v", "a", "tau")]


@pytest.mark.parametrize("mask", [MASK, MASK | True, MASK & False], ids=["mixed", "all", "none"])
def test_out_is_filled_and_can_be_reused(mask: NDArray) -> None:
    state = numbers()
    first = hybrid_dynamics_derivatives(MODEL, *state, mask)
    kept = [x.copy() for x in (*first[:2], *first[2], *first[3])]
    other = [x + 0.3 for x in state]
    second = hybrid_dynamics_derivatives(MODEL, *other, mask, out=first)
    for x, y in zip(
        (*first[:2], *first[2], *first[3]), (*second[:2], *second[2], *second[3]), strict=True
    ):
        assert np.shares_memory(x, y) or not x.flags.writeable
    back = hybrid_dynamics_derivatives(MODEL, *state, mask, out=second)
    for x, y in zip((*back[:2], *back[2], *back[3]), kept, strict=True):
        np.testing.assert_array_equal(x, y)


def test_new_memory_is_filled_completely() -> None:
    state = numbers()
    room = [np.full((5, N), np.nan) for _ in range(2)]
    matrices = [np.full((5, N, N), np.nan) for _ in range(8)]
    for function in (hybrid_dynamics_derivatives, dynamics.hybrid_recursion_derivatives):
        function(MODEL, *state, MASK, out=(*room, tuple(matrices[:4]), tuple(matrices[4:])))
        a, tau, da, dtau = function(MODEL, *state, MASK)
        for x, y in zip((*room, *matrices), (a, tau, *da, *dtau), strict=True):
            np.testing.assert_array_equal(x, y)


def test_a_mask_may_be_a_list_and_unread_values_may_be_anything() -> None:
    q, v, a, tau = numbers()
    expected = hybrid_dynamics(MODEL, q, v, a, tau, MASK)
    other = np.where(MASK, a, 1e3), np.where(MASK, -1e3, tau)
    for x, y in zip(hybrid_dynamics(MODEL, q, v, *other, MASK.tolist()), expected, strict=True):
        np.testing.assert_array_equal(x, y)


def test_a_batch_equals_its_samples() -> None:
    state = numbers()
    a, tau, da, _ = hybrid_dynamics_derivatives(MODEL, *state, MASK)
    for k in range(5):
        one = hybrid_dynamics_derivatives(MODEL, *(x[k] for x in state), MASK)
        np.testing.assert_array_equal(one[0], a[k])
        np.testing.assert_array_equal(one[1], tau[k])
        np.testing.assert_array_equal(one[2][0], da[0][k])


@pytest.mark.parametrize("function", [hybrid_dynamics, hybrid_dynamics_derivatives])
@pytest.mark.parametrize(
    ("mask", "text"),
    [
        (
            MASK[:4],
            r"active: expected shape \(9,\), one boolean per joint, got \(4,\); joints: j0, ",
        ),
        (np.tile(MASK, (2, 1)), r"active: expected shape \(9,\), .* got \(2, 9\)"),
        (True, r"active: expected shape \(9,\), .* got \(\)"),
        (MASK.astype(int), "active: expected 9 booleans, True where the acceleration is given"),
        (None, "active: expected 9 booleans.* got None"),
        ([[True], [True, False]], "active: expected 9 booleans"),
        (["j1", "j2"], r"active: expected 9 booleans.* got names; .* joints: j0, j1, j2"),
        ("j1", "active: expected 9 booleans.* got names"),
    ],
)
def test_an_invalid_mask_is_refused(function, mask, text: str) -> None:
    with pytest.raises(InputError, match=text):
        function(MODEL, *numbers(), mask)


def test_numbers_that_are_missing_or_not_finite_are_refused() -> None:
    q, v, a, tau = numbers()
    with pytest.raises(InputError, match="a: expected numbers, for joint 'j0' is active; got None"):
        hybrid_dynamics(MODEL, q, v, None, tau, MASK)
    with pytest.raises(InputError, match=r"tau: .* for joint 'j1' is passive; got None"):
        hybrid_dynamics_derivatives(MODEL, q, v, a, None, MASK)
    bad = tau.copy()
    bad[3, 1] = np.nan
    with pytest.raises(InputError, match=r"tau: expected finite numbers, got nan at .*\(3, 1\)"):
        hybrid_dynamics(MODEL, q, v, a, bad, MASK)
    with pytest.raises(InputError, match=r"v: expected shape \(..., 9\)"):
        hybrid_dynamics(MODEL, q, v[:, :3], a, tau, MASK)
    with pytest.raises(InputError, match=r"out: expected \(a, tau, da, dtau\) as returned"):
        hybrid_dynamics_derivatives(MODEL, q, v, a, tau, MASK, out=(a, tau))
    with pytest.raises(InputError, match=r"out\[0\]: shares memory"):
        hybrid_dynamics(MODEL, q, v, a, tau, MASK, out=(q, tau.copy()))


def ball_joint() -> predyn.Model:
    """Three axes on massless links; at 0 of the middle one, the others are in line."""
    builder = ModelBuilder("ball").add_link("first", joint="yaw", axis=(0, 0, 1))
    builder.add_link("second", "first", "pitch", axis=(0, 1, 0), rotation=np.eye(3))
    body = {"mass": 2.0, "com": (0.3, 0.1, 0.7), "inertia": (0.2, 0.3, 0.25)}
    return builder.add_link("body", "second", "roll", axis=(0, 0, 1), **body).build()


@pytest.mark.parametrize("middle", [0.0, np.pi])
def test_a_singular_mass_matrix_is_an_error_that_names_the_joint(middle: float) -> None:
    model, n = ball_joint(), 3
    q = np.array([[0.3, 0.7, 0.4], [0.3, middle, 0.4]])
    v = a = tau = np.ones((2, n))
    nobody, text = np.zeros(n, bool), r"joint 'yaw' at sample \(1,\) .* is singular there"
    with pytest.raises(ModelError, match=text):
        hybrid_dynamics(model, q, v, a, tau, nobody)
    with pytest.raises(ModelError, match=text):
        hybrid_dynamics_derivatives(model, q, v, a, tau, nobody)
    with pytest.raises(ModelError, match=text):
        dynamics.forward_dynamics(model, q, v, tau)
    for mask in ([True, False, False], [False, True, True]):
        assert np.isfinite(hybrid_dynamics(model, q, v, a, tau, mask)).all()
    near = q + [0.0, 1e-5, 0.0]  # condition 1e10: inaccurate, but no error
    assert np.isfinite(hybrid_dynamics(model, near, v, a, tau, nobody)).all()


def test_the_published_recursion_refuses_coupled_rotors() -> None:
    model = forest(7, coupled=True)
    for function in (dynamics.hybrid_recursion_dynamics, dynamics.hybrid_recursion_derivatives):
        with pytest.raises(ModelError, match=r"rotor matrix couples joints.* use hybrid_dynamics"):
            function(model, *numbers(), MASK)
