"""A Problem with integrated joints as a nonlinear program in CasADi: an independent formulation.

Active joints are B-splines in normalised time, passive ones are integrated (casadi_track.py), and
RK4 sums what is summed over time. The variables of a phase are [T if it is free], the control
points of the active joints that the boundary states leave free, c[k, j] with k slow, and the states
(positions, then velocities) of the passive joints where segments meet that are not given; with
single shooting those at the start alone. Rows are those of `casadi_program`, and at the end what
joins the segments.
"""

from __future__ import annotations

import itertools
import time

import casadi as ca
import numpy as np

from oracles.casadi_pairs import PAIRS
from oracles.casadi_program import CHANNELS, LIMITS, Program, Rows, _instants, _values
from oracles.casadi_terms import bounds_of, loss_of, residual
from oracles.casadi_track import Mechanism, Track
from predyn.problem import Constraint, Cost, Duration, Problem


def casadi_hybrid(problem: Problem) -> Program:
    """The whole program; the guess is zero, durations apart."""
    began = time.perf_counter()
    mechanism = Mechanism(problem)
    tracks = [Track(problem, mechanism, phase) for phase in problem.phases]
    ends = np.cumsum([0, *(track.size for track in tracks)]).tolist()
    x, f = ca.MX.sym("x", ends[-1]), ca.MX(0)
    lower, upper, guess = np.full(ends[-1], -np.inf), np.full(ends[-1], np.inf), np.zeros(ends[-1])
    rows = Rows([phase.name or f"phase {i + 1}" for i, phase in enumerate(problem.phases)])
    names: list[str] = []
    for i, (phase, track) in enumerate(zip(problem.phases, tracks, strict=True)):
        track.take(x[ends[i] : ends[i + 1]])
        if isinstance(phase.duration, Duration):
            T = phase.duration
            lower[ends[i]], upper[ends[i]], guess[ends[i]] = T.min, T.max, T.guess
        names += ["T"] * track.timed + ["x"] * (track.size - track.timed)
        costs = (*phase.costs, *problem.costs)
        constraints = (*problem.constraints, *phase.constraints)
        whole = [x for x in costs if x.at == "throughout"]
        bounded = [x for x in constraints if x.integral and x.at == "throughout"]
        track.integrate([
            *(x.weight * _loss(x, mechanism) for x in whole),
            *(_loss(x, mechanism) for x in bounded),
        ])  # fmt: skip
        f += ca.sum1(track.sums[: len(whole)])
        f += sum((x.weight * _added(x, track) for x in costs if x not in whole), ca.MX(0))
        _add_limits(rows, i, problem, track)
        _add_ends(rows, i, problem, track)
        for constraint in constraints:
            if constraint.integral:
                within = constraint in bounded
                k = len(whole) + bounded.index(constraint) if within else -1
                value = track.sums[k] if within else _added(constraint, track)
                _add_integral(rows, i, constraint, value)
            elif not constraint.term.pairs:
                _add_constraint(rows, i, constraint, track)
    _add_pairs(rows, problem, tracks)
    for i, track in enumerate(tracks):
        if not track.single and mechanism.passive:
            _add_gaps(rows, i, problem, track)
    g = ca.vertcat(ca.MX(0, 1), *rows.g)
    touched, by = ca.Function("g", [x], [g]).jac_sparsity(0, 0).get_triplet()
    acting = np.array(touched, int)[np.array(names)[np.array(by, int)] != "T"]
    kept = np.union1d(acting, np.flatnonzero(rows.timed)).astype(int).tolist()
    bounds = (lower, upper, np.array(rows.lower)[kept], np.array(rows.upper)[kept])
    spent = time.perf_counter() - began
    return Program(x, f, g[kept], names, *bounds, [rows.rows[k] for k in kept], guess, spent)


def casadi_residuals(problem: Problem) -> tuple[ca.MX, ca.MX]:
    """x, and r with f = r . r, of a problem with one phase whose losses are all squares."""
    mechanism = Mechanism(problem)
    (phase,) = problem.phases
    track = Track(problem, mechanism, phase)
    x = ca.MX.sym("x", track.size)
    track.take(x)
    costs = (*phase.costs, *problem.costs)
    assert {cost.loss or cost.term.loss for cost in costs} == {"square"}
    parts = [
        (cost.at, np.sqrt(cost.weight) * residual(cost.term, mechanism.symbols)[1])
        for cost in costs
    ]
    track.integrate([], [r for at, r in parts if at == "throughout"])
    ends = [ca.vec(track.at(_instants(at), r)) for at, r in parts if at != "throughout"]
    return x, ca.vertcat(track.squared, *ends)


def _loss(entry: Cost | Constraint, mechanism: Mechanism) -> ca.SX:
    loss = getattr(entry, "loss", None) or entry.term.loss
    return loss_of(loss, entry.term, residual(entry.term, mechanism.symbols)[1])


def _added(entry: Cost | Constraint, track: Track) -> ca.MX:
    """Over the instants that an entry looks at."""
    return ca.sum2(track.at(_instants(entry.at), _loss(entry, track.mechanism)))


