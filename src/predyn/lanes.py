"""SIMD lanes: a number type whose value is an LLVM vector, one time sample per lane.

A recursion written for plain numbers runs on lanes unchanged: Numba sees ``+ - * /`` between lanes
(or a lane and a float) and emits vector instructions. Arrays of lanes are ordinary float64 arrays
with one more axis, of length ``WIDTH``, at the end; ``load`` and ``store`` hide that axis, so the
same source also runs on plain float64 or complex128 arrays, and, with the JIT off, in Python.

Only contraction (a*b + c in one rounding) is allowed to the compiler. Reassociation is not: results
do not depend on how the optimiser feels, and NaN and infinity stay what they are.
"""

from __future__ import annotations

import math
import operator
import os
from typing import Any

import numpy as np
from llvmlite import binding, ir
from numba import njit, types
from numba.core import cgutils
from numba.core.imputils import lower_builtin
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import intrinsic, models, overload, register_model


def _native_width() -> int:
    """Lanes that fill this CPU's vector registers with float64."""
    features = binding.get_host_cpu_features()
    if features.get("avx512f"):
        return 8
    return 4 if features.get("avx") else 2


WIDTH = int(os.environ.get("PREDYN_LANES", "0")) or _native_width()

_OPTIONS: dict[str, Any] = {"error_model": "numpy", "boundscheck": False, "nogil": True}
entry = njit(**_OPTIONS)  # for functions that Python calls
jit = njit(
    **_OPTIONS, no_cpython_wrapper=True, no_cfunc_wrapper=True, forceinline=True
)  # for all that those call
FLAGS = ("contract", "nsz")

_VECTOR = ir.VectorType(ir.DoubleType(), WIDTH)
_I64 = ir.VectorType(ir.IntType(64), WIDTH)


class LaneType(types.Type):
    def __init__(self) -> None:
        super().__init__(name=f"float64x{WIDTH}")


lane = LaneType()


@register_model(LaneType)
class _LaneModel(models.PrimitiveModel):
    def __init__(self, dmm, fe_type):
        super().__init__(dmm, fe_type, _VECTOR)


def _splat(builder, value, vector=_VECTOR):
    """The same scalar in every lane."""
    undefined = ir.Constant(vector, ir.Undefined)
    first = builder.insert_element(undefined, value, ir.Constant(ir.IntType(32), 0))
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), WIDTH), [0] * WIDTH)
    return builder.shuffle_vector(first, undefined, zeros)


def _as_vector(context, builder, kind, value):
    if isinstance(kind, LaneType):
        return value
    return _splat(builder, context.cast(builder, value, kind, types.float64))


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
            _as_vector(context, builder, k, x) for k, x in zip(sig.args, args, strict=True)
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


# -- memory -------------------------------------------------------------------------------------


def load(array, i, j):
    """Number at row i, column j."""
    return array[i, j]


def store(array, i, j, value) -> None:
    """Put a number at row i, column j (a float is put in every lane)."""
    array[i, j] = value


def _element(array) -> types.Type | None:
    """What load(array, i, j) returns: a lane from a 3-D array, a scalar from a 2-D one."""
    if not isinstance(array, types.Array):
        return None
    return {2: array.dtype, 3: lane}.get(array.ndim)


@infer_global(load)
class _LoadTemplate(AbstractTemplate):
    def generic(self, args, kws):
        element = _element(args[0])
        return element and signature(element, args[0], types.intp, types.intp)


@infer_global(store)
class _StoreTemplate(AbstractTemplate):
    def generic(self, args, kws):
        element = _element(args[0])
        value = args[3] if isinstance(args[3], LaneType) else element
        if isinstance(element, LaneType) and not isinstance(args[3], LaneType):
            value = types.float64
        return element and signature(types.none, args[0], types.intp, types.intp, value)


