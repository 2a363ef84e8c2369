"""Choices without branches, for lanes that would take different ones: absolute value, the smaller
or larger of two numbers, one of two numbers by a sign. Comparisons with NaN are false.
"""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

from predyn.kernels.lanes import VECTOR, WIDTH, LaneType, as_vector, lane


@intrinsic
def _lane_magnitude(typing, x):
    def codegen(context, builder, sig, args):
        kind = ir.FunctionType(VECTOR, [VECTOR])
        full = cgutils.get_or_insert_function(builder.module, kind, f"llvm.fabs.v{WIDTH}f64")
        return builder.call(full, args)

    return lane(x), codegen


@intrinsic
def _lane_choose(typing, x, y, below, otherwise):
    """`below` in lanes where x < y, else `otherwise`."""

    def codegen(context, builder, sig, args):
        x, y, below, otherwise = (
            as_vector(context, builder, kind, value)
            for kind, value in zip(sig.args, args, strict=True)
        )
        return builder.select(builder.fcmp_ordered("<", x, y), below, otherwise)

    return lane(x, y, below, otherwise), codegen


@intrinsic
def _any_lane_below(typing, x, y):
    def codegen(context, builder, sig, args):
        x, y = (
            as_vector(context, builder, kind, value)
            for kind, value in zip(sig.args, args, strict=True)
        )
        mask = builder.bitcast(builder.fcmp_ordered("<", x, y), ir.IntType(WIDTH))
        return builder.icmp_unsigned("!=", mask, ir.Constant(mask.type, 0))

    return types.boolean(x, y), codegen


def any_below(x, y):
    """Whether x < y in at least one lane: a branch that all lanes take together."""
    return x < y


def choose(x, y, below, otherwise):
    """`below` where x < y, else `otherwise`."""
    return below if x < y else otherwise


def magnitude(x):
    """|x|."""
    return abs(x)


def least(x, y):
    """x where it is smaller than y, else y (y if x is NaN)."""
    return choose(x, y, x, y)


def greatest(x, y):
    """x where it is larger than y, else y (y if x is NaN)."""
    return choose(y, x, x, y)


@overload(any_below)
def _any_below(x, y):
    if isinstance(x, LaneType) or isinstance(y, LaneType):
        return lambda x, y: _any_lane_below(x, y)
    return lambda x, y: x < y


@overload(choose)
def _choose(x, y, below, otherwise):
    if any(isinstance(kind, LaneType) for kind in (x, y, below, otherwise)):
        return lambda x, y, below, otherwise: _lane_choose(x, y, below, otherwise)
    return lambda x, y, below, otherwise: below if x < y else otherwise


@overload(magnitude)
def _magnitude(x):
    if isinstance(x, LaneType):
        return lambda x: _lane_magnitude(x)
    if isinstance(x, types.Float):
        return lambda x: abs(x)
    return None


@overload(least)
def _least(x, y):
    return lambda x, y: choose(x, y, x, y)


@overload(greatest)
def _greatest(x, y):
    return lambda x, y: choose(y, x, x, y)
