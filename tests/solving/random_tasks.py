"""Random tasks that are feasible by construction, and some that are not.

A witness motion fixes the limits of a feasible task. The order in which the generator is asked for
numbers is part of the tasks: seeds mean the same tasks as in earlier measurements.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pinocchio as pin
from numpy.random import Generator

import predyn
from oracles.pinocchio_oracle import pinocchio_model
from predyn.model import Limits, Model
from predyn.problem import Cost, Duration, Hybrid, Phase, Problem, Spline, State
from predyn.terms import Effort, Smoothness, TotalTime

STEPS = 400  # of the integration of a passive joint, over two intervals of the given motion each
FARTHEST = 50.0  # rad or m, of a passive joint; beyond, there is no witness
SOLVER = predyn.SolverOptions(max_seconds=40.0, max_iterations=600)
BRIEF = predyn.SolverOptions(max_seconds=20.0, max_iterations=300)


class RandomTask(NamedTuple):
    seed: int
    problem: Problem

    @property
    def is_passive(self) -> bool:
        return bool(self.problem.passive)


class Witness(NamedTuple):
    """A motion at instants: (K, n)."""

    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    tau: np.ndarray


def random_task(seed: int, passive_share: float = 0.2) -> RandomTask | None:
    """A task with 1 to 6 joints; None if a passive joint runs away."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 7))
    model = random_model(rng, n)
    if rng.random() < passive_share and n >= 2:
        problem = _passive_task(rng, n, f"t{seed}")
        return None if problem is None else RandomTask(seed, problem)
    return RandomTask(seed, _actuated_task(rng, model, f"t{seed}"))


# -- models ---------------------------------------------------------------------------------------


def random_model(rng: Generator, n: int) -> Model:
    """A tree of n joints in any direction, some with springs, friction or armature."""
    down = rng.random() < 0.8
    gravity = (0, 0, -9.81) if down else tuple(rng.normal(size=3) * 5)
    builder = predyn.ModelBuilder(f"m{n}", gravity=gravity)
    for j in range(n):
        parent = "world"
        if j > 0:
            parent = f"l{j - 1}" if rng.random() < 0.75 else f"l{rng.integers(j)}"
        kind = "revolute" if rng.random() < 0.8 else "prismatic"
        mass = float(10 ** rng.uniform(-0.7, 1.0))
        length = rng.uniform(0.1, 0.6)
        com = rng.normal(size=3) * length * 0.4
        e = rng.uniform(0.3, 1, 3) * mass * length * length * 0.3
        principal = np.diag([e[1] + e[2], e[0] + e[2], e[0] + e[1]])
        turn, axes = _rotation(rng), _rotation(rng)
        axis = rng.normal(size=3) if rng.random() < 0.5 else np.eye(3)[rng.integers(3)]
        builder.add_link(
            *(f"l{j}", parent, f"j{j}", kind),
            axis=axis,
            origin=rng.normal(size=3) * length,
            rotation=turn,
            mass=mass,
            com=com,
            inertia=axes @ principal @ axes.T,
            damping=_sometimes(rng, 0.3, 0.5),
            stiffness=_sometimes(rng, 0.15, 20),
            rest=0.1,
            coulomb=_sometimes(rng, 0.15, 1),
            coulomb_speed=0.1,
            armature=_sometimes(rng, 0.2, 0.1),
        )
    return builder.build()


def _rotation(rng: Generator) -> np.ndarray:
    Q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    return Q * np.sign(np.linalg.det(Q))


def _sometimes(rng: Generator, share: float, most: float) -> float:
    return float(rng.uniform(0, most)) if rng.random() < share else 0.0


