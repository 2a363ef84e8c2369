"""The two-step active-passive algorithm: ground forces from the motion alone.

Step 1: without ground forces, the motion needs a resultant F and a moment M about a point of the
ground (resultant.py). The ground can only push, so F acts at the zero-moment point

    x = -M_y/F_z,   y = M_x/F_z,   with a couple  T = M_z - (x F_y - y F_x)  about the vertical.

Step 2: F and T are distributed over the feet and applied as external forces in a second pass of
inverse dynamics. The joints of the base then carry nothing, whatever the distribution.

On one foot, all of F acts at the zero-moment point. On two, the lever rule applies between the two
edges that face each other, e_1 of the rear foot and e_2 of the front foot, along the direction u:

    s = (z - e_1).u / D.u     D = e_2 - e_1    shares 1 - s and s of F and T
    points of pressure  z - s D  and  z + (1 - s) D

The points lie on the facing edges (beside e_1 and e_2), and the moments are in balance. At s = 0
and s = 1 one foot carries everything at z: the forces are continuous where a foot lands or lifts.

Source: Y. Xiang, J. S. Arora, S. Rahmatalla, K. Abdel-Malek, Int. J. Numer. Meth. Engng 79 (2009),
for the two steps. The base's moment is taken about the origin rather than through the angles of the
base, so that no division by the cosine of a base angle occurs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from predyn.dynamics.kinematics import frame_kinematics
from predyn.dynamics.resultant import resultant_wrench
from predyn.dynamics.rnea import inverse_dynamics
from predyn.errors import InputError
from predyn.kernels.forces import ExternalForce, vector
from predyn.model import Model
from predyn.model.floating_base import require_free_base

Floats = NDArray[np.float64]
Outside = Literal["clamp", "extend", "error"]
OUTSIDE: tuple[Outside, ...] = ("clamp", "extend", "error")
LEAST_FORCE = 1e-6  # of the weight: below this, no zero-moment point is defined
LEAST_DISTANCE = 1e-6  # m, between the facing edges


@dataclass(frozen=True, eq=False)
class Foot:
    """A link on the ground, or a frame fixed to one.

    edge  (3,) a point, in the frame of the link, of the edge that faces the other foot
    """

    link: str
    edge: ArrayLike = (0.0, 0.0, 0.0)


class TwoStep(NamedTuple):
    """Ground forces on K feet and the torques with them. World components."""

    tau: Floats  # (..., n); those of the base are the residual, zero apart from rounding
    residual: Floats  # (..., base joints) tau of the base
    resultant: Floats  # (..., 6) moment about the world origin, force
    zmp: Floats  # (..., 2) zero-moment point, m
    couple: Floats  # (...) about the vertical through the zero-moment point, N m
    shares: Floats  # (..., K) of the resultant on each foot
    pressure: Floats  # (..., K, 2) where it acts, m
    wrenches: Floats  # (..., K, 6) on each foot: moment about the origin of its frame, force

    def forces(self, feet: Sequence[Foot]) -> list[ExternalForce]:
        """The ground forces as external forces, for joint_reactions and others."""
        return ground_forces(feet, self.wrenches)


def two_step_dynamics(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    feet: Sequence[Foot],
    *,
    height: float = 0.0,
    direction: ArrayLike = (1.0, 0.0),
    outside: Outside = "clamp",
    forces: Sequence[ExternalForce] = (),
) -> TwoStep:
    """Ground forces on one or two feet, and the torques with them. The z axis points upwards.

    q, v, a    (..., n)
    feet       one foot, or the rear foot and then the front foot
    height     of the ground, m
    direction  (2,) horizontal, along which the lever rule applies, from rear to front
    outside    what happens if the zero-moment point is not between the facing edges: "clamp", the
               nearer foot carries everything; "extend", the lever rule goes on, and one share is
               negative; "error", an InputError
    forces     other external forces

    An InputError says where the vertical force is not positive, and where the edges of two feet do
    not face each other. Whether the zero-moment point lies under the feet is not checked.
    """
    base = require_free_base(model)
    options = Arguments(model, feet, height, direction, outside)
    wrench = resultant_wrench(model, q, v, a, forces=forces)
    origins = [frame_kinematics(model, foot.link, q).p for foot in feet]
    edges = [frame_kinematics(model, foot.link, q, point=foot.edge).p for foot in feet]
    split = split_wrench(options, wrench, origins, edges)
    ground = [*forces, *ground_forces(feet, split.wrenches)]
    tau = inverse_dynamics(model, q, v, a, forces=ground)
    return result_of(base, tau, wrench, split)


class Arguments:
    """Checked arguments."""

    def __init__(
        self,
        model: Model,
        feet: Sequence[Foot],
        height: float,
        direction: ArrayLike,
        outside: Outside,
    ) -> None:
        if not isinstance(feet, list | tuple) or len(feet) not in (1, 2):
            raise InputError(
                "feet: expected a list of one Foot, or of the rear and the front Foot, "
                f"got {feet!r:.60}"
            )
        for k, foot in enumerate(feet):
            if not isinstance(foot, Foot):
                raise InputError(f"feet[{k}]: expected a Foot, got {type(foot).__name__}")
            vector(f"feet[{k}].edge", foot.edge)
        if not np.isfinite(height):
            raise InputError(f"height: expected a finite number in m, got {height!r:.40}")
        along = np.asarray(direction, float)
        if along.shape != (2,) or not np.isfinite(along).all() or not np.any(along):
            raise InputError(f"direction: expected two numbers, not both 0, got {direction!r:.60}")
        if outside not in OUTSIDE:
            raise InputError(f"outside: expected one of {', '.join(OUTSIDE)}, got {outside!r:.40}")
        self.feet, self.height, self.outside = feet, float(height), outside
        self.along: Floats = along / np.linalg.norm(along)
        self.weight = model.weight


class Split(NamedTuple):
    """How the resultant is distributed; what is not needed for one foot is zero."""

    zmp: Floats
    couple: Floats
    shares: Floats
    pressure: Floats
    wrenches: Floats
    front: Floats  # (...) share of the front foot
    span: Floats  # (..., 2) D, from the rear edge to the front edge
    moving: Floats  # (...) 1 where the share follows the zero-moment point, 0 where it is clamped


def split_wrench(
    options: Arguments, wrench: Floats, origins: Sequence[Floats], edges: Sequence[Floats]
) -> Split:
    moment, force = moment_at(wrench, options.height), wrench[..., 3:]
    _require(
        force[..., 2] > LEAST_FORCE * (options.weight or 1.0),
        lambda at: (
            "two-step ground forces: the zero-moment point needs a vertical force above 0, got "
            f"{force[(*at, 2)]:.3g} N{_where(at)}; the motion leaves the ground there"
        ),
    )
    zmp = np.stack([-moment[..., 1], moment[..., 0]], axis=-1) / force[..., 2:]
    couple = moment[..., 2] - (zmp[..., 0] * force[..., 1] - zmp[..., 1] * force[..., 0])
    front, span, moving = np.zeros_like(couple), np.zeros_like(zmp), np.zeros_like(couple)
    if len(origins) == 1:
        shares, whole = np.ones((*couple.shape, 1)), [wrench]
    else:
        front, span, moving = _lever(options, zmp, *(e[..., :2] for e in edges))
        shares = np.stack([1.0 - front, front], axis=-1)
        arm = moved_force(span, force)
        rear, s = shares[..., :1], shares[..., 1:]
        whole = [rear * (wrench - s * arm), s * (wrench + rear * arm)]
    if len(origins) == 1:
        pressure = zmp[..., None, :]
    else:
        pressure = np.stack([zmp - shares[..., 1:] * span, zmp + shares[..., :1] * span], axis=-2)
    wrenches = np.stack([about_point(p, w) for p, w in zip(origins, whole, strict=True)], axis=-2)
    return Split(zmp, couple, shares, pressure, wrenches, front, span, moving)


def _lever(
    options: Arguments, zmp: Floats, rear: Floats, front: Floats
) -> tuple[Floats, Floats, Floats]:
    """Share of the front foot, the vector between the edges, and where the share is not clamped."""
    span = front - rear
    distance = span @ options.along
    _require(
        distance > LEAST_DISTANCE,
        lambda at: (
            f"two-step ground forces: the edge of {options.feet[1].link!r} must be ahead of that "
            f"of {options.feet[0].link!r} along the direction, got {distance[at]:.3g} m{_where(at)}"
        ),
    )
    share = ((zmp - rear) @ options.along) / distance
    if options.outside == "error":
        _require(
            (share >= 0.0) & (share <= 1.0),
            lambda at: (
                "two-step ground forces: the zero-moment point must lie between the facing edges, "
                f"got {share[at]:.3g} of their distance{_where(at)}; use outside='clamp' or "
                "'extend', or state one foot"
            ),
        )
    if options.outside == "extend":
        return share, span, np.ones_like(share)
    return np.clip(share, 0.0, 1.0), span, np.where((share > 0.0) & (share < 1.0), 1.0, 0.0)


def moved_force(span: Floats, force: Floats) -> Floats:
    """The wrench (..., 6) by which a force changes when it is moved by a horizontal vector."""
    x, y = np.moveaxis(span, -1, 0)
    fx, fy, fz = np.moveaxis(force, -1, 0)
    o = np.zeros_like(x * fx)
    return np.stack([y * fz, -x * fz, x * fy - y * fx, o, o, o], axis=-1)


def moment_at(wrench: Floats, height: float) -> Floats:
    """Moment (..., 3) about the point of the vertical axis at this height."""
    x, y, z, fx, fy, _ = np.moveaxis(wrench, -1, 0)
    return np.stack([x + height * fy, y - height * fx, z], axis=-1)


def about_point(p: Floats, wrench: Floats) -> Floats:
    """A wrench about the world origin, about p."""
    moment = wrench[..., :3] - np.cross(p, wrench[..., 3:])
    return np.concatenate([moment, wrench[..., 3:]], axis=-1)


def ground_forces(feet: Sequence[Foot], wrenches: Floats) -> list[ExternalForce]:
    return [
        ExternalForce(foot.link, wrenches[..., k, 3:], wrenches[..., k, :3])
        for k, foot in enumerate(feet)
    ]


def result_of(base: NDArray[np.int64], tau: Floats, wrench: Floats, split: Split) -> TwoStep:
    return TwoStep(
        tau,
        tau[..., base],
        wrench,
        split.zmp,
        split.couple,
        split.shares,
        split.pressure,
        split.wrenches,
    )


def _require(holds: NDArray[np.bool_], message: Callable[[tuple[int, ...]], str]) -> None:
    if not np.all(holds):
        at = tuple(int(k) for k in np.argwhere(~np.atleast_1d(holds))[0])
        at = at if np.ndim(holds) else ()
        raise InputError(message(at))


def _where(at: tuple[int, ...]) -> str:
    return f" at index {at if len(at) > 1 else at[0]}" if at else ""
