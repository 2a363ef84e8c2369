"""The wrench of a sole: signs, edges, friction, and loops that are no soles."""

from __future__ import annotations

import numpy as np
import pytest

import predyn
from predyn import Constraint, Cost, ModelBuilder, Phase, Problem, State
from predyn.errors import InputError
from predyn.terms import Effort, PatchWrench

SIZE = (0.24, 0.10)


def standing(term, loop="weld", frames=("sole", "place")):
    """A block of 10 kg with a mast, on a sole that is welded to the ground."""
    builder = ModelBuilder("block")
    parent = "world"
    for name, axis in (("x", (1, 0, 0)), ("y", (0, 1, 0)), ("z", (0, 0, 1))):
        builder.add_link(name, parent, name, "prismatic", axis)
        parent = name
    for name, axis in (("roll", (1, 0, 0)), ("pitch", (0, 1, 0)), ("yaw", (0, 0, 1))):
        body = {"mass": 10.0, "inertia": (0.1, 0.1, 0.1)} if name == "yaw" else {}
        builder.add_link(name, parent, name, axis=axis, **body)
        parent = name
    builder.add_link("mast", "yaw", "hip", axis=(0, 1, 0), effort=100.0,
                     mass=2.0, com=(0, 0, 0.5), inertia=(0.01, 0.01, 0.01))  # fmt: skip
    builder.add_frame("sole", "yaw").add_frame("place", "world")
    builder.close_loop("foot", loop, *frames)
    model = builder.build()
    rest = np.zeros(7)
    end = rest.copy()
    end[6] = 0.4
    return Problem(
        model,
        [Phase(1.0, State(rest, rest), State(end, rest))],
        costs=[Cost(Effort(["hip"]))],
        constraints=[] if term is None else [Constraint(term)],
        passive=model.joint_names[:6],
        transcription=predyn.Dmoc(steps=10),
    )


def wrench(solution):
    curves = solution.signal_curves
    return curves["foot"].curves[0].control, curves["foot moment"].curves[0].control


def test_edges_bound_the_pressure_point():
    """The mast falls forward by 0.4 rad; a shorter sole makes it move otherwise, not tip."""
    free = predyn.solve(standing(PatchWrench("foot", (5.0, 5.0), 5.0)), verbose=False).check()
    force, moment = wrench(free)
    assert force[:, 2].mean() == pytest.approx(12.0 * 9.81, rel=0.05)
    ahead = -moment[:, 1] / force[:, 2]  # the pressure point along x
    # at rest at the end, the mast's weight is 0.5 m sin 0.4 ahead
    assert np.abs(ahead).max() > 0.02
    half = 0.9 * np.abs(ahead).max()
    tight = predyn.solve(standing(PatchWrench("foot", (2 * half, 0.1), 5.0)), verbose=False).check()
    force, moment = wrench(tight)
    assert np.abs(moment[:, 1] / force[:, 2]).max() <= half * (1.0 + 1e-5)
    assert tight.objective > free.objective


def test_friction_is_that_of_the_inscribed_pyramid():
    slope = np.sqrt(2.0) * 0.05
    found = predyn.solve(standing(PatchWrench("foot", (5.0, 5.0), slope)), verbose=False)
    force, _ = wrench(found.check())
    assert np.abs(force[:, 0] / force[:, 2]).max() <= 0.05 * (1.0 + 1e-5)


@pytest.mark.parametrize(
    ("term", "loop", "message"),
    [
        (PatchWrench("foot", SIZE), "point", "expected a weld.*got a point"),
        (PatchWrench("hand", SIZE), "weld", "'hand'"),
        (PatchWrench("foot", (0.1,)), "weld", "size: expected length and width"),
        (PatchWrench("foot", SIZE, friction=-1.0), "weld", "friction"),
    ],
)
def test_what_is_no_sole(term, loop, message):
    with pytest.raises(InputError, match=message):
        predyn.solve(standing(term, loop), verbose=False)


def test_the_force_of_a_sole_is_that_on_it():
    """From the ground to the sole, the force of the weld would be the opposite one."""
    with pytest.raises(InputError, match=r"weld from a frame of a link .* from 'place' to 'sole'"):
        predyn.solve(standing(PatchWrench("foot", SIZE), frames=("place", "sole")), verbose=False)
