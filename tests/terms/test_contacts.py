"""Terms on contact forces and on signals at two instants: values and derivatives."""

from __future__ import annotations

import numpy as np
import pytest

import predyn
from predyn.errors import InputError
from predyn.problem.contact_program import written_out
from predyn.problem.offers import offer_in
from predyn.samples import Offer, Samples
from predyn.terms import (
    ContactForce,
    ContactForceRate,
    FrictionCone,
    PeriodicSignal,
    Symmetric,
    Term,
)
from predyn.terms.contact import ContactPlace, Place
from predyn.terms.term import Residual
from terms.test_derivatives import SHAPE, check_curvature, check_partials, value

WEIGHT = 735.75


def standing() -> Offer:
    """A foot whose heel is pushed along x, y, z and whose toe along z, of two feet."""
    model = predyn.models.planar_walker()
    phase = predyn.Phase(
        1.0,
        contacts=(
            predyn.Contact("right_heel", "xyz", "xz"),
            predyn.Contact("right_toe", "z", "z"),
            predyn.Contact("left_heel", "xz", "xz", shared="x"),
        ),
    )
    step = predyn.Parameter("step", 0.2, 0.8, 0.5, "m")
    problem = predyn.Problem(model, (phase,), parameters=(step,))
    return offer_in(written_out(problem), 0)


OFFER = standing()
TERMS = {
    "force": ContactForce(),
    "vertical force of a foot": ContactForce(("right_sole",), "z", WEIGHT, total=True),
    "rate": ContactForceRate(("right_heel", "left_heel"), per=WEIGHT),
    "pyramid": FrictionCone(),
    "pyramid of one foot": FrictionCone(("left_sole",), 0.5),
    "cone": FrictionCone(friction=0.7, form="cone"),
    "periodic_signal": PeriodicSignal("right_heel", components=("z", "x")),
    "periodic_signal mirrored": PeriodicSignal("right_heel", "right_toe", ("y", "z"), (-1.0, 1.0)),
    "symmetric by a parameter": Symmetric({}, {}, ("v", "q"), ("z", "x"), {"x": "step"}),
    "place": ContactPlace("right_toe", {"x": Place(0.1), "z": Place(0.2, {"step": -0.5})}),
}


def drawn(term: Term) -> tuple[Residual, dict[str, np.ndarray]]:
    """The residual and its channels at random instants, components first."""
    residual, rng = term.bind_to(OFFER), np.random.default_rng(3)
    channels = {}
    for channel in residual.channels:
        name = channel.removeprefix("first.").removeprefix("second.")
        further = OFFER.further.get(name)
        size = {"q": 9, "v": 9}.get(name, 24) if further is None else len(further.components)
        channels[channel] = np.moveaxis(rng.standard_normal((*SHAPE, size)), -1, 0)
    return residual, channels


@pytest.mark.parametrize("name", TERMS)
def test_derivatives(name: str) -> None:
    residual, channels = drawn(TERMS[name])
    assert residual.constant == (name != "cone")
    check_partials(residual, channels)
    check_curvature(residual, channels)


