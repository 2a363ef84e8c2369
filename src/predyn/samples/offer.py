"""The channels that a method provides to terms in a phase."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from predyn.errors import InputError, unknown_name
from predyn.model import Model
from predyn.samples.registry import CHANNELS
from predyn.samples.samples import channel_size, split_side
from predyn.samples.surroundings import Surroundings

FAMILIES = {"signal": "signal", "rate": "signal", "parameter": "parameter"}


class Further(NamedTuple):
    """A channel that a problem adds: a signal, its rate, or a parameter."""

    components: tuple[str, ...]
    unit: str
    scale: tuple[float, ...]
    fixed: tuple[bool, ...] = ()  # components that are given, not unknown


@dataclass(frozen=True)
class Offer:
    """A model, and the channels that a method provides for its motion.

    further  channels that the problem adds, by name: "signal:press", "rate:press", "parameter:k"
    without  registered channels that the method cannot provide
    surroundings  the model in the scene of the problem, if there is one
    """

    model: Model
    method: str = "spline"
    further: Mapping[str, Further] = field(default_factory=dict)
    without: tuple[str, ...] = ()
    surroundings: Surroundings | None = None

    def require(self, term: str, channels: Iterable[str]) -> None:
        """Raise an InputError that names the first missing channel, if any."""
        for name in dict.fromkeys(split_side(channel)[1] for channel in channels):
            family, colon, member = name.partition(":")
            if family + colon in self.without:
                raise InputError(
                    f"term {term!r}: it needs {name!r}, which method {self.method!r} does not "
                    f"provide; it provides {', '.join(self._names())}"
                )
            if name in self.further:
                continue
            if colon and family in FAMILIES:
                known = [x.partition(":")[2] for x in self.further if x.startswith(f"{family}:")]
                if not known:
                    kind = FAMILIES[family]
                    raise InputError(
                        f"term {term!r}: it needs {name!r}, but there is no {kind}; add "
                        f"{kind}s to the problem (method {self.method!r})"
                    )
                raise unknown_name(FAMILIES[family], member, known)
            channel_size(self.model, name)

    def size(self, channel: str) -> int:
        """Number of components of a channel."""
        name = split_side(channel)[1]
        if name in self.further:
            return len(self.further[name].components)
        return channel_size(self.model, name)

    def _names(self) -> list[str]:
        known = [x for x in CHANNELS if x not in self.without]
        return [*(f"{x}NAME" if x.endswith(":") else x for x in known), *self.further]