def _pointer(context, builder, kind, array, i, j):
    struct = context.make_array(kind)(context, builder, array)
    indices = [i, j] + [ir.Constant(i.type, 0)] * (kind.ndim - 2)
    pointer = cgutils.get_item_pointer(context, builder, kind, struct, indices, wraparound=False)
    return builder.bitcast(pointer, _VECTOR.as_pointer()) if kind.ndim == 3 else pointer


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
        value = _as_vector(context, builder, sig.args[3], args[3])
        builder.store(value, pointer).align = 8
    return context.get_dummy_value()


# -- functions ----------------------------------------------------------------------------------


def _vector_intrinsic(name: str, arity: int):
    """A Numba intrinsic that calls an LLVM vector intrinsic on lanes."""

    def codegen(context, builder, sig, args):
        vectors = [_as_vector(context, builder, k, x) for k, x in zip(sig.args, args, strict=True)]
        kind = ir.FunctionType(_VECTOR, [_VECTOR] * arity)
        full = f"llvm.{name}.v{WIDTH}f64"
        return builder.call(cgutils.get_or_insert_function(builder.module, kind, full), vectors)

    if arity == 1:
        return intrinsic(lambda typing, x: (lane(x), codegen))
    return intrinsic(lambda typing, x, y, z: (lane(x, y, z), codegen))


_sqrt = _vector_intrinsic("sqrt", 1)
_abs = _vector_intrinsic("fabs", 1)
_rint = _vector_intrinsic("rint", 1)
_fma = _vector_intrinsic("fma", 3)


@intrinsic
def splat(typing, x):
    """A lane with the same float everywhere."""
    return lane(x), lambda context, builder, sig, args: _as_vector(
        context, builder, sig.args[0], args[0]
    )


@intrinsic
def _all_below(typing, x, bound):
    """True if |x| < bound in every lane (False if any is NaN)."""

    def codegen(context, builder, sig, args):
        bounds = _splat(builder, args[1])
        inside = builder.fcmp_ordered("<", args[0], bounds)
        mask = builder.bitcast(inside, ir.IntType(WIDTH))
        return builder.icmp_unsigned("==", mask, ir.Constant(mask.type, 2**WIDTH - 1))

    return types.boolean(x, types.float64), codegen


@intrinsic
def _unturn(typing, k, s, c):
    """sin and cos of r + k pi/2 from s = sin r and c = cos r."""

    def codegen(context, builder, sig, args):
        k, s, c = args
        quadrant = builder.fptosi(k, _I64)
        one, two = (ir.Constant(_I64, [i] * WIDTH) for i in (1, 2))
        odd = builder.icmp_unsigned("!=", builder.and_(quadrant, one), ir.Constant(_I64, None))
        sign_s = builder.shl(builder.and_(quadrant, two), ir.Constant(_I64, [62] * WIDTH))
        turned = builder.and_(builder.add(quadrant, one), two)
        sign_c = builder.shl(turned, ir.Constant(_I64, [62] * WIDTH))

        def flip(x, sign):
            return builder.bitcast(builder.xor(builder.bitcast(x, _I64), sign), _VECTOR)

        sine = flip(builder.select(odd, c, s), sign_s)
        cosine = flip(builder.select(odd, s, c), sign_c)
        return context.make_tuple(builder, sig.return_type, (sine, cosine))

    return types.UniTuple(lane, 2)(k, s, c), codegen


def _lane_by_lane(name: str):
    """A Numba intrinsic that calls an LLVM scalar intrinsic once per lane: slow, always right."""

    def codegen(context, builder, sig, args):
        kind = ir.FunctionType(ir.DoubleType(), [ir.DoubleType()])
        scalar = cgutils.get_or_insert_function(builder.module, kind, f"llvm.{name}.f64")
        result = ir.Constant(_VECTOR, ir.Undefined)
        for i in range(WIDTH):
            index = ir.Constant(ir.IntType(32), i)
            value = builder.call(scalar, [builder.extract_element(args[0], index)])
            result = builder.insert_element(result, value, index)
        return result

    return intrinsic(lambda typing, x: (lane(x), codegen))


_far_sin = _lane_by_lane("sin")
_far_cos = _lane_by_lane("cos")