def forces(channels: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {name.partition(":")[2]: x for name, x in channels.items()}


def values_of(term: Term) -> tuple[tuple[str, ...], np.ndarray, dict[str, np.ndarray]]:
    residual, channels = drawn(term)
    return residual.rows, value(residual, Samples(channels)), forces(channels)


def test_forces_are_those_of_the_axes_that_are_pushed() -> None:
    rows, r, F = values_of(TERMS["force"])
    wanted = {
        **{f"right_heel {axis}": F["right_heel"][k] for k, axis in enumerate("xyz")},
        "right_toe z": F["right_toe"][2],
        "left_heel z": F["left_heel"][2],
        "left_sole x": F["left_sole"][0],
    }
    assert set(rows) == set(wanted)
    for k, row in enumerate(rows):
        assert np.array_equal(r[k], wanted[row])


def test_a_total_adds_up_the_points_of_a_patch() -> None:
    rows, r, F = values_of(TERMS["vertical force of a foot"])
    assert rows == ("total z",)
    assert r[0] == pytest.approx((F["right_heel"][2] + F["right_toe"][2]) / WEIGHT, abs=1e-15)


def test_rates_are_divided_too() -> None:
    rows, r, rate = values_of(TERMS["rate"])
    assert rows == ("right_heel x", "right_heel y", "right_heel z", "left_heel z")
    assert r[1] == pytest.approx(rate["right_heel"][1] / WEIGHT, abs=1e-15)


def test_friction_belongs_to_the_patch() -> None:
    """The pyramid inside the cone touches it on the diagonals; with one direction they agree."""
    rows, r, F = values_of(TERMS["pyramid"])
    assert rows == (
        *("right_sole +x", "right_sole -x", "right_sole +y", "right_sole -y"),
        *("left_sole +x", "left_sole -x"),
    )
    up = F["right_heel"][2] + F["right_toe"][2]
    x, y = F["right_heel"][:2]
    inside = 0.8 / np.sqrt(2.0) * up
    alone = 0.8 * F["left_heel"][2]
    wanted = (inside - x, inside + x, inside - y, inside + y)
    wanted += (alone - F["left_sole"][0], alone + F["left_sole"][0])
    assert r == pytest.approx(np.array(wanted), abs=1e-14)

    rows, r, F = values_of(TERMS["cone"])
    assert rows == ("right_sole", "left_sole")
    up, (x, y) = F["right_heel"][2] + F["right_toe"][2], F["right_heel"][:2]
    size = OFFER.further["signal:right_heel"].scale[0]
    assert r[0] == pytest.approx(((0.7 * up) ** 2 - x**2 - y**2) / size, abs=1e-14)


def test_the_image_of_a_force_may_change_sign() -> None:
    _, r, _ = values_of(TERMS["periodic_signal mirrored"])
    _, channels = drawn(TERMS["periodic_signal mirrored"])
    end, start = channels["second.signal:right_heel"], channels["first.signal:right_toe"]
    assert r[0] == pytest.approx(end[1] + start[1], abs=1e-15)
    assert r[1] == pytest.approx(end[2] - start[2], abs=1e-15)


def test_a_parameter_moves_a_cycle_on_and_a_place() -> None:
    residual, channels = drawn(TERMS["symmetric by a parameter"])
    r = value(residual, Samples(channels))
    row = residual.rows.index("x q")
    step = channels["second.parameter:step"][0]
    wanted = channels["second.q"][0] - channels["first.q"][0] - step
    assert r[row] == pytest.approx(wanted, abs=1e-14)

    residual, channels = drawn(TERMS["place"])
    r = value(residual, Samples(channels))
    p = channels["frame:right_toe"][9:12]
    assert r[0] == pytest.approx(p[0] - 0.1, abs=1e-15)
    assert r[1] == pytest.approx(p[2] - 0.2 + 0.5 * channels["parameter:step"][0], abs=1e-14)


@pytest.mark.parametrize(
    ("term", "message"),
    [
        (ContactForce(("heel",)), "unknown contact point or patch 'heel'"),
        (ContactForce("right_heel"), "expected a list of names"),
        (ContactForce(("left_toe",)), "left_toe does not touch the ground"),
        (ContactForce(("right_toe",), "x"), "no force along 'x' acts"),
        (ContactForce(per=0.0), "per"),
        (FrictionCone(friction=-0.1), "friction"),
        (FrictionCone(("right_toe",)), "no patch with a force along the ground"),
        (PeriodicSignal("right_heel", signs=0.5), "expected signs 1 or -1"),
        (PeriodicSignal("heel"), "heel"),
        (Symmetric(channels=("v",), offset={"x": 0.6}), "offset of 'x' belongs to q"),
    ],
)
def test_mistakes_are_named(term: Term, message: str) -> None:
    with pytest.raises(InputError, match=message):
        term.bind_to(OFFER)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ContactForce(axes="xw"), "some of 'xyz'"),
        (lambda: ContactForceRate(axes=""), "some of 'xyz'"),
        (lambda: FrictionCone(form="circle"), "pyramid"),
        (lambda: ContactForce().bind(OFFER.model), "needs the contacts of a problem"),
        (lambda: PeriodicSignal("f").bind(OFFER.model), "needs the signals of a problem"),
    ],
)
def test_impossible_arguments_are_named(make, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()
