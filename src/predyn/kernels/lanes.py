"""SIMD lanes: a number type whose value is an LLVM vector, one time sample per lane.

A recursion written for plain numbers runs on lanes unchanged: Numba sees ``+ - * /`` between lanes
(or a lane and a float) and emits vector instructions. Arrays of lanes are ordinary float64 arrays
with one more axis, of length ``WIDTH``, at the end; ``load`` and ``store`` hide that axis, so the
same source also runs on plain float64 or complex128 arrays, and, with the JIT off, in Python.

The compiler may contract (a*b + c in one rounding) but not reassociate: results do not depend on
optimisation choices, and NaN and infinity propagate.
"""

from __future__ import annotations

import operator
import os
from typing import Any

from llvmlite import binding, ir
from numba import config, njit, types
from numba.core import cgutils
from numba.core.imputils import lower_builtin
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import intrinsic, models, overload, register_model

from predyn.errors import InputError
from predyn.storage.interrupts import held_back


def _native_width() -> int:
    """Lanes that fill this CPU's vector registers with float64."""
    features = binding.get_host_cpu_features()
    if features.get("avx512f"):
        return 8
    return 4 if features.get("avx") else 2


def _width() -> int:
    asked = os.environ.get("PREDYN_LANES")
    if asked is None:
        return _native_width()
    if asked not in ("1", "2", "4", "8", "16"):
        raise InputError(f"PREDYN_LANES: expected 1, 2, 4, 8 or 16 lanes, got {asked!r}")
    return int(asked)


WIDTH = _width()

# Kernels do not allocate: without Numba's runtime they also count no references, which would be
# atomic operations in inner loops.
_OPTIONS: dict[str, Any] = {
    "error_model": "numpy",
    "boundscheck": False,
    "nogil": True,
    "_nrt": False,
}
jit = njit(
    **_OPTIONS, no_cpython_wrapper=True, no_cfunc_wrapper=True, forceinline=True
)  # for functions called by those with `entry`

shared = njit(
    **_OPTIONS, no_cpython_wrapper=True, no_cfunc_wrapper=True
)  # for large ones that are called from several places: compiled once, not inlined


def entry(function):
    """A decorator for functions that Python calls.

    An exception while Numba compiles or loads leaves its registries half filled, and every later
    compilation fails. So signals whose handlers may raise are delayed.
    """
    compiled = njit(**_OPTIONS)(function)
    if not config.DISABLE_JIT:
        compile_now = compiled.compile

        def compile_whole(sig):
            with held_back(every=True):
                return compile_now(sig)

        compiled.compile = compile_whole
    return compiled


FLAGS = ("contract", "nsz")
STREAMED_FROM = 2**16  # numbers; half a megabyte or more does not stay in the cache

VECTOR = ir.VectorType(ir.DoubleType(), WIDTH)


class LaneType(types.Type):
    def __init__(self) -> None:
        super().__init__(name=f"float64x{WIDTH}")


lane = LaneType()


@register_model(LaneType)
class _LaneModel(models.PrimitiveModel):
    def __init__(self, dmm, fe_type):
        super().__init__(dmm, fe_type, VECTOR)


def splat_vector(builder, value, vector=VECTOR):
    """The same scalar in every lane."""
    undefined = ir.Constant(vector, ir.Undefined)
    first = builder.insert_element(undefined, value, ir.Constant(ir.IntType(32), 0))
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), WIDTH), [0] * WIDTH)
    return builder.shuffle_vector(first, undefined, zeros)


def as_vector(context, builder, kind, value):
    if isinstance(kind, LaneType):
        return value
    return splat_vector(builder, context.cast(builder, value, kind, types.float64))


# -- arithmetic ---------------------------------------------------------------------------------


def _register_binary(op, instruction: str) -> None:
    @infer_global(op)
    class Template(AbstractTemplate):
        def generic(self, args, kws):
            if len(args) != 2 or not any(isinstance(x, LaneType) for x in args):
                return None
            if all(isinstance(x, (LaneType, types.Float, types.Integer)) for x in args):
                kinds = [lane if isinstance(x, LaneType) else types.float64 for x in args]
                return signature(lane, *kinds)
            return None

    def lower(context, builder, sig, args):
        left, right = (
            as_vector(context, builder, k, x) for k, x in zip(sig.args, args, strict=True)
        )
        return getattr(builder, instruction)(left, right, flags=FLAGS)

    for kinds in ((lane, lane), (lane, types.float64), (types.float64, lane)):
        lower_builtin(op, *kinds)(lower)


for _op, _instruction in (
    (operator.add, "fadd"),
    (operator.sub, "fsub"),
    (operator.mul, "fmul"),
    (operator.truediv, "fdiv"),
):
    _register_binary(_op, _instruction)


@infer_global(operator.neg)
class _NegTemplate(AbstractTemplate):
    def generic(self, args, kws):
        if len(args) == 1 and isinstance(args[0], LaneType):
            return signature(lane, lane)
        return None


