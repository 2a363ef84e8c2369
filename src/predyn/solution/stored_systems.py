"""Signals and systems of phases as trees of numbers and words, for solution files."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from predyn.curves.bspline import BSpline
from predyn.curves.profile import Profile
from predyn.errors import FileError, ModelWarning
from predyn.model import Limits, Model
from predyn.solution.parts import Curve, Floats, SignalCurves
from predyn.storage.hdf5_tree import Tree
from predyn.storage.tree_reader import TreeReader, located

if TYPE_CHECKING:
    from predyn.dynamics.system import Payload, PhaseSystem
    from predyn.kernels.forces import ExternalForce
    from predyn.solution.solution import Solution

LARGEST = 1e15  # N, N m or m
VECTORS = ("force", "moment")
Signals = dict[str, SignalCurves]


def is_plain(solution: Solution) -> bool:
    """Whether a reader that knows neither signals nor systems of phases misses nothing."""
    if solution.signal_curves or solution.parameters or solution.cycle:
        return False
    from predyn.dynamics.system import limits_by_kind

    limits = limits_by_kind(solution.limits, solution.jerk_limit)
    forces = [tree_of_force(force) for force in solution.forces]
    for system in solution.systems:
        own = limits_by_kind(system.limits, system.jerk_limit)
        same = (
            not system.payloads
            and tuple(system.passive) == tuple(solution.passive)
            and own.keys() == limits.keys()
            and all(np.array_equal(own[name], limits[name]) for name in own)
            and _equal([tree_of_force(vars(force)) for force in system.forces], forces)
        )
        if not same:
            return False
    return True


def _equal(forces: list[Tree], others: list[Tree]) -> bool:
    return len(forces) == len(others) and all(
        type(f[key]) is type(g[key]) and np.array_equal(f[key], g[key])
        for f, g in zip(forces, others, strict=True)
        for key in f
    )


def tree_of_signal(signal: SignalCurves, samples: Floats) -> Tree:
    """What `signal_of` reads back; a phase without the signal is an empty group."""
    return {
        "components": signal.components,
        "unit": signal.unit,
        "samples": np.asarray(samples, np.float64),
        "curves": [{} if curve is None else curve._asdict() for curve in signal.curves],
    }


def signal_of(
    group: TreeReader, phase: Any, curves: tuple[Curve, ...]
) -> tuple[SignalCurves, Floats]:
    """A signal and its samples (K, components); phase (K,): that of each sample."""
    components = group.words("components")
    group.require(len(components) > 0, "components", "at least one name")
    group.require(len(set(components)) == len(components), "components", "different names")
    parts = group.groups("curves")
    if len(parts) != len(curves):
        raise FileError(
            f"{group.where}curves: expected one for each of {len(curves)} phases, got {len(parts)}"
        )
    own: list[Curve | None] = []
    for part, motion in zip(parts, curves, strict=True):
        curve = curve_of(part, len(components)) if part.tree else None
        if curve is not None:
            same = abs(curve.duration - motion.duration) <= 1e-9 * motion.duration
            part.require(same, "duration", f"that of the phase, {motion.duration:.9g} s")
        own.append(curve)
    samples = group.array("samples", (len(phase), len(components)))
    missing = np.array([curve is None for curve in own])[phase]
    group.require(np.isnan(samples[missing]), "samples", "NaN in phases without the signal")
    return SignalCurves(components, group.value("unit", str), tuple(own)), samples


def curve_of(group: TreeReader, n: int) -> Curve:
    """A curve of n components."""
    degree, knots = group.value("degree", int), group.array("knots", (None,))
    with located(group):
        spline = BSpline(degree, knots)
    control = group.array("control", (spline.n_control, n))
    duration = group.value("duration", float)
    group.require(0.0 < duration < np.inf, "duration", "a positive number of seconds")
    return Curve(degree, knots, control, duration)


def tree_of_system(system: PhaseSystem) -> Tree:
    """What `system_of` reads back; the model is the solution's with these payloads."""
    return {
        "payloads": [_tree_of_payload(load) for load in system.payloads],
        "forces": [tree_of_force(vars(force)) for force in system.forces],
        "passive": tuple(system.passive),
        "limits": {name: np.asarray(x, float) for name, x in system.limits._asdict().items()},
        "jerk_limit": system.jerk_limit,
    }


