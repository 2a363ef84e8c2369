"""Another problem in place of that of a program: the same pattern, other numbers.

Boundary values, limits, weights, targets, durations and the numbers of the model and of given
forces are written into the arrays of the program, which keeps its patterns, its places in the
derivatives and its compiled calls.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from predyn.curves.profile import Profile
from predyn.kernels.forces import ExternalForce
from predyn.problem import Problem
from predyn.transcribe.arrange import Arrangement
from predyn.transcribe.exchange import Unlike, require_form
from predyn.transcribe.instants import InstantSet
from predyn.transcribe.layout import PhaseLayout, lay_out_phases
from predyn.transcribe.pool import Pool
from predyn.transcribe.rows import Rows


def new_numbers(
    old: Problem, layouts: Sequence[PhaseLayout], sets: Sequence[InstantSet], new: Problem
) -> tuple[list[PhaseLayout], Arrangement]:
    """Layouts and rows of another problem, all checked to have the form of the present ones."""
    if type(old.transcription) is not type(new.transcription):
        raise Unlike("the methods differ")
    if (old.model.n, old.model.joint_names) != (new.model.n, new.model.joint_names):
        raise Unlike("the joints differ")
    if len(old.phases) != len(new.phases):
        raise Unlike("the number of phases differs")
    if old.signals or new.signals or old.parameters or new.parameters:
        raise Unlike("signals and parameters are not supported")
    if old.solver.hessian != new.solver.hessian:
        raise Unlike("the Hessian differs")
    other = lay_out_phases(new, ())
    for mine, theirs in zip(layouts, other, strict=True):
        same = np.array_equal(mine.spline.knots, theirs.spline.knots)
        same &= np.array_equal(mine.places, theirs.places)
        if not same or mine.T_column != theirs.T_column or mine.name != theirs.name:
            raise Unlike(f"{mine.name}: other values are free, or other segments")
        if not np.array_equal(mine.pieces.breaks, theirs.pieces.breaks):
            raise Unlike(f"{mine.name}: the curves of forces have other points")
    arrangement = Arrangement(new, other, build=False)
    if len(sets) != len(arrangement.sets):
        raise Unlike("constraints are imposed at other instants")
    for own, given in zip(sets, arrangement.sets, strict=True):
        if not np.array_equal(own.s, given.s) or len(own.blocks) != len(given.blocks):
            raise Unlike("constraints are imposed at other instants")
        for a, b in zip(own.blocks, given.blocks, strict=True):
            require_form(a, b)
    return other, arrangement


def write_layouts(layouts: Sequence[PhaseLayout], other: Sequence[PhaseLayout]) -> None:
    """Control points that boundary values determine, and durations."""
    for mine, theirs in zip(layouts, other, strict=True):
        fixed = mine.places < 0
        mine.numbers[fixed] = theirs.numbers[fixed]
        mine.T, mine.powers, mine.T_bounds = theirs.T, theirs.powers, theirs.T_bounds
        mine.open_ends = theirs.open_ends


def write_rows(rows: Sequence[Rows], other: Sequence[Rows]) -> None:
    """Bounds and scales."""
    for mine, theirs in zip(rows, other, strict=True):
        mine.lower, mine.upper, mine.scale = theirs.lower, theirs.upper, theirs.scale


def write_blocks(sets: Sequence[InstantSet], other: Sequence[InstantSet]) -> None:
    """Residuals, weights and widths of losses."""
    for mine, theirs in zip(sets, other, strict=True):
        for a, b in zip(mine.blocks, theirs.blocks, strict=True):
            a.residual, a.weight, a.loss = b.residual, b.weight, b.loss
        mine.refresh()


def write_models(
    pools: Sequence[tuple[int, Pool]], old: Arrangement, arrangement: Arrangement
) -> None:
    """The numbers of models and of given forces; the old ones if partials have other zeros."""
    for p, pool in pools:
        before, after = old.systems[p], arrangement.systems[p]
        if before.model is after.model and _identical(before.forces, after.forces):
            continue
        for name, channel in pool.derived.items():
            if not channel.follow(after.model, arrangement.forces(p, pool.s)):
                for q, other in pools:
                    for known in other.derived.values():
                        known.follow(old.systems[q].model, old.forces(q, other.s))
                raise Unlike(f"{name} depends on other joints")


def _identical(one: Sequence[ExternalForce], other: Sequence[ExternalForce]) -> bool:
    """Whether forces are the same, and constant: curves also depend on the duration."""
    curves = any(isinstance(x, Profile) for f in other for x in (f.force, f.moment))
    same = len(one) == len(other) and all(a is b for a, b in zip(one, other, strict=True))
    return same and not curves
