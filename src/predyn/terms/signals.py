"""Terms on unknowns besides the motion of the joints: signals, their rates, and parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from predyn.errors import InputError, unknown_name
from predyn.model import Model
from predyn.samples import Offer
from predyn.terms.linear import Block, Linear
from predyn.terms.selection import read_numbers
from predyn.terms.term import Residual, Term


class _OnUnknown(Term):
    """Base of terms on the signals and parameters of a problem."""

    def bind(self, model: Model) -> Residual:
        raise InputError(f"term {self.kind!r}: it needs the signals and parameters of a problem")

    def _linear(
        self, offer: Offer, channel: str, components: Sequence[str] | None, target: ArrayLike
    ) -> Linear:
        offer.require(self.kind, (channel,))
        known = offer.further[channel]
        given: Any = known.components if components is None else components
        if not isinstance(given, tuple | list) or not given:
            raise InputError(
                f"{self.kind}: components: expected some of {', '.join(known.components)}, got "
                f"{components!r:.40}"
            )
        names: tuple[Any, ...] = tuple(given)
        for name in names:
            if name not in known.components:
                raise unknown_name(f"component of {channel!r}", name, known.components)
        index = np.array([known.components.index(name) for name in names], np.int64)
        member = channel.partition(":")[2]
        rows = (member,) if names == (member,) else tuple(f"{member} {name}" for name in names)
        unit = f"{known.unit}/s" if channel.startswith("rate:") else known.unit
        return Linear(
            rows,
            (unit,) * len(names),
            np.array(known.scale)[index],
            [Block(0, channel, index, np.ones(len(index)))],
            read_numbers(target, f"{self.kind}: target", rows),
        )


@dataclass(frozen=True, eq=False)
class SignalValue(_OnUnknown):
    """Components (None: all) of a signal minus a target."""

    signal: str
    components: Sequence[str] | None = None
    target: ArrayLike = 0.0

    kind = "signal"

    def bind_to(self, offer: Offer) -> Residual:
        return self._linear(offer, f"signal:{self.signal}", self.components, self.target)


@dataclass(frozen=True, eq=False)
class SignalRate(_OnUnknown):
    """The time derivative of components (None: all) of a signal minus a target, per second."""

    signal: str
    components: Sequence[str] | None = None
    target: ArrayLike = 0.0

    kind = "signal_rate"

    def bind_to(self, offer: Offer) -> Residual:
        return self._linear(offer, f"rate:{self.signal}", self.components, self.target)


@dataclass(frozen=True, eq=False)
class ParameterValue(_OnUnknown):
    """A parameter minus a target; it counts once as a cost or constraint, whatever `at` is."""

    parameter: str
    target: float = 0.0

    kind = "parameter"

    def bind_to(self, offer: Offer) -> Residual:
        return self._linear(offer, f"parameter:{self.parameter}", None, self.target)