class Torques:
    """Torques of a model by Pinocchio, with springs and friction added."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._twin = pinocchio_model(model)
        self._data = self._twin.createData()

    def __call__(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        """(K, n); Pinocchio adds the armature."""
        m = self._model
        tau = np.array([pin.rnea(self._twin, self._data, *x) for x in zip(q, v, a, strict=True)])
        spring = m.stiffness * (q - m.rest)
        return tau + spring + m.damping * v + m.coulomb * np.tanh(v / m.coulomb_speed)


# -- witnesses ------------------------------------------------------------------------------------


def quintic(
    start: tuple[np.ndarray, np.ndarray], end: tuple[np.ndarray, np.ndarray], T: float, count: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """q, v, a (count, n) between two states (q, v), without acceleration at the ends."""
    s = np.linspace(0, 1, count)
    (q0, v0), (q1, v1) = start, end
    ends = np.array(
        [
            [1, 0, 0, 0, 0, 0],
            [0, 1, 0, 0, 0, 0],
            [0, 0, 2, 0, 0, 0],
            [1, 1, 1, 1, 1, 1],
            [0, 1, 2, 3, 4, 5],
            [0, 0, 2, 6, 12, 20],
        ],
        float,
    )
    c = np.linalg.solve(ends, np.stack([q0, v0 * T, 0 * q0, q1, v1 * T, 0 * q1]))
    k = np.arange(6)
    p, d, dd = (
        np.stack([w * s**e for w, e in zip(weights, np.maximum(k - order, 0), strict=True)], 1)
        for order, weights in enumerate((np.ones(6), k, k * (k - 1)))
    )
    return p @ c, d @ c / T, dd @ c / T / T


def _swing(
    torques: Torques, given: tuple[np.ndarray, np.ndarray, np.ndarray], passive: int, T: float
) -> Witness | None:
    """The motion of a passive joint (RK4) while the others move as given; None far away."""
    qs, vs, accs = given

    def acceleration(k: int, q: float, v: float) -> float:
        state = [x[k].copy() for x in (qs, vs, accs)]
        for x, value in zip(state, (q, v, 0.0), strict=True):
            x[passive] = value
        bias = torques(*(x[None] for x in state))[0, passive]
        state[2][passive] = 1.0
        return -bias / (torques(*(x[None] for x in state))[0, passive] - bias)

    q, v, h = float(qs[0, passive]), 0.0, T / STEPS
    track = [(q, v, acceleration(0, q, v))]
    for k in range(0, 2 * STEPS, 2):
        k1 = acceleration(k, q, v)
        k2 = acceleration(k + 1, q + h / 2 * v, v + h / 2 * k1)
        k3 = acceleration(k + 1, q + h / 2 * (v + h / 2 * k1), v + h / 2 * k2)
        k4 = acceleration(k + 2, q + h * (v + h / 2 * k2), v + h * k3)
        q, v = (
            q + h * v + h * h / 6 * (k1 + k2 + k3),
            v + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4),
        )
        if not np.isfinite(q) or abs(q) > FARTHEST:
            return None
        track.append((q, v, acceleration(k + 2, q, v)))
    motion = [x[::2].copy() for x in given]
    for x, column in zip(motion, np.array(track).T, strict=True):
        x[:, passive] = column
    return Witness(*motion, torques(*motion))


# -- feasible tasks -------------------------------------------------------------------------------


def _both(bound: np.ndarray) -> np.ndarray:
    return np.stack([-bound, bound], 1)


def _largest(values: np.ndarray) -> np.ndarray:
    return np.abs(values).max(0)


def _passive_task(rng: Generator, n: int, name: str) -> Problem | None:
    n = min(n, int(rng.integers(2, 5)))
    model = random_model(rng, n)
    passive = int(rng.integers(n))
    T = float(rng.uniform(0.4, 1.0))
    rest = np.zeros(n)
    q0 = rng.uniform(-1, 1, n)
    q1 = q0 + rng.uniform(-0.8, 0.8, n)
    witness = _swing(Torques(model), quintic((q0, rest), (q1, rest), T, 2 * STEPS + 1), passive, T)
    if witness is None:
        return None
    factor = float(rng.uniform(1.5, 4))
    limits = Limits(
        np.stack([witness.q.min(0) - 0.5, witness.q.max(0) + 0.5], 1),
        _both(factor * _largest(witness.v) + 0.5),
        _both(np.full(n, np.inf)),
        _both(factor * _largest(witness.tau) + 1.0),
    )
    if rng.random() < 0.6:
        end = State(q=witness.q[-1], v=witness.v[-1])
    else:  # the passive joint may end anywhere
        free = np.arange(n) == passive
        end = State(q=np.where(free, np.nan, witness.q[-1]), v=np.where(free, np.nan, 0.0))
    duration: float | Duration = T
    if not rng.random() < 0.5:
        duration = Duration(0.5 * T, 2.5 * T, T * float(rng.uniform(0.8, 1.5)))
    method: Spline
    if rng.random() < 0.6:
        method = Hybrid(segments=int(rng.integers(15, 41)), steps=10)
    else:
        method = Spline(degree=int(rng.integers(3, 6)), segments=int(rng.integers(20, 41)))
    motors = [x for j, x in enumerate(model.joint_names) if j != passive]
    return Problem(
        model,
        (Phase(duration, State(q=q0, v=rest), end),),
        costs=(Cost(Effort(joints=motors)),),
        limits=limits,
        transcription=method,
        passive=(model.joint_names[passive],),
        solver=SOLVER,
        name=name,
    )


def _actuated_task(rng: Generator, model: Model, name: str) -> Problem:
    n = model.n
    count = int(rng.choice([1, 1, 1, 2, 3]))
    points = [rng.uniform(-1.5, 1.5, n) for _ in range(count + 1)]
    rest = rng.random() < 0.6
    speeds = [
        np.zeros(n) if rest or 0 < k < count else rng.normal(size=n) for k in range(count + 1)
    ]
    times = [float(10 ** rng.uniform(-0.4, 0.7)) for _ in range(count)]
    ends = list(zip(points, speeds, strict=True))
    parts = [quintic(ends[k], ends[k + 1], times[k], 300) for k in range(count)]
    q, v, a = (np.concatenate([part[i] for part in parts]) for i in range(3))
    witness = Witness(q, v, a, Torques(model)(q, v, a))
    limits = _limits(rng, witness, n)
    free = rng.random() < 0.6
    phases = _phases(rng, ends, times, free)
    costs = _costs(rng, free, witness.tau)
    degree, segments = int(rng.integers(3, 6)), int(rng.integers(10, 31))
    rng.random()  # once decided on an external force
    return Problem(
        model,
        phases,
        costs=costs,
        limits=limits,
        transcription=Spline(degree=degree, segments=segments),
        solver=SOLVER,
        name=name,
        continuity=2 if rng.random() < 0.7 else 1,
    )


def _limits(rng: Generator, witness: Witness, n: int) -> Limits:
    """Some limits, wider than the witness by a factor."""
    factor = float(rng.choice([1.3, 2.0, 4.0]))
    none = _both(np.full(n, np.inf))
    q, v, a, tau = witness
    room = 0.2 * factor
    around = np.stack([q.min(0) - room, q.max(0) + room], 1)
    position = around if rng.random() < 0.7 else none
    velocity = _both(factor * _largest(v) + 0.01) if rng.random() < 0.7 else none
    acceleration = _both(factor * _largest(a) + 0.05) if rng.random() < 0.3 else none
    effort = _both(factor * _largest(tau) + 0.05) if rng.random() < 0.85 else none
    return Limits(position, velocity, acceleration, effort)


def _phases(
    rng: Generator, ends: Sequence[tuple], times: Sequence[float], free: bool
) -> tuple[Phase, ...]:
    phases, last = [], len(times) - 1
    for k, T in enumerate(times):
        duration: float | Duration = T
        if free:
            duration = Duration(0.2 * T, 3 * T, float(T * rng.uniform(0.5, 2)))
        start = State()
        if k == 0:
            start = State(*ends[0], np.zeros(len(ends[0][0])) if rng.random() < 0.4 else None)
        end = State(ends[k + 1][0])
        if k == last:
            end = State(*ends[-1], np.zeros(len(ends[0][0])) if rng.random() < 0.4 else None)
        phases.append(Phase(duration, start, end))
    return tuple(phases)


def _costs(rng: Generator, free: bool, tau: np.ndarray) -> tuple[Cost, ...]:
    costs = [Cost(TotalTime(), 1.0)] if free and rng.random() < 0.7 else []
    choice = rng.integers(4)
    if choice <= 1 or not costs:
        weight = float(10 ** rng.uniform(-4, 0)) / max(1e-6, float((tau**2).mean()))
        costs.append(Cost(Effort(), weight))
    elif choice == 2:
        costs.append(Cost(Smoothness(), 1e-4))
    return tuple(costs)


# -- impossible tasks -----------------------------------------------------------------------------


def too_heavy(number: int) -> Problem | None:
    """At the end, at rest, gravity needs more than the effort limit; None without gravity."""
    task = random_task(900_000 + number, passive_share=0.0)
    assert task is not None
    problem = task.problem
    model, last = problem.model, problem.phases[-1]
    q, zero = np.asarray(last.end.q, float), np.zeros(problem.model.n)
    tau = Torques(model)(q[None], zero[None], zero[None])[0]
    j = int(np.abs(tau).argmax())
    if abs(tau[j]) < 1e-3:
        return None
    assert problem.limits is not None
    share = (0.5, 0.9, 0.99, 0.999)[number % 4]
    effort = np.array(problem.limits.effort, float)
    effort[j] = [-share * abs(tau[j]), share * abs(tau[j])]
    none = _both(np.full(model.n, np.inf))
    end = replace(last, end=State(q=q, v=zero, a=zero))
    return replace(
        problem,
        limits=Limits(none, none, none, effort),
        phases=(*problem.phases[:-1], end),
        solver=BRIEF,
    )


def too_fast(count: int) -> list[Problem]:
    """Discs that must turn faster than the fastest motion, which switches in the middle."""
    rng = np.random.default_rng(5)
    problems = []
    for number in range(count):
        n = int(rng.integers(1, 4))
        builder = predyn.ModelBuilder("x", gravity=(0, 0, 0))
        angle, T = rng.uniform(0.5, 2, n), float(rng.uniform(0.3, 3))
        for j in range(n):
            builder.add_link(f"l{j}", mass=1.0, inertia=(1.0, 1.0, 1.0), axis=np.eye(3)[j])
        needed = 4 * angle / T**2
        j = int(rng.integers(n))
        effort = 2 * needed
        effort[j] = (0.5, 0.9, 0.98)[number % 3] * needed[j]
        rest, none = np.zeros(n), _both(np.full(n, np.inf))
        method = Spline(degree=int(rng.integers(3, 6)), segments=int(rng.integers(6, 25)))
        problems.append(
            Problem(
                builder.build(),
                (Phase(T, State(q=rest, v=rest), State(q=angle, v=rest)),),
                costs=(Cost(Effort()),),
                limits=Limits(none, none, none, _both(effort)),
                transcription=method,
                solver=BRIEF,
                name=f"too fast {number}",
            )
        )
    return problems