def _add_limits(rows: Rows, i: int, problem: Problem, track: Track) -> None:
    limits, n = problem.limits or problem.model.limits, problem.model.n
    jerk = np.inf if problem.jerk_limit is None else np.asarray(problem.jerk_limit, float)
    jerk = np.broadcast_to(jerk, n)
    given = {**limits._asdict(), "jerk": np.stack((-jerk, jerk), axis=1)}
    s = track.mechanism.symbols
    channels = dict(zip(LIMITS, (s.q, s.v, s.a, s.jerk, s.tau), strict=True))
    for kind in LIMITS:
        lower, upper = np.asarray(given[kind]).T
        limited = np.isfinite(lower) | np.isfinite(upper)
        if kind == "effort":
            limited[track.mechanism.passive] = False
        for kept in (limited & (lower < upper), limited & (lower == upper)):
            if kept.any():
                joints = np.flatnonzero(kept).tolist()
                bounds = (lower[kept], upper[kept])
                g = track.at(track.throughout(bounds), channels[kind][joints])
                rows.add(i, kind, [problem.model.joint_names[j] for j in joints], g, bounds)


def _add_ends(rows: Rows, i: int, problem: Problem, track: Track) -> None:
    """All boundary values; those that the known numbers see to are dropped later."""
    symbols = track.mechanism.symbols
    phase, names = track.phase, problem.model.joint_names
    for end, state, s in (("start", phase.start, 0.0), ("end", phase.end, 1.0)):
        for d, wanted in enumerate(_values(state, problem.model.n)):
            given = np.flatnonzero(~np.isnan(wanted)).tolist()
            if given:
                g = track.at(np.array([s]), symbols.inputs[d][given])
                parts, value = [names[j] for j in given], wanted[given]
                rows.add(i, f"{end} {CHANNELS[d]}", parts, g, (value, value))


def _add_integral(rows: Rows, i: int, constraint: Constraint, value: ca.MX) -> None:
    prefix = f"{rows.phases[i]}: " if len(rows.phases) > 1 else ""
    label = prefix + (constraint.name or f"integral of {constraint.term.kind}")
    low = -np.inf if constraint.lower is None else constraint.lower
    high = np.inf if constraint.upper is None else constraint.upper
    rows.add(i, constraint.name or constraint.term.kind, ["integral"], value, (low, high), label)


def _add_constraint(rows: Rows, i: int, constraint: Constraint, track: Track) -> None:
    symbols = track.mechanism.symbols
    parts, r = residual(constraint.term, symbols)
    bounds = bounds_of(constraint, len(parts))
    everywhere = constraint.at == "throughout"
    s = track.throughout(bounds) if everywhere else np.sort(_instants(constraint.at))
    timed = track.timed and ca.depends_on(r, symbols.t)
    kind = constraint.name or constraint.term.kind
    rows.add(i, kind, parts, track.at(s, r), bounds, timed=timed)


def _add_pairs(rows: Rows, problem: Problem, tracks: list[Track]) -> None:
    """Continuity between phases, then terms on pairs of instants."""
    zero, one = np.zeros(1), np.ones(1)
    joints, passive = problem.model.joint_names, tracks[0].mechanism.passive
    for i, (before, after) in enumerate(itertools.pairwise(tracks)):
        for d in range(problem.continuity + 1):
            jump = after.inputs(zero)[d] - before.inputs(one)[d]
            for j, joint in enumerate(joints):
                label = f"continuity {rows.phases[i]} to {rows.phases[i + 1]} {joint} {CHANNELS[d]}"
                if d < 2 or j not in passive:  # what else passive joints do, follows
                    rows.add(i, f"continuity {d}", [joint], jump[j, :], (0.0, 0.0), label)
    for constraint in problem.constraints:
        if constraint.term.pairs:
            _add_pair(rows, 0, constraint, tracks[0], tracks[-1], whole=True)
    for i, (phase, track) in enumerate(zip(problem.phases, tracks, strict=True)):
        for constraint in phase.constraints:
            if constraint.term.pairs:
                _add_pair(rows, i, constraint, track, track, whole=False)


def _add_pair(
    rows: Rows, i: int, constraint: Constraint, before: Track, after: Track, whole: bool
) -> None:
    first = before.mechanism.symbols
    second = first.again()
    parts, r = PAIRS[constraint.term.kind](constraint.term, first, second)
    function = ca.Function("pair", [*first.inputs, *second.inputs], [ca.densify(r)])
    g = function(*before.inputs(np.zeros(1)), *after.inputs(np.ones(1)))
    kind = constraint.name or constraint.term.kind
    low, high = bounds_of(constraint, len(parts))
    prefix = "" if whole or len(rows.phases) == 1 else f"{rows.phases[i]}: "
    for k, part in enumerate(parts):
        rows.add(i, kind, [part], g[k], (low[k], high[k]), f"{prefix}{kind} {part}")


def _add_gaps(rows: Rows, i: int, problem: Problem, track: Track) -> None:
    names = [problem.model.joint_names[j] for j in track.mechanism.passive]
    parts = [f"{name} {what}" for what in ("position", "velocity") for name in names]
    rows.add(i, "passive motion", parts, track.ends - track.nodes[:, 1:], (0.0, 0.0))
