"""The residual of a floating base: a small force and moment at a joint chain without a motor.

A body that nothing holds has no torque at its root, in theory. A measured one has: masses,
lengths, centres of pressure and synchronisation of the force plates are all a little wrong. If the
root were held at exactly zero, all of that would go into the joints. So the generalised forces
tau of the base are taken as normal around zero instead, independent from interval to interval,

    1/2 sum (tau / sigma)^2,   sigma = 4 % of the weight for slides, times 0.6 m for hinges,

that is, as measurements of zero. sigma is not estimated: its evidence has a maximum far below
what remains in practice.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from predyn.errors import InputError
from predyn.estimate.result import Filtered, RootResidual
from predyn.estimate.spline_grid import Floats, Ints
from predyn.model import PRISMATIC, Model
from predyn.model.floating_base import MOMENT_ARM, floating_base

SHARE = 0.04  # standard deviation of the force over the weight
SMALLEST = 1e-6  # share of the weight; less is zero to rounding
LARGE = 0.1  # residual of the filter over the weight that shows forces to be missing or wrong
WINDOW = 0.2  # s, over which it is averaged, so that noise does not count


class Base(NamedTuple):
    """A floating base and what is assumed of its residual."""

    joints: Ints
    weight: float  # N
    assumed: float  # share of the weight; 0: exactly zero, inf: nothing
    note: str  # why nothing is assumed

    def sigma(self, model: Model) -> Floats:
        """Standard deviation of each generalised force, N or N m."""
        force = self.assumed * self.weight
        return np.where(model.kind[self.joints] == PRISMATIC, force, MOMENT_ARM * force)


def assumed_base(
    model: Model, unactuated: list[int], has_forces: bool, by_filter: Filtered, given: Any
) -> Base | None:
    """The floating base of a model, if any, and what to assume of it.

    given  the standard deviation over the weight; None: SHARE if the base has no motor, which is
           so if all its joints are listed as unactuated, or none and external forces are known
    """
    share, joints = _share(given), floating_base(model)
    if joints is None:
        if share is not None:
            raise InputError(
                "base_residual: the model has no floating base (a root chain of two slides and a "
                "hinge, or of three slides and three hinges, with mass at its end only); omit it"
            )
        return None
    weight = model.weight
    listed = np.isin(joints, unactuated)
    if share is not None:
        if 0.0 < share < math.inf and weight == 0.0:
            raise InputError(
                "base_residual: gravity is zero, so there is no weight; expected 0 or inf"
            )
        return Base(joints, weight, share, "as requested" if share == math.inf else "")
    if not (listed.all() or (has_forces and not listed.any())):
        note = "no external forces are known, and its joints are not listed as unactuated"
        if listed.any():
            note = "only some of its joints are listed as unactuated"
        return Base(joints, weight, math.inf, note)
    if weight == 0.0:
        return Base(joints, weight, 0.0 if listed.all() else math.inf, "gravity is zero")
    every = np.ones(len(by_filter.t), bool)
    before = smoothed_force(model, joints, by_filter.t, by_filter.tau, every) / weight
    if before > LARGE:
        note = (
            f"motion and known forces leave {before:.0%} of the weight unexplained, more than "
            f"{LARGE:.0%}: forces are missing, or axes, units, signs, times or masses are wrong"
        )
        return Base(joints, weight, math.inf, note)
    return Base(joints, weight, SHARE, "")


def root_residual(model: Model, base: Base, tau: Floats) -> RootResidual:
    """Sizes of the residual, from torques (K, n)."""
    slides = model.kind[base.joints] == PRISMATIC
    force = np.linalg.norm(tau[:, base.joints[slides]], axis=1)
    moment = np.linalg.norm(tau[:, base.joints[~slides]], axis=1)
    return RootResidual(
        joints=tuple(np.array(model.joint_names)[base.joints].tolist()),
        weight=base.weight,
        assumed=base.assumed,
        force_rms=_rms(force),
        force_peak=float(force.max()),
        moment_rms=_rms(moment),
        moment_peak=float(moment.max()),
        note=base.note,
    )


def zero_torques_of(base: Base | None, unactuated: list[int]) -> Ints:
    """Joints whose torque is exactly zero: those listed, with or without the base."""
    zero = np.array(unactuated, np.int64)
    if base is None or (base.assumed == math.inf and not np.isin(base.joints, zero).all()):
        return zero
    return np.union1d(zero, base.joints) if base.assumed == 0.0 else np.setdiff1d(zero, base.joints)


def warn_of_base(base: Base | None, unactuated: list[int], has_forces: bool) -> list[str]:
    """A base that was expected to be nearly free of force, and is not held so."""
    if base is None or base.assumed < math.inf or base.note == "as requested":
        return []
    if not has_forces and not np.isin(base.joints, unactuated).all():
        return []
    return [
        f"the residual force of the floating base is not held small: {base.note}; its torques, and "
        "those of the joints, are those that the motion alone asks for"
    ]


def _share(given: Any) -> float | None:
    if given is None:
        return None
    number = isinstance(given, int | float | np.integer | np.floating)
    if isinstance(given, bool) or not number or not (given == 0.0 or given >= SMALLEST):
        raise InputError(
            "base_residual: expected a share of the body weight such as 0.04 (at least "
            f"{SMALLEST:g}), 0 for none at all or inf for any, got {given!r:.60}"
        )
    return float(given)


def smoothed_force(
    model: Model, joints: Ints, t: Floats, tau: Floats, counted: NDArray[np.bool_]
) -> float:
    """N, root mean square of the force at the slides of a base, where noise does not count: of
    means over WINDOW, around the samples that are counted.
    """
    return _smoothed(t, tau[:, joints[model.kind[joints] == PRISMATIC]], counted)


def smoothed_moment(
    model: Model, joints: Ints, t: Floats, tau: Floats, counted: NDArray[np.bool_]
) -> float:
    """N m, the same of the torques about the hinges of a base, taken together."""
    return _smoothed(t, tau[:, joints[model.kind[joints] != PRISMATIC]], counted)


def _smoothed(t: Floats, values: Floats, counted: NDArray[np.bool_]) -> float:
    count = min(max(1, round(WINDOW / float(t[1] - t[0]))), len(t))
    total = np.cumsum(np.vstack((np.zeros(values.shape[1]), values)), axis=0)
    means = np.linalg.norm((total[count:] - total[:-count]) / count, axis=1)
    used = counted[count // 2 :][: len(means)]
    return _rms(means[used]) if used.any() else 0.0


def _rms(values: Floats) -> float:
    return float(np.sqrt(np.mean(values**2)))
