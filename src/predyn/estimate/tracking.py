"""Joint positions that follow measured angles and markers: where a smoother starts from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from predyn.estimate.marker_points import Point
from predyn.estimate.pose_fit import RESOLVED, Fitted, PoseFit
from predyn.model import REVOLUTE, Model

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

FIRST_CHUNK = 16
CHUNK_NUMBERS = 500_000  # numbers in the Jacobians of the largest chunk
SAME = 1e-3  # poses whose points are nearer than that, in length scales, are on one branch
JUMP = 0.5  # rad or length scales; motions do not go that far from one sample to the next
LOST, RECOVERED = 5.0, 2.0  # residual over the usual one of a lost and of a recovered motion
LEAST_RESIDUAL = 0.001  # length scales; smaller ones never count as lost
MOST_SEARCHES = 10
STARTS, SURVIVORS = 32, 8  # poses tried in a search, and those that go on with more points
STRAIGHT = 3e-3  # least resolved movement (squared), over the usual one, of a singular pose
EQUAL = 1.5  # squared residuals over the least that fit as well
CANDIDATES = 4  # first poses that are followed over time, if they fit equally well


class Tracked(NamedTuple):
    """A motion near the measurements, and warnings about it."""

    q: Floats  # (M, n)
    warnings: list[str]


def track_poses(
    model: Model,
    times: Floats,
    angles: Mapping[int, Floats],
    markers: Sequence[tuple[str, Floats]],
    guess: Floats | None = None,
) -> Tracked:
    """Joint positions (M, n) near the measurements at every sample, continuous over time.

    angles   joint number -> (M,) rad or m, NaN = missing
    markers  frame name, (M, 3) m, NaN = missing
    guess    (n,) pose to prefer where the measurements allow several, and to keep in joints that
             nothing measures; zero, moved into the limits, if not given

    Each sample is a least-squares fit that starts from its neighbour: joints turn on over many
    turns and stay on their branch. What a sample does not measure is interpolated over time.
    """
    low, high = model.limits.position.T
    rest = np.clip(0.0, low, high) if guess is None else np.array(guess, float)
    placed = [(model.frame(name), values) for name, values in markers]
    placed = [(frame, values) for frame, values in placed if frame.link >= 0]
    points = [Point(frame.link, frame.p) for frame, _ in placed]
    targets = np.array([values for _, values in placed]).reshape(len(points), len(times), 3)
    fit = PoseFit(model, points, targets.transpose(1, 0, 2), angles)
    if not fit.measured.any():
        q = np.tile(rest, (len(times), 1))
        for j, values in angles.items():
            known = np.isfinite(values)
            if known.any():
                q[:, j] = np.interp(times, times[known], values[known])
        return Tracked(q, [])
    samples = np.flatnonzero(fit.counts)
    start = int(np.argmax(fit.counts))
    best, least, totals = None, np.inf, []
    for pose in first_poses(fit, start, rest):
        fitted = _over_time(fit, samples, start, pose)
        jumps = np.maximum(np.abs(np.diff(fitted.q, axis=0)) / fit.units - JUMP, 0.0)
        total = float(fitted.cost.sum() + np.sum(jumps**2) + _outside(fit, fitted.q).sum())
        totals.append(total)
        if best is None or total < 0.99 * least - fit.counts.sum() * SAME**4:
            best, least = fitted, total
    assert best is not None
    alike = sum(total <= EQUAL * least + fit.counts.sum() * SAME**2 for total in totals)
    messages = []
    if alike > 1 and guess is None:
        messages.append(
            f"the markers allow {alike} motions or more; the one nearest to zero joint positions "
            "was used: give a guess of the first pose, or measure more"
        )
    messages += _warn_of_mirror_image(fit, times[samples], samples, best)
    return Tracked(_filled(fit, times, samples, best), messages)


def _warn_of_mirror_image(fit: PoseFit, times: Floats, samples: Ints, fitted: Fitted) -> list[str]:
    """A warning if the motion passes a pose after which the markers allow two motions.

    There the measurements resolve some movement far less than usual, as with a fully extended
    knee.
    """
    full = np.flatnonzero(fit.counts[samples] == fit.counts[samples].max())
    least = np.linalg.eigvalsh(fitted.normal[full])[:, 0]
    usual = float(np.median(least))
    if usual < RESOLVED or least.min() > STRAIGHT * usual:
        return []
    at = times[full[int(np.argmin(least))]]
    return [
        f"at {at:.4g} s the markers leave a movement open, as with a fully extended knee; the "
        "motion before or after it may be a mirror image of the true one: measure more there"
    ]


def _over_time(fit: PoseFit, samples: Ints, start: int, pose: Floats) -> Fitted:
    """From the pose at sample `start` on to both ends of the `samples`."""
    k = int(np.searchsorted(samples, start))
    after = _follow(fit, samples[k:], pose)
    before = _follow(fit, samples[k::-1], pose)
    return Fitted(*(np.concatenate((b[:0:-1], a)) for a, b in zip(after, before, strict=True)))


def _follow(fit: PoseFit, samples: Ints, pose: Floats) -> Fitted:
    """One sample after the other, by chunks that all start from the pose before the chunk.

    Each pose of a chunk must also come out if the fit starts from its neighbour; from the first
    one that does not, the next chunk starts, a shorter one.
    """
    n, count = fit.model.n, len(samples)
    largest = _largest(fit)
    first = fit.descend(pose[None], samples[:1])
    q, cost = np.empty((count, n)), np.empty(count)
    normal = np.empty((count, n, n))
    q[0], cost[0], normal[0] = first.q[0], first.cost[0], first.normal[0]
    done, size, searches = 1, min(FIRST_CHUNK, largest), 0
    usual = _residual(fit, samples[:1], cost[:1])[0]
    while done < count:
        at = samples[done : done + size]
        here = q[done - 1]
        fitted = fit.descend(fit.with_measured_angles(np.tile(here, (len(at), 1)), at), at)
        ahead = _continued(fit, here, fitted.q)
        before = np.concatenate((here[None], ahead[:-1]))
        if len(at) > 1:
            fitted = fit.descend(fit.with_measured_angles(before, at), at)
        agree = fit.apart(fitted.q, ahead, fitted.normal) <= SAME
        agree[0] = True
        good = len(at) if agree.all() else int(np.argmin(agree))
        residual = _residual(fit, at[:good], fitted.cost[:good])
        lost = residual > LOST * (usual + LEAST_RESIDUAL)
        if lost.any() and searches < MOST_SEARCHES:
            good = int(np.argmax(lost))
            if good == 0:
                searches += 1
                fitted = _search(fit, at[:1], here, fitted, usual)
                good = 1
        part = slice(done, done + good)
        q[part] = _continued(fit, here, fitted.q[:good])
        cost[part], normal[part] = fitted.cost[:good], fitted.normal[:good]
        if not lost[:good].all():
            usual += (float(np.median(residual[:good][~lost[:good]])) - usual) * min(1.0, good / 20)
        done += good
        size = min(2 * size, largest) if good == len(at) else max(1, good)
    return Fitted(q, cost, normal)


def _largest(fit: PoseFit) -> int:
    """Samples whose equations are worth setting up together."""
    rows = 3 * len(fit.points) + len(fit.angle_joints)
    return max(1, CHUNK_NUMBERS // (rows * fit.model.n))


def _by_parts(fit: PoseFit, q: Floats, at: Ints) -> Fitted:
    """Descents from many poses, not too many at once."""
    size = _largest(fit)
    parts = [fit.descend(q[k : k + size], at[k : k + size]) for k in range(0, len(q), size)]
    return Fitted(*(np.concatenate(values) for values in zip(*parts, strict=True)))


def _continued(fit: PoseFit, here: Floats, q: Floats) -> Floats:
    """The poses that follow `here`, each by the turn nearest the one before it."""
    steps = np.diff(q, axis=0, prepend=here[None])
    turns = np.where(fit.periodic, np.round(steps / (2.0 * np.pi)), 0.0)
    result: Floats = q - 2.0 * np.pi * np.cumsum(turns, axis=0)
    return result


def _residual(fit: PoseFit, at: Ints, cost: Floats) -> Floats:
    """Root mean square of the residuals of each sample."""
    return np.sqrt(cost / np.maximum(fit.counts[at], 1))


def _search(fit: PoseFit, at: Ints, here: Floats, fitted: Fitted, usual: float) -> Fitted:
    """A pose that meets a sample as well as usual, where the neighbour's pose led to none."""
    pose = first_poses(fit, int(at[0]), here)[0]
    other = fit.descend(pose[None], at)
    if _residual(fit, at, other.cost)[0] <= RECOVERED * (usual + LEAST_RESIDUAL):
        return other
    return Fitted(*(values[:1] for values in fitted))


