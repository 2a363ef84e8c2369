"""A spline program with rows that keep pairs of bodies apart at chosen instants.

Rows are added to a program that stays as it is: nothing is transcribed again when a certificate
shows where rows are missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from predyn.collision.checker import Checker
from predyn.collision.clearance import ClearanceRows
from predyn.nlp import NLP
from predyn.transcribe.program import Program

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
SIZE = 0.1  # m, typical of a distance that matters
CLOSE = 0.25  # of a phase: what counts as near its ends


class Places(NamedTuple):
    """Pairs at instants that are kept apart; several rows may share an instant."""

    phase: Ints  # (R,)
    s: Floats  # (R,) normalised time
    pair: Ints  # (R,) number in `Checker.pairs`
    least: Floats  # (R,) m

    @classmethod
    def none(cls) -> Places:
        index = np.zeros(0, np.int64)
        return cls(index, np.zeros(0), index, np.zeros(0))

    def at_least(self, least: float) -> Places:
        """The same with no smaller distances."""
        return self._replace(least=np.maximum(self.least, least))

    def at_most(self, most: Sequence[Floats]) -> Places:
        """The same with no larger distances than motions can have.

        most  of each phase (3, pairs): m, near its start, near its end and anywhere
        """
        least = self.least.copy()
        for p, bounds in enumerate(most):
            near = (self.s < CLOSE, self.s > 1.0 - CLOSE, np.ones(len(self.s), bool))
            for here, bound in zip(near, bounds, strict=True):
                at = here & (self.phase == p)
                least[at] = np.minimum(least[at], bound[self.pair[at]])
        return self._replace(least=least)

    def with_more(self, other: Places) -> Places:
        """Those of both, ordered by instants; of equal ones the larger distance."""
        phase, s, pair, least = (np.concatenate(x) for x in zip(self, other, strict=True))
        order = np.lexsort((-least, pair, s, phase))
        phase, s, pair, least = phase[order], s[order], pair[order], least[order]
        new = np.ones(len(s), bool)
        new[1:] = (np.diff(phase) != 0) | (np.diff(s) != 0.0) | (np.diff(pair) != 0)
        return Places(phase[new], s[new], pair[new], least[new])


class _SceneRows:
    """Distances of the rows in phases that share a Checker."""

    def __init__(self, checker: Checker, rows: Ints, at: Ints, pair: Ints, n: int) -> None:
        """rows: their numbers among all; at, pair: of each, its instant and pair."""
        self.rows = rows
        self._instants, self._at = np.unique(at, return_inverse=True)
        used, self._pair = np.unique(pair, return_inverse=True)
        self._pairs = ClearanceRows(checker, used)
        entry = np.full((len(used), n), -1)
        for k, (chosen, joint) in enumerate(self._pairs.entries):
            entry[chosen, joint] = k
        self._entry = entry[self._pair]  # (rows, n)
        count = len(self._instants)
        self._distances = np.empty((len(used), count))
        self._slopes = np.zeros((len(self._pairs.entries) + 1, count))  # the last one stays 0
        self._curved = np.empty((len(self._pairs.curved), count))

    def distances(self, q: Floats) -> Floats:
        """(rows,), with joint positions (all instants, n)."""
        self._q = np.ascontiguousarray(q[self._instants].T)
        self._pairs.distances(self._q, None, self._distances)
        return self._distances[self._pair, self._at]

    def slopes(self) -> Floats:
        """(rows, n), where the distances were asked for last."""
        self._pairs.slopes(self._q, None, self._slopes[:-1])
        found: Floats = self._slopes[self._entry, self._at[:, None]]
        return found

    def add_bends(self, weights: Floats, out: Floats) -> None:
        """Add weighted second partials to out (all instants, n, n)."""
        by_pair = np.zeros_like(self._distances)
        by_pair[self._pair, self._at] = weights
        self._pairs.bends(self._q, None, by_pair, self._curved)
        for k, (i, j) in enumerate(self._pairs.curved):
            out[self._instants, i, j] += self._curved[k]
            if i != j:
                out[self._instants, j, i] += self._curved[k]


class ClearProgram(NLP):
    """The program of a problem, whose variables it has, with distances as rows after its own.

    Obstacles must rest.
    """

    def __init__(self, program: Program, checkers: Sequence[Checker], places: Places) -> None:
        """checkers: one of each phase. Places at which the positions are given have no rows."""
        self.program, self.checkers = program, checkers
        self.places = places = free_places(program, places)
        self._own = program.m
        self.x_lower, self.x_upper = program.x_lower.copy(), program.x_upper.copy()
        self.x_scale, self.f_scale = program.x_scale, program.f_scale
        count = len(places.s)
        self.g_lower = np.concatenate([program.g_lower, places.least])
        self.g_upper = np.concatenate([program.g_upper, np.full(count, np.inf)])
        self.g_scale = np.concatenate([program.g_scale, np.full(count, SIZE)])
        self._find_instants()
        self._scenes = self._different_scenes()
        self._distances, self._slopes = np.zeros(count), np.zeros((count, program.model.n))
        self._lay_jacobian()
        self._lay_hessian()
        self._moved = True

    def _find_instants(self) -> None:
        """The different instants, what acts on them, and the instant of each row."""
        places = self.places
        keys = np.stack([places.phase, places.s], axis=1)
        instants, self._at = np.unique(keys, axis=0, return_inverse=True)
        self._at = self._at.reshape(-1)
        phases, n = self.program.phases, self.program.model.n
        degree = max(phase.spline.degree for phase in phases)
        self._basis = np.zeros((len(instants), degree + 1))
        self._points = np.zeros((len(instants), degree + 1), np.int64)
        self._columns = np.full((len(instants), degree + 1, n), -1)
        self._instants = []
        for p, phase in enumerate(phases):
            here = np.flatnonzero(instants[:, 0] == p)
            s, k = instants[here, 1], phase.spline.degree + 1
            points = phase.spline.span(s)[:, None] + np.arange(k)
            self._basis[here, :k] = phase.spline.basis(s, 0)[0]
            self._points[here, :k] = points
            self._columns[here, :k] = phase.columns[points]
            self._instants.append(here)

    def _different_scenes(self) -> list[_SceneRows]:
        """Rows by the Checker of their phase."""
        of_phase = {id(x): [] for x in self.checkers}  # type: dict[int, list[int]]
        for p, checker in enumerate(self.checkers):
            of_phase[id(checker)].append(p)
        found = []
        for phases in of_phase.values():
            rows = np.flatnonzero(np.isin(self.places.phase, phases))
            if len(rows):
                pairs, n = self.places.pair[rows], self.program.model.n
                checker = self.checkers[phases[0]]
                found.append(_SceneRows(checker, rows, self._at[rows], pairs, n))
        return found

    def _lay_jacobian(self) -> None:
        columns = self._columns[self._at]  # (rows, points, n)
        row, point, joint = np.nonzero(columns >= 0)
        self._entries = row, joint, self._basis[self._at[row], point]
        rows, cols = self.program.jacobian_pattern
        self.jacobian_pattern = (
            np.concatenate([rows, self._own + row]).astype(rows.dtype),
            np.concatenate([cols, columns[row, point, joint]]).astype(cols.dtype),
        )

    def _lay_hessian(self) -> None:
        """Places of the pairs of control points that act on an instant, new ones at the end."""
        rows, cols = self.program.hessian_pattern
        n, count = self.program.n, len(self._basis)
        wide = self._columns.reshape(count, self._columns[0].size if count else 0)
        one, other = np.broadcast_arrays(wide[:, :, None], wide[:, None, :])
        u, a, b = np.nonzero((one >= other) & (other >= 0))
        joints = self.program.model.n
        self._bends = u, a % joints, b % joints
        self._bend_basis = self._basis[u, a // joints] * self._basis[u, b // joints]
        keys = one[u, a, b].astype(np.int64) * n + other[u, a, b]
        known = rows.astype(np.int64) * n + cols
        order = np.argsort(known)
        at = np.clip(np.searchsorted(known[order], keys), 0, len(known) - 1)
        place = order[at]
        missing = known[place] != keys
        new, index = np.unique(keys[missing], return_inverse=True)
        place[missing] = len(known) + index.reshape(-1)
        self._bend_places = place
        self.hessian_pattern = (
            np.concatenate([rows, new // n]).astype(rows.dtype),
            np.concatenate([cols, new % n]).astype(cols.dtype),
        )

    # -- evaluation ---------------------------------------------------------------------------

    def move(self, x: Floats) -> None:
        self.program.move(x)
        self._moved = True

    def positions(self) -> Floats:
        """(instants, n) joint positions at the present point."""
        q = np.empty((len(self._basis), self.program.model.n))
        for phase, here in zip(self.program.phases, self._instants, strict=True):
            control = phase.control[self._points[here]]
            q[here] = (self._basis[here, :, None] * control).sum(axis=1)
        return q

    def _measure(self) -> None:
        if self._moved:
            q = self.positions()
            for scene in self._scenes:
                self._distances[scene.rows] = scene.distances(q)
            self._moved, self._sloped = False, False

    def _differentiate(self) -> None:
        self._measure()
        if not self._sloped:
            for scene in self._scenes:
                self._slopes[scene.rows] = scene.slopes()
            self._sloped = True

    def objective(self) -> float:
        return self.program.objective()

    def gradient(self, out: Floats) -> None:
        self.program.gradient(out)

    def constraints(self, out: Floats) -> None:
        self.program.constraints(out[: self._own])
        self._measure()
        out[self._own :] = self._distances

    def jacobian(self, out: Floats) -> None:
        count = len(self.program.jacobian_pattern[0])
        self.program.jacobian(out[:count])
        self._differentiate()
        row, joint, basis = self._entries
        out[count:] = self._slopes[row, joint] * basis

    def hessian(self, sigma: float, multipliers: Floats, out: Floats) -> None:
        count = len(self.program.hessian_pattern[0])
        out[count:] = 0.0
        self.program.hessian(sigma, multipliers[: self._own], out[:count])
        self._measure()
        n = self.program.model.n
        bends = np.zeros((len(self._basis), n, n))
        for scene in self._scenes:
            scene.add_bends(multipliers[self._own + scene.rows], bends)
        found = bends[self._bends] * self._bend_basis
        out += np.bincount(self._bend_places, found, len(out))

    # -- names --------------------------------------------------------------------------------

    def x_name(self, i: int) -> str:
        return self.program.x_name(i)

    def g_name(self, i: int) -> str:
        if i < self._own:
            return self.program.g_name(i)
        k = i - self._own
        p = self.places.phase[k]
        one, other = self.checkers[p].pairs[self.places.pair[k]]
        phase = self.program.phases[p].name
        return f"{phase}: clearance of {one} to {other} at {100.0 * self.places.s[k]:.4g} %"


def free_places(program: Program, places: Places) -> Places:
    """Places on which a free control point acts."""
    free = np.zeros(len(places.s), bool)
    for p, phase in enumerate(program.phases):
        here = np.flatnonzero(places.phase == p)
        s, k = places.s[here], np.arange(phase.spline.degree + 1)
        columns = phase.columns[phase.spline.span(s)[:, None] + k]  # (places, points, n)
        acts = phase.spline.basis(s, 0)[0] != 0.0
        free[here] = ((columns >= 0).any(axis=2) & acts).any(axis=1)
    return Places(places.phase[free], places.s[free], places.pair[free], places.least[free])
