"""The registry of channels: names, components, units, and the modules that compute them.

To add a channel, write a module with two functions and add it to CHANNELS, or call `register`:

    values(model, member, (q, v, a), forces)    (instants, components), by public functions
    in_lanes(model, member, states, forces)     a channels.derived.Derived, for programs; states
                                                are q, v, a (chunks, components, WIDTH), in which
                                                signals and parameters follow the joints

Modules are named, not imported, so that terms can look up channels without loading kernels.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

from predyn.errors import InputError, unknown_name
from predyn.model import PRISMATIC, Model
from predyn.model.floating_base import carrying_joints

RESERVED = ("signal:", "rate:", "force:", "parameter:")  # what problems add
TORQUES = "tau"  # a signal of this name holds the torques, where they are unknowns themselves
STATES = ("q", "v", "a", "jerk")  # what a curve of joint positions gives, in order of derivative


class Channel(NamedTuple):
    """One channel, or a family whose names are a prefix and a member's name."""

    name: str  # the name of a family ends in a colon
    units: Callable[[Model, str], tuple[str, ...]]  # of the components, for a member
    module: Any = ""  # the module that computes it, or its name; "" if given by curves
    components: Callable[[Model, str], tuple[str, ...]] | None = None  # names; None: numbers


def _by_joint(hinge: str, slide: str) -> Callable[[Model, str], tuple[str, ...]]:
    return lambda model, _: tuple(slide if k == PRISMATIC else hinge for k in model.kind)


def _joints(model: Model, _: str) -> tuple[str, ...]:
    return model.joint_names


def _frame_units(model: Model, member: str) -> tuple[str, ...]:
    model.frame(member)  # raises an InputError that lists the frames
    motion = ("m", "rad/s", "m/s", "rad/s^2", "m/s^2")
    return ("1",) * 9 + tuple(unit for unit in motion for _ in range(3))


def _wrenches(model: Model, _: str) -> tuple[str, ...]:
    return tuple(f"{name}.{x}" for name in model.expanded.joint_names for x in WRENCH)


def _lagrangian_units(model: Model, _: str) -> tuple[str, ...]:
    return (*_by_joint("N m", "N")(model, ""), *_by_joint("N m s", "N s")(model, ""))


def _lagrangian_names(model: Model, _: str) -> tuple[str, ...]:
    names = model.joint_names
    return (*(f"force.{x}" for x in names), *(f"momentum.{x}" for x in names))


def _ground_units(model: Model, member: str) -> tuple[str, ...]:
    own = carrying_joints(model, member)
    per_metre = ("N m/m",) * (2 * len(own))
    return (*_by_joint("N m", "N")(model, ""), *per_metre, *("N m",) * 3, *("N",) * 3)


def _ground_components(model: Model, member: str) -> tuple[str, ...]:
    own = [model.joint_names[j] for j in carrying_joints(model, member)]
    shifts = [f"{name} per {axis}" for axis in "xy" for name in own]
    return (*model.joint_names, *shifts, *WRENCH)


WRENCH = ("mx", "my", "mz", "fx", "fy", "fz")
FRAME_COMPONENTS = (
    *(f"R{i}{j}" for i in (1, 2, 3) for j in (1, 2, 3)),
    *(f"{part}{axis}" for part in ("p", "w", "v", "alpha", "a") for axis in "xyz"),
)
CHANNELS = {
    channel.name: channel
    for channel in (
        Channel("q", _by_joint("rad", "m"), "", _joints),
        Channel("v", _by_joint("rad/s", "m/s"), "", _joints),
        Channel("a", _by_joint("rad/s^2", "m/s^2"), "", _joints),
        Channel("jerk", _by_joint("rad/s^3", "m/s^3"), "", _joints),
        Channel("t", lambda model, _: ("s",), "", lambda model, _: ("t",)),
        Channel("tau", _by_joint("N m", "N"), "predyn.channels.torques", _joints),
        Channel(
            "reactions",
            lambda model, _: ("N m", "N m", "N m", "N", "N", "N") * len(model.parent),
            "predyn.channels.reactions",
            _wrenches,
        ),
        Channel("momentum", _by_joint("N m s", "N s"), "predyn.channels.momentum", _joints),
        Channel("lagrangian", _lagrangian_units, "predyn.channels.lagrangian", _lagrangian_names),
        Channel(
            "generalized_force",
            _by_joint("N m", "N"),
            "predyn.channels.generalized_force",
            _joints,
        ),
        Channel("holding", _by_joint("N m", "N"), "predyn.channels.holding", _joints),
        Channel("ground:", _ground_units, "predyn.channels.ground", _ground_components),
        Channel("frame:", _frame_units, "predyn.channels.frames", lambda *_: FRAME_COMPONENTS),
    )
}


def register(channel: Channel) -> None:
    """Add a channel of your own; its name must be new."""
    if not isinstance(channel, Channel):
        raise InputError(f"channel: expected a Channel, got {type(channel).__name__}")
    name: Any = channel.name
    if not isinstance(name, str) or not name or ":" in name[:-1] or "." in name:
        raise InputError(f"channel: expected a name without '.' and inner ':', got {name!r:.60}")
    if name in (*CHANNELS, *RESERVED):
        raise InputError(f"channel {name!r}: a channel of that name already exists")
    module = import_module(channel.module) if isinstance(channel.module, str) else channel.module
    for part, needed in ((channel, ("units",)), (module, ("values", "in_lanes"))):
        for function in needed:
            if not callable(getattr(part, function, None)):
                raise InputError(f"channel {name!r}: expected a function {function!r}")
    CHANNELS[channel.name] = channel


def find(name: str) -> tuple[Channel, str]:
    """The channel and, for a family, the member. Raises an InputError that lists all names."""
    family, colon, member = name.partition(":")
    channel = CHANNELS.get(family + colon)
    if channel is None:
        choices = [f"{x}NAME" if x.endswith(":") else x for x in CHANNELS]
        raise unknown_name("channel", name, choices)
    return channel, member


def units(model: Model, name: str) -> tuple[str, ...]:
    """The unit of each component."""
    channel, member = find(name)
    return channel.units(model, member)


def components(model: Model, name: str) -> tuple[str, ...]:
    """The name of each component."""
    channel, member = find(name)
    if channel.components is None:
        return tuple(str(k) for k in range(len(channel.units(model, member))))
    return channel.components(model, member)


def implementation(name: str) -> tuple[Any, str]:
    """The module that computes a channel, and the member's name."""
    channel, member = find(name)
    if not channel.module:
        raise InputError(f"channel {name!r}: it is given by the curves, and no module computes it")
    module = channel.module
    return import_module(module) if isinstance(module, str) else module, member
