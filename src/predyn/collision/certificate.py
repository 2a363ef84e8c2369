"""certify: prove that a motion keeps clear of everything at all times, not only at samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from predyn.collision import certify_kernel as kernel
from predyn.collision.arguments import checked_margin
from predyn.collision.checker import Checker
from predyn.collision.motions import JointPath, Spans, spans_of
from predyn.collision.scene import Scene
from predyn.collision.view import Floats
from predyn.errors import InputError, listed
from predyn.model import Model

if TYPE_CHECKING:
    from predyn.solution import Solution

Status = Literal["certified", "collision", "undecided"]
MOST_LISTED = 8  # links in a message
STATUS: dict[int, Status] = {
    kernel.CERTIFIED: "certified",
    kernel.COLLISION: "collision",
    kernel.UNDECIDED: "undecided",
}


@dataclass(frozen=True, eq=False)
class Certificate:
    """What is known about a motion among obstacles.

    status      "certified": every checked pair stays more than `margin` apart at all times, up to
                rounding (1e-10 m is set aside for it); "collision": `pair` is within `margin` at
                `time`; "undecided": neither was shown, `pair` is too close at `time`
    clearance   the smallest distance (m) computed at the configurations that were examined closely;
                infinite if bounding balls proved everything. The smallest distance of the motion
                is at most this where distances are exact; those to convex meshes are lower bounds,
                so that `clearance` may be far below it beside edges and corners
    guaranteed  a lower bound (m) of all distances at all times; -inf unless certified
    pair, time  names and s of the verdict; of `clearance` if certified (None, NaN if infinite)
    distance    of the pair at that time, m
    points      (2, 3) nearest points of the pair in the world, None without a pair
    spans       pieces of the motion that were examined, after halving
    tests       distances computed; other pairs were excluded by bounding balls
    never_apart pairs of the robot's own capsules that always overlap and were NOT checked
    bare        links with mass but without capsules, which were NOT checked
    """

    status: Status
    margin: float
    clearance: float
    guaranteed: float
    pair: tuple[str, str] | None
    time: float
    distance: float
    points: Floats | None
    spans: int
    tests: int
    never_apart: tuple[tuple[str, str], ...]
    bare: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        raise TypeError("a Certificate is neither true nor false; compare its status")

    def __str__(self) -> str:
        return self.text("s")

    @property
    def verdict(self) -> str:
        """The status in words: "collision" only for a contact, else "within the margin"."""
        near = self.status == "collision" and self.distance > 0.0
        return "within the margin" if near else self.status

    def text(self, unit: str) -> str:
        """The certificate in words; unit: of times, "" for a path without time."""
        margin = f"{1e3 * self.margin:g} mm"
        lines = [f"{self.verdict}, margin {margin}, {self.spans} spans examined"]
        if self.pair is not None:
            at = f"{1e3 * self.distance:.3f} mm at {f'{self.time:.4f} {unit}'.strip()}"
            what = {
                "certified": "nearest",
                "collision": "in contact",
                "undecided": "too close to decide",
            }.get(self.verdict, f"closer than the margin of {margin}")
            lines.append(f"{what}: {self.pair[0]} and {self.pair[1]}, {at}")
        if self.points is not None and self.pair is not None:
            one, other = (f"({', '.join(f'{x:.4f}' for x in point)})" for point in self.points)
            lines.append(f"nearest points: {one} and {other} m")
        if self.status == "certified":
            least = np.floor(1e6 * self.guaranteed) / 1e3  # not rounded up: it is a bound
            lines.append(f"guaranteed at all times: at least {least:.3f} mm")
        if self.never_apart:
            lines.append(
                "not checked, since their capsules always overlap: "
                + "; ".join(f"{a} and {b}" for a, b in self.never_apart)
            )
        if self.bare:
            lines.append(f"not checked, without capsules: {listed(self.bare, MOST_LISTED)}")
        return "\n".join(lines)


def certify(
    motion: Solution | JointPath,
    scene: Scene | Checker,
    model: Model | None = None,
    *,
    margin: float = 0.0,
    depth: int = 20,
) -> Certificate:
    """Check a motion continuously in time against a scene and against the robot itself.

    motion  a Solution, or a JointPath with its interpolation
    scene   a Scene, or a Checker that is used again and again; solids of a Scene that name phases
            count in these phases of a Solution only
    model   of the robot; that of the solution or checker if not given
    margin  distance (m) that must be kept, at least 0
    depth   how many times a piece of the motion is halved before the answer is "undecided"

    The proof covers the capsules of the robot, not its meshes: they must contain these, as
    `fit_capsules` ensures. It holds for the motion as given, not for what a controller makes of it.
    """
    margin = checked_margin(margin)
    if isinstance(depth, bool) or not isinstance(depth, int) or not 0 <= depth <= 50:
        raise InputError(f"depth: expected a whole number from 0 to 50, got {depth!r:.40}")
    names = getattr(motion, "phase_names", None)
    if isinstance(scene, Scene) and scene.phases and names is not None:
        return _certify_phases(motion, names, scene, model, margin, depth)
    checker = _checker(motion, scene, model)
    return certify_spans(checker, spans_of(motion, checker.model.n), margin=margin, depth=depth)


def _certify_phases(
    motion: Solution | JointPath,
    names: Sequence[str],
    scene: Scene,
    model: Model | None,
    margin: float,
    depth: int,
) -> Certificate:
    """A certificate of phases whose scenes differ; the first phase that fails decides."""
    scene.check_phases(names)
    checkers = {name: _checker(motion, scene.in_phase(name), model) for name in {*names}}
    pieces = spans_of(motion, checkers[names[0]].model.n)
    return certify_pieces([checkers[name] for name in names], pieces, margin=margin, depth=depth)


def certify_pieces(
    checkers: Sequence[Checker], pieces: Sequence[Spans], *, margin: float = 0.0, depth: int = 20
) -> Certificate:
    """A certificate of pieces, each with its own Checker; the first one that fails decides."""
    if all(x is checkers[0] for x in checkers):
        return certify_spans(checkers[0], pieces, margin=margin, depth=depth)
    found: list[Certificate] = []
    for checker, piece in zip(checkers, pieces, strict=True):
        found.append(certify_spans(checker, [piece], margin=margin, depth=depth))
        if found[-1].status != "certified":
            break
    last = found[-1]
    nearest = min(found, key=lambda x: x.clearance) if last.status == "certified" else last
    return replace(
        nearest,
        clearance=min(x.clearance for x in found),
        guaranteed=min(x.guaranteed for x in found),
        spans=sum(x.spans for x in found),
        tests=sum(x.tests for x in found),
        never_apart=tuple(dict.fromkeys(pair for x in found for pair in x.never_apart)),
    )


def _checker(motion: object, scene: Scene | Checker, model: Model | None) -> Checker:
    if isinstance(scene, Checker):
        if model is not None and model is not scene.model:
            raise InputError("model: the checker has another model; leave this argument out")
        return scene
    if not isinstance(scene, Scene):
        raise InputError(
            f"scene: expected a predyn.Scene or a Checker, got {type(scene).__name__}; "
            "predyn.Scene() has no obstacles and leaves the robot against itself"
        )
    model = getattr(motion, "model", None) if model is None else model
    if not isinstance(model, Model):
        raise InputError("model: expected a predyn.Model, since the motion does not include one")
    return Checker(model, scene)


def certify_spans(
    checker: Checker, motion: Sequence[Spans], *, margin: float = 0.0, depth: int = 20
) -> Certificate:
    """A certificate of Bézier spans; the first piece that fails decides."""
    verdict, spans, tests, proved = kernel.CERTIFIED, 0, 0, np.inf
    pair, time, least, distance = -1, np.nan, np.inf, np.inf
    points: Floats | None = None
    for piece in motion:
        control = np.ascontiguousarray(checker.expand(piece.control))
        times = np.ascontiguousarray(piece.times)
        verdict, found = checker.check_spans(control, times, margin, depth)
        ints, floats = found.ints, found.floats
        spans, tests = spans + int(ints[kernel.SPANS]), tests + int(ints[kernel.TESTS])
        proved = min(proved, float(floats[kernel.PROVED]))
        nearer = float(floats[kernel.LEAST]) < least
        if nearer:
            least, time = float(floats[kernel.LEAST]), float(floats[kernel.LEAST_TIME])
            pair, distance = int(ints[kernel.LEAST_PAIR]), least
        if verdict != kernel.CERTIFIED:
            pair, time = int(ints[kernel.PAIR]), float(floats[kernel.TIME])
            distance = float(floats[kernel.DISTANCE])
        if nearer or verdict != kernel.CERTIFIED:
            points = found.points.copy()
        if verdict != kernel.CERTIFIED:
            break
    return Certificate(
        STATUS[verdict], margin, least, proved if verdict == kernel.CERTIFIED else -np.inf,
        checker.pairs[pair] if pair >= 0 else None, time, distance, points, spans, tests,
        checker.never_apart, checker.bare,
    )  # fmt: skip
