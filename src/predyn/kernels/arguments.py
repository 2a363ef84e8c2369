"""Users' arrays: checked, broadcast to one leading shape, flattened to (B, k)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from predyn.errors import InputError
from predyn.kernels.fields import Field
from predyn.kernels.tree import Floats
from predyn.model import Model

Input = tuple[str, ArrayLike, tuple[int, ...]]  # name, value, trailing shape


def joints(model: Model) -> tuple[int]:
    """Trailing shape of a state: one number per joint. Raises an InputError if it is no Model."""
    if not isinstance(model, Model):
        raise InputError(f"model: expected a predyn.Model, got {type(model).__name__}")
    return (model.n,)


def motion(
    model: Model, q: ArrayLike, v: ArrayLike | None, a: ArrayLike | None
) -> tuple[Input, Input, Input]:
    """q, v and a as inputs; v and a are zero if not given."""
    n, rest = joints(model), np.zeros(model.n)
    return ("q", q, n), ("v", rest if v is None else v, n), ("a", rest if a is None else a, n)


def real(model: Model, name: str, value: ArrayLike, trailing: tuple[int, ...]) -> Floats:
    """A float64 array with the expected last axes; it need not be finite."""
    if type(value) is not np.ndarray or value.dtype != np.float64:
        try:
            array = np.asarray(value)
        except ValueError as error:
            raise InputError(f"{name}: not an array of numbers ({error})") from None
        if array.dtype.kind not in "fiu":
            got = f"an array of {array.dtype}" if array.dtype.kind in "bc" else f"{value!r:.60}"
            raise InputError(f"{name}: expected real numbers, got {got}")
        value = array.astype(np.float64)
    if value.shape[max(value.ndim - len(trailing), 0) :] != trailing:
        expected = ", ".join(str(k) for k in ("...", *trailing))
        raise InputError(
            f"{name}: expected shape ({expected}), got {value.shape}; model {model.name!r} has "
            f"{model.n} joints, in the order of model.joint_names"
        )
    return value


def finite(name: str, array: Floats) -> Floats:
    """The array; an InputError if it contains NaN or infinity."""
    if not np.isfinite(array).all():
        where = tuple(int(k) for k in np.argwhere(~np.isfinite(array))[0])
        raise InputError(f"{name}: expected finite numbers, got {array[where]} at index {where}")
    return array


def positive(model: Model, name: str, value: ArrayLike) -> Floats:
    """An array of positive numbers."""
    array = finite(name, real(model, name, value, ()))
    if not (array > 0.0).all():
        raise InputError(f"{name}: expected positive numbers, got {array.min()}")
    return array


def gather(
    model: Model, inputs: Sequence[Input], wrenches: Sequence[Floats] | None
) -> tuple[list[Floats], tuple[int, ...]]:
    """Inputs as flat contiguous (B, k) arrays, and their common leading shape.

    wrenches: moment and force (..., 3) of each external force; they become the last array.
    """
    arrays = [real(model, *entry) for entry in inputs]
    leads = [x.shape[: x.ndim - len(entry[2])] for x, entry in zip(arrays, inputs, strict=True)]
    leads += [x.shape[:-1] for x in wrenches or ()]
    lead = leads[0]
    if any(other != lead for other in leads):
        try:
            lead = np.broadcast_shapes(*leads)
        except ValueError:
            names = [entry[0] for entry in inputs] + ["forces"] * len(wrenches or ())
            shapes = ", ".join(f"{n} {s}" for n, s in zip(names, leads, strict=True))
            raise InputError(f"the leading shapes do not broadcast: {shapes}") from None
    batch = math.prod(lead)
    flat = []
    for x, (_, _, trailing) in zip(arrays, inputs, strict=True):
        if x.shape != lead + trailing:
            x = np.broadcast_to(x, lead + trailing)
        if not (x.flags.c_contiguous and x.flags.writeable):
            x = np.array(x, order="C")  # Numba would recompile for other layouts; a copy costs less
        flat.append(x.reshape(batch, math.prod(trailing)))
    if wrenches is not None:
        values = np.empty((batch, 3 * len(wrenches)))
        for k, x in enumerate(wrenches):
            values[:, 3 * k : 3 * k + 3] = np.broadcast_to(x, (*lead, 3)).reshape(batch, 3)
        flat.append(values)
    return flat, lead


def prepare_outputs(
    fields: Sequence[Field], lead: tuple[int, ...], out: Any, arrays: Sequence[Floats]
) -> tuple[Floats, ...]:
    """New arrays for the outputs, or the caller's arrays after a check."""
    shapes = [lead + field.shape for field in fields]
    if out is None:
        return tuple(np.empty(shape) for shape in shapes)
    given = tuple(out) if isinstance(out, (tuple, list)) else (out,)
    if len(given) != len(shapes):
        raise InputError(
            f"out: expected {len(shapes)} arrays in the order returned, got {len(given)}"
        )
    for k, (x, shape) in enumerate(zip(given, shapes, strict=True)):
        fits = isinstance(x, np.ndarray) and x.dtype == np.float64 and x.shape == shape
        if not (fits and x.flags.c_contiguous and x.flags.writeable):
            got = f"{x.dtype} {x.shape}" if isinstance(x, np.ndarray) else type(x).__name__
            raise InputError(
                f"out[{k}]: expected a writable C-contiguous float64 array {shape}, got {got}"
            )
        if any(np.may_share_memory(x, y) for y in (*arrays, *given[:k])):
            raise InputError(f"out[{k}]: shares memory with an input or another output")
    return given
