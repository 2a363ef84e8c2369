"""Bad input to dynamics always raises an InputError or ModelError that names the fault, never an
error of NumPy or Numba. Valid input close to the limits is accepted."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest

from predyn import InputError, ModelError, PredynError, dynamics
from predyn.dynamics import ExternalForce, FrameMotion
from registry_cases import dh_forest, forest

TREE, COUPLED, TABLE = forest(5), forest(7, coupled=True), dh_forest(2)
N = TREE.n
ZERO = np.zeros(N)
NO_WEIGHTS = FrameMotion(np.zeros((3, 3)), *np.zeros((5, 3)))

# name -> how to call it with states q, v, a (or tau)
STATES: dict[str, Callable] = (
    {
        name: lambda q, v, a, name=name, **more: getattr(dynamics, name)(TREE, q, v, a, **more)
        for name in (
            "inverse_dynamics",
            "inverse_dynamics_derivatives",
            "joint_reactions",
            "joint_reactions_derivatives",
            "placement_sensitivity",
            "torque_regressor",
            "spatial_momentum",
            "spatial_momentum_derivatives",
        )
    }
    | {
        name: lambda q, v, a, name=name, **more: getattr(dynamics, name)(TABLE, q, v, a, **more)
        for name in (
            "dh_sensitivity",
            "lagrangian_dh_torques",
            "lagrangian_dh_derivatives",
            "newton_euler_dh_torques",
            "newton_euler_dh_derivatives",
            "newton_euler_dh_internal_forces",
            "newton_euler_dh_internal_force_derivatives",
        )
    }
    | {
        "inverse_dynamics_hessian": lambda q, v, a, **more: dynamics.inverse_dynamics_hessian(
            TREE, q, v, a, ZERO, **more
        ),
        "joint_reactions_hessian": lambda q, v, a, **more: dynamics.joint_reactions_hessian(
            TREE, q, v, a, np.zeros((N, 6)), **more
        ),
        "length_sensitivity": lambda q, v, a, **more: dynamics.length_sensitivity(
            TREE, "l3", q, v, a, **more
        ),
        "frame_kinematics": lambda q, v, a: dynamics.frame_kinematics(TREE, "tool", q, v, a),
        "frame_kinematics_derivatives": lambda q, v, a: dynamics.frame_kinematics_derivatives(
            TREE, "tool", q, v, a
        ),
        "frame_kinematics_hessian": lambda q, v, a: dynamics.frame_kinematics_hessian(
            TREE, "tool", q, v, a, NO_WEIGHTS
        ),
        "lagrangian_dh_point": lambda q, v, a: dynamics.lagrangian_dh_point(
            TABLE, "link5", (0.0, 0.0, 0.0), q, v, a
        ),
        "forward_dynamics": lambda q, v, tau, **more: dynamics.forward_dynamics(
            TREE, q, v, tau, **more
        ),
        "forward_dynamics_derivatives": (
            lambda q, v, tau, **more: dynamics.forward_dynamics_derivatives(TREE, q, v, tau, **more)
        ),
        "forward_dynamics, coupled": lambda q, v, tau, **more: dynamics.forward_dynamics(
            COUPLED, q, v, tau, **more
        ),
        "forward_dynamics_derivatives, coupled": (
            lambda q, v, tau, **more: dynamics.forward_dynamics_derivatives(
                COUPLED, q, v, tau, **more
            )
        ),
    }
)
WITHOUT_FORCES = {name for name in STATES if re.search("frame|momentum|regressor|point$", name)}
NAMES = {name: ("q", "v", "tau" if "forward" in name else "a") for name in STATES}
each_function = pytest.mark.parametrize("function", STATES)


def refused(text: str, call: Callable, *arguments, **more) -> str:
    """The call raises an InputError whose message matches and is not too long."""
    with pytest.raises(InputError, match=text) as caught:
        call(*arguments, **more)
    message = str(caught.value)
    assert len(message) < 600
    return message


# -- states -------------------------------------------------------------------------------------


@each_function
@pytest.mark.parametrize("which", range(3))
def test_a_wrong_number_of_joints(function: str, which: int) -> None:
    for bad, shape in ((np.zeros(N - 1), f"({N - 1},)"), (np.zeros((4, 1)), "(4, 1)"), (0.0, "()")):
        arguments: list = [ZERO] * 3
        arguments[which] = bad
        name = NAMES[function][which]
        text = re.escape(f"{name}: expected shape (..., {N}), got {shape}; model")
        order = f"has {N} joints, in the order of model.joint_names"
        refused(f"^{text} .* {order}", STATES[function], *arguments)


@each_function
@pytest.mark.parametrize("which", range(3))
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_number_that_is_not_finite(function: str, which: int, bad: float) -> None:
    arguments = [np.zeros((2, 5, N)) for _ in range(3)]
    arguments[which][1, 3, 7] = bad
    name = re.escape(NAMES[function][which])
    refused(
        rf"^{name}: expected finite numbers, got {bad} at index \(1, 3, 7\)$",
        STATES[function],
        *arguments,
    )


@each_function
def test_inputs_that_are_not_arrays_of_real_numbers(function: str) -> None:
    call = STATES[function]
    for bad, text in (
        (ZERO + 0j, "^q: expected real numbers, got an array of complex128"),
        (["a"] * N, "^q: expected real numbers, got \\['a', "),
        ("zero", "^q: expected real numbers"),
        (None, "^q: expected real numbers, got None"),
        (ZERO == 0.0, "^q: expected real numbers, got an array of bool"),
        ([[0.0] * N, [0.0]], "^q: not an array of numbers"),
        (np.full(N, np.datetime64("2020-01-01")), "^q: expected real numbers"),
        ({"j0": 0.0}, "^q: expected real numbers"),
    ):
        refused(text, call, bad, ZERO, ZERO)


@each_function
def test_leading_shapes_that_do_not_broadcast(function: str) -> None:
    states = np.zeros((4, N)), np.zeros((3, N)), np.zeros((2, 1, N))
    text = refused("^the leading shapes do not broadcast: ", STATES[function], *states)
    assert "q (4,), v (3,)" in text


def test_leading_shapes_of_torques_that_do_not_broadcast() -> None:
    """With coupled rotors, torques are combined with the other inputs outside a kernel."""
    states = np.zeros((4, N)), np.zeros((4, N)), np.zeros((3, N))
    for name in STATES:
        if name.startswith("forward"):
            text = refused("^the leading shapes do not broadcast: ", STATES[name], *states)
            assert "tau (3,)" in text


def test_a_result_that_overflows_is_not_finite() -> None:
    """Finite states are accepted without an error or a warning."""
    huge = np.full(N, 1e200)
    assert not np.isfinite(dynamics.inverse_dynamics(TREE, ZERO, huge, huge)).all()


# -- weights ------------------------------------------------------------------------------------


def test_weights_of_a_hessian() -> None:
    torques, wrenches = dynamics.inverse_dynamics_hessian, dynamics.joint_reactions_hessian
    refused(
        r"^weights: expected shape \(..., 9\), got \(8,\)", torques, TREE, *[ZERO] * 3, ZERO[1:]
    )
    refused(r"^weights: .* got nan at index \(2,\)", torques, TREE, *[ZERO] * 3, _with_nan(N))
    refused(r"^weights: expected shape \(..., 9, 6\), got \(9,\)", wrenches, TREE, *[ZERO] * 4)


def _with_nan(size: int) -> np.ndarray:
    x = np.zeros(size)
    x[2] = np.nan
    return x


@pytest.mark.parametrize(
    ("field", "bad"),
    [
        ("R", np.zeros(3)),
        ("R", np.full((3, 3), np.nan)),
        ("p", np.zeros(4)),
        ("p", 0.0),
        ("w", ["a", "b", "c"]),
        ("v", _with_nan(3)),
        ("alpha", None),
        ("a", np.zeros(3) * 1j),
        ("a", np.zeros((5, 3))),
    ],
)
def test_weights_of_a_frame(field: str, bad) -> None:
    weights = NO_WEIGHTS._replace(**{field: bad})
    q = np.zeros((4, N))
    refused("weights", dynamics.frame_kinematics_hessian, TREE, "tool", q, q, q, weights)


def test_weights_of_a_frame_that_are_not_a_frame_motion() -> None:
    refused("weights", dynamics.frame_kinematics_hessian, TREE, "tool", ZERO, ZERO, ZERO, ZERO)


# -- names --------------------------------------------------------------------------------------


def test_unknown_frames_and_links() -> None:
    for call in (dynamics.frame_kinematics, dynamics.frame_kinematics_derivatives):
        text = refused("^unknown frame or link 'tol'", call, TREE, "tol", ZERO)
        assert "'tool'" in text
        refused("expected a name", call, TREE, 3, ZERO)
    text = refused(
        "^unknown link 'link55'",
        dynamics.lagrangian_dh_point,
        TABLE,
        "link55",
        (0, 0, 0),
        *[ZERO] * 3,
    )
    assert "'link5'" in text
    refused("^unknown link 'l33'", dynamics.length_sensitivity, TREE, "l33", *[ZERO] * 3)
    text = refused("it has 2 ends", dynamics.length_sensitivity, TREE, "l1", *[ZERO] * 3)
    assert "'j2', 'j3'" in text
    refused(
        "^unknown child joint or frame of link 'l1' 'j7'",
        dynamics.length_sensitivity,
        TREE,
        "l1",
        *[ZERO] * 3,
        to="j7",
    )


@pytest.mark.parametrize("bad", [(0.0, 0.0), (0.0, 0.0, np.nan), "abc", None, 1.0, [[0, 0, 0]]])
def test_points(bad) -> None:
    refused("^point: ", dynamics.frame_kinematics, TREE, "tool", ZERO, point=bad)
    refused("^point", dynamics.lagrangian_dh_point, TABLE, "link5", bad, ZERO, ZERO, ZERO)


# -- external forces ----------------------------------------------------------------------------

PUSH = (1.0, 2.0, 3.0)
BAD_FORCES = {
    "one, not a list": (lambda link: ExternalForce(link, PUSH), r"forces: .* write forces=\[f\]"),
    "not a force": (lambda link: [PUSH], r"forces\[0\]: expected an ExternalForce, got tuple"),
    "a wrench": (lambda link: np.zeros(6), r"forces"),
    "a number": (lambda link: 3.0, r"forces"),
    "unknown frame of components": (
        lambda link: [ExternalForce(link, PUSH), ExternalForce(link, PUSH, frame="body")],
        r"forces\[1\]\.frame: expected 'world' or 'link', got 'body'",
    ),
    "unknown link": (lambda link: [ExternalForce(link + "x", PUSH)], "unknown frame or link"),
    "link is a number": (lambda link: [ExternalForce(2, PUSH)], "expected a name"),
    "on the world": (lambda link: [ExternalForce("world", PUSH)], "is fixed to the world"),
    "short force": (
        lambda link: [ExternalForce(link, (1.0, 2.0))],
        r"forces\[0\]\.force: expected shape \(\.\.\., 3\), got \(2,\)",
    ),
    "moment is one number": (
        lambda link: [ExternalForce(link, PUSH, 1.0)],
        r"forces\[0\]\.moment: expected shape \(\.\.\., 3\), got \(\)",
    ),
    "NaN": (lambda link: [ExternalForce(link, (1.0, np.nan, 0.0))], r"forces\[0\]\.force: .*NaN"),
    "words": (lambda link: [ExternalForce(link, "abc")], r"forces\[0\]\.force: expected 3 numbers"),
    "complex": (lambda link: [ExternalForce(link, (1j, 0, 0))], r"forces\[0\]\.force: expected"),
    "array of complex": (
        lambda link: [ExternalForce(link, np.array(PUSH) * 1j)],
        r"forces\[0\]\.force: expected",
    ),
    "point of a batch": (
        lambda link: [ExternalForce(link, PUSH, point=np.zeros((4, 3)))],
        r"forces\[0\]\.point: expected shape \(3,\), got \(4, 3\)",
    ),
    "other batch": (
        lambda link: [ExternalForce(link, np.zeros((5, 3)))],
        r"leading shapes do not broadcast: .*forces \(5,\)",
    ),
}


@pytest.mark.parametrize("function", sorted(set(STATES) - WITHOUT_FORCES))
@pytest.mark.parametrize("bad", BAD_FORCES)
def test_forces(function: str, bad: str) -> None:
    make, text = BAD_FORCES[bad]
    link = "link5" if "dh" in function else "tool"
    states = [np.zeros((4, N))] * 3
    refused(text, STATES[function], *states, forces=make(link))


WHERE = [bad for bad, (_, text) in BAD_FORCES.items() if not re.search("force:|moment:|lead", text)]


@pytest.mark.parametrize("name", ["inverse_dynamics", "joint_reactions"])
@pytest.mark.parametrize("bad", WHERE)
def test_forces_for_partials_in_the_forces(name: str, bad: str) -> None:
    """Only where they act and along which axes matters, not their values."""
    make, text = BAD_FORCES[bad]
    function = getattr(dynamics, f"{name}_force_derivatives")
    refused(text, function, TREE, np.zeros((4, N)), make("tool"))


# -- models without what a function needs -------------------------------------------------------


@pytest.mark.parametrize("function", [name for name in STATES if "dh" in name])
def test_a_model_without_a_table(function: str) -> None:
    more = ("l0", (0.0, 0.0, 0.0)) if function == "lagrangian_dh_point" else ()
    with pytest.raises(ModelError, match=r"no standard .*table.*load_dh") as caught:
        getattr(dynamics, function)(TREE, *more, ZERO, ZERO, ZERO)
    assert TREE.name in str(caught.value)


@each_function
def test_the_smallest_good_input_is_accepted(function: str) -> None:
    """Lists of zeros only: the calls in this file are otherwise correct."""
    more = {} if function in WITHOUT_FORCES else {"forces": []}
    try:
        STATES[function]([0.0] * N, ZERO, [0] * N, **more)
    except PredynError as error:
        pytest.fail(str(error))


@pytest.mark.parametrize("bad", [None, "two_link", np.zeros(3), object])
def test_an_argument_that_is_not_a_model(bad) -> None:
    text = f"^model: expected a predyn.Model, got {type(bad).__name__}$"
    refused(text, dynamics.inverse_dynamics, bad, ZERO, ZERO, ZERO)
    refused(text, dynamics.mass_matrix, bad, ZERO)
    refused(text, dynamics.frame_kinematics, bad, "tool", ZERO)
    refused(text, dynamics.center_of_mass, bad, ZERO)
    refused(text, dynamics.forward_dynamics, bad, ZERO, ZERO, ZERO)
