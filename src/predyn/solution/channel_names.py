"""The channels of a solution by name, with their components and units."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from predyn.errors import InputError, unknown_name
from predyn.samples.registry import CHANNELS, RESERVED, WRENCH, components, units
from predyn.solution.external_loads import loaded_frames
from predyn.solution.whole_body import QUANTITIES

if TYPE_CHECKING:
    from predyn.model import Model
    from predyn.solution.solution import Solution


class ChannelInfo(NamedTuple):
    """Names and units of the components of a channel, in the order of its values."""

    components: tuple[str, ...]
    units: tuple[str, ...]


def channels_of(solution: Solution) -> dict[str, ChannelInfo]:
    """All channels: of joints, of the whole mechanism, of frames, of signals and so on."""
    model = solution.model
    plain = [name for name in CHANNELS if not name.endswith(":")]
    frames = [f"frame:{name}" for name in model.frame_names if name != "world"]
    return (
        {name: _registered(model, name) for name in plain}
        | {name: _whole(model, name) for name in QUANTITIES if name not in CHANNELS}
        | {name: _registered(model, name) for name in frames}
        | own_channels(solution)
    )


def channel_info(solution: Solution, name: str) -> ChannelInfo:
    """One of them. Raises an InputError that lists the names if there is none of this name."""
    return described_channel(solution.model, name, own_channels(solution))


def described_channel(model: Model, name: str, own: Mapping[str, ChannelInfo]) -> ChannelInfo:
    """A channel of a mechanism, or one of its own that a motion adds."""
    if not isinstance(name, str):
        raise unknown_name("channel", name, own)
    if name in own:
        return own[name]
    family, colon, _ = name.partition(":")
    if family + colon in CHANNELS and family + colon not in RESERVED:
        return _registered(model, name)
    if name in QUANTITIES:
        return _whole(model, name)
    families = [f"{x}NAME" for x in CHANNELS if x.endswith(":")]
    plain = [x for x in CHANNELS if not x.endswith(":")]
    names = list(dict.fromkeys([*plain, *QUANTITIES, *families, *own]))
    nearest = unknown_name("channel", name, names)
    raise InputError(f"{nearest}; channels: {', '.join(names)}; units are in solution.channels")


def own_channels(solution: Solution) -> dict[str, ChannelInfo]:
    """The channels that signals, external forces and parameters add."""
    own = {}
    for name, signal in solution.signal_curves.items():
        for kind, suffix in (("signal:", ""), ("rate:", "/s")):
            unit = f"{signal.unit}{suffix}"
            own[f"{kind}{name}"] = ChannelInfo(signal.components, (unit,) * len(signal.components))
    for name in loaded_frames(solution):
        own[f"force:{name}"] = ChannelInfo(WRENCH, ("N m",) * 3 + ("N",) * 3)
    for name in solution.parameters:
        unit = solution.parameter_units.get(name, "1")
        own[f"parameter:{name}"] = ChannelInfo((name,), (unit,))
    return own


def _registered(model: Model, name: str) -> ChannelInfo:
    return ChannelInfo(components(model, name), units(model, name))


def _whole(model: Model, name: str) -> ChannelInfo:
    names = QUANTITIES[name].components or model.joint_names
    return ChannelInfo(names, (QUANTITIES[name].unit,) * len(names))
