"""Other costs or constraints, or another inertia, in a program: only what differs is bound again.

Problems, their entries and models never change, so the same object has the same numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from copy import copy
from dataclasses import fields, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from predyn.errors import InputError, PredynError
from predyn.kernels.tree import share_trees
from predyn.model import Model
from predyn.problem import Constraint, Cost, Problem, name_of, row_bounds, system_of
from predyn.problem.check_entries import bounds_problems, cost_problems
from predyn.problem.offers import offer_in
from predyn.samples import STATES, split_side
from predyn.terms.ground import GroundTorque, ZeroMomentPoint
from predyn.terms.reactions import JointReaction
from predyn.terms.sums import SumTerm
from predyn.terms.term import Residual, Term
from predyn.terms.user import UserTerm
from predyn.transcribe.arrange import Arrangement, Made
from predyn.transcribe.instants import Block, InstantSet
from predyn.transcribe.rows import Rows
from predyn.transcribe.sizes import Sizes

Entry = Cost | Constraint
Floats = NDArray[np.float64]
Bounds = tuple[Floats, Floats]
EXCHANGED = {"model", "costs", "constraints", "name", "guess", "solver"}
OTHERS = tuple(field.name for field in fields(Problem) if field.name not in EXCHANGED)
NOT_INERTIA = tuple(field.name for field in fields(Model) if field.name != "inertia")
MASSLESS = (*STATES, "t", "frame", "signal", "rate", "parameter")  # families of channels


class Unlike(InputError):
    """The problems differ in more than numbers, or in too many of them."""


def require_form(old: Block, new: Block) -> None:
    """Raise Unlike if a block does not fit into the place of another."""
    if _form(old) != _form(new):
        raise Unlike(f"{old.name} and {new.name} depend on other quantities")


def _form(block: Block) -> tuple:
    x, loss = block.residual, block.loss and block.loss.loss
    return (block.name, x.rows, x.entries, x.curved, x.constant, block.objective, loss)


class Exchange:
    """An arrangement with the numbers of another problem, `after`; `write` puts them in place."""

    def __init__(self, before: Arrangement, new: Problem) -> None:
        old = before.problem
        if any(getattr(old, name) is not getattr(new, name) for name in OTHERS):
            raise Unlike("other fields of the problem differ")
        if old.signals or old.parameters or old.solver.hessian != new.solver.hessian:
            raise Unlike("signals, parameters or the Hessian")
        changed = [*_changed(old.costs, new.costs), *_changed(old.constraints, new.constraints)]
        by_entry = {id(a): b for a, b in changed}
        self.after = after = copy(before)
        after.problem, after.made = new, list(before.made)
        loaded = new.model is not old.model
        if loaded:
            _require_same_but_inertia(old.model, new.model)
            _require_bound_anew(before)
            share_trees(new.model, old.model)
            phases = range(len(new.phases))
            after.systems = [system_of(new, p) for p in phases]
            after.offers = [offer_in(new, p) for p in phases]
            after.sizes = [Sizes(x, y.T) for x, y in zip(after.systems, before.sizes, strict=True)]
        self._blocks: list[tuple[Made, Block, Bounds | None]] = []
        self._scales: list[tuple[Residual, Rows, Floats]] = []
        if not by_entry.keys() <= {id(made.entry) for made in before.made}:
            raise Unlike("integrals or terms on pairs of instants")
        for k, made in enumerate(before.made):
            entry = by_entry.get(id(made.entry), made.entry)
            if entry is not made.entry or (loaded and _weighs(entry.term)):
                after.made[k] = made._replace(entry=entry)
                self._blocks.append((after.made[k], *_bound(after, made, entry)))
            elif loaded and made.rows is not None and not _massless(made.part.block.residual):
                scale = after.sizes[made.phase].scale(made.part.block.residual)
                self._scales.append((made.part.block.residual, made.rows, scale))

    @property
    def rows(self) -> list[Rows]:
        """The constraints that have other numbers."""
        bound = [made.rows for made, _, _ in self._blocks if made.rows is not None]
        return [*bound, *(rows for _, rows, _ in self._scales)]

    def write(self) -> None:
        """Write residuals, weights, losses and bounds into the blocks and rows."""
        touched: dict[int, InstantSet] = {}
        for made, block, bounds in self._blocks:
            own = made.part.block
            own.residual, own.weight, own.loss = block.residual, block.weight, block.loss
            touched[id(made.part.points)] = made.part.points
            if made.rows is not None:
                assert bounds is not None
                made.rows.lower, made.rows.upper = bounds
                made.rows.scale = block.residual.scale
        for residual, rows, scale in self._scales:
            residual.scale = rows.scale = scale
        for points in touched.values():
            points.refresh()


def _changed(old: Iterable[Entry], new: Iterable[Entry]) -> Iterator[tuple[Entry, Entry]]:
    """Pairs of different entries that can replace each other."""
    old, new = list(old), list(new)
    if len(old) != len(new) or len({id(x) for x in old}) != len(old):
        raise Unlike("the number of costs or constraints differs")
    for a, b in zip(old, new, strict=True):
        if a is not b:
            if type(a) is not type(b):
                raise Unlike("costs or constraints are of different kinds")
            if type(a.term) is not type(b.term) or a.at is not b.at or name_of(a) != name_of(b):
                raise Unlike(f"{name_of(a)} and {name_of(b)} are of different kinds")
            options = [
                (x.integral, x.over) if isinstance(x, Constraint) else x.loss for x in (a, b)
            ]
            if options[0] != options[1]:
                raise Unlike(f"{name_of(a)} and {name_of(b)} are of different kinds")
            yield a, b


def _require_same_but_inertia(old: Model, new: Model) -> None:
    for name in NOT_INERTIA:
        a, b = getattr(old, name), getattr(new, name)
        if a is b:
            continue
        if name == "limits":
            same = all(x is y or np.array_equal(x, y) for x, y in zip(a, b, strict=True))
        else:
            same = np.array_equal(a, b) if isinstance(a, np.ndarray) else bool(a == b)
        if not same:
            raise Unlike(f"{name} of the models")


def _require_bound_anew(arrangement: Arrangement) -> None:
    """Raise Unlike if blocks that depend on masses are not those of single entries."""
    problem = arrangement.problem
    for entries in (problem.constraints, *(phase.constraints for phase in problem.phases)):
        for entry in entries:
            if _weighs(entry.term) and (entry.integral or entry.term.pairs):
                raise Unlike(f"{name_of(entry)} may depend on masses")
    known = {id(made.part.block) for made in arrangement.made}
    for points in arrangement.sets:
        for block in points.blocks:
            if id(block) not in known and not _massless(block.residual):
                raise Unlike(f"{block.name} depends on masses")


def _weighs(term: Term) -> bool:
    """Whether what a term is bound to may depend on masses."""
    return _may_weigh(type(term))


@lru_cache
def _may_weigh(kind: type[Term]) -> bool:
    """Only terms of this package are known not to look at masses."""
    ours = kind.__module__.startswith("predyn.terms.")
    weighing = (JointReaction, UserTerm, SumTerm, ZeroMomentPoint, GroundTorque)
    return not ours or issubclass(kind, weighing)


def _massless(residual: Residual) -> bool:
    """Whether a residual, with its scale, is the same for all inertias."""
    return _without_masses(residual.channels)


@lru_cache
def _without_masses(channels: tuple[str, ...]) -> bool:
    plain = (split_side(channel)[1] for channel in channels)
    return all(channel.partition(":")[0] in MASSLESS for channel in plain)


def _bound(after: Arrangement, made: Made, entry: Entry) -> tuple[Block, Bounds | None]:
    """The block of another entry in the place of that which was made, and the bounds of its rows.

    An entry with errors is Unlike; a check of the whole problem then names them.
    """
    if type(made.part.points) is not InstantSet:
        raise Unlike("bounds on control points")
    old = made.part.block
    try:
        if isinstance(entry, Cost):
            residual, loss = after.bind_summed(made.phase, entry.term, entry.loss)
            block = replace(old, residual=residual, loss=loss, weight=float(entry.weight))
            wrong = any(True for _ in cost_problems(entry, ()))
        else:
            block = replace(old, residual=after.bind(made.phase, entry.term))
            wrong = any(True for _ in bounds_problems(entry, block.residual, ()))
    except (PredynError, TypeError, ValueError) as error:
        raise Unlike(str(error)) from error
    if wrong:
        raise Unlike("errors")
    bounds = None
    if isinstance(entry, Constraint) and made.rows is not None:
        lower, upper = bounds = row_bounds(entry.lower, entry.upper, block.residual)
        if not np.array_equal(lower == upper, made.rows.lower == made.rows.upper):
            raise Unlike("equations instead of inequalities")
    require_form(old, block)
    return block, bounds
