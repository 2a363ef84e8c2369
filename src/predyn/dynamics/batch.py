"""From NumPy arrays of shape (..., n) to lanes and back: how every kernel is called.

A core is a recursion for one number per quantity: core(tree, loads, c, ins, outs, work), where
`c` selects the row of its 2-D inputs and outputs. What a number is follows from the arrays: a 3-D
array holds lanes, a 2-D one plain float64 or complex128. A Kernel compiles its core, when first
called, into

    public  packs WIDTH samples into lanes, runs the core, unpacks while they are in the cache;
    sweep   runs the core over arrays that are packed already, or over plain numbers.

Nothing is allocated per sample: each thread keeps the workspaces of its latest kernels.
"""

from __future__ import annotations

import math
import multiprocessing
import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba import config
from numpy.typing import ArrayLike, NDArray

from predyn.dynamics.forces import NO_LOADS, ExternalForce, Loads, pack_forces
from predyn.dynamics.kernel_cache import KernelCache
from predyn.dynamics.transpose import from_lanes, spread, to_lanes
from predyn.dynamics.tree import Floats, Ints, Tree, ancestor_pairs, tree_of
from predyn.errors import InputError
from predyn.lanes import WIDTH, entry
from predyn.model import Model

_THREADED_FROM = 8192  # samples x joints; below it a second thread costs more than it gives
_KEPT_WORKSPACES = 16
_NO_ENTRIES = np.zeros((0, 2), np.int64)


class Field(NamedTuple):
    """An output: its trailing shape, and which packed element goes to which dense ones."""

    shape: tuple[int, ...]
    packed: int  # elements the core writes
    entries: Ints  # (E, 2): packed index, dense index; none if packed and dense are the same

    def unpacked(self, values: NDArray) -> NDArray:
        """Dense (B, m) from packed (B, k), for plain numbers."""
        if not len(self.entries):
            return values
        result = np.zeros((len(values), math.prod(self.shape)), values.dtype)
        result[:, self.entries[:, 1]] = values[:, self.entries[:, 0]]
        return result


def dense(*shape: int) -> Field:
    """The core writes every element, in order."""
    return Field(shape, math.prod(shape), _NO_ENTRIES)


def pairs(tree: Tree) -> Field:
    """An (n, n) matrix of ancestor pairs: two numbers a pair, [j, i] then [i, j], j above i."""
    n, (i, j) = len(tree.parent), ancestor_pairs(tree).T
    upper = np.stack([2 * np.arange(len(i)), j * n + i], axis=1)
    lower = np.stack([2 * np.arange(len(i)) + 1, i * n + j], axis=1)[i != j]
    return Field((n, n), 2 * len(i), np.concatenate([upper, lower]))


def scratch(packed: int) -> Field:
    """Room that a core writes and nobody gets."""
    return Field((0,), packed, _NO_ENTRIES)


def symmetric_pairs(tree: Tree) -> Field:
    """A symmetric (n, n) matrix of ancestor pairs: one number a pair."""
    n, (i, j) = len(tree.parent), ancestor_pairs(tree).T
    upper = np.stack([np.arange(len(i)), j * n + i], axis=1)
    lower = np.stack([np.arange(len(i)), i * n + j], axis=1)[i != j]
    return Field((n, n), len(i), np.concatenate([upper, lower]))


def aligned(*shape: int) -> Floats:
    """An uninitialised float64 array that starts on a cache line."""
    size = math.prod(shape)
    raw = np.empty(size + 8)
    start = (-raw.ctypes.data % 64) // 8
    return raw[start : start + size].reshape(shape)


class _Workspaces(threading.local):
    def __init__(self) -> None:
        self.kept: dict[tuple, tuple] = {}


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_threads(), thread_name_prefix="predyn")


@cache
def _threads() -> int:
    """PREDYN_THREADS if set, one in a worker process, else the cores this process may use."""
    asked = os.environ.get("PREDYN_THREADS")
    if asked is not None:
        if not asked.isdigit() or int(asked) < 1:
            raise InputError(f"PREDYN_THREADS: expected a whole number from 1, got {asked!r}")
        return int(asked)
    if multiprocessing.parent_process() is not None:
        return 1
    usable = getattr(os, "sched_getaffinity", None)
    return len(usable(0)) if usable else os.cpu_count() or 1


