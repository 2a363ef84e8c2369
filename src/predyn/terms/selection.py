"""Reading of arguments of terms: joints by name, a number for each row, the choice of a form."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from predyn.errors import InputError, unknown_name
from predyn.model import PRISMATIC, Model
from predyn.samples.registry import units

Floats = NDArray[np.float64]
AXES = "xyz"
LIMITS = {"q": "position", "v": "velocity", "a": "acceleration", "tau": "effort"}


def joint_indices(model: Model, joints: Sequence[str] | None, what: str) -> NDArray[np.int64]:
    """Numbers of the named joints, each once; None means all."""
    if joints is None:
        return np.arange(model.n)
    if isinstance(joints, str) or not isinstance(joints, Iterable):
        raise InputError(f"{what}: joints: expected a list of names, got {joints!r:.60}")
    chosen = [model.joint_index(name) for name in joints]
    if not chosen or len(set(chosen)) < len(chosen):
        raise InputError(f"{what}: joints: expected different names, got {list(joints)!r:.80}")
    return np.array(chosen)


def joint_names(model: Model, index: NDArray[np.int64]) -> tuple[str, ...]:
    """Names of joints by number."""
    return tuple(model.joint_names[j] for j in index)


def joint_units(model: Model, index: NDArray[np.int64], channel: str) -> tuple[str, ...]:
    """Units of a channel for joints by number."""
    of_all = units(model, channel)
    return tuple(of_all[j] for j in index)


def joint_limits(model: Model, index: NDArray[np.int64], channel: str) -> Floats:
    """Largest magnitude within the model's limits, inf without a limit: (len(index),)."""
    if channel not in LIMITS:
        return np.full(len(index), np.inf)
    return np.asarray(np.abs(getattr(model.limits, LIMITS[channel])[index]).max(axis=1))


def effort_limits(model: Model, index: NDArray[np.int64], what: str) -> Floats:
    """The model's effort limits, the larger of the two sides; an InputError names a missing one."""
    limit = joint_limits(model, index, "tau")
    for j, size in zip(index, limit, strict=True):
        if not 0.0 < size < np.inf:
            raise InputError(
                f"{what}: joint {model.joint_names[j]!r} needs an effort limit above 0, the model "
                f"has {size:g}; give limits to this term, or use model.with_limits(effort=...)"
            )
    return limit


def joint_scale(model: Model, index: NDArray[np.int64], channel: str) -> Floats:
    """Typical size of a channel: the limit if there is one, else pi for angles and 1 for others."""
    limit = joint_limits(model, index, channel)
    usual = np.where(model.kind[index] == PRISMATIC, 1.0, np.pi) if channel == "q" else 1.0
    return np.where(np.isfinite(limit) & (limit > 0.0), limit, usual)


def read_numbers(value: ArrayLike, what: str, names: Sequence[str]) -> Floats:
    """A finite number for each name, given one number for all or one for each."""
    array = read_real(value, what)
    if array.shape not in ((), (len(names),)) or not np.all(np.isfinite(array)):
        raise InputError(
            f"{what}: expected one finite number or {len(names)} ({', '.join(names)}), "
            f"got {array.tolist()!r:.80}"
        )
    return np.broadcast_to(array, (len(names),)).copy()


def read_positive(value: ArrayLike, what: str, names: Sequence[str]) -> Floats:
    """A number above zero for each name."""
    array = read_numbers(value, what, names)
    if np.any(array <= 0.0):
        k = int(np.argmax(array <= 0.0))
        raise InputError(f"{what}: expected numbers above 0, got {array[k]:g} for {names[k]!r}")
    return array


def read_real(value: ArrayLike | Sequence[float | None], what: str) -> Floats:
    """An array of real numbers; None becomes NaN."""
    try:
        return np.array(value, dtype=float)
    except (TypeError, ValueError):
        raise InputError(f"{what}: expected numbers, got {value!r:.60}") from None


def check_choice(what: str, got: object, valid: Sequence[str]) -> None:
    """Raise an InputError unless `got` is one of the valid names."""
    if got not in valid:
        raise unknown_name(what, got, valid)


def frame_channel(model: Model, frame: str, what: str) -> str:
    """The channel of a frame; an InputError if it is fixed to the world."""
    if model.frame(frame).link < 0:
        raise InputError(
            f"{what}: frame {frame!r} is fixed to the world and never moves; "
            "name a link or a frame on a link"
        )
    return f"frame:{frame}"


def column(values: NDArray, like: NDArray) -> NDArray:
    """`values` (rows,), reshaped to broadcast over the instants of `like` (rows, ...)."""
    return values.reshape(-1, *(1,) * (like.ndim - 1))


def as_slice(index: NDArray[np.int64]) -> slice | NDArray[np.int64]:
    """The same selection as a slice if it is contiguous: a view instead of a copy."""
    first = int(index[0])
    if np.array_equal(index, np.arange(first, first + len(index))):
        return slice(first, first + len(index))
    return index
