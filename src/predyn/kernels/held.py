"""Arguments that stay in place, unpacked once instead of at every call.

Numba unpacks each array of each argument whenever Python calls a compiled function; for a few dozen
arrays this takes as long as small problems do. A Held is one argument: the address of a block of
memory that contains its values as compiled code represents them. Inside, `held` returns them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numba import config, typeof, types
from numba.extending import (
    NativeValue,
    intrinsic,
    models,
    overload,
    register_model,
    typeof_impl,
    unbox,
)


class Held:
    """Arrays, numbers and tuples of these; the arrays must keep their memory and shape."""

    def __init__(self, *values: Any) -> None:
        self.values = values
        if not config.DISABLE_JIT:
            key = _form(values)
            if key not in _KINDS:
                _KINDS[key] = HeldType(typeof(values))
            self.kind = _KINDS[key]
            self._block = np.array(list(_words(values)), np.int64)
            self.address = self._block.ctypes.data


_KINDS: dict[Any, HeldType] = {}  # asking Numba takes most of the time to build a program
_LAYOUT = 0x1 | 0x2 | 0x100 | 0x400  # contiguous by rows, by columns; aligned; writeable


def _form(value: Any) -> Any:
    """What Numba's type of a value depends on."""
    if isinstance(value, np.ndarray):
        return value.ndim, value.dtype.char, value.flags.num & _LAYOUT
    if isinstance(value, tuple):
        return type(value), *[_form(x) for x in value]
    return type(value)


def _words(value: Any) -> Iterator[int]:
    """A value as stored in memory: arrays as Numba's ArrayModel, without an owner."""
    if isinstance(value, np.ndarray):
        yield from (0, 0, value.size, value.itemsize, value.ctypes.data)
        yield from (*value.shape, *value.strides)
    elif isinstance(value, tuple):
        for x in value:
            yield from _words(x)
    elif isinstance(value, float):
        yield int(np.float64(value).view(np.int64))
    elif isinstance(value, int | np.integer) and not isinstance(value, bool):
        yield int(value)
    else:
        raise TypeError(f"expected arrays, numbers or tuples of these, got {value!r}")


def held(arguments: Held) -> tuple:
    """The values of a Held."""
    return arguments.values


class HeldType(types.Type):
    def __init__(self, values: types.Type) -> None:
        self.values = values
        super().__init__(name=f"Held({values})")


@typeof_impl.register(Held)
def _typeof(value, context):
    return value.kind


@register_model(HeldType)
class _HeldModel(models.OpaqueModel):
    pass


@unbox(HeldType)
def _unbox(kind, value, c):
    address = c.pyapi.object_getattr_string(value, "address")
    pointer = c.pyapi.long_as_voidptr(address)
    c.pyapi.decref(address)
    return NativeValue(pointer)


@intrinsic
def _held(typing, arguments):
    def codegen(context, builder, sig, args):
        model = context.data_model_manager[sig.return_type]
        block = builder.bitcast(args[0], model.get_data_type().as_pointer())
        return model.load_from_data_pointer(builder, block)

    return arguments.values(arguments), codegen


@overload(held)
def _overload_held(arguments):
    return lambda arguments: _held(arguments)