class Kernel:
    """A core with its drivers.

    core     the recursion, an njit function
    work     tree -> (rows, columns) of its workspace
    outputs  tree -> one Field per output
    forces   whether the core takes external forces; their values are then its last input, (6 K)
    view     model -> the arrays the core reads; any named tuple with a shifted `parent`
    pack     (model, view, forces) -> constant part and values of the external forces
    """

    def __init__(
        self,
        core: Callable,
        work: Callable[[Tree], tuple[int, int]],
        outputs: Callable[[Tree], Sequence[Field]],
        forces: bool = False,
        view: Callable[[Model], Any] = tree_of,
        pack: Callable[..., tuple[Any, list[Floats]]] = pack_forces,
    ) -> None:
        self.core, self.work, self.outputs, self.forces = core, work, outputs, forces
        self.view, self._pack = view, pack
        self._spaces = _Workspaces()
        self._fields: dict[int, tuple[Tree, Sequence[Field]]] = {}

        @entry
        def sweep(tree, loads, ins, outs, work):
            for c in range(ins[0].shape[0]):
                core(tree, loads, c, ins, outs, work)

        @entry
        def public(tree, loads, ins, outs, entries, lane_ins, lane_outs, wide, work):
            batch = ins[0].shape[0]
            for first in range(0, batch, WIDTH):
                count = min(WIDTH, batch - first)
                for k in range(len(ins)):
                    to_lanes(ins[k], first, count, lane_ins[k])
                core(tree, loads, 0, lane_ins, lane_outs, work)
                for k in range(len(outs)):
                    spread(lane_outs[k], entries[k], wide[k])
                    from_lanes(wide[k], first, count, outs[k])

        self.sweep, self.public = sweep, public
        if not config.DISABLE_JIT:
            name = f"{core.__module__}.{core.__name__}"
            sweep._cache = KernelCache(f"{name}.sweep")
            public._cache = KernelCache(f"{name}.public")

    def __call__(
        self,
        model: Model,
        inputs: Sequence[tuple[str, ArrayLike, tuple[int, ...]]],
        forces: Sequence[ExternalForce] = (),
        out: Any = None,
        constants: Any = NO_LOADS,
    ) -> tuple[Floats, ...]:
        """Evaluate at inputs given as (name, array, trailing shape); arrays as the fields say.

        A kernel without forces may be given other constants in their place.
        """
        tree = self.view(model)
        loads, arrays, lead = self.gather(model, tree, inputs, forces)
        if not self.forces:
            loads = constants
        fields = self.fields(tree)
        arrays_out = results(fields, lead, out, arrays)
        batch = math.prod(lead)
        flat = (
            x.reshape(batch, math.prod(f.shape)) for x, f in zip(arrays_out, fields, strict=True)
        )
        self.run(tree, loads, arrays, tuple(flat))
        return arrays_out

    def fields(self, tree: Tree) -> Sequence[Field]:
        """The outputs' fields for a tree, made once."""
        known = self._fields.get(id(tree))
        if known is None or known[0] is not tree:
            if len(self._fields) >= _KEPT_WORKSPACES:
                self._fields.clear()
            known = self._fields[id(tree)] = (tree, tuple(self.outputs(tree)))
        return known[1]

    def run(self, tree: Tree, loads: Loads, ins: tuple, outs: tuple) -> None:
        """Fill the flat (B, m) outputs from flat (B, k) inputs, on several threads if it pays."""
        if config.DISABLE_JIT:
            packed = self.plain(tree, loads, ins, np.float64)
            for out, values, field in zip(outs, packed, self.fields(tree), strict=True):
                if out.shape[1]:
                    out[:] = field.unpacked(values)
            return
        batch, n = ins[0].shape[0], len(tree.parent)
        parts = _threads() if batch * n >= _THREADED_FROM else 1
        if parts == 1:
            self._run_part(tree, loads, ins, outs)
            return
        step = -(-batch // (parts * WIDTH)) * WIDTH
        jobs = []
        for first in range(0, batch, step):
            rows = slice(first, first + step)
            part = (tuple(x[rows] for x in ins), tuple(x[rows] for x in outs))
            jobs.append(_pool().submit(self._run_part, tree, loads, *part))
        for job in jobs:
            job.result()

    def _run_part(self, tree: Tree, loads: Loads, ins: tuple, outs: tuple) -> None:
        fields = self.fields(tree)
        key = (self.work(tree), *(x.shape[1] for x in ins), *(field.packed for field in fields))
        space = self._spaces.kept.get(key)
        if space is None:
            if len(self._spaces.kept) >= _KEPT_WORKSPACES:
                self._spaces.kept.clear()
            space = self._spaces.kept[key] = self._workspace(tree, ins, fields)
        entries = tuple(field.entries for field in fields)
        self.public(tree, loads, ins, outs, entries, *space)

    def _workspace(self, tree: Any, ins: tuple, fields: Sequence[Field]) -> tuple:
        lane_outs = tuple(aligned(1, field.packed, WIDTH) for field in fields)
        wide = []
        for field, packed in zip(fields, lane_outs, strict=True):
            wide.append(aligned(1, math.prod(field.shape), WIDTH) if len(field.entries) else packed)
            if len(field.entries):
                wide[-1][:] = 0.0  # what no entry names stays zero
        lane_ins = tuple(aligned(1, x.shape[1], WIDTH) for x in ins)
        return lane_ins, lane_outs, tuple(wide), aligned(*self.work(tree), WIDTH)

    def plain(self, tree: Tree, loads: Loads, ins: tuple, dtype: Any) -> tuple:
        """Packed outputs (B, m) of the same core on plain float64 or complex128 numbers."""
        ins = tuple(np.ascontiguousarray(x, dtype=dtype) for x in ins)
        outs = tuple(np.zeros((len(ins[0]), f.packed), dtype) for f in self.fields(tree))
        self.sweep(tree, loads, ins, outs, np.empty(self.work(tree), dtype))
        return outs

    def gather(
        self,
        model: Model,
        tree: Tree,
        inputs: Sequence[tuple[str, ArrayLike, tuple[int, ...]]],
        forces: Sequence[ExternalForce],
    ) -> tuple[Loads, tuple[Floats, ...], tuple[int, ...]]:
        """Checked inputs as flat contiguous (B, k) arrays, and their common leading shape."""
        arrays = [checked(model, *entry) for entry in inputs]
        cores = [len(trailing) for _, _, trailing in inputs]
        loads, values = self._pack(model, tree, forces) if self.forces else (NO_LOADS, [])
        leads = [x.shape[: x.ndim - d] for x, d in zip(arrays, cores, strict=True)]
        leads += [x.shape[:-1] for x in values]
        try:
            lead = leads[0] if len(set(leads)) == 1 else np.broadcast_shapes(*leads)
        except ValueError:
            names = [name for name, _, _ in inputs] + ["forces"] * len(values)
            told = ", ".join(f"{n} {s}" for n, s in zip(names, leads, strict=True))
            raise InputError(f"the leading shapes do not fit together: {told}") from None
        batch = math.prod(lead)
        flat = []
        for x, trailing in zip(arrays, (t for _, _, t in inputs), strict=True):
            if x.shape != lead + trailing:
                x = np.broadcast_to(x, lead + trailing)
            # Numba compiles again for a read-only array; a copy costs less.
            x = np.require(x, requirements=["C", "W"])
            flat.append(x.reshape(batch, math.prod(trailing)))
        if self.forces:
            wrenches = [np.broadcast_to(x, (*lead, 3)).reshape(batch, 3) for x in values]
            joined = np.concatenate(wrenches, axis=1) if wrenches else np.empty((batch, 0))
            flat.append(np.ascontiguousarray(joined))
        return loads, tuple(flat), lead


def checked(model: Model, name: str, value: ArrayLike, trailing: tuple[int, ...]) -> Floats:
    """A finite float64 array whose last axes are as expected."""
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise InputError(f"{name}: not an array of numbers ({error})") from None
    if array.dtype.kind not in "fiu":
        raise InputError(f"{name}: expected real numbers, got an array of {array.dtype}")
    array = array.astype(np.float64, copy=False)
    if array.shape[max(array.ndim - len(trailing), 0) :] != trailing:
        expected = ", ".join(str(k) for k in ("...", *trailing))
        raise InputError(
            f"{name}: expected shape ({expected}), got {array.shape}; model {model.name!r} has "
            f"{model.n} joints, in the order of model.joint_names"
        )
    if not np.isfinite(array).all():
        where = tuple(int(k) for k in np.argwhere(~np.isfinite(array))[0])
        raise InputError(f"{name}: expected finite numbers, got {array[where]} at index {where}")
    return array


def results(
    fields: Sequence[Field], lead: tuple[int, ...], out: Any, arrays: Sequence[Floats]
) -> tuple[Floats, ...]:
    """New arrays for the outputs, or the caller's after a check."""
    shapes = [lead + field.shape for field in fields]
    if out is None:
        return tuple(np.empty(shape) for shape in shapes)
    given = out if isinstance(out, tuple) else (out,)
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
        others = [*arrays, *given[:k]]
        if any(np.may_share_memory(x, y) for y in others):
            raise InputError(f"out[{k}]: shares memory with an input or another output")
    return given