@intrinsic
def _power_of_two(typing, k):
    """2**k for integral k in [-1022, 1023]."""

    def codegen(context, builder, sig, args):
        biased = builder.add(builder.fptosi(args[0], _I64), ir.Constant(_I64, [1023] * WIDTH))
        shifted = builder.shl(biased, ir.Constant(_I64, [52] * WIDTH))
        return builder.bitcast(shifted, _VECTOR)

    return lane(k), codegen


@intrinsic
def _clamp_sign(typing, magnitude, like, bound):
    """(min(magnitude, bound), the sign of `like` as +-1)."""

    def codegen(context, builder, sig, args):
        bounds, one = _splat(builder, args[2]), ir.Constant(_VECTOR, [1.0] * WIDTH)
        over = builder.fcmp_ordered(">", args[0], bounds)
        negative = builder.fcmp_ordered("<", args[1], ir.Constant(_VECTOR, [0.0] * WIDTH))
        sign = builder.select(negative, ir.Constant(_VECTOR, [-1.0] * WIDTH), one)
        pair = (builder.select(over, bounds, args[0]), sign)
        return context.make_tuple(builder, sig.return_type, pair)

    return types.UniTuple(lane, 2)(magnitude, like, types.float64), codegen


# pi/2 and ln 2 as an unevaluated sum of two doubles; Taylor coefficients beyond which the next
# term is below half a unit in the last place on the reduced interval.
_HALF_PI, _HALF_PI_LOW = math.pi / 2, 6.123233995736766e-17
_LN2, _LN2_LOW = 0.6931471805599453, 2.3190468138462996e-17
_TURNS_EXACT = 1e6
_SIN = tuple((-1.0) ** k / math.factorial(2 * k + 1) for k in range(9))
_COS = tuple((-1.0) ** k / math.factorial(2 * k) for k in range(9))
_EXPM1 = tuple(1.0 / math.factorial(k + 1) for k in range(13))


@jit
def _horner9(c, x):
    p = c[7] + x * c[8]
    for k in (6, 5, 4, 3, 2, 1, 0):
        p = c[k] + x * p
    return p


@jit
def _lane_sincos(x):
    if not _all_below(_abs(x), _TURNS_EXACT):
        return _far_sin(x), _far_cos(x)
    k = _rint(x * (2.0 / math.pi))
    r = _fma(-k, _HALF_PI, x)
    r = _fma(-k, _HALF_PI_LOW, r)
    y = r * r
    return _unturn(k, r * _horner9(_SIN, y), _horner9(_COS, y))


@jit
def _lane_tanh(x):
    """tanh x = E / (E + 2) with E = exp(2x) - 1, relative accuracy kept near zero."""
    y, sign = _clamp_sign(_abs(x) * 2.0, x, 40.0)
    k = _rint(y * (1.0 / math.log(2.0)))
    r = _fma(-k, _LN2, y)
    r = _fma(-k, _LN2_LOW, r)
    p = _EXPM1[11] + r * _EXPM1[12]
    for i in (10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0):
        p = _EXPM1[i] + r * p
    scale = _power_of_two(k)
    e = scale * (r * p) + (scale - 1.0)
    return sign * (e / (e + 2.0))


def sincos(x):
    """sin x and cos x of any number type."""
    return np.sin(x), np.cos(x)


def tanh(x):
    """tanh x of any number type."""
    return np.tanh(x)


def sqrt(x):
    """Square root of any number type."""
    return np.sqrt(x)


@overload(sincos)
def _sincos(x):
    if isinstance(x, LaneType):
        return lambda x: _lane_sincos(x)
    return lambda x: (np.sin(x), np.cos(x))


@overload(tanh)
def _tanh(x):
    if isinstance(x, LaneType):
        return lambda x: _lane_tanh(x)
    return lambda x: np.tanh(x)


@overload(sqrt)
def _sqrt_overload(x):
    if isinstance(x, LaneType):
        return lambda x: _sqrt(x)
    return lambda x: np.sqrt(x)
