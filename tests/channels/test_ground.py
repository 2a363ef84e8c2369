"""Channel `ground:FOOT` and the terms on it, against the two-step algorithm and differences."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import predyn
from floating_biped import floating_biped
from predyn import Constraint, Cost, ExternalForce, Phase, Problem, Spline, dynamics
from predyn.channels.derived import derived_channel
from predyn.dynamics import Foot
from predyn.errors import InputError
from predyn.kernels.lanes import WIDTH
from predyn.samples import Samples
from predyn.samples.registry import components, implementation, units
from predyn.terms import GroundTorque, ZeroMomentPoint
from predyn.transcribe.methods import transcribe

MODEL = floating_biped(0.9)
REAR, FRONT = Foot("rear_sole", (0.05, 0.0, 0.0)), Foot("ankle_front", (-0.05, 0.0, -0.08))
FEET = ("rear_sole", "ankle_front")


def states(count: int = 2 * WIDTH) -> list[np.ndarray]:
    """Near standing, (count, n) each."""
    sizes = np.array([0.1, 0.5, 1.0])[:, None, None]
    return list(np.random.default_rng(3).normal(size=(3, count, MODEL.n)) * sizes)


def channel_values(foot: str, q: np.ndarray, v: np.ndarray, a: np.ndarray, **more) -> np.ndarray:
    module, member = implementation(f"ground:{foot}")
    return module.values(MODEL, member, (q, v, a), more.get("forces", ()))


def test_names_and_units() -> None:
    names, unit = components(MODEL, "ground:rear_sole"), units(MODEL, "ground:rear_sole")
    assert len(names) == len(unit) == 13 + 2 * 3 + 6
    assert names[13:16] == ("hip_rear per x", "knee_rear per x", "ankle_rear per x")
    assert unit[:4] == ("N", "N", "N", "N m")
    with pytest.raises(InputError, match="has no floating base"):
        units(predyn.models.two_link(), "ground:tip")


@pytest.mark.parametrize("forces", [(), (ExternalForce("arm", (3.0, -20.0, 9.0)),)])
def test_lanes_agree_with_public_functions_and_the_two_steps(forces) -> None:
    given = states()
    lanes = tuple(np.ascontiguousarray(x.reshape(2, WIDTH, -1).transpose(0, 2, 1)) for x in given)
    filled = (lanes[0].copy(), lanes[1].copy(), lanes[2].copy())
    channel = derived_channel(MODEL, "ground:rear_sole", filled, forces)
    for mine, x in zip(filled, lanes, strict=True):
        mine[:] = x
    channel.evaluate()
    found = channel.value.transpose(0, 2, 1).reshape(2 * WIDTH, -1)
    expected = channel_values("rear_sole", *given, forces=forces)
    np.testing.assert_allclose(found, expected, atol=1e-10)
    steps = dynamics.two_step_dynamics(MODEL, *given, [REAR], forces=forces)
    np.testing.assert_allclose(found[:, 6:13], steps.tau[:, 6:], atol=1e-10)
    np.testing.assert_allclose(found[:, -6:], steps.resultant, atol=1e-10)


def test_shared_torques_are_those_of_the_two_steps() -> None:
    """One instant at a time, with the edges where the feet are."""
    for q, v, a in zip(*states(6), strict=True):
        points = [
            dynamics.frame_kinematics(MODEL, f.link, q, point=f.edge).p for f in (REAR, FRONT)
        ]
        edges = [p[:2] for p in points]
        along = (1.0, 0.2)
        residual = GroundTorque(FEET, edges, direction=along).bind(MODEL)
        samples = {
            f"ground:{foot}": channel_values(foot, q[None], v[None], a[None]).T for foot in FEET
        }
        out = np.empty((len(residual.rows), 1))
        residual.value(Samples(samples), out)
        expected = dynamics.two_step_dynamics(
            MODEL, q, v, a, [REAR, FRONT], direction=along, outside="extend"
        )
        np.testing.assert_allclose(out[:, 0], expected.tau[6:], atol=1e-9)


def test_edges_are_positive_inside_the_polygon() -> None:
    q, v, a = states(40)
    found = dynamics.two_step_dynamics(MODEL, q, v, a, [REAR])
    middle = found.zmp.mean(axis=0)
    square = middle + 0.03 * np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)])
    residual = ZeroMomentPoint("rear_sole", square).bind(MODEL)
    out = np.empty((5, 40))
    residual.value(Samples({"ground:rear_sole": channel_values("rear_sole", q, v, a).T}), out)
    weight = 9.81 * MODEL.inertia[:, 0].sum()
    inside = (np.abs(found.zmp - middle) <= 0.03).all(axis=1)
    assert 0 < inside.sum() < 40
    np.testing.assert_array_equal((out[:4] >= 0.0).all(axis=0), inside)
    share = found.resultant[:, 5] / weight
    bottom = (found.zmp[:, 1] - square[0, 1]) * share
    np.testing.assert_allclose(out[0], bottom, atol=1e-12)
    np.testing.assert_allclose(out[4], share)


@pytest.mark.parametrize(
    ("polygon", "message"),
    [
        (((0.0, 0.0), (1.0, 0.0)), "at least three corners"),
        (((0.0, 0.0), (0.0, 1.0), (1.0, 0.0)), "counter-clockwise"),
        (((0.0, 0.0), (0.0, 0.0), (1.0, 0.0)), "different corners"),
    ],
)
def test_bad_polygons_are_named(polygon, message: str) -> None:
    with pytest.raises(InputError, match=message):
        ZeroMomentPoint("rear_sole", polygon).bind(MODEL)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"feet": ()}, "one or two frames"),
        ({"feet": FEET}, "edges belong to two feet"),
        ({"feet": FEET, "edges": ((0.0, 0.0), (-1.0, 0.0))}, "must be ahead"),
        ({"feet": FEET, "edges": (0.0, 1.0)}, "expected two points"),
        ({"feet": ("rear_sole", "ankle_rear"), "edges": ((0, 0), (1, 0))}, "both feet move with"),
        ({"feet": "rear_sole", "joints": ("tx",)}, "those of the base carry nothing"),
        ({"feet": "rear_sole", "normalised": True}, "needs an effort limit"),
    ],
)
def test_bad_ground_torques_are_named(fields, message: str) -> None:
    with pytest.raises(InputError, match=message):
        GroundTorque(**fields).bind(MODEL)


def test_program_has_exact_derivatives() -> None:
    """One foot and two, as costs and as constraints."""
    shared = GroundTorque(FEET, ((-0.25, -0.1), (0.3, 0.1)))
    polygon = ((-0.4, -0.2), (0.5, -0.2), (0.5, 0.3), (-0.4, 0.3))
    phases = [
        Phase(
            0.4,
            costs=[Cost(shared, weight=1e-4)],
            constraints=[
                Constraint(shared, -500.0, 500.0),
                Constraint(ZeroMomentPoint("rear_sole", polygon)),
            ],
        ),
        Phase(0.3, costs=[Cost(GroundTorque(("ankle_front",)), weight=1e-4)]),
    ]
    problem = Problem(MODEL, phases, transcription=Spline(segments=1))
    program = transcribe(problem)
    x = 0.05 * np.random.default_rng(1).normal(size=program.n)
    report = program.check_derivatives(x)
    assert report.ok, str(report)
    unknown = replace(
        problem,
        signals=[predyn.Signal("push", ("x", "y", "z"))],
        forces=[ExternalForce("arm", "push")],
    )
    with pytest.raises(InputError, match="external forces must not be signals"):
        transcribe(unknown)