@lower_builtin(operator.neg, lane)
def _lower_neg(context, builder, sig, args):
    return builder.fneg(args[0], flags=FLAGS)


def align_stack() -> None:
    """Align the stack of the calling compiled function to whole vectors.

    LLVM chooses the alignment before it knows that it must spill registers; without this, every
    spilled vector straddles two cache lines.
    """


@intrinsic
def _align_stack(typing):
    def codegen(context, builder, sig, args):
        slot = cgutils.alloca_once(builder, VECTOR)
        slot.align = 8 * WIDTH
        keep = ir.FunctionType(ir.VoidType(), [slot.type])
        builder.asm(keep, "", "r", [slot], side_effect=True)  # so that the alloca is not removed
        return context.get_dummy_value()

    return types.none(), codegen


@overload(align_stack)
def _overload_align_stack():
    return lambda: _align_stack()


# -- memory -------------------------------------------------------------------------------------


def load(array, i, j):
    """Number at row i, column j."""
    return array[i, j]


def store(array, i, j, value) -> None:
    """Store a number at row i, column j (a float is stored in every lane)."""
    array[i, j] = value


def stream(array, i, j, value) -> None:
    """Like store, for results that are not read soon: a large array is written past the cache.

    Its lines would be read from memory only to be overwritten, and would evict data in use.
    """
    array[i, j] = value


def _element(array) -> types.Type | None:
    """The type of load(array, i, j): a lane from a 3-D array, a scalar from a 2-D one."""
    if not isinstance(array, types.Array) or array.layout != "C":
        return None
    return {2: array.dtype, 3: lane}.get(array.ndim)


@infer_global(load)
class _LoadTemplate(AbstractTemplate):
    def generic(self, args, kws):
        element = _element(args[0])
        return element and signature(element, args[0], types.intp, types.intp)


@infer_global(stream)
@infer_global(store)
class _StoreTemplate(AbstractTemplate):
    def generic(self, args, kws):
        element = _element(args[0])
        value = args[3] if isinstance(args[3], LaneType) else element
        if isinstance(element, LaneType) and not isinstance(args[3], LaneType):
            value = types.float64
        return element and signature(types.none, args[0], types.intp, types.intp, value)


def _pointer(context, builder, kind, array, i, j):
    """Address of element (i, j) of a C-contiguous array; of its first lane if it holds lanes."""
    struct = context.make_array(kind)(context, builder, array)
    columns = builder.extract_value(struct.shape, 1)
    index = builder.add(builder.mul(i, columns), j)
    if kind.ndim == 2:
        return builder.gep(struct.data, [index])
    # The last axis has WIDTH numbers: with a constant here, columns become constant offsets.
    index = builder.mul(index, ir.Constant(index.type, WIDTH))
    return builder.bitcast(builder.gep(struct.data, [index]), VECTOR.as_pointer())


@lower_builtin(load, types.Array, types.intp, types.intp)
def _lower_load(context, builder, sig, args):
    kind = sig.args[0]
    pointer = _pointer(context, builder, kind, *args)
    if kind.ndim == 2:
        return context.unpack_value(builder, kind.dtype, pointer)
    value = builder.load(pointer)
    value.align = 8
    return value


@lower_builtin(store, types.Array, types.intp, types.intp, types.Any)
def _lower_store(context, builder, sig, args):
    kind = sig.args[0]
    pointer = _pointer(context, builder, kind, *args[:3])
    if kind.ndim == 2:
        context.pack_value(builder, kind.dtype, args[3], pointer)
    else:
        value = as_vector(context, builder, sig.args[3], args[3])
        builder.store(value, pointer).align = 8
    return context.get_dummy_value()


@lower_builtin(stream, types.Array, types.intp, types.intp, types.Any)
def _lower_stream(context, builder, sig, args):
    kind = sig.args[0]
    if kind.ndim == 2:
        return _lower_store(context, builder, sig, args)
    struct = context.make_array(kind)(context, builder, args[0])
    address = builder.ptrtoint(struct.data, ir.IntType(64))
    off = builder.and_(address, ir.Constant(address.type, 8 * WIDTH - 1))
    aligned = builder.icmp_unsigned("==", off, ir.Constant(address.type, 0))
    large = builder.icmp_signed(">", struct.nitems, ir.Constant(struct.nitems.type, STREAMED_FROM))
    pointer = _pointer(context, builder, kind, *args[:3])
    value = as_vector(context, builder, sig.args[3], args[3])
    with builder.if_else(builder.and_(aligned, large)) as (past_cache, as_usual):
        with past_cache:
            stored = builder.store(value, pointer)
            stored.align = 8 * WIDTH
            hint = builder.module.add_metadata([ir.Constant(ir.IntType(32), 1)])
            stored.set_metadata("nontemporal", hint)
        with as_usual:
            builder.store(value, pointer).align = 8
    return context.get_dummy_value()