def _tree_of_payload(load: Payload) -> Tree:
    return {
        "link": load.link,
        "mass": float(load.mass),
        "point": np.asarray(load.point, float),
        "inertia": None if load.inertia is None else np.asarray(load.inertia, float),
    }


def tree_of_force(force: Any) -> Tree:
    """Force and moment are numbers, groups (curves of time) or words (names of signals)."""
    tree: Tree = {"link": force["link"], "frame": force["frame"]}
    for name in VECTORS:
        value = force[name]
        if isinstance(value, Profile):
            times, values = np.asarray(value.times, float), np.asarray(value.values, float)
            tree[name] = {"times": times, "values": values, "over": value.over}
        else:
            tree[name] = value if isinstance(value, str) else np.asarray(value, float)
    tree["point"] = np.asarray(force["point"], float)
    return tree


def system_of(group: TreeReader, model: Model, signals: Signals, k: int) -> PhaseSystem:
    """The system of phase k; `model` carries nothing."""
    from predyn.dynamics.system import PhaseSystem, loaded_model

    payloads = tuple(_payload_of(item) for item in group.groups("payloads"))
    with located(group), warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)  # given when the problem was made
        loaded = loaded_model(model, payloads)
    passive = group.words("passive")
    with located(group):
        for name in passive:
            model.joint_index(name)
    limits = group.group("limits")
    for name in Limits._fields:
        pair = limits.array(name, (model.n, 2))
        limits.require(pair[:, 0] <= pair[:, 1], name, "lower limits that are not above upper ones")
    return PhaseSystem(
        loaded,
        payloads,
        tuple(_force_of(item, model, signals, k) for item in group.groups("forces")),
        passive,
        Limits(*(limits.tree[name] for name in Limits._fields)),
        _jerk_of(group, model.n),
    )


def _jerk_of(group: TreeReader, n: int) -> Any:
    jerk = group.value("jerk_limit", (float, int, np.ndarray, type(None)))
    if isinstance(jerk, np.ndarray):
        group.array("jerk_limit", (n,), jerk.dtype)
    group.require(jerk is None or np.all(np.asarray(jerk) > 0.0), "jerk_limit", "positive numbers")
    return jerk


def _payload_of(group: TreeReader) -> Payload:
    from predyn.dynamics.system import Payload

    inertia = group.value("inertia", (np.ndarray, type(None)))
    return Payload(
        group.value("link", str),
        group.value("mass", float),
        group.array("point", (3,)),
        None if inertia is None else group.array("inertia", (3, 3)),
    )


def _force_of(group: TreeReader, model: Model, signals: Signals, k: int) -> ExternalForce:
    from predyn.kernels.forces import ExternalForce

    values: list[Any] = []
    for name in VECTORS:
        value = group.value(name, (np.ndarray, str, dict))
        if isinstance(value, np.ndarray):
            values.append(vector_of(group, name))
        elif isinstance(value, str):
            signal = signals.get(value.removeprefix("-"))  # the opposite of a signal
            there = signal is not None and signal.curves[k] is not None
            good = there and signal is not None and len(signal.components) == 3
            group.require(good, name, "the name of a signal of 3 components in this phase")
            values.append(value)
        else:
            values.append(_profile_of(group.group(name)))
    force, moment = values
    point = vector_of(group, "point")
    return ExternalForce(link_of(group, model), force, moment, point, axes_of(group))


def vector_of(group: TreeReader, name: str) -> Any:
    """Three numbers that can be computed with."""
    vector = group.array(name, (3,))
    group.require(np.abs(vector) <= LARGEST, name, f"numbers up to {LARGEST:g}")
    return vector


def link_of(group: TreeReader, model: Model) -> str:
    """The name of a link or frame of the model."""
    link: str = group.value("link", str)
    with located(group):
        model.frame(link)
    return link


def axes_of(group: TreeReader) -> str:
    return group.choice("frame", ("world", "link"))


def _profile_of(group: TreeReader) -> Profile:
    times, values = group.array("times", (None,)), group.array("values", (None, 3))
    over = group.choice("over", ("time", "phase"))
    profile = Profile(times, values, "phase" if over == "phase" else "time")
    with located(group):
        profile.check("a curve of time", 3)
    group.require(np.abs(values) <= LARGEST, "values", f"numbers up to {LARGEST:g}")
    return profile
