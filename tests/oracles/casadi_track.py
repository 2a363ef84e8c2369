"""The motion of one phase whose passive joints are integrated by RK4, in CasADi.

The accelerations of the passive joints solve M_pp a_p = -tau_p(a_p = 0) with the torques of
`casadi_oracle`. A segment is one SX function of its control points and of the state it begins with.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import casadi as ca
import numpy as np
from scipy.interpolate import BSpline

from oracles.casadi_couplings import CoupledSymbols
from oracles.casadi_curve import ZERO, Curve
from oracles.casadi_program import _known, _values
from oracles.casadi_terms import Symbols
from predyn.problem import Duration, Hybrid, Phase, Problem, State

STAGES = np.array([0.0, 0.5, 0.5, 1.0])
SHARES = np.array([1.0, 2.0, 2.0, 1.0]) / 6.0
SAME = 1e-13  # segments whose basis differs by less have one function


class Mechanism:
    """Which joints are passive, and the motion that follows from that of the others."""

    def __init__(self, problem: Problem) -> None:
        names = problem.model.joint_names
        kind = CoupledSymbols if problem.model.couplings else Symbols
        self.symbols = s = kind(problem.model, problem.forces)
        self.n = problem.model.n
        self.passive = [j for j in range(self.n) if names[j] in problem.passive]
        self.active = [j for j in range(self.n) if names[j] not in problem.passive]
        self.a = ca.SX(s.a)
        p = self.passive
        if p:
            M = ca.densify(ca.jacobian(s.tau, s.a[p]))
            rest = ca.substitute(s.tau, s.a[p], ca.SX.zeros(len(p)))
            s.tau = rest + M @ s.a[p]  # the same: most of it is shared with the next line
            self.a[p] = _solved(M[p, :], -rest[p])
        self.accelerate = ca.Function("accelerate", s.inputs, [self.a], {"cse": True})

    def moving(self, wanted: ca.SX) -> ca.SX:
        """An expression of the symbols with the passive accelerations put in."""
        return ca.substitute(wanted, self.symbols.a, self.a)

    def joined(self, passive: Any, active: Any) -> Any:
        """(n, K) in the order of the joints."""
        order = np.argsort(self.passive + self.active).tolist()
        return ca.vertcat(passive, active)[order, :]


def _solved(M: ca.SX, b: ca.SX) -> ca.SX:
    """M^-1 b for a symmetric, positive definite M, by elimination."""
    n = b.numel()
    M, b = ca.SX(M), ca.SX(b)
    for k in range(n):
        for i in range(k + 1, n):
            factor = M[i, k] / M[k, k]
            for j in range(k + 1, n):
                M[i, j] -= factor * M[k, j]
            b[i] -= factor * b[k]
    x: list[ca.SX] = [ca.SX(0)] * n
    for i in reversed(range(n)):
        x[i] = (b[i] - sum((M[i, j] * x[j] for j in range(i + 1, n)), ca.SX(0))) / M[i, i]
    return ca.vertcat(*x)


class Track:
    """The motion of a phase: splines, nodes, and the segments between them."""

    def __init__(self, problem: Problem, mechanism: Mechanism, phase: Phase) -> None:
        method = problem.transcription
        assert isinstance(method, Hybrid)
        self.method, self.mechanism, self.phase = method, mechanism, phase
        self.steps = 10 if method.steps is None else method.steps
        active, p = mechanism.active, mechanism.passive
        given = [_values(state, mechanism.n) for state in (phase.start, phase.end)]
        self.curve = Curve(method, phase, len(active))
        start, end = (State(*values[:, active]) for values in given)
        self.known = _known(self.curve, Phase(phase.duration, start, end))
        self.segments = len(self.curve.breaks) - 1
        self.single = method.shooting == "single"
        self.known_nodes = np.full((self.segments + 1, 2 * len(p)), np.nan)
        self.known_nodes[0] = given[0][:2, p].ravel()
        if not self.single:
            self.known_nodes[-1] = given[1][:2, p].ravel()
        self.timed = isinstance(phase.duration, Duration)
        self.node_count = 1 if self.single else self.segments + 1
        self.open = [np.isnan(self.known), np.isnan(self.known_nodes[: self.node_count])]

    @property
    def size(self) -> int:
        return self.timed + sum(int(flags.sum()) for flags in self.open)

    def take(self, x: ca.MX) -> None:
        """Its variables."""
        self.curve.T = self.T = x[0] if self.timed else float(self.phase.duration)
        first, filled = int(self.timed), []
        for known, flags in zip((self.known, self.known_nodes), self.open, strict=True):
            values = ca.MX(ca.DM(np.nan_to_num(known[: len(flags)]).ravel()))
            free = np.flatnonzero(flags).tolist()
            if free:
                values[free] = x[first : first + len(free)]
            first += len(free)
            filled.append(ca.reshape(values, flags.shape[1], flags.shape[0]))
        self.curve.c, self.nodes = filled

    def integrate(self, summed: Sequence[ca.SX], listed: Sequence[ca.SX] = ()) -> None:
        """Through all segments, with the sums of expressions of the symbols over time.

        listed: expressions whose squares are summed; what is squared is kept, stage by stage.
        """
        s, p, T = self.mechanism.symbols, len(self.mechanism.passive), ca.MX(self.T)
        rates = [self.mechanism.moving(x) for x in (s.a[self.mechanism.passive], *summed, *listed)]
        look = ca.Function("look", s.inputs, [ca.densify(ca.vertcat(*rates))], {"cse": True})
        breaks, width = self.curve.breaks, np.diff(self.curve.breaks)
        functions: list[tuple[np.ndarray, ca.Function]] = []
        kinds = []
        for k in range(self.segments):
            basis = self._basis(k)
            same = [i for i, (x, _) in enumerate(functions) if _near(x, basis)]
            if not same:
                functions.append((basis, self._segment(look, basis, len(summed), bool(listed))))
            kinds.append(same[0] if same else len(functions) - 1)
        chosen = [self.curve.c[:, k : k + self.curve.degree + 1] for k in range(self.segments)]
        known = [ca.DM([[width[k]], [breaks[k]]]) for k in range(self.segments)]
        found: list[list[ca.MX]] = []
        if self.single:
            node = self.nodes[:, 0]
            for k, kind in enumerate(kinds):
                found.append(list(functions[kind][1](T, node, chosen[k], known[k])))
                node = found[-1][0]
            self.ends = ca.horzcat(*(x[0] for x in found))
            self.nodes = ca.horzcat(self.nodes, self.ends)
        else:
            found = [[] for _ in kinds]
            for kind, group in itertools.groupby(range(self.segments), kinds.__getitem__):
                members = list(group)
                function = functions[kind][1].map(len(members))
                columns = self.nodes[:, members[0] : members[-1] + 1]
                inputs = [ca.horzcat(*(x[k] for k in members)) for x in (chosen, known)]
                results = function(ca.repmat(T, 1, len(members)), columns, *inputs)
                for result in results:
                    for k, part in zip(members, ca.horzsplit_n(result, len(members)), strict=True):
                        found[k].append(part)
            self.ends = ca.horzcat(*(x[0] for x in found))
        self.sums = sum((x[1] for x in found), ca.MX.zeros(max(len(summed), 1)))
        last = self.nodes[:, -1]
        self.squared = ca.vertcat(*(ca.vec(x) for one in found for x in one[3:]))
        self.inner = ca.horzcat(*(x[2] for x in found), last)  # states where steps begin
        share = np.arange(self.steps) / self.steps
        self.grid = np.append(breaks[:-1, None] + np.outer(width, share), 1.0)
        self.count = p

    def _basis(self, k: int) -> np.ndarray:
        """(4 orders, degree + 1, 4 steps): of segment k at its stages, in normalised time.

        The polynomial of the segment, by its Taylor series about the middle: at its ends too.
        """
        curve, steps = self.curve, self.steps
        a, b = curve.breaks[k : k + 2]
        s = (a + (b - a) / steps * (np.arange(steps)[:, None] + STAGES)).ravel()
        middle, degree = (a + b) / 2, curve.degree
        own = np.eye(curve.n_control)[k : k + degree + 1].T
        spline = BSpline(curve.knots, own, degree)
        series = [spline(middle, nu=d) for d in range(degree + 1)]
        result = np.zeros((4, degree + 1, len(s)))
        for d in range(4):
            for m in range(degree + 1 - d):
                result[d] += np.outer(series[d + m], (s - middle) ** m) / math.factorial(m)
        return np.where(np.abs(result) <= ZERO * np.abs(result).max(axis=1)[:, None], 0.0, result)

    def _segment(
        self, look: ca.Function, basis: np.ndarray, sums: int, listing: bool
    ) -> ca.Function:
        """(T, node, control points, (width, begin)) -> state at the end, sums, inner states."""
        mechanism, steps, p = self.mechanism, self.steps, len(self.mechanism.passive)
        T, y0 = ca.SX.sym("T"), ca.SX.sym("y", 2 * p)
        c = ca.SX.sym("c", len(mechanism.active), basis.shape[1])
        where = ca.SX.sym("where", 2)
        y, total, inner, listed = y0, ca.SX.zeros(max(sums, 1)), [], []
        h = T * where[0] / steps
        driven = [c @ ca.sparsify(ca.DM(basis[d])) / T**d for d in range(4)]
        for step in range(steps):
            inner.append(y)
            rates: list[ca.SX] = []
            for stage in range(4):
                at = 4 * step + stage
                here = y + STAGES[stage] * h * rates[-1] if stage else y
                none = ca.SX.zeros(p)
                parts = (here[:p], here[p:], none, none)
                state = [
                    mechanism.joined(own, x[:, at]) for own, x in zip(parts, driven, strict=True)
                ]
                t = T * (where[1] + where[0] * ((step + STAGES[stage]) / steps))
                found = look(*state, t)
                rates.append(ca.vertcat(here[p:], found[:p]))
                if sums:
                    total += SHARES[stage] * h * found[p : p + sums]
                listed.append(ca.sqrt(SHARES[stage] * h) * found[p + sums :])
            y += h * sum((w * rate for w, rate in zip(SHARES, rates, strict=True)), ca.SX(0))
        outputs = [y, total, ca.horzcat(*inner)]
        if listing:
            outputs.append(ca.horzcat(*listed))
        return ca.Function("segment", [T, y0, c, where], outputs)

    def columns(self, s: np.ndarray) -> list[int]:
        """Numbers of instants in the grid of steps."""
        apart = np.abs(self.grid - s[:, None])
        assert apart.min(axis=1).max() < 1e-9
        return apart.argmin(axis=1).tolist()

    def inputs(self, s: np.ndarray) -> list[ca.MX]:
        """What the symbols are at instants where steps begin."""
        mechanism, p = self.mechanism, self.count
        y = self.inner[:, self.columns(s)]
        none = ca.MX.zeros(p, len(s))
        parts = (y[:p, :], y[p:, :], none, none)
        q, v, a, jerk = (
            mechanism.joined(own, self.curve.state(s, d)) for d, own in enumerate(parts)
        )
        t = self.T * ca.DM(s).T
        if p:
            a = mechanism.accelerate.map(len(s))(q, v, a, jerk, t)
        return [q, v, a, jerk, t]

    def at(self, s: np.ndarray, wanted: ca.SX) -> ca.MX:
        """(wanted, K): an expression of the symbols, at instants."""
        inputs = self.mechanism.symbols.inputs
        function = ca.Function("wanted", inputs, [ca.densify(wanted)], {"cse": True})
        return function.map(len(s))(*self.inputs(s))

    def throughout(self, bounds: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
        """Where bounds hold: where segments begin if any row of them is an equation."""
        equal = bool((np.asarray(bounds[0]) == np.asarray(bounds[1])).any())
        return self.curve.limit_points(1 if equal else self.method.limit_points)


def _near(x: np.ndarray, y: np.ndarray) -> bool:
    size = np.abs(x).max(axis=1)[:, None]
    return bool(((x == 0) == (y == 0)).all() and (np.abs(x - y) <= SAME * size).all())
