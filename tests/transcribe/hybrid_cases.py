"""Small problems for the hybrid method that combine its features."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

import predyn
from predyn.dynamics import ExternalForce
from predyn.model import PRISMATIC, REVOLUTE, SCREW, Limits, Model
from predyn.models import acrobot, branched_acrobot, manutec_r3, random_tree, two_link
from predyn.nlp import SolverOptions
from predyn.problem import Constraint, Cost, Duration, Hybrid, Phase, Problem, State
from predyn.terms import (
    Effort,
    FramePosition,
    FrameVelocity,
    JointAcceleration,
    JointPosition,
    JointReaction,
    JointTorque,
    JointVelocity,
    Periodic,
    Smoothness,
    Term,
    TorqueSpeed,
    TotalTime,
)
from registry_cases import random_ligaments
from terms.term_cases import TREE
from transcribe.problem_cases import PAIRS, SINGLE, on, wide

FREE = Duration(0.5, 3.0, 1.3)
WIDE = {"lower": -1e3, "upper": 1e3}
EXACT = SolverOptions(hessian="exact")


def swing_up(model: Model, method: Hybrid, duration: float | Duration = 3.0) -> Problem:
    """Effort of the motors, and the distance to standing upright."""
    n, nan = model.n, np.nan
    start = State([-1.0, *[0.0] * (n - 1)], np.zeros(n))
    end = State([nan, *[0.0] * (n - 1)], [nan, *[0.0] * (n - 1)])
    first = (model.joint_names[0],)
    costs = (
        Cost(Effort(model.joint_names[1:]), 0.5),
        Cost(JointPosition(first, np.pi / 2), 1e3, "end", name="upright"),
        Cost(JointVelocity(first), 1e3, "end", name="rest"),
    )
    return Problem(
        model, (Phase(duration, start, end),), costs, transcription=method, passive=first,
        solver=EXACT, name="swing up",
    )  # fmt: skip


def resisting(model: Model, seed: int) -> Model:
    """With springs, ligaments, friction and rotors."""
    rng = np.random.default_rng(seed)
    n = model.n
    return replace(
        model,
        damping=rng.uniform(0.1, 0.5, n),
        coulomb=rng.uniform(0.1, 0.5, n),
        coulomb_speed=np.full(n, 0.5),
        stiffness=rng.uniform(0.1, 2.0, n),
        armature=rng.uniform(0.1, 0.5, n),
        ligaments=random_ligaments(n, seed),
    )


def limited(n: int) -> Limits:
    """Limits of every kind; one joint limited on one side only, one held."""
    both = np.array([-1.0, 1.0])
    position = np.tile(2.0 * both, (n, 1))
    position[0, 0] = -np.inf
    velocity = np.tile(5.0 * both, (n, 1))
    velocity[-1] = 0.25
    return Limits(position, velocity, np.tile(50.0 * both, (n, 1)), np.tile(20.0 * both, (n, 1)))


def _tree() -> Problem:
    """Joints of all kinds on branches; a revolute, a screw and a sliding one are passive."""
    model = random_tree(6, 217, depth_like=0.6)
    assert [int(model.kind[j]) for j in (1, 2, 5)] == [REVOLUTE, SCREW, PRISMATIC]
    assert len(set(model.parent)) < model.n - 1
    start = State(0.1 * np.arange(6), 0.2 * np.ones(6))
    active = ("j0", "j3", "j4")
    costs = (Cost(Effort(active), 0.1), Cost(JointPosition(target=0.2), 3.0), Cost(TotalTime()))
    return Problem(
        model, (Phase(FREE, start),), costs, passive=("j1", "j2", "j5"), solver=EXACT,
        transcription=Hybrid(segments=3, steps=1, limit_points=1), name="tree",
        constraints=(Constraint(JointVelocity(("j2", "j3")), **WIDE),),
    )  # fmt: skip


def _rotors() -> Problem:
    model = manutec_r3(5.0)
    start, end = State([0.0, -1.5, 0.0], np.zeros(3)), State([1.0, np.nan, 1.0], np.zeros(3))
    return Problem(
        model, (Phase(FREE, start, end),), (Cost(Effort(("joint1", "joint3")), 0.01),),
        constraints=(Constraint(TorqueSpeed(5.0, joints=("joint3",))),), passive=("joint2",),
        transcription=Hybrid(segments=4, steps=2), solver=EXACT, name="rotors",
    )  # fmt: skip


def _two_phases() -> Problem:
    """The second with a given duration and a hard end, also of the passive joint."""
    model = resisting(acrobot(), 3)
    first = Phase(FREE, State([-1.0, 0.1], [0.3, 0.2], [np.nan, 0.5]), segments=3, name="up")
    rest = State([1.0, 0.3], [0.0, 0.1], [0.2, np.nan])
    second = Phase(0.9, end=rest, costs=(Cost(JointReaction("joint2"), 0.1),), segments=5)
    return Problem(
        model, (first, second), (Cost(Effort(("joint2",))), Cost(JointVelocity(), 0.3)),
        constraints=(Constraint(Periodic(("a", "tau")), **WIDE, name="again"),),
        transcription=Hybrid(steps=2, degree=4), passive=("joint1",), solver=EXACT,
        name="two phases",
    )  # fmt: skip


def _loads() -> Problem:
    """External forces, springs, friction, all limits, an equation throughout, integrals."""
    model = resisting(random_tree(3, 4, kinds=("revolute", "prismatic")), 4)
    at_rest = [0.0, 0.0, np.nan]
    held = Constraint(JointPosition(("j0",)), 0.1, 0.1, name="held")
    spent = Constraint(Effort(("j0", "j2")), upper=50.0, integral=True, name="spent")
    some = Constraint(JointTorque(("j2",)), **WIDE, at=(0.0, 0.5, 1.0), name="points")
    added = Constraint(JointVelocity(), upper=9.0, at=(0.25, 1.0), integral=True, name="added")
    return Problem(
        model, (Phase(1.2, State([0.1, 0.2, 0.2], at_rest), State(v=at_rest)),),
        (Cost(Effort(("j0", "j2")), 0.2), Cost(JointAcceleration(("j1",)), 0.1, loss="abs")),
        constraints=(held, spent, some, added),
        forces=(
            ExternalForce("l2", (1.0, -2.0, 3.0), (0.3, 0.2, -0.1), (0.1, 0.2, 0.3)),
            ExternalForce("l1", (0.5, 0.7, -0.2), frame="link"),
        ),
        limits=limited(3), jerk_limit=[90.0, np.inf, 80.0], passive=("j1",),
        transcription=Hybrid(segments=4, steps=2),
        solver=EXACT, name="loads",
    )  # fmt: skip


def _frames() -> Problem:
    model = predyn.models.branched_acrobot()
    last = model.link_names[-1]
    costs = (
        Cost(FramePosition(last, (0.5, 1.5, None)), 10.0),
        Cost(FrameVelocity(last, (0.0, 0.0, None)), 0.3, "end"),
        Cost(JointReaction("joint1"), 0.01),
        Cost(JointReaction("joint2", form="magnitude", width=1.0), 0.1, (0.0, 0.6), loss="linear"),
    )
    constraints = (
        Constraint(FramePosition(last, (0.5, 1.0, None)), at="end", name="reach"),
        Constraint(FramePosition(last, (0.0, 0.0, None)), -2.0, 2.0, name="room"),
    )
    problem = swing_up(model, Hybrid(segments=5, steps=2, limit_points=1), FREE)
    return replace(problem, costs=costs, constraints=constraints, name="frames")


def _all_active() -> Problem:
    model = two_link()
    rest = np.zeros(2)
    return Problem(
        model, (Phase(FREE, State([0.0, -2.0], rest), State([1.0, -1.0], rest)),),
        (Cost(TotalTime()), Cost(Effort(), 0.1), Cost(Smoothness(), 1e-3)),
        transcription=Hybrid(segments=9, steps=2), solver=EXACT, name="all active",
    )  # fmt: skip


def _every_term() -> Problem:
    """All terms of the oracle, throughout, at instants and summed; j1 and j3 are passive."""
    own = {name: term for name, term in on(TREE, SINGLE).items() if "user" not in name}
    own |= {"smoothness": Smoothness(joints=("j0", "j4"))}
    losses = ("linear", "square", "abs")
    costs, ahead, sums = [Cost(TotalTime())], [], []
    for k, (name, term) in enumerate(own.items()):
        loss = losses[k % 3]
        costs.append(Cost(wide(term) if loss == "abs" else term, 0.5, loss=loss, name=name))
        ahead.append(Constraint(term, **WIDE, name=f"all along {name}"))
        sums.append(Constraint(wide(term), -1e4, 1e4, integral=True, name=f"sum {name}"))
        sums.append(Constraint(term, **WIDE, at=(1.0, 0.5), name=f"points {name}"))
    pairs = tuple(Constraint(x, **WIDE, name=name) for name, x in on(TREE, PAIRS).items())
    at = tuple(Cost(x, 0.3, (0.0, 0.5), "square", f"at {name}") for name, x in own.items())
    start = State(0.1 * np.ones(5), 0.3 * np.ones(5), [0.2, np.nan, 0.2, 0.1, np.nan])
    return Problem(
        TREE, (
            Phase(FREE, start, costs=tuple(costs), constraints=tuple(ahead)),
            Phase(0.8, costs=at, constraints=tuple(sums)),
        ),
        (), pairs, transcription=Hybrid(segments=2, steps=1, limit_points=1), passive=("j1", "j3"),
        solver=EXACT, name="every term",
    )  # fmt: skip


def _special(**changes: object) -> Problem:
    method = replace(Hybrid(segments=3, steps=2), **changes)  # type: ignore[arg-type]
    problem = swing_up(branched_acrobot(), method, FREE)
    return replace(problem, costs=(*problem.costs, Cost(Smoothness(joints=("joint2",)), 1e-3)))


HYBRID_CASES: dict[str, Callable[[], Problem]] = {
    "acrobot": lambda: swing_up(acrobot(), Hybrid(segments=9, steps=3, limit_points=1)),
    "acrobot, eight segments": lambda: swing_up(
        acrobot(), Hybrid(segments=8, steps=1, limit_points=1), FREE
    ),
    "branched acrobot": lambda: swing_up(branched_acrobot(), Hybrid(segments=5, steps=2)),
    "tree": _tree,
    "rotors": _rotors,
    "two phases": _two_phases,
    "loads": _loads,
    "frames": _frames,
    "all active": _all_active,
    "degree 4": lambda: _special(degree=4),
    "degree 5, uneven": lambda: _special(degree=5, knots=(0.0, 0.2, 0.5, 0.55, 1.0)),
    "uniform knots": lambda: _special(knots="uniform"),
    "every term": _every_term,
}


def any_term(problem: Problem) -> set[str]:
    """Kinds of the terms of a problem."""
    parts = (problem, *problem.phases)
    terms: list[Term] = [x.term for part in parts for x in (*part.costs, *part.constraints)]
    return {term.kind for term in terms}
