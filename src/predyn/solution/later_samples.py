"""Samples of a motion that are computed when they are first looked at.

In a loop over many problems, most solutions are only the guess for the next one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, TypeVar

Made = TypeVar("Made")
SAMPLED = ("t", "phase", "q", "v", "a", "tau", "reactions", "signals")  # fields of a Solution


class LaterSamples:
    """In place of sampled fields: computes all of them once one is needed."""

    def __init__(self, compute: Callable[[], Mapping[str, Any]]) -> None:
        self._compute = cache(compute)

    def __getitem__(self, name: str) -> Any:
        return self._compute()[name]


class SampledField:
    """A field that may be set to LaterSamples."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, owner: Any, kind: type) -> Any:
        if owner is None:
            return self
        value = vars(owner)[self._name]
        if isinstance(value, LaterSamples):
            value = vars(owner)[self._name] = value[self._name]
        return value

    def __set__(self, owner: Any, value: Any) -> None:
        vars(owner)[self._name] = value


def with_sampled_fields(kind: type[Made]) -> type[Made]:
    """Decorate a dataclass: its sampled fields may be set to LaterSamples."""
    for name in SAMPLED:
        setattr(kind, name, SampledField(name))
    return kind


def revised(made: Made, **changes: Any) -> Made:
    """As `dataclasses.replace`, but samples that have not been computed yet stay so."""
    other = object.__new__(type(made))
    vars(other).update(vars(made), **changes)
    return other
