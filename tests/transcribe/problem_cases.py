"""Problems that combine every term, as cost and constraint, at all kinds of instants."""

from __future__ import annotations

from copy import copy
from dataclasses import replace

import numpy as np

import predyn
from predyn.dynamics import ExternalForce
from predyn.model import Model
from predyn.models import manutec_r3, prismatic_revolute, random_tree, two_link
from predyn.problem import Constraint, Cost, Duration, Phase, Problem, Spline, State
from predyn.samples import Samples
from predyn.terms import (
    Effort,
    ElectricalEnergy,
    FramePosition,
    JointPosition,
    JointReaction,
    MechanicalEnergy,
    Periodic,
    Smoothness,
    TorqueSpeed,
    TotalTime,
    UserTerm,
)
from predyn.terms.term import Term
from registry_cases import random_ligaments
from terms.term_cases import CASES, TREE

FREE = Duration(0.5, 3.0, 1.3)
WIDE = {"lower": -1e3, "upper": 1e3}
PAIRS = {name: case.term for name, case in CASES.items() if case.term.pairs}
SINGLE = {name: case.term for name, case in CASES.items() if not case.term.pairs}


def on(model: Model, names: dict[str, Term]) -> dict[str, Term]:
    """Terms of the cases that are made for a model."""
    return {name: term for name, term in names.items() if CASES[name].model is model}


def wide(term: Term) -> Term:
    """The same problem with |r| smooth enough for finite differences to converge."""
    rounder = copy(term)
    object.__setattr__(rounder, "width", 5.0)
    return rounder


def mixed(
    model: Model,
    terms: dict[str, Term],
    pairs: dict[str, Term],
    transcription: Spline,
    seed: int,
) -> Problem:
    """Three phases, the second with a fixed duration; a moving start, a loose end."""
    rng = np.random.default_rng(seed)
    losses = ("linear", "square", "abs")
    everywhere, first, second, third = [], [], [], []
    for k, (name, term) in enumerate(terms.items()):
        weight = float(rng.uniform(0.1, 1.0))
        loss = losses[k % 3]
        of_cost = wide(term) if loss == "abs" else term
        everywhere.append(Cost(of_cost, weight, loss=loss, name=f"cost {name}"))
        second.append(Constraint(wide(term), -1e4, 1e4, integral=True, name=f"sum {name}"))
        if isinstance(term, TotalTime):  # at an instant it says nothing
            continue
        first.append(Constraint(term, **WIDE, name=f"all along {name}"))
        second.append(Constraint(term, -1e3, 1e3, (0.0, 0.3, 0.65), name=f"points {name}"))
        third.append(Constraint(term, **WIDE, at="end", name=f"end {name}"))
        third.append(Constraint(term, **WIDE, at="start", name=f"start {name}"))
    at_points = tuple(
        Cost(wide(term), 0.3, (0.2, 0.9), loss=losses[(k + 1) % 3], name=f"point cost {name}")
        for k, (name, term) in enumerate(terms.items())
    )
    of_whole = tuple(Constraint(term, **WIDE, name=name) for name, term in pairs.items())
    of_phase = tuple(Constraint(term, **WIDE, name=f"own {name}") for name, term in pairs.items())
    n = model.n
    some = np.where(np.arange(n) % 2, np.nan, 0.2)
    frame = model.link_names[-1]
    return Problem(
        model,
        (
            Phase(FREE, State(0.1 * np.ones(n), 0.3 * np.ones(n), some), constraints=tuple(first)),
            Phase(0.8, constraints=tuple(second) + of_phase, costs=at_points, segments=3),
            Phase(FREE, end=State(some, np.zeros(n)), constraints=tuple(third)),
        ),
        costs=tuple(everywhere),
        constraints=of_whole,
        forces=(
            ExternalForce(frame, (1.0, -2.0, 3.0), (0.3, 0.2, -0.1), (0.1, 0.2, 0.3)),
            ExternalForce(model.link_names[0], (0.5, 0.7, -0.2), frame="link"),
        ),
        jerk_limit=1e3,
        transcription=transcription,
        name=f"mixed {model.name} {seed}",
    )


def plain_terms(model: Model) -> dict[str, Term]:
    """Terms that apply to any model."""
    last = model.link_names[-1]
    return {
        "time": TotalTime(),
        "effort": Effort(),
        "energy": MechanicalEnergy(form="positive", width=0.5),
        "grid": ElectricalEnergy(None, 0.1, 0.8, 0.4, width=0.5),
        "position": JointPosition(target=0.3),
        "smoothness": Smoothness(),
        "frame": FramePosition(last, (0.1, 0.2, None)),
        "reaction": JointReaction(model.joint_names[0], form="magnitude"),
        "torque_speed": TorqueSpeed(speed=5.0, effort=3.0),
    }


def _branched(seed: int) -> Model:
    """A tree of six joints with springs, friction and rotors, most of them on branches."""
    model = random_tree(6, seed, depth_like=0.4)
    rng = np.random.default_rng(seed)
    return replace(
        model,
        damping=rng.uniform(0.1, 0.5, 6),
        coulomb=rng.uniform(0.1, 0.5, 6),
        coulomb_speed=np.full(6, 0.5),
        stiffness=rng.uniform(0.1, 2.0, 6),
        armature=rng.uniform(0.1, 0.5, 6),
        ligaments=random_ligaments(6, seed),
    )


def _swing(s: Samples) -> np.ndarray:
    q, tau, t = s["q"], 0.01 * s["tau"], s["t"][0]
    return np.stack(((q * tau).sum(axis=0) * t, np.sin(q - t).sum(axis=0) * tau.sum(axis=0)))


def _user() -> Problem:
    terms = {
        "swing": UserTerm(_swing, ("q", "tau", "t"), ("power", "swing")),
        "narrow": SINGLE["user narrowed"],
    }
    spline = Spline(segments=2, limit_points=2, gauss_points=2)
    return mixed(TREE, terms, {}, spline, 7)


PERIODIC: dict[str, Term] = {"periodic": Periodic(("q", "v", "a", "jerk", "tau"))}


def problem_cases() -> dict[str, Problem]:
    small = Spline(segments=2, limit_points=2, gauss_points=3)
    exact = {name: term for name, term in on(TREE, SINGLE).items() if "user" not in name}
    cases = {
        "every term on a tree": mixed(TREE, exact, on(TREE, PAIRS), small, 1),
        "user terms": _user(),
    }
    splines = (
        small,
        replace(small, degree=4, limit_points=1),
        replace(small, degree=5),
        replace(small, knots="uniform"),
        replace(small, knots=(0.0, 0.3, 1.0), degree=3),
    )
    models = (
        two_link(),
        prismatic_revolute(),
        manutec_r3(),
        _branched(2),
        _branched(11),
        predyn.models.branched_acrobot(),
    )
    for k, model in enumerate(models):
        own = {**plain_terms(model), **on(model, SINGLE)}
        cases[f"{model.name}"] = mixed(model, own, PERIODIC, splines[k % len(splines)], k)
    return cases
