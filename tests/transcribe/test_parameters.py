"""Parameters that stand for numbers of the model: programs against CasADi, known answers."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import predyn
from oracles.casadi_parameters import ParametricMotion
from predyn.channels import torques
from predyn.dynamics import ExternalForce
from predyn.errors import InputError
from predyn.model import Frame, Model
from predyn.models.trees import random_tree
from predyn.problem import (
    Constraint,
    Cost,
    Duration,
    Parameter,
    Phase,
    Problem,
    Signal,
    Spline,
    System,
)
from predyn.problem.quantities import QUANTITIES, quantity_value
from predyn.samples import registry
from predyn.terms import (
    Effort,
    FramePosition,
    FrameVelocity,
    GeneralizedMomentum,
    JointReaction,
    JointTorque,
)
from predyn.transcribe.methods import transcribe
from transcribe.program_values import values
from transcribe.test_unknowns import unlimited

FREE = Duration(0.5, 2.0, 1.0)


def tree(seed: int) -> Model:
    """Four joints on branches, with springs, friction and rotors; "tool" on the last link."""
    model = unlimited(random_tree(4, seed, depth_like=0.5))
    rng = np.random.default_rng(seed)
    tool = Frame("tool", 3, np.array(model.R[1]), np.array([0.3, -0.2, 0.4]))
    return replace(
        model,
        damping=rng.uniform(0.1, 0.5, 4),
        coulomb=rng.uniform(0.1, 0.5, 4),
        coulomb_speed=np.full(4, 0.5),
        stiffness=rng.uniform(0.1, 2.0, 4),
        rest=rng.uniform(-1.0, 1.0, 4),
        armature=rng.uniform(0.1, 0.5, 4),
        frames=(tool,),
    )


LOAD = predyn.Payload("tool", 0.7, (0.1, 0.2, 0.3), np.diag([0.01, 0.02, 0.015]))
PUSH = ExternalForce("tool", (1.0, 2.0, 3.0), (0.3, 0.2, 0.1), (0.1, 0.0, -0.2), "link")
CASES: dict[str, tuple[str | tuple[str, ...], ...]] = {
    "inertia": ("mass of l1", "first_moment.y of l2", "inertia.xy of l2", "inertia.zz of l0"),
    "all of a link": tuple(f"{kind} of l1" for kind in QUANTITIES if
                           kind.startswith(("mass", "first", "inertia"))),
    "joints": ("stiffness of j1", "rest of j1", "damping of j1", "armature of j0", "coulomb of j2"),
    "places": ("origin.x of j1", "origin.y of j1", "origin.z of j0", "length of l3"),
    "loads": ("payload of tool", "force.y of tool", "moment.x of tool", "length of l3",
              "mass of l3"),
    "shared": (("stiffness of j0", "stiffness of j1"), ("length of l3", "mass of l3"),
               ("stiffness of j3", "rest of j3")),
}  # fmt: skip


def problem_of(seed: int, quantities: tuple[str | tuple[str, ...], ...], push=PUSH, **more):
    """Two phases, the second with a payload after an impact, and terms on all channels."""
    problem = Problem(
        tree(seed),
        (
            Phase(FREE, segments=1, name="free"),
            Phase(FREE, segments=1, name="loaded", system="loaded", impact=True),
        ),
        costs=(Cost(Effort(), 1e-3),),
        constraints=(
            Constraint(JointTorque(), -1.0, 1.0, at=(0.2,)),
            Constraint(JointReaction("j1", "wrench"), -1.0, 1.0, at=(0.6,)),
            Constraint(FramePosition("tool", (0.0, 0.0, 0.0)), -1.0, 1.0, at=(0.5,)),
            Constraint(FrameVelocity("tool"), -1.0, 1.0, at=(0.7,)),
            Constraint(GeneralizedMomentum(), -1.0, 1.0, at=(0.3,)),
        ),
        forces=(push,),
        systems={"loaded": System(payloads=(LOAD,))},
        transcription=Spline(limit_points=1, gauss_points=1),
        **more,
    )
    parameters = []
    for k, quantity in enumerate(quantities):
        first = quantity if isinstance(quantity, str) else quantity[0]
        value = quantity_value(problem, first)
        room = 1e-3 * max(abs(value), 1e-2)
        parameters.append(Parameter(f"p{k}", value - room, value + room, value, quantity=quantity))
    return replace(problem, parameters=tuple(parameters))


def compare(problem: Problem, seed: int = 0, scale: float = 0.1, spread: float = 0.5) -> None:
    program = transcribe(problem)
    motion = ParametricMotion(program)
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1.0, 1.0, program.n)
    for phase in program.phases:
        x[phase.T_column] = rng.uniform(0.6, 1.4)
    for name, column in program.parameter_columns().items():
        (guess,) = (p.guess for p in problem.parameters if p.name == name)
        x[column] = guess * rng.uniform(1.0 - spread, 1.0 + spread) + scale * rng.uniform()
    f, g = 0.0, []
    for p in range(2):
        for s, w in motion.gauss(p, 1):
            tau = motion.tau(p, s)
            f += 1e-3 * motion.T(p) * w * (tau.T @ tau)
        g += [motion.tau(p, 0.2), motion.wrench(p, 0.6)[6:12], motion.frame(p, "tool", 0.5)[1]]
        g += [motion.frame(p, "tool", 0.7)[3], motion.momentum(p, 0.3)]
    g.append(motion.state(1, 0.0, 0) - motion.state(0, 1.0, 0))
    g.append(motion.momentum(1, 0.0) - motion.momentum(0, 1.0))
    lam = rng.standard_normal(program.m)
    ours, alone = values(program, x, 0.7, lam), program.parameter_columns().values()
    motion.compare(f, g, x, ours, 0.7, lam, alone)


@pytest.mark.parametrize("case", CASES)
def test_derivatives_against_casadi(case: str) -> None:
    """Values, first and second derivatives in all kinds of quantities and all channels."""
    compare(problem_of(list(CASES).index(case), CASES[case]))


def test_small_numbers_of_a_heavy_model() -> None:
    """Steps are as long as the model allows: 1 mg and 1 nN m/rad do not drown in rounding."""
    load = replace(LOAD, mass=1e-6, inertia=None)
    problem = replace(problem_of(5, ()), systems={"loaded": System(payloads=(load,))})
    parameters = (
        Parameter("m", 0.0, 2e-6, 1e-6, quantity="payload of tool"),
        Parameter("k", 0.0, 2e-9, 1e-9, quantity="stiffness of j2"),
    )
    compare(replace(problem, parameters=parameters), scale=0.0)


@pytest.mark.parametrize("more", [0.0, 1e-12])
def test_a_payload_as_heavy_as_its_link(more: float) -> None:
    """No model in comparison has a link without mass but with a first moment."""
    problem = problem_of(5, ())
    load = replace(LOAD, mass=0.7 + more)
    both = Parameter("p", 0.5, 0.7, 0.7, quantity=("length of l3", "mass of l3"))
    problem = replace(problem, systems={"loaded": System(payloads=(load,))}, parameters=(both,))
    compare(problem, scale=0.0, spread=0.0)


def test_a_place_of_an_unknown_force_is_a_parameter() -> None:
    push = Signal("push", ("x", "y", "z"), -9.0, 9.0, degree=0, segments=1)
    force = ExternalForce("tool", "push", point=(0.1, 0.0, -0.2))
    compare(problem_of(7, ("length of l3", "mass of l3"), force, signals=(push,)))


def test_a_channel_that_does_not_follow_the_model_is_refused(monkeypatch) -> None:
    """A channel from outside the package has to state what its kernels read of the model."""

    def in_lanes(model, member, states, forces):
        channel = torques.in_lanes(model, member, states, forces)
        del channel.trees
        return channel

    module = SimpleNamespace(values=torques.values, in_lanes=in_lanes)
    own = registry.CHANNELS["tau"]._replace(module=module)
    monkeypatch.setitem(registry.CHANNELS, "tau", own)
    with pytest.raises(InputError, match="channel 'tau': it does not support parameters that"):
        transcribe(problem_of(0, ("mass of l1",)))


def test_every_quantity_has_a_test() -> None:
    quantities = [q for case in CASES.values() for q in case]
    texts = [t for q in quantities for t in ((q,) if isinstance(q, str) else q)]
    kinds = {text.split(" of ")[0].split(".")[0] for text in texts}
    assert kinds == {kind.split(".")[0] for kind in QUANTITIES}
