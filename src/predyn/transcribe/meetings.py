"""Rows with contributions at two instants: boundaries between phases, and terms on pairs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from predyn.errors import InputError
from predyn.problem import Dmoc
from predyn.samples import Offer
from predyn.terms.momentum import GeneralizedMomentum
from predyn.terms.pairs import Continuity
from predyn.terms.signals import SignalRate, SignalValue
from predyn.terms.term import Residual, Term
from predyn.transcribe.instants import Block, InstantSet
from predyn.transcribe.lifting import Half
from predyn.transcribe.rows import Part, Rows

if TYPE_CHECKING:
    from predyn.transcribe.arrange import Arrangement

Ends = tuple[InstantSet, InstantSet]
SIGNAL_TERMS = (SignalValue, SignalRate)  # by order of the time derivative


def two_parts(
    term: Term, offers: Sequence[Offer], ends: Ends, name: str, factor: float = 1.0
) -> list[Part]:
    """The two contributions of a term that is linear in a pair of instants."""
    parts = []
    for side, (offer, points) in enumerate(zip(offers, ends, strict=True)):
        residual = term.bind_to(offer)
        if not residual.constant:
            raise InputError(f"{name}: a term on pairs must be linear in its channels here")
        half = Half(residual, side, offer)
        parts.append(Part(points, points.add(Block(name, half, weight=factor))))
    return parts


def meeting_rows(arrangement: Arrangement, p: int) -> list[Rows]:
    """Rows between phase p and the next: continuity, or the momentum balance of an impact.

    Accelerations of passive joints follow from the other values.
    """
    problem, systems = arrangement.problem, arrangement.systems[p : p + 2]
    names, order = problem.model.joint_names, problem.continuity
    if isinstance(problem.transcription, Dmoc) and not arrangement.layouts[p].least_points:
        order = min(order, 1)  # nothing looks at accelerations, so torques may jump
    ends = (arrangement.at(p, "end"), arrangement.at(p + 1, "start"))
    this, following = arrangement.layouts[p].name, arrangement.layouts[p + 1].name
    between = f"continuity {this} to {following}"
    offers = arrangement.offers[p : p + 2]

    def continuity(joints: tuple[str, ...], most: int) -> Rows:
        term = Continuity(most, joints)
        return _zero(between, arrangement.bind(p, term), two_parts(term, offers, ends, between))

    rows = []
    if problem.phases[p + 1].impact:  # the new payload was at rest
        momenta = [arrangement.bind(k, GeneralizedMomentum()) for k in (p, p + 1)]
        rows = [continuity(names, 0), _equal(momenta, ends, f"impact {this} to {following}")]
    else:
        without = {*systems[0].passive, *systems[1].passive}
        active = tuple(name for name in names if name not in without)
        passive = tuple(name for name in names if name in without)
        for joints, most in ((active, order), (passive, min(order, 1))):
            if joints:
                rows.append(continuity(joints, most))
    return rows + _signal_rows(arrangement, p, ends, between)


def _signal_rows(arrangement: Arrangement, p: int, ends: Ends, between: str) -> list[Rows]:
    """Continuity of the signals that both phases have."""
    rows, offers = [], arrangement.offers[p : p + 2]
    for signal in arrangement.problem.signals:
        found = [offer.further.get(f"signal:{signal.name}") for offer in offers]
        known = found[0]
        if known is None or None in found:
            continue
        # components with equal bounds are numbers: their rows would have no unknowns
        free = [x for x, fixed in zip(known.components, known.fixed, strict=True) if not fixed]
        if free:
            for term in SIGNAL_TERMS[: signal.continuity + 1]:
                bound = [term(signal.name, free).bind_to(offer) for offer in offers]
                rows.append(_equal(bound, ends, f"{between} {term.kind}"))
    return rows


def _equal(bound: Sequence[Residual], ends: Ends, name: str) -> Rows:
    """Rows that make a residual equal at the first and second instant."""
    parts = [
        Part(points, points.add(Block(name, residual, weight=factor)))
        for points, residual, factor in zip(ends, bound, (-1.0, 1.0), strict=True)
    ]
    return _zero(name, bound[0], parts)


def _zero(name: str, residual: Residual, parts: list[Part]) -> Rows:
    zero = np.zeros(len(residual.rows))
    return Rows(name, residual.rows, parts, zero, zero, residual.scale, pointwise=False)
