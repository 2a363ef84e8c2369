"""Samples of a discrete motion at its nodes, and the re-check of its constraints within steps."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from predyn.curves.node_spline import NodeSpline
from predyn.dynamics.reactions import joint_reactions
from predyn.problem.accelerations import needs_accelerations
from predyn.samples import STATES, Samples
from predyn.samples.registry import TORQUES, implementation
from predyn.solution import Violation
from predyn.solution.later_samples import SAMPLED
from predyn.transcribe.motion import Motion
from predyn.transcribe.program import Program
from predyn.transcribe.recheck import Bounded, violations_of

Floats = NDArray[np.float64]


def sample_nodes(motion: Motion) -> dict[str, Any]:
    """The motion and its forces at all nodes.

    Velocities and accelerations are differences of neighbouring nodes; at the ends of a phase,
    velocities are those that belong to its momenta. Torques are means of the neighbouring steps.
    """
    parts: dict[str, list[NDArray]] = {k: [] for k in SAMPLED if k != "signals"}
    begin, free = 0.0, not needs_accelerations(motion.problem)
    for p, curve in enumerate(motion.curves):
        spline, control = node_control(motion, p)
        s, T = spline.breaks, curve.duration
        q, ends = control[1:-1], control[[0, -1]] / T
        v = np.concatenate([ends[:1], (q[2:] - q[:-2]) / (2.0 * s[1] * T), ends[1:]])
        a = _differences(spline, control, s)[2] / T**2
        if spline.degree == 1 and free:  # from the half steps at the ends, as forces there are
            h = s[1] * T
            a[0] = 2.0 * ((q[1] - q[0]) / h - v[0]) / h
            a[-1] = 2.0 * (v[-1] - (q[-1] - q[-2]) / h) / h
        known = motion.signals[TORQUES].curves[p]
        assert known is not None
        if known.degree == 0:
            step = known.control
            tau = 0.5 * (step[np.r_[0, : len(step)]] + step[np.r_[: len(step), -1]])
        else:
            tau = motion.signal(p, TORQUES, s)
        wrench = joint_reactions(motion.systems[p].model, q, v, a, forces=motion.forces(p, s))
        rows = (begin + s * T, np.full(len(s), p), q, v, a, tau, wrench)
        for name, value in zip(parts, rows, strict=True):
            parts[name].append(value)
        begin += T
    found = {name: np.concatenate(values) for name, values in parts.items()}
    return {**found, "signals": motion.sampled_signals(found["t"], found["phase"])}


def node_control(motion: Motion, p: int) -> tuple[NodeSpline, Floats]:
    """Control points of a phase: slope at the start, nodes, slope at the end."""
    spline = motion.given_splines[p]
    assert isinstance(spline, NodeSpline)
    return spline, spline.sample(motion.splines[p], motion.curves[p].control)


def _differences(spline: NodeSpline, control: Floats, s: Floats) -> Floats:
    """(4, K, n): positions at s and their derivatives in s, by differences of nodes."""
    basis, first = spline.differences(s)
    found: Floats = np.einsum("koa,kaj->okj", basis, control[first[:, None] + np.arange(4)])
    return found


def node_violations(program: Program, motion: Motion) -> list[Violation]:
    """The largest excess of each named quantity that is bounded throughout, worst first.

    Quantities are looked at where the method knows them: in the middle of the steps, in addition to
    the nodes or instants at which they are imposed.
    """
    found, begin = [], 0.0
    for p, curve in enumerate(motion.curves):
        (spline, control), T = node_control(motion, p), curve.duration
        middle = (np.arange(spline.steps) + 0.5) / spline.steps
        values, slopes = spline.within(np.full(1, 0.5))[:, 0]
        local = control[
            1 + spline.degree * np.arange(spline.steps)[:, None] + np.arange(len(values))
        ]
        q = np.einsum("a,kaj->kj", values, local)
        v = np.einsum("a,kaj->kj", slopes, local) / T
        _, _, a, jerk = _differences(spline, control, middle)
        states = (q, v, a / T**2, jerk / T**3)
        for rows in program.rows:
            if rows.throughout and rows.parts[0].points.phase == p:
                residual = rows.parts[0].block.residual
                samples = _samples(motion, p, middle, states, residual.channels)
                bounded = Bounded(rows.name, residual, rows.lower, rows.upper)
                value = bounded.values(samples, len(middle))
                low, high = rows.lower[:, None], rows.upper[:, None]
                worst = np.argmax(np.maximum(low - value, value - high), axis=1)
                at = np.take_along_axis(value, worst[:, None], axis=1)[:, 0]
                found.append((bounded, at, begin + middle[worst] * T))
        begin += T
    return violations_of(found) if found else []


def _samples(
    motion: Motion, p: int, s: Floats, states: tuple[Floats, ...], channels: tuple[str, ...]
) -> Samples:
    """Channels (components, instants) of a discrete motion with q, v, a, jerk."""
    found: dict[str, NDArray] = {name: x.T for name, x in zip(STATES, states, strict=True)}
    found["t"] = s[None] * motion.curves[p].duration
    forces, model = motion.forces(p, s), motion.systems[p].model
    for name in channels:
        family, _, member = name.partition(":")
        if name in found:
            continue
        if name == TORQUES:
            found[name] = motion.signal(p, TORQUES, s).T
        elif family in ("signal", "rate"):
            found[name] = motion.signal(p, member, s, int(family == "rate")).T
        elif family == "parameter":
            found[name] = np.full((1, len(s)), motion.parameters[member])
        else:
            module, of = implementation(name)
            found[name] = module.values(model, of, states[:3], forces).T
    return Samples(found)
