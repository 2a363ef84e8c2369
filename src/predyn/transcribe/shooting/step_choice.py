"""Steps of the Runge-Kutta method from the fastest mode of the passive joints.

Small motions x of the passive joints about a posture follow M x'' + D x' + K x = 0, with the
stiffness K of springs and ligaments and the damping D of these joints and of those that follow
them. RK4 is stable while |lambda| h is below 2.6 for each eigenvalue lambda (2.83 on the imaginary
axis, 2.79 on the real one, 2.616 in between). Steps with |Im lambda| h <= 1.5 and |Re lambda| h <=
1 leave room for longer durations; the fastest oscillation then loses 6 % of its amplitude in a
step, and one ten times as slow is off by less than 1e-6 of it.

Dry friction is damping where a joint stands: coulomb / coulomb_speed. It acts for a short time
only, so it asks for no more than RUBBING steps.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from predyn.errors import warn_of_problem
from predyn.model.couplings import joint_positions, sources
from predyn.model.ligaments import ligament_stiffness
from predyn.problem import Duration, Hybrid, Problem, duration_of, system_of
from predyn.problem.check_passive import LEAST_STEPS, step_grid
from predyn.problem.check_transcriptions import MOST_STEPS
from predyn.problem.offers import phase_name
from predyn.problem.quantities import at_guesses
from predyn.transcribe.branches import nearest_route

Floats = NDArray[np.float64]
STABLE = 2.6  # largest |lambda| h of given steps
RUBBING = 100  # steps per segment for the sake of dry friction, at most
OSCILLATION, DECAY = 1.5, 1.0  # largest |Im lambda| h and |Re lambda| h of chosen ones


class _Mode(NamedTuple):
    rate: float  # |lambda|, 1/s
    pace: float  # 1/s, inverse of the longest step
    joint: str  # moves most in it


def with_chosen_steps(problem: Problem, warn: bool = False) -> Problem:
    """A valid problem with a number of steps; one that is not given is chosen.

    warn: give a ProblemWarning if the steps are too few.
    """
    method = problem.transcription
    if not isinstance(method, Hybrid):
        return problem
    steps, needed, message = method.steps, LEAST_STEPS, ""
    guessed = at_guesses(problem)
    for p, phase in enumerate(problem.phases):
        mode = _fastest_mode(guessed, p)
        given = duration_of(problem, phase)
        T = given.guess if isinstance(given, Duration) else float(given)
        longest = T * float(np.diff(step_grid(replace(method, steps=1), phase)).max())  # segment
        rubbing = _fastest_mode(guessed, p, friction=True)
        enough, more = (
            LEAST_STEPS * int(np.ceil(x.pace * longest / LEAST_STEPS)) for x in (mode, rubbing)
        )
        needed = max(needed, enough, min(more, RUBBING))
        most = STABLE * (MOST_STEPS if steps is None else steps)
        if mode.rate * longest > most and not message:
            message = (
                f"{phase_name(problem, p)}: passive joint {mode.joint!r} has a mode of "
                f"{mode.rate:.3g} 1/s at the guess, for which RK4 needs {enough} steps per segment"
            )
    if message and warn:
        warn_of_problem(problem.name, f"{message}, {_advice(steps, needed)}")
    if steps is not None:
        return problem
    return replace(problem, transcription=replace(method, steps=min(needed, MOST_STEPS)))


def _advice(steps: int | None, needed: int) -> str:
    if needed > MOST_STEPS:
        return f"more than {MOST_STEPS}: use more segments, or lock the joint"
    return f"but steps = {steps}: raise it, or leave it out to have it chosen"


def _fastest_mode(problem: Problem, p: int, friction: bool = False) -> _Mode:
    """The fastest mode of the passive joints of phase p at the way points that are given.

    friction: with the damping by dry friction at rest.
    """
    system = system_of(problem, p)
    model = system.model
    passive = np.flatnonzero(np.isin(model.joint_names, system.passive))
    tree, source = model.expanded, sources(model)
    damping = np.array(tree.damping)
    if friction:
        rubs = tree.coulomb > 0.0
        damping[rubs] += tree.coulomb[rubs] / tree.coulomb_speed[rubs]
    moved = np.isin(source, passive)
    if not any(x[moved].any() for x in (tree.stiffness, tree.ligaments[..., 0], damping)):
        return _Mode(0.0, 0.0, "")
    from predyn.dynamics.crba import mass_matrix

    q = _postures(problem)
    M, n = mass_matrix(model, q)[:, passive[:, None], passive], len(passive)
    # joint k = f(q) adds f'^2 times its stiffness and damping, and f'' times the spring's force
    at, slope, bend = (joint_positions(model, q, order) for order in range(3))
    stiffness = (tree.stiffness + ligament_stiffness(tree, at)) * slope**2
    stiffness += bend * tree.stiffness * (at - tree.rest)
    add_up = source[:, None] == passive
    both = (x @ add_up for x in (stiffness, damping * slope**2))
    K, D = (np.linalg.solve(M, x[:, :, None] * np.eye(n)) for x in both)
    A = np.zeros((len(M), 2 * n, 2 * n))  # of the state (x, x')
    A[:, :n, n:] = np.eye(n)
    A[:, n:, :n], A[:, n:, n:] = -K, -D
    values, vectors = np.linalg.eig(A)
    pace = np.maximum(np.abs(values.imag) / OSCILLATION, np.abs(values.real) / DECAY)
    k, m = np.unravel_index(pace.argmax(), pace.shape)
    joint = model.joint_names[passive[np.abs(vectors[k, n:, m]).argmax()]]
    return _Mode(float(np.abs(values[k, m])), float(pace[k, m]), joint)


def _postures(problem: Problem) -> Floats:
    """(K, n): of a curve that is the guess, and of the straight line."""
    points = np.array(nearest_route(problem, search=False))
    middles = 0.5 * (points[1:] + points[:-1])
    given = [np.asarray(problem.guess[1], float)] if isinstance(problem.guess, tuple | list) else []
    return np.concatenate([points, middles, *given])
