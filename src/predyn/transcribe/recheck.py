"""Re-check of constraints between the points where they were imposed.

Values are computed from the curves by the public functions of dynamics, not taken from the arrays
of the solver. The largest excess of a quantity that is linear in q, v, a, jerk or a signal is exact
(curves/extrema.py); those of torques and of all other quantities are found by peak_search.py.
"""

from __future__ import annotations

from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from predyn.curves.bspline import BSpline
from predyn.curves.derivative_spline import DerivativeSpline, derivative_spline
from predyn.dynamics.system import PhaseSystem
from predyn.kernels.kernel_cache import keeper
from predyn.model import PRISMATIC
from predyn.model.floating_base import MOMENT_ARM, floating_base
from predyn.model.parts import IntArray
from predyn.problem.offers import name_in
from predyn.samples import STATES, Samples
from predyn.solution import Curve, Violation
from predyn.terms.joints import JointTorque
from predyn.terms.term import Residual
from predyn.transcribe.arrange import PASSIVE_TORQUE
from predyn.transcribe.extrema import farthest
from predyn.transcribe.layout import NEAR_BREAK, PhaseLayout
from predyn.transcribe.motion import Motion
from predyn.transcribe.peak_search import highest, instants_within
from predyn.transcribe.program import Program
from predyn.transcribe.rows import SMALL_BOUND, row_scale
from predyn.transcribe.sizes import Sizes

Floats = NDArray[np.float64]
PER_PHASE, PER_SEGMENT, PER_PIECE = 400, 20, 3  # samples at least
WORTH = 5e-7  # a gain that matters, relative to the row's scale; a peak misses a quarter of it

kept = keeper(__file__)


class Bounded(NamedTuple):
    """A residual with bounds that should hold throughout a phase."""

    name: str
    residual: Residual
    lower: Floats
    upper: Floats

    def values(self, samples: Samples, instants: int) -> Floats:
        return residual_values(self.residual, samples, instants)


def residual_values(residual: Residual, samples: Samples, instants: int) -> Floats:
    """Values (rows, instants) of a residual."""
    value = np.empty((len(residual.rows), instants))
    residual.value(samples, value)
    return value


def dense_violations(program: Program, motion: Motion) -> list[Violation]:
    """The largest excess of each named quantity that is bounded throughout, worst first."""
    begin, found = 0.0, []
    for p, curve in enumerate(motion.curves):
        worst, searched = [], []
        for rows in program.rows:
            if rows.throughout and rows.parts[0].points.phase == p:
                residual = rows.parts[0].block.residual
                bounded = Bounded(rows.name, residual, rows.lower, rows.upper)
                spline = linear_spline(motion, p, residual)
                if spline is None:
                    searched.append(bounded)
                else:
                    worst.append((bounded, *farthest(spline, rows.lower, rows.upper)))
        if searched or motion.systems[p].passive:
            worst += _search(program, motion, p, searched)
        found += [(bounded, value, begin + s * curve.duration) for bounded, value, s in worst]
        begin += curve.duration
    return violations_of(found) if found else []


def violations_of(found: list[tuple[Bounded, Floats, Floats]]) -> list[Violation]:
    """The excess of each row at its worst instant, from the value there and the time."""
    names = [f"{x.name} {row}" for x, _, _ in found for row in x.residual.rows]
    lower, upper, scale, value, t = (
        np.concatenate(parts)
        for parts in zip(
            *((x.lower, x.upper, x.residual.scale, value, t) for x, value, t in found), strict=True
        )
    )
    over, relative = np.empty(len(value)), row_scale(lower, upper, scale)
    _measure(lower, upper, scale, value, over, relative)
    numbers = (x.tolist() for x in (over, relative, value, lower, upper, t))
    result = list(map(Violation, names, *numbers))
    return sorted(result, key=lambda x: -x.relative)


@kept
def _measure(
    lower: Floats, upper: Floats, scale: Floats, value: Floats, over: Floats, relative: Floats
) -> None:
    """Fill the excess, and divide it by the violated bound; by `relative` if that is close to 0."""
    for r in range(len(value)):
        below, above = lower[r] - value[r], value[r] - upper[r]
        most = below if below >= above or below != below else above
        over[r] = 0.0 if most <= 0.0 else most
        bound = abs(lower[r] if value[r] < lower[r] else upper[r])
        if not (np.isfinite(bound) and bound > SMALL_BOUND * scale[r]):
            bound = relative[r]
        relative[r] = over[r] / bound


