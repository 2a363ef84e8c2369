"""Joint positions that bring a frame to a target pose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from predyn.dynamics.kinematics import frame_kinematics, frame_kinematics_derivatives
from predyn.errors import InputError
from predyn.kernels.arguments import finite, joints, real
from predyn.kernels.forces import vector
from predyn.kernels.tree import Floats
from predyn.model import REVOLUTE, Model
from predyn.model.orientations import rotation_of
from predyn.model.parts import LARGEST

MOST_STEPS = 200
LEAST_DAMPING, MOST_DAMPING = 1e-14, 1e8  # shares of the largest entry of J'J
LEAST_GAIN, REST_GAIN = 1e-9, 1e-3  # share of the cost that a step must remove to continue


class PoseResult(NamedTuple):
    """The best pose found, within the position limits."""

    q: NDArray  # (n,)
    position_error: float  # m, distance to the target point; 0 if none was given
    angle_error: float  # rad, angle to the target axes; 0 if none were given
    converged: bool  # both errors within the tolerance
    iterations: int  # of all starts


class _Goal(NamedTuple):
    model: Model
    frame: str
    point: Floats
    position: Floats | None  # NaN: free
    orientation: Floats | None

    def errors(self, q: Floats) -> Floats:
        """Rotation vector from the target axes and offset from the target point, world axes."""
        pose = frame_kinematics(self.model, self.frame, q, point=self.point)
        out = np.zeros(6)
        if self.orientation is not None:
            out[:3] = rotation_vector(pose.R @ self.orientation.T)
        if self.position is not None:
            out[3:] = np.where(np.isnan(self.position), 0.0, pose.p - self.position)
        return out

    def slopes(self, q: Floats, errors: Floats) -> Floats:
        """Partials (6, n) of the errors in q."""
        partials = frame_kinematics_derivatives(self.model, self.frame, q, point=self.point)
        out = np.zeros((6, self.model.n))
        if self.orientation is not None:
            out[:3] = rotation_vector_partial(errors[:3]) @ partials.jacobian[:3]
        if self.position is not None:
            out[3:] = np.where(np.isnan(self.position)[:, None], 0.0, partials.jacobian[3:])
        return out


class _Goals(NamedTuple):
    """Several goals at once, one below the other."""

    each: tuple[_Goal, ...]

    def errors(self, q: Floats) -> Floats:
        return np.concatenate([goal.errors(q) for goal in self.each])

    def slopes(self, q: Floats, errors: Floats) -> Floats:
        own = zip(self.each, errors.reshape(-1, 6), strict=True)
        return np.vstack([goal.slopes(q, part) for goal, part in own])


def inverse_kinematics(
    model: Model,
    frame: str,
    position: ArrayLike | Sequence[float | None] | None = None,
    orientation: ArrayLike | None = None,
    *,
    guess: ArrayLike | None = None,
    point: ArrayLike = (0.0, 0.0, 0.0),
    tolerance: float = 1e-8,
    starts: int = 10,
    seed: int = 0,
    rest_weight: float = 1e-3,
    also: Sequence[Mapping[str, Any]] = (),
) -> PoseResult:
    """Joint positions within the limits that bring a frame, or a point in it, to a target pose.

    frame        name of a frame or of a link
    position     (3,) m, target position of the point, world axes; None leaves a coordinate free
    orientation  target axes of the frame as columns (3, 3), or roll, pitch, yaw (3,) in radians:
                 rotations about the world's x, then y, then z, as in terms; give position,
                 orientation or both
    guess        (n,) tried first, moved into the limits; default: the middle of the limits
    tolerance    largest error that counts as reached, m and rad
    starts       number of tries: the guess, then random poses within the limits, or within a half
                 turn or 1 m of the guess if there are none; equal seeds give equal results
    rest_weight  m^2/rad^2; each try first minimises error^2 + rest_weight |q - guess|^2 and then,
                 from there, the error alone: directions that the target leaves open stay near the
                 guess
    also         poses that must be reached at the same time: frame, position, orientation and
                 point of each, as above; the errors of the result are the largest of all

    Returns the first try that reaches the target, else the one that comes closest: a target out of
    reach is not an error but a result that has not converged. Failure of all tries does not prove
    that the target is out of reach. Unlimited revolute joints are returned in the turn closest to
    the guess.
    """
    (n,) = joints(model)
    first = _read_goal(model, frame, position, orientation, point)
    others = [_read_goal(model, **pose) for pose in also]
    goal = _Goals((first, *others)) if others else first
    if not 0.0 < _read_number("tolerance", tolerance) < np.inf:
        raise InputError(f"tolerance: expected a number above 0, got {tolerance!r:.40}")
    if not 0.0 <= _read_number("rest_weight", rest_weight) < np.inf:
        raise InputError(f"rest_weight: expected a number of at least 0, got {rest_weight!r:.40}")
    starts, seed = _read_count("starts", starts, 1), _read_count("seed", seed, 0)
    low, high = model.limits.position.T
    bounded = np.isfinite(low) & np.isfinite(high)
    if guess is None:
        rest = np.clip(0.0, low, high)
        rest[bounded] = (low[bounded] + high[bounded]) / 2
    else:
        rest = finite("guess", real(model, "guess", guess, (n,)))
        if rest.ndim != 1:
            raise InputError(f"guess: expected one pose ({n},), got {rest.shape}")
        rest = np.clip(rest, low, high)
    reach = np.where(model.kind == REVOLUTE, np.pi, 1.0)
    lowest = np.where(bounded, low, np.maximum(low, rest - reach))
    highest = np.where(bounded, high, np.minimum(high, rest + reach))

    random = np.random.default_rng(seed)
    best, errors, iterations = rest, goal.errors(rest), 0
    for k in range(starts):
        q = rest if k == 0 else random.uniform(lowest, highest)
        for weight in (rest_weight, 0.0) if rest_weight > 0.0 else (0.0,):
            q, steps = _descend(goal, q, low, high, tolerance, weight, rest)
            iterations += steps
        q = _nearest_turn(model, q, rest)
        found = goal.errors(q)
        if found @ found < errors @ errors or _is_reached(found, tolerance):
            best, errors = q, found
        if _is_reached(errors, tolerance):
            break
    angle, distance = _sizes(errors)
    return PoseResult(best, distance, angle, _is_reached(errors, tolerance), iterations)


def _descend(
    goal: _Goal | _Goals,
    q: Floats,
    low: Floats,
    high: Floats,
    tolerance: float,
    weight: float,
    rest: Floats,
) -> tuple[Floats, int]:
    """Levenberg-Marquardt method within bounds: the final point and the number of steps.

    A joint at a bound that the descent would cross is held for the step. The damping follows the
    ratio of the gain to the one predicted by the linear model (Nielsen 1999).
    """
    errors = goal.errors(q)
    cost = errors @ errors + weight * (q - rest) @ (q - rest)
    # short first steps stay in the valley of the guess
    damping, growth = (1.0 if weight > 0.0 else 1e-3), 2.0
    slopes = None
    for step in range(MOST_STEPS):
        if weight == 0.0 and _is_reached(errors, tolerance):
            return q, step
        if slopes is None:
            slopes = goal.slopes(q, errors)
            size = max(float(np.sum(slopes**2, axis=0).max()), np.finfo(float).tiny)
            gradient = slopes.T @ errors + weight * (q - rest)
            free = ~(((q <= low) & (gradient > 0)) | ((q >= high) & (gradient < 0)))
            normal = slopes[:, free].T @ slopes[:, free] + weight * np.eye(free.sum())
        if not free.any() or damping > MOST_DAMPING:
            return q, step
        change = np.zeros_like(q)
        damped = normal + damping * size * np.eye(len(normal))
        change[free] = np.linalg.solve(damped, -gradient[free])
        trial = np.clip(q + change, low, high)
        change = trial - q
        trial_errors = goal.errors(trial)
        trial_cost = trial_errors @ trial_errors + weight * (trial - rest) @ (trial - rest)
        linear = errors + slopes @ change
        promised = float(cost - linear @ linear - weight * (trial - rest) @ (trial - rest))
        gain = float(cost - trial_cost)
        if promised > 0.0 and gain > 1e-4 * promised:
            done = gain <= (REST_GAIN if weight > 0.0 else LEAST_GAIN) * cost
            q, errors, cost, slopes = trial, trial_errors, trial_cost, None
            damping *= max(0.1, 1.0 - (2.0 * gain / promised - 1.0) ** 3)
            damping, growth = max(damping, LEAST_DAMPING), 2.0
            if done:
                return q, step + 1
        else:
            damping, growth = damping * growth, growth * 2.0
    return q, MOST_STEPS


def rotation_vector(R: Floats) -> Floats:
    """Axis times angle (0 .. pi) of a rotation, by its quaternion: accurate at 0 and at pi."""
    trace = R[0, 0] + R[1, 1] + R[2, 2]
    squares = np.array([trace, R[0, 0], R[1, 1], R[2, 2]])
    k = int(np.argmax(squares))
    if k == 0:
        w, x = 1.0 + trace, np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    else:
        i, j, m = k - 1, k % 3, (k + 1) % 3
        x = np.empty(3)
        x[i] = 1.0 + R[i, i] - R[j, j] - R[m, m]
        x[j], x[m] = R[i, j] + R[j, i], R[i, m] + R[m, i]
        w = R[m, j] - R[j, m]
    size = float(np.linalg.norm(x))
    if size == 0.0:
        return np.zeros(3)
    return np.copysign(2.0, w) * np.arctan2(size, abs(w)) / size * x


def rotation_vector_partial(e: Floats) -> Floats:
    """Partial of the rotation vector e of E in a small rotation d, E to (1 + d x) E, world axes."""
    angle = float(np.linalg.norm(e))
    cross = np.array([[0.0, -e[2], e[1]], [e[2], 0.0, -e[0]], [-e[1], e[0], 0.0]])
    if angle < 1e-3:  # next term: angle^4 / 30240
        square = 1.0 / 12.0 + angle**2 / 720.0
    else:
        square = 1.0 / angle**2 - 0.5 / (angle * np.tan(angle / 2.0))
    return np.eye(3) - 0.5 * cross + square * cross @ cross


def _nearest_turn(model: Model, q: Floats, rest: Floats) -> Floats:
    low, high = model.limits.position.T
    turned = q - 2.0 * np.pi * np.round((q - rest) / (2.0 * np.pi))
    fits = (model.kind == REVOLUTE) & (turned >= low) & (turned <= high)
    return np.where(fits, turned, q)


def _is_reached(errors: Floats, tolerance: float) -> bool:
    return max(_sizes(errors)) <= tolerance


def _sizes(errors: Floats) -> tuple[float, float]:
    """The largest angle and the largest distance."""
    if len(errors) == 6:  # np.linalg.norm is faster without an axis
        return float(np.linalg.norm(errors[:3])), float(np.linalg.norm(errors[3:]))
    angle, distance = np.linalg.norm(errors.reshape(-1, 2, 3), axis=2).max(axis=0).tolist()
    return angle, distance


def _read_goal(
    model: Model,
    frame: str,
    position: ArrayLike | Sequence[float | None] | None = None,
    orientation: ArrayLike | None = None,
    point: ArrayLike = (0.0, 0.0, 0.0),
) -> _Goal:
    if position is None and orientation is None:
        raise InputError("inverse_kinematics: expected a position, an orientation or both")
    return _Goal(
        model,
        model.frame(frame).name,
        _within("point", vector("point", point)),
        None if position is None else _read_position(position),
        None if orientation is None else _nearest_rotation(rotation_of(orientation, "orientation")),
    )


def _read_position(position: ArrayLike | Sequence[float | None]) -> Floats:
    """A target position with NaN for coordinates that are None."""
    given: Any = position
    free = [False] * 3
    if isinstance(given, tuple | list) and len(given) == 3:
        free = [x is None for x in given]
        given = [0.0 if x is None else x for x in given]
    if all(free):
        raise InputError("position: leaves all coordinates free; give at least one")
    return np.where(free, np.nan, _within("position", vector("position", given)))


def _within(name: str, place: Floats) -> Floats:
    """The place, unless it is so far away that squares overflow."""
    if not (np.abs(place) <= LARGEST).all():
        worst = float(np.abs(place).max())
        raise InputError(f"{name}: expected at most {LARGEST:g} m in magnitude, got {worst:g}")
    return place


def _nearest_rotation(R: Floats) -> Floats:
    """Exactly orthonormal axes, from some that are so to within rounding."""
    U, _, Vt = np.linalg.svd(R)
    return U @ Vt


def _read_number(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | np.number):
        raise InputError(f"{name}: expected a number, got {value!r:.40}")
    return float(value)


def _read_count(name: str, value: object, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise InputError(f"{name}: expected a whole number of at least {least}, got {value!r:.40}")
    return int(value)