def first_poses(fit: PoseFit, sample: int, rest: Floats) -> list[Floats]:
    """The poses that meet a sample best, one for each branch, the best first.

    A population of poses is fitted to the points on the links next to the root first, then to
    those beyond, and so on; the best go on, with random values of the joints that come new.
    """
    model = fit.model
    random = np.random.default_rng(0)
    low, high = model.limits.position.T
    reach = np.where(model.kind == REVOLUTE, np.pi, fit.length)
    bounded = np.isfinite(low) & np.isfinite(high)
    lowest, highest = np.where(bounded, (low, high), (rest - reach, rest + reach))
    middle = np.where(bounded, (lowest + highest) / 2, 0.0)
    usable = fit.measured[sample].any(axis=1)
    levels = _levels(fit, usable)
    at = np.zeros(STARTS, np.int64)
    old = np.zeros(model.n, bool)
    poses = np.tile(rest, (STARTS, 1))
    for level in range(max(int(levels.max(initial=0)), 1)):
        part = fit.at_sample(sample, usable & (levels <= level + 1), STARTS)
        new = part.reach.any(axis=0) & fit.free & ~old
        poses[1] = np.where(new, middle, poses[1])
        poses[2:, new] = random.uniform(lowest[new], highest[new], (STARTS - 2, int(new.sum())))
        old |= new
        fitted = part.descend(part.with_measured_angles(poses, at), at)
        order = np.argsort(fitted.cost, kind="stable")
        poses = fitted.q[np.resize(order[:SURVIVORS], STARTS)]
    fitted = part.descend(np.where(part.seen(fitted.normal), fitted.q, rest), at)
    q = _nearest_turn(fit, fitted.q, rest)
    cost = fitted.cost + _outside(fit, q)
    enough = 4.0 * cost.min() + fit.counts[sample] * SAME**2
    chosen: list[int] = []
    for k in np.argsort(cost, kind="stable"):
        others = np.tile(q[k], (len(chosen), 1))
        same = fit.apart(others, q[chosen], fitted.normal[chosen]) <= 10.0 * SAME
        if cost[k] <= enough and not same.any() and len(chosen) < CANDIDATES:
            chosen.append(int(k))
    far = np.linalg.norm((q[chosen] - rest) / fit.units, axis=1)
    return [q[chosen[k]] for k in np.argsort(far, kind="stable")]


