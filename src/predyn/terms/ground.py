"""Terms on ground forces that follow from the motion alone (two-step algorithm, docs/two-step.md).

All look at the channel `ground:FOOT`: torques if this foot carries everything, how they change if
the ground force moves by 1 m, and the resultant W of all forces about the world origin.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from predyn.errors import InputError
from predyn.model import Model
from predyn.model.floating_base import carrying_joints, require_free_base
from predyn.samples import Samples
from predyn.terms.linear import Block, Linear
from predyn.terms.selection import (
    Floats,
    effort_limits,
    joint_indices,
    joint_names,
    joint_scale,
    joint_units,
    read_real,
)
from predyn.terms.term import Entry, Residual, Term

MX, MY, FZ = -6, -5, -1  # components of the channel, from its end


@dataclass(frozen=True, eq=False)
class ZeroMomentPoint(Term):
    """The zero-moment point inside a convex polygon of the ground, and a force that only pushes.

    foot     a frame of a foot on the ground
    polygon  (corners, 2) x, y in the world, m, in counter-clockwise order
    height   of the ground, m

    Each edge n . p <= d gives a row d F_z - n . (zero-moment point) F_z >= 0 in N m, divided by the
    weight, which is linear in the resultant: no division by F_z. The last row is F_z >= 0.
    """

    foot: str
    polygon: ArrayLike
    height: float = 0.0

    kind = "zero_moment_point"

    def bind(self, model: Model) -> Linear:
        corners = read_real(self.polygon, "zero_moment_point: polygon")
        if corners.ndim != 2 or corners.shape[1:] != (2,) or len(corners) < 3:
            raise InputError(
                "zero_moment_point: polygon: expected at least three corners (x, y), got "
                f"{self.polygon!r:.60}"
            )
        along = np.roll(corners, -1, axis=0) - corners
        length = np.linalg.norm(along, axis=1)
        following = np.roll(along, -1, axis=0)
        turns = along[:, 0] * following[:, 1] - along[:, 1] * following[:, 0]
        if not np.isfinite(corners).all() or not (length > 0.0).all() or (turns < 0.0).any():
            raise InputError(
                "zero_moment_point: polygon: expected different corners of a convex polygon in "
                f"counter-clockwise order, got {corners.tolist()!r:.120}"
            )
        nx, ny = along[:, 1] / length, -along[:, 0] / length
        d = nx * corners[:, 0] + ny * corners[:, 1]
        h, weight = float(self.height), model.weight or 1.0
        # x F_z = -(M_y - h F_x), y F_z = M_x + h F_y; columns mx, my, mz, fx, fy, fz
        edges = np.zeros((len(corners), 6))
        edges[:, 0], edges[:, 1], edges[:, 5] = -ny, nx, d
        edges[:, 3], edges[:, 4] = -h * nx, -h * ny
        matrix = np.concatenate([edges, np.eye(6)[5:]]) / weight
        channel, size = _channel(model, self.foot)
        rows = [f"edge {k + 1}" for k in range(len(corners))]
        return Linear(
            (*rows, "vertical force"),
            ("m",) * len(corners) + ("1",),
            np.append(np.full(len(corners), 0.1), 1.0),
            [Block(0, channel, np.arange(size - 6, size), matrix)],
            lower=np.zeros(len(matrix)),
            upper=np.full(len(matrix), np.inf),
        )


@dataclass(frozen=True, eq=False)
class GroundTorque(Term):
    """Joint torques with the ground forces of the two-step algorithm.

    feet        a frame of the foot that carries everything, or of the rear and of the front foot
    edges       for two feet: points (x, y) of the ground, m, on the edges that face each other;
                the lever rule between them, along `direction`, gives the shares of the feet
    joints      names; None: all except those of the base, which carry nothing
    normalised  divide by the larger effort limit of the joint

    Default bounds are the effort limits. The shares are not clamped: constrain the zero-moment
    point to lie between the edges.
    """

    feet: Sequence[str]
    edges: ArrayLike | None = None
    joints: Sequence[str] | None = None
    normalised: bool = False
    direction: ArrayLike = (1.0, 0.0)

    kind: ClassVar[str] = "ground_torque"

    def bind(self, model: Model) -> Residual:
        feet = (self.feet,) if isinstance(self.feet, str) else tuple(self.feet)
        if len(feet) not in (1, 2) or len(set(feet)) < len(feet):
            raise InputError(
                f"{self.kind}: feet: expected one or two frames, got {self.feet!r:.60}"
            )
        if (self.edges is None) != (len(feet) == 1):
            raise InputError(
                f"{self.kind}: edges belong to two feet, got {self.edges!r:.60} for {len(feet)}"
            )
        index = joint_indices(model, self.joints, self.kind)
        base = set(require_free_base(model).tolist())
        if self.joints is None:
            index = np.array([j for j in index if j not in base])
        elif base & set(index.tolist()):
            raise InputError(f"{self.kind}: joints: those of the base carry nothing; omit them")
        per = np.ones(len(index))
        if self.normalised:
            per = effort_limits(model, index, f"{self.kind}: normalised")
        unit = ("1",) * len(index) if self.normalised else joint_units(model, index, "tau")
        names, scale = joint_names(model, index), joint_scale(model, index, "tau") / per
        lower, upper = (model.limits.effort[index] / per[:, None]).T
        if len(feet) == 1:
            channel, _ = _channel(model, feet[0])
            blocks = [Block(0, channel, index, 1.0 / per)]
            return Linear(names, unit, scale, blocks, lower=lower, upper=upper)
        residual = SharedTorque(model, feet, index, per, *self._lever(feet))
        residual.rows, residual.units, residual.scale = names, unit, scale
        residual.lower, residual.upper = lower, upper
        return residual

    def _lever(self, feet: Sequence[str]) -> tuple[Floats, Floats]:
        """The two points, one per row, and the unit direction."""
        assert self.edges is not None  # as two feet have them
        edges = read_real(self.edges, f"{self.kind}: edges")
        along = read_real(self.direction, f"{self.kind}: direction")
        if edges.shape != (2, 2) or not np.isfinite(edges).all():
            raise InputError(
                f"{self.kind}: edges: expected two points (x, y), got {self.edges!r:.60}"
            )
        if along.shape != (2,) or not np.isfinite(along).all() or not along.any():
            raise InputError(
                f"{self.kind}: direction: expected two numbers, not both 0, got "
                f"{self.direction!r:.60}"
            )
        along = along / np.linalg.norm(along)
        if (edges[1] - edges[0]) @ along <= 1e-6:
            raise InputError(
                f"{self.kind}: edges: that of {feet[1]!r} must be ahead of that of {feet[0]!r} "
                f"along the direction, got {edges.tolist()!r:.80}"
            )
        return edges, along


class SharedTorque(Residual):
    """Torques with two feet on the ground.

    The front foot has the share s = N/(d F_z) - k of the resultant, N = u_y M_x - u_x M_y. A joint
    that carries the rear foot has the torque A + s (t - A) + s (1 - s) c, with A its torque if the
    rear foot carries everything, t if the front foot does, and c the change of A if the force moves
    by D, the vector between the edges. For the front foot, s is 1 - s and c is -c. The rows are
    divided by `per`.
    """

    def __init__(
        self,
        model: Model,
        feet: Sequence[str],
        index: NDArray[np.int64],
        per: Floats,
        edges: Floats,
        along: Floats,
    ) -> None:
        span = edges[1] - edges[0]
        self._distance = float(span @ along)
        self._offset = float(edges[0] @ along) / self._distance
        self._along = along / self._distance
        (self._rear, size), (self._front, _) = (_channel(model, foot) for foot in feet)
        own = [carrying_joints(model, foot) for foot in feet]
        if set(own[0]) & set(own[1]):
            shared = ", ".join(model.joint_names[j] for j in set(own[0]) & set(own[1]))
            raise InputError(f"ground_torque: both feet move with {shared:.80}")
        self._size, self._span, self._per = size, span, per
        moments = [k for k, x in ((MX, along[1]), (MY, along[0])) if x != 0.0]
        self._acting = np.array([size + k for k in (*moments, FZ)])  # components that move s
        self._factors = np.array([self._along[1], -self._along[0]])[[k - MX for k in moments]]
        self._legs: list[_Leg] = []
        for sign, joints, this, other in (
            (1.0, own[0], self._rear, self._front),
            (-1.0, own[1], self._front, self._rear),
        ):
            rows = np.array([r for r, j in enumerate(index) if j in joints], np.int64)
            at = np.array([joints.index(j) for j in index[rows]], np.int64)
            shift = model.n + at
            self._legs.append(
                _Leg(sign, rows, index[rows], shift, shift + len(joints), this, other, span)
            )
        moved = np.concatenate([leg.rows for leg in self._legs])
        self._others = np.setdiff1d(np.arange(len(index)), moved)
        self._fixed = index[self._others]
        self.entries = tuple(self._list_entries())
        self.curved = tuple(self._list_curved())

    def _list_entries(self) -> list[Entry]:
        found = [
            (int(r), self._rear, int(j)) for r, j in zip(self._others, self._fixed, strict=True)
        ]
        for leg in self._legs:
            for channel, components in leg.columns:
                found += [
                    (int(r), channel, int(x)) for r, x in zip(leg.rows, components, strict=True)
                ]
            for x in self._acting:
                found += [(int(r), self._rear, int(x)) for r in leg.rows]
        return found

    def _list_curved(self) -> list[tuple[str, int, str, int]]:
        force = [(self._rear, int(x)) for x in self._acting]
        found = [(*a, *b) for k, a in enumerate(force) for b in force[k:]]
        for leg in self._legs:
            for channel, components in leg.columns:
                for part in force:
                    found += [(channel, int(x), *part) for x in components]
        return found

    def _share(self, s: Samples) -> tuple[NDArray, NDArray, NDArray]:
        """The share of the front foot, its partials in the acting components, its numerator."""
        acting = s[self._rear][self._acting]
        numerator, fz = np.tensordot(self._factors, acting[:-1], 1), acting[-1]
        by_moment = [factor / fz for factor in self._factors]
        slopes = np.stack([*by_moment, -numerator / fz**2])
        return numerator / fz - self._offset, slopes, numerator

    def _parts(self, s: Samples, leg: _Leg) -> tuple[NDArray, NDArray, NDArray]:
        """A, t, c of a leg."""
        here = s[leg.this]
        c = self._span[0] * here[leg.x] + self._span[1] * here[leg.y]
        return here[leg.joints], s[leg.other][leg.joints], c

    def value(self, s: Samples, out: NDArray) -> None:
        share, _, _ = self._share(s)
        out[self._others] = s[self._rear][self._fixed]
        for leg in self._legs:
            A, t, c = self._parts(s, leg)
            x = share if leg.sign > 0 else 1.0 - share
            out[leg.rows] = A + x * (t - A) + leg.sign * x * (1.0 - x) * c
        out /= self._per.reshape(-1, *(1,) * (out.ndim - 1))

    def partials(self, s: Samples, out: NDArray) -> None:
        share, slopes, _ = self._share(s)
        per = self._per.reshape(-1, *(1,) * (out.ndim - 1))
        out[: len(self._others)] = 1.0 / per[self._others]
        first = len(self._others)
        for leg in self._legs:
            A, t, c = self._parts(s, leg)
            x = share if leg.sign > 0 else 1.0 - share
            bent = leg.sign * x * (1.0 - x)
            by_share = leg.sign * (t - A + leg.sign * (1.0 - 2.0 * x) * c)
            shifts = [bent * step for step in leg.steps]
            for part in (1.0 - x, x, *shifts, *(by_share * slope for slope in slopes)):
                last = first + len(leg.rows)
                out[first:last] = part / per[leg.rows]
                first = last

    def curvature(self, s: Samples, weights: NDArray, out: NDArray) -> None:
        share, slopes, numerator = self._share(s)
        per = self._per.reshape(-1, *(1,) * (out.ndim - 1))
        count = len(slopes)
        first, twice, once = count * (count + 1) // 2, 0.0, 0.0
        for leg in self._legs:
            A, t, c = self._parts(s, leg)
            x = share if leg.sign > 0 else 1.0 - share
            w = weights[leg.rows] / per[leg.rows]
            twice = twice - 2.0 * leg.sign * (w * c).sum(axis=0)
            once = once + (w * leg.sign * (t - A + leg.sign * (1.0 - 2.0 * x) * c)).sum(axis=0)
            mixed = (1.0 - 2.0 * x) * w
            shifts = [mixed * step for step in leg.steps]
            for part in (-leg.sign * w, leg.sign * w, *shifts):
                for slope in slopes:
                    last = first + len(leg.rows)
                    out[first:last] = part * slope
                    first = last
        fz, k = s[self._rear][self._acting[-1]], 0
        for i in range(count):
            for j in range(i, count):
                out[k] = twice * slopes[i] * slopes[j]
                if j == count - 1:  # the share is linear in the moments and has 1/F_z
                    mixed = -slopes[i] / fz if i < j else 2.0 * numerator / fz**3
                    out[k] += once * mixed
                k += 1


@dataclass(frozen=True, eq=False)
class _Leg:
    """Rows of the joints that carry a foot, and where their parts are."""

    sign: float  # 1 of the rear foot, -1 of the front foot
    rows: NDArray[np.int64]
    joints: NDArray[np.int64]
    x: NDArray[np.int64]  # components of the shifts
    y: NDArray[np.int64]
    this: str  # channels of this and of the other foot
    other: str
    span: Floats  # D

    @property
    def columns(self) -> list[tuple[str, NDArray[np.int64]]]:
        shifts = [
            (self.this, k) for k, step in zip((self.x, self.y), self.span, strict=True) if step
        ]
        return [(self.this, self.joints), (self.other, self.joints), *shifts]

    @property
    def steps(self) -> list[float]:
        return [float(step) for step in self.span if step]


def _channel(model: Model, foot: str) -> tuple[str, int]:
    """The channel of a foot and its number of components."""
    return f"ground:{foot}", model.n + 2 * len(carrying_joints(model, foot)) + 6
