"""A cyclic motion and its continuation: each repetition is the one before, mirrored and moved on.

Curves, signals and forces of a repetition are exact images of the predicted ones; torques and
reactions are computed from them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from predyn.errors import InputError
from predyn.model import PRISMATIC, Limits, Model
from predyn.model.floating_base import floating_base
from predyn.solution.parts import Curve, Floats, SignalCurves

if TYPE_CHECKING:
    from predyn.dynamics.system import Payload, PhaseSystem
    from predyn.kernels.forces import ExternalForce
    from predyn.solution.solution import Solution

AXES = "xyz"
MOST = 1000  # repetitions


class Repeat(NamedTuple):
    """How a motion goes on after its end, in numbers; see predyn.problem.Cycle."""

    advance: tuple[float, float, float]  # m, of the floating base
    swap: Mapping[str, str]  # joints, contact points and patches that change places
    signs: Mapping[str, float]  # joints that change sign
    mirror: str | None  # world axis along which forces and places change sign

    def image(self, name: str) -> str:
        """The joint, point or patch that takes the place of the named one."""
        for one, other in self.swap.items():
            if name in (one, other):
                return other if name == one else one
        return name

    @property
    def mirrored(self) -> bool:
        """Whether sides are exchanged, so that only every second repetition is the same."""
        return bool(self.swap) or self.mirror is not None

    @property
    def reflection(self) -> Floats:
        """(3,) factors of world axes."""
        return np.array([-1.0 if axis == self.mirror else 1.0 for axis in AXES])


def repeated(solution: Solution, count: int) -> Solution:
    """The motion and its continuation: `count` times as long."""
    repeat = solution.cycle
    if repeat is None:
        raise InputError(
            f"repeated: {solution.name!r} is not cyclic: its problem states no cycle, so its end "
            "does not continue at its start"
        )
    if isinstance(count, bool) or not isinstance(count, int | np.integer) or not 1 <= count <= MOST:
        raise InputError(f"count: expected a whole number from 1 to {MOST}, got {count!r:.40}")
    if count == 1:
        return solution
    parts = [solution]
    image = _Image(solution.model, repeat)
    for _ in range(count - 1):
        parts.append(image.of(parts[-1]))
    return _joined(solution, parts)


class _Image:
    """What comes after a motion."""

    def __init__(self, model: Model, repeat: Repeat) -> None:
        self.model, self.repeat = model, repeat
        names = model.joint_names
        self.order = np.array([model.joint_index(repeat.image(name)) for name in names])
        self.signs = np.array(
            [repeat.signs.get(x, repeat.signs.get(repeat.image(x), 1.0)) for x in names]
        )
        self.offset = _advanced(model, repeat.advance)
        self.links = _link_images(model, self.order)

    def of(self, solution: Solution) -> Solution:
        curves = tuple(
            curve._replace(control=self._joints(curve.control) + self.offset)
            for curve in solution.curves
        )
        systems = tuple(self._system(solution.system(k)) for k in range(len(solution.curves)))
        signals = {
            self.repeat.image(name): self._signal(solution, name, signal)
            for name, signal in solution.signal_curves.items()
        }
        every = dict.fromkeys((*solution.signal_curves, *signals))
        none = (None,) * len(curves)
        moved = {
            name: signals.get(name) or solution.signal_curves[name]._replace(curves=none)
            for name in every
        }
        return replace(solution, curves=curves, systems=systems, signal_curves=moved)

    def _joints(self, values: Floats) -> Floats:
        """(..., n) of the image."""
        return np.asarray(self.signs * values[..., self.order])

    def _signal(self, solution: Solution, name: str, signal: SignalCurves) -> SignalCurves:
        """The force of a contact is reflected; other signals stay."""
        touching = {x for point in self.model.contact_points for x in (point.name, point.patch)}
        if name not in touching or signal.components != tuple(AXES):
            return signal
        factors = self.repeat.reflection
        curves = (x and x._replace(control=x.control * factors) for x in signal.curves)
        return signal._replace(curves=tuple(curves))

    def _system(self, system: PhaseSystem) -> PhaseSystem:
        from predyn.dynamics.system import PhaseSystem, loaded_model

        payloads = tuple(self._payload(load) for load in system.payloads)
        limits = Limits(*(self._limits(np.asarray(x, float)) for x in system.limits))
        jerk = system.jerk_limit
        return PhaseSystem(
            loaded_model(self.model, payloads),
            payloads,
            tuple(self._force(force) for force in system.forces),
            tuple(self.repeat.image(name) for name in system.passive),
            limits,
            jerk if jerk is None or np.ndim(jerk) == 0 else np.asarray(jerk)[self.order],
        )

    def _limits(self, bounds: Floats) -> Floats:
        both = self.signs[:, None] * bounds[self.order]
        return np.stack([both.min(axis=1), both.max(axis=1)], axis=1)

    def _payload(self, load: Payload) -> Payload:
        link = self._frame(load.link)
        if link == load.link:
            return load
        point = self.repeat.reflection * np.asarray(load.point, float)  # link axes are alike
        return replace(load, link=link, point=point)

    def _frame(self, name: str) -> str:
        image = self.repeat.image(name)
        if image == name and name in self.model.link_names:
            return str(self.model.link_names[self.links[self.model.link_names.index(name)]])
        return image

    def _force(self, force: ExternalForce) -> ExternalForce:
        """Forces by signals change places with them; others in world axes are reflected."""
        changed: dict[str, Any] = {"link": self._frame(force.link)}
        for name, factors in (
            ("force", self.repeat.reflection),
            ("moment", -self.repeat.reflection if self.repeat.mirror else np.ones(3)),
        ):
            value: Any = getattr(force, name)
            if isinstance(value, str):
                changed[name] = self.repeat.image(value)
            elif force.frame == "world" and isinstance(value, np.ndarray | list | tuple):
                changed[name] = factors * np.asarray(value, float)
        return replace(force, **changed)


def _advanced(model: Model, advance: tuple[float, ...]) -> Floats:
    """(n,) by how much the slides of the floating base move on."""
    offset, base = np.zeros(model.n), floating_base(model)
    for j in () if base is None else base:
        if model.kind[j] == PRISMATIC:
            offset[j] = advance[int(np.argmax(np.abs(model.axis[j])))]
    return offset


def _link_images(model: Model, order: NDArray[np.int64]) -> NDArray[np.int64]:
    """(links,) the link that takes the place of each one: that of the image of its joint."""
    names = model.expanded.joint_names
    images = np.arange(len(names))
    for j, image in enumerate(order.tolist()):
        one, other = (names.index(model.joint_names[x]) for x in (j, image))
        images[one] = other
    return images


def _joined(solution: Solution, parts: list[Solution]) -> Solution:
    curves = tuple(curve for part in parts for curve in part.curves)
    names = dict.fromkeys(name for part in parts for name in part.signal_curves)
    signals = {name: _joined_signal(name, parts) for name in names}
    systems = tuple(part.system(k) for part in parts for k in range(len(part.curves)))
    joined = replace(
        solution,
        curves=curves,
        phase_names=tuple(name for part in parts for name in part.phase_names),
        signal_curves=signals,
        systems=systems,
        verification=None,
        certificate=None,
        problem=None,
        cycle=_composed(solution, len(parts)),
    )
    return _sampled(joined, solution, len(parts))


def _joined_signal(name: str, parts: list[Solution]) -> SignalCurves:
    own = [part.signal_curves.get(name) for part in parts]
    first = next(signal for signal in own if signal is not None)
    curves: list[Curve | None] = []
    for part, signal in zip(parts, own, strict=True):
        curves += [None] * len(part.curves) if signal is None else signal.curves
    return first._replace(curves=tuple(curves))


def _composed(solution: Solution, count: int) -> Repeat:
    """How the joined motion goes on: mirrored if it consists of an odd number."""
    repeat = solution.cycle
    assert repeat is not None
    factors = repeat.reflection
    total = np.zeros(3)
    for _ in range(count):
        total = factors * total + repeat.advance
    advance = (float(total[0]), float(total[1]), float(total[2]))
    if count % 2:
        return repeat._replace(advance=advance)
    return Repeat(advance, {}, {}, None)


def _sampled(joined: Solution, solution: Solution, count: int) -> Solution:
    """With samples at the instants of the predicted motion, and those of its repetitions."""
    from predyn.solution.evaluation import samples_of

    phases = len(solution.curves)
    t = np.concatenate([solution.t + k * solution.duration for k in range(count)])
    phase = np.concatenate([solution.phase + k * phases for k in range(count)])
    at = samples_of(joined, t, phase)
    joined = replace(
        joined, t=t, phase=phase, q=at.q, v=at.v, a=at.a, tau=at.tau, reactions=at.reactions
    )
    signals = {name: joined.channel(f"signal:{name}") for name in joined.signal_curves}
    return replace(joined, signals=signals)
