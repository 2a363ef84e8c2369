"""Functions of any number type: sin, cos, tanh, exp, square root, vectorised for lanes."""

from __future__ import annotations

import math

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

from predyn.kernels.lanes import VECTOR, WIDTH, LaneType, as_vector, jit, lane, splat_vector

_I64 = ir.VectorType(ir.IntType(64), WIDTH)


def _vector_intrinsic(name: str, arity: int):
    """A Numba intrinsic that calls an LLVM vector intrinsic on lanes."""

    def codegen(context, builder, sig, args):
        vectors = [as_vector(context, builder, k, x) for k, x in zip(sig.args, args, strict=True)]
        kind = ir.FunctionType(VECTOR, [VECTOR] * arity)
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
def _all_below(typing, x, bound):
    """True if |x| < bound in every lane (False if any is NaN)."""

    def codegen(context, builder, sig, args):
        bounds = splat_vector(builder, args[1])
        inside = builder.fcmp_ordered("<", args[0], bounds)
        mask = builder.bitcast(inside, ir.IntType(WIDTH))
        return builder.icmp_unsigned("==", mask, ir.Constant(mask.type, 2**WIDTH - 1))

    return types.boolean(x, types.float64), codegen


@intrinsic
def _undo_reduction(typing, k, s, c):
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
            return builder.bitcast(builder.xor(builder.bitcast(x, _I64), sign), VECTOR)

        sine = flip(builder.select(odd, c, s), sign_s)
        cosine = flip(builder.select(odd, s, c), sign_c)
        return context.make_tuple(builder, sig.return_type, (sine, cosine))

    return types.UniTuple(lane, 2)(k, s, c), codegen


def _lane_by_lane(name: str):
    """A Numba intrinsic that calls an LLVM scalar intrinsic per lane: slow but always right."""

    def codegen(context, builder, sig, args):
        kind = ir.FunctionType(ir.DoubleType(), [ir.DoubleType()])
        scalar = cgutils.get_or_insert_function(builder.module, kind, f"llvm.{name}.f64")
        result = ir.Constant(VECTOR, ir.Undefined)
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
        return builder.bitcast(shifted, VECTOR)

    return lane(k), codegen


@intrinsic
def _clamp_sign(typing, magnitude, like, bound):
    """(min(magnitude, bound), the sign of `like` as +-1)."""

    def codegen(context, builder, sig, args):
        bounds, one = splat_vector(builder, args[2]), ir.Constant(VECTOR, [1.0] * WIDTH)
        over = builder.fcmp_ordered(">", args[0], bounds)
        negative = builder.fcmp_ordered("<", args[1], ir.Constant(VECTOR, [0.0] * WIDTH))
        sign = builder.select(negative, ir.Constant(VECTOR, [-1.0] * WIDTH), one)
        pair = (builder.select(over, bounds, args[0]), sign)
        return context.make_tuple(builder, sig.return_type, pair)

    return types.UniTuple(lane, 2)(magnitude, like, types.float64), codegen


@intrinsic
def _clamp(typing, x, low, high):
    """x, but not below `low` or above `high`."""

    def codegen(context, builder, sig, args):
        low, high = (splat_vector(builder, bound) for bound in args[1:])
        x = builder.select(builder.fcmp_ordered("<", args[0], low), low, args[0])
        return builder.select(builder.fcmp_ordered(">", x, high), high, x)

    return lane(x, types.float64, types.float64), codegen


# pi/2 and ln 2 as an unevaluated sum of two doubles; Taylor coefficients beyond which the next
# term is below half a unit in the last place on the reduced interval.
_HALF_PI, _HALF_PI_LOW = math.pi / 2, 6.123233995736766e-17
_LN2, _LN2_LOW = 0.6931471805599453, 2.3190468138462996e-17
_TURNS_EXACT = 1e6
_SIN = tuple((-1.0) ** k / math.factorial(2 * k + 1) for k in range(9))
_COS = tuple((-1.0) ** k / math.factorial(2 * k) for k in range(9))
_EXP_RANGE = 708.0
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
    return _undo_reduction(k, r * _horner9(_SIN, y), _horner9(_COS, y))


@jit
def _split_exp(x):
    """2^k and exp(r) - 1 with x = k ln 2 + r, |r| at most half of ln 2."""
    k = _rint(x * (1.0 / math.log(2.0)))
    r = _fma(-k, _LN2, x)
    r = _fma(-k, _LN2_LOW, r)
    p = _EXPM1[11] + r * _EXPM1[12]
    for i in (10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0):
        p = _EXPM1[i] + r * p
    return _power_of_two(k), r * p


@jit
def _lane_tanh(x):
    """tanh x = E / (E + 2) with E = exp(2x) - 1, relative accuracy kept near zero."""
    y, sign = _clamp_sign(_abs(x) * 2.0, x, 40.0)
    scale, m = _split_exp(y)
    e = scale * m + (scale - 1.0)
    return sign * (e / (e + 2.0))


@jit
def _lane_exp(x):
    scale, m = _split_exp(_clamp(x, -_EXP_RANGE, _EXP_RANGE))
    return scale * m + scale


def sincos(x):
    """sin x and cos x of any number type."""
    return np.sin(x), np.cos(x)


def tanh(x):
    """tanh x of any number type."""
    return np.tanh(x)


def exp(x):
    """exp x of any number type; of lanes, beyond x = +-708 that of the bound."""
    return np.exp(x)


def at_most(x, bound):
    """The smaller one of x and a constant, by the real part of a complex number."""
    return bound if x.real > bound else x


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


@overload(exp)
def _exp(x):
    if isinstance(x, LaneType):
        return lambda x: _lane_exp(x)
    return lambda x: np.exp(x)


@overload(at_most)
def _at_most(x, bound):
    if isinstance(x, LaneType):
        return lambda x, bound: _clamp(x, -np.inf, bound)
    if isinstance(x, types.Complex):
        return lambda x, bound: complex(bound, 0.0) if x.real > bound else x
    return lambda x, bound: bound if x > bound else x


@overload(sqrt)
def _sqrt_overload(x):
    if isinstance(x, LaneType):
        return lambda x: _sqrt(x)
    return lambda x: np.sqrt(x)
