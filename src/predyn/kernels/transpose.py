"""Conversion between samples and lanes by transposing blocks of WIDTH x WIDTH numbers."""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from predyn.kernels.lanes import VECTOR, WIDTH, jit, load, store


@intrinsic
def _store_transposed(typing, source, k, target, row, column):
    """target[row + b, column + j] = source[0, k + j, b] for all b, j < WIDTH."""

    def codegen(context, builder, sig, args):
        lanes = context.make_array(sig.args[0])(context, builder, args[0])
        first = builder.gep(lanes.data, [builder.mul(args[1], ir.Constant(args[1].type, WIDTH))])
        rows = []
        for j in range(WIDTH):
            at = builder.gep(first, [ir.Constant(args[1].type, WIDTH * j)])
            rows.append(builder.load(builder.bitcast(at, VECTOR.as_pointer())))
            rows[-1].align = 8
        distance = WIDTH // 2
        while distance:
            for j in range(WIDTH):
                if not j & distance:
                    rows[j], rows[j + distance] = _swap(
                        builder, rows[j], rows[j + distance], distance
                    )
            distance //= 2
        dense = context.make_array(sig.args[2])(context, builder, args[2])
        width = builder.extract_value(dense.shape, 1)
        start = builder.add(builder.mul(args[3], width), args[4])
        for b in range(WIDTH):
            offset = builder.add(start, builder.mul(width, ir.Constant(width.type, b)))
            at = builder.gep(dense.data, [offset])
            builder.store(rows[b], builder.bitcast(at, VECTOR.as_pointer())).align = 8
        return context.get_dummy_value()

    index = types.intp
    return types.none(source, index, target, index, index), codegen


def _swap(builder, a, b, d):
    """Exchange the blocks of d lanes off the diagonal of the pair (a; b)."""
    low = [i if not i & d else WIDTH + i - d for i in range(WIDTH)]
    high = [i + d if not i & d else WIDTH + i for i in range(WIDTH)]
    kind = ir.VectorType(ir.IntType(32), WIDTH)
    return tuple(builder.shuffle_vector(a, b, ir.Constant(kind, m)) for m in (low, high))


@jit
def to_lanes(source, first, count, target):
    """WIDTH rows of source as lanes; the last row is repeated if there are fewer.

    Returns 0, or NaN if one of the numbers is not finite.
    """
    poison = 0.0
    for k in range(source.shape[1]):
        for b in range(WIDTH):
            x = source[first + min(b, count - 1), k]
            poison += 0.0 * x
            target[0, k, b] = x
    return poison


@jit
def spread(source, entries, target):
    """Copy packed lanes to their dense places."""
    for e in range(entries.shape[0]):
        store(target, 0, entries[e, 1], load(source, 0, entries[e, 0]))


@jit
def from_lanes(source, first, count, target):
    """Fill rows first, first + 1, ... of target from lanes."""
    size = target.shape[1]
    whole = 0
    if count == WIDTH:
        whole = size - size % WIDTH
        for k in range(0, whole, WIDTH):
            _store_transposed(source, k, target, first, k)
    for b in range(count):
        for k in range(whole, size):
            target[first + b, k] = source[0, k, b]