def _outside(fit: PoseFit, q: Floats) -> Floats:
    """(B,) squared distance of poses from the position limits."""
    low, high = fit.model.limits.position.T
    beyond: Floats = np.sum((np.maximum(np.maximum(low - q, q - high), 0.0) / fit.units) ** 2, 1)
    return beyond


def _levels(fit: PoseFit, usable: Bools) -> Ints:
    """(K,) how many links with usable points there are from the root to each point's link."""
    links = np.array([point.link for point in fit.points], np.int64)
    marked = np.zeros(len(fit.model.parent), bool)
    marked[links[usable]] = True
    count: Ints = (fit.carriers & marked).sum(axis=1)
    return count


def _nearest_turn(fit: PoseFit, q: Floats, rest: Floats) -> Floats:
    """The same poses, each joint that only points measure by the turn nearest `rest`."""
    turns = np.where(fit.periodic, np.round((q - rest) / (2.0 * np.pi)), 0.0)
    result: Floats = q - 2.0 * np.pi * turns
    return result


def _filled(fit: PoseFit, times: Floats, samples: Ints, fitted: Fitted) -> Floats:
    """Poses at all times: what a sample leaves open lies between what others say."""
    q = np.empty((len(times), fit.model.n))
    seen = fit.seen(fitted.normal)
    start = fitted.q.copy()
    for j in range(fit.model.n):
        known = seen[:, j] if seen[:, j].any() else np.ones(len(samples), bool)
        t = times[samples]
        q[:, j] = np.interp(times, t[known], fitted.q[known, j])
        start[:, j] = q[samples, j]
    q[samples] = fitted.q
    open_ = np.flatnonzero(~seen.all(axis=1) & (start != fitted.q).any(axis=1))
    if len(open_):
        again = _by_parts(fit, start[open_], samples[open_])
        usual = fitted.cost[open_] + fit.counts[samples[open_]] * SAME**2
        better = again.cost <= usual
        q[samples[open_[better]]] = again.q[better]
    return q