def linear_spline(motion: Motion, p: int, residual: Residual) -> DerivativeSpline | None:
    """The rows as splines, if they are linear in one derivative of one curve.

    The basis of a spline adds up to one, so the control points of an affine function of a curve are
    that function of its control points.
    """
    if not residual.constant or len(residual.channels) != 1:
        return None
    (channel,) = residual.channels
    family, _, name = channel.partition(":")
    if family in STATES:
        curve, order, basis = motion.curves[p], STATES.index(family), motion.splines[p]
    elif family in ("signal", "rate"):
        found = motion.signals[name].curves[p]
        assert found is not None  # the row could not exist
        curve, order, basis = found, int(family == "rate"), BSpline(found.degree, found.knots)
    else:
        return None
    if order > curve.degree:
        return None
    spline = derivative_spline(basis, curve.control, order)
    states = spline.control.T / curve.duration**order
    rows = residual_values(residual, Samples({channel: states}), states.shape[1])
    return spline._replace(control=rows.T)


def _search(
    program: Program, motion: Motion, p: int, searched: list[Bounded]
) -> list[tuple[Bounded, Floats, Floats]]:
    """The value of each row of each quantity at its largest excess, and where, by sampling."""
    passive = motion.systems[p].passive
    needed = [channel for x in searched for channel in x.residual.channels]
    channels = tuple(dict.fromkeys(("tau", *needed) if passive else needed))
    s = dense_instants(program.phases[p], motion.curves[p])
    samples = motion.samples(p, s.ravel(), channels)
    if passive:
        searched = [*searched, _passive_torque(program, motion, p, samples["tau"])]
    found = []
    for bounded in searched:

        def values_at(s: Floats, bounded: Bounded = bounded) -> Floats:
            return bounded.values(motion.samples(p, s, bounded.residual.channels), len(s))

        sampled = bounded.values(samples, s.size).reshape(-1, *s.shape)
        worth = WORTH * row_scale(bounded.lower, bounded.upper, bounded.residual.scale)
        found.append(
            (bounded, *highest(values_at, bounded.lower, bounded.upper, s, sampled, worth))
        )
    return found


def dense_instants(layout: PhaseLayout, curve: Curve) -> Floats:
    """(pieces, m) instants within each smooth piece of the motion."""
    if curve.knots is not layout.spline.knots:  # integrated, or with free knots
        return _within(layout, curve.knots)
    if layout not in _KNOWN:
        _KNOWN[layout] = _within(layout, curve.knots)
    return _KNOWN[layout]


_KNOWN: WeakKeyDictionary[PhaseLayout, Floats] = WeakKeyDictionary()


def _within(layout: PhaseLayout, knots: Floats) -> Floats:
    pieces = layout.pieces
    breaks = np.unique(knots[(knots >= 0.0) & (knots <= 1.0)])
    away = np.abs(pieces.breaks[:, None] - breaks).min(axis=1) > NEAR_BREAK
    breaks = np.sort(np.concatenate([breaks, pieces.breaks[away]]))
    count = max(PER_PHASE, PER_SEGMENT * pieces.segments)
    return instants_within(breaks, max(PER_PIECE, -(-count // (len(breaks) - 1))))


def base_on_ground(system: PhaseSystem) -> IntArray | None:
    """Joints of a floating base without motors that unknown forces hold up, if there is one."""
    base = floating_base(system.model)
    if base is None or not any(isinstance(force.force, str) for force in system.forces):
        return None
    free = {system.model.joint_names[j] for j in base} <= {*system.passive}
    return base if free and system.model.gravity.any() else None


def _passive_torque(program: Program, motion: Motion, p: int, tau: Floats) -> Bounded:
    """Torques at passive joints, which should be zero, relative to the largest motor torque.

    The residual of a body on the ground is relative to its weight, times MOMENT_ARM for moments.
    """
    system = motion.systems[p]
    residual = JointTorque(joints=system.passive).bind(program.model)
    zero = np.zeros(len(residual.rows))
    motors = np.abs(tau[~np.isin(program.model.joint_names, system.passive)])
    usual = Sizes(system, motion.curves[p].duration).scale(residual)
    residual.scale = np.maximum(motors.max(initial=0.0), SMALL_BOUND * usual)
    base = base_on_ground(system)
    if base is not None:
        weight = system.model.weight
        for r, name in enumerate(residual.rows):
            j = system.model.joint_index(name)
            if j in base:
                arm = 1.0 if system.model.kind[j] == PRISMATIC else MOMENT_ARM
                residual.scale[r] = arm * weight
    return Bounded(name_in(program.problem, p, PASSIVE_TORQUE), residual, zero, zero)
