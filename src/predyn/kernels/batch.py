"""From NumPy arrays of shape (..., n) to lanes and back: how every kernel is called.

A core is a recursion for one number per quantity: core(tree, loads, c, ins, outs, work), where
`c` selects the row of its 2-D inputs and outputs. The arrays determine the number type: a 3-D array
holds lanes, a 2-D one plain float64 or complex128. A Kernel compiles its core, when first called,
into

    public  packs WIDTH samples into lanes, runs the core, unpacks while they are in the cache;
    sweep   runs the core over arrays that are already packed, or over plain numbers;
    again   does the same for a Direct, whose arguments are always the same.

No memory is allocated per sample: each thread keeps the workspaces of its latest models.
"""

from __future__ import annotations

import inspect
import math
import multiprocessing
import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from pathlib import Path
from threading import Barrier
from typing import Any

import numpy as np
from numba import config

from predyn.errors import InputError
from predyn.kernels.arguments import Input, finite, gather, prepare_outputs, real
from predyn.kernels.fields import Field
from predyn.kernels.forces import NO_LOADS, ExternalForce, pack_forces
from predyn.kernels.held import Held, held
from predyn.kernels.kernel_cache import KernelCache, hash_files, is_covered
from predyn.kernels.lanes import WIDTH, align_stack, entry
from predyn.kernels.transpose import from_lanes, spread, to_lanes
from predyn.kernels.tree import Floats, Tree, tree_of
from predyn.model import Model
from predyn.storage.interrupts import held_back

_THREADED_FROM = 8192  # samples x joints; below this a second thread costs more than it gains
_KEPT_WORKSPACES = 16


def aligned(*shape: int) -> Floats:
    """An uninitialised float64 array that starts on a cache line."""
    size = math.prod(shape)
    raw = np.empty(size + 8)
    start = (-raw.ctypes.data % 64) // 8
    return raw[start : start + size].reshape(shape)


@cache
def _pool() -> ThreadPoolExecutor:
    """The threads, all started: a Ctrl-C while one starts would keep the process from exiting."""
    count = _threads()
    pool, started = ThreadPoolExecutor(count, thread_name_prefix="predyn"), Barrier(count)
    with held_back():
        for future in [pool.submit(started.wait) for _ in range(count)]:
            future.result()
    return pool


@cache
def _threads() -> int:
    """PREDYN_THREADS if set, 1 in a worker process, else the cores this process may use."""
    asked = os.environ.get("PREDYN_THREADS")
    if asked is not None:
        if not (asked.isascii() and asked.isdigit()) or int(asked) < 1:
            raise InputError(
                f"PREDYN_THREADS: expected a whole number of at least 1, got {asked!r}"
            )
        return int(asked)
    if multiprocessing.parent_process() is not None:
        return 1
    usable = getattr(os, "sched_getaffinity", None)
    return len(usable(0)) if usable else os.cpu_count() or 1


def split_samples(batch: int, work: int) -> list[slice]:
    """Split the samples among as many threads as `work` (samples x joints) justifies."""
    parts = _threads() if work >= _THREADED_FROM else 1
    step = max(-(-batch // (parts * WIDTH)) * WIDTH, 1)
    return [slice(first, first + step) for first in range(0, batch, step)] or [slice(0, 0)]


def run_on_threads(jobs: Sequence[Callable[[], Any]], apart: bool = False) -> list[Any]:
    """The results of the jobs, each run on a separate thread if there are several.

    apart: also a single job, so that Ctrl-C reaches the thread that waits here.
    """
    if len(jobs) == 1 and not apart:
        return [jobs[0]()]
    return [future.result() for future in [_pool().submit(job) for job in jobs]]


def _forget_threads() -> None:
    """A forked process has none of its parent's threads."""
    _pool.cache_clear()
    _threads.cache_clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_threads)


class Direct:
    """A compiled function whose arguments always have the types of the first call: call `run`.

    Inspecting types takes longer than small problems do; later calls go directly to the machine
    code. Arrays must stay C-contiguous float64 (or what they were): they are not checked again.
    `fixed` are arguments of every call; the function gets them as one Held, before the others.
    """

    def __init__(self, function: Any, *fixed: Any) -> None:
        self._function: Any = function
        self._held = Held(*fixed)
        self.run: Callable[..., Any] = self._run_first

    def _run_first(self, *arguments: Any) -> Any:
        result = self._function(self._held, *arguments)
        code = self._function
        if not config.DISABLE_JIT:
            kinds = tuple(self._function.typeof_pyval(x) for x in (self._held, *arguments))
            code = self._function.overloads[kinds].entry_point
        self.run = partial(code, self._held)
        return result


class _PerThread(threading.local):
    """Workspaces of one kernel in one thread, by view and number of loads."""

    def __init__(self) -> None:
        self.kept: dict[tuple[int, int], tuple] = {}


def _form(view: Any) -> Any:
    """An object that views of the same shape share: the parents of trees that differ in masses."""
    return view.parent if type(view) is Tree else view


class Kernel:
    """A core with its drivers.

    core     the recursion, a jit function
    work     view -> (rows, columns) of its workspace
    outputs  view -> one Field per output
    forces   whether the core takes external forces; their values are then its last input, (6 K)
    view     model -> the arrays the core reads; any named tuple with a shifted `parent`
    pack     (model, view, forces) -> constant part and values of the external forces
    """

    def __init__(
        self,
        core: Callable,
        work: Callable[[Any], tuple[int, int]],
        outputs: Callable[[Any], Sequence[Field]],
        forces: bool = False,
        view: Callable[[Model], Any] = tree_of,
        pack: Callable[..., tuple[Any, list[Floats]]] = pack_forces,
    ) -> None:
        self.core, self.work, self.outputs, self.forces = core, work, outputs, forces
        self.view, self.pack = view, pack
        self._fields: dict[int, tuple[Any, tuple[Field, ...]]] = {}
        self._per_thread = _PerThread()

        @entry
        def sweep(tree, loads, ins, outs, work):
            align_stack()
            for c in range(ins[0].shape[0]):
                core(tree, loads, c, ins, outs, work)

        @entry
        def again(arguments):
            align_stack()
            tree, loads, ins, outs, work = held(arguments)
            for c in range(ins[0].shape[0]):
                core(tree, loads, c, ins, outs, work)

        @entry
        def public(tree, loads, ins, outs, entries, lane_ins, lane_outs, wide, work):
            """Returns 0, or NaN if an input contains NaN or infinity."""
            align_stack()
            batch = ins[0].shape[0]
            poison = 0.0
            for first in range(0, batch, WIDTH):
                count = min(WIDTH, batch - first)
                for k in range(len(ins)):
                    poison += to_lanes(ins[k], first, count, lane_ins[k])
                core(tree, loads, 0, lane_ins, lane_outs, work)
                for k in range(len(outs)):
                    spread(lane_outs[k], entries[k], wide[k])
                    from_lanes(wide[k], first, count, outs[k])
            return poison

        self.sweep, self.again, self.public = sweep, again, public
        if not config.DISABLE_JIT:
            name = f"{core.__module__}.{core.__name__}"
            source = Path(inspect.getfile(inspect.unwrap(core)))
            if source.is_file() and not is_covered(source):
                name = f"{hash_files(source)}.{name}"
            sweep._cache = KernelCache(f"{name}.sweep")
            again._cache = KernelCache(f"{name}.again")
            public._cache = KernelCache(f"{name}.public")

    def __call__(
        self,
        model: Model,
        inputs: Sequence[Input],
        forces: Sequence[ExternalForce] = (),
        out: Any = None,
        constants: Any = NO_LOADS,
        view: Any = None,
    ) -> tuple[Floats, ...]:
        """Evaluate at inputs given as (name, array, trailing shape); returns an array for each
        field that is not scratch.

        A kernel without forces may be given other constants in their place; one whose view depends
        on more than the model must be given that view.
        """
        tree = self.view(model) if view is None else view
        wrenches = None
        if self.forces:
            constants, wrenches = self.pack(model, tree, forces)
        arrays, lead = gather(model, inputs, wrenches)
        fields = self.fields(tree)
        given = prepare_outputs([f for f in fields if f.size], lead, out, arrays)
        batch = len(arrays[0])
        nothing = np.empty((batch, 0))
        rest = iter(given)
        flat = tuple(next(rest).reshape(batch, f.size) if f.size else nothing for f in fields)
        if self.run(tree, constants, tuple(arrays), flat) != 0.0:
            for name, value, trailing in inputs:
                finite(name, real(model, name, value, trailing))
        return given

    def fields(self, tree: Any) -> tuple[Field, ...]:
        """The fields of the outputs for a view of a model, built once."""
        form = _form(tree)
        known = self._fields.get(id(form))
        if known is None or known[0] is not form:
            if len(self._fields) >= _KEPT_WORKSPACES:
                self._fields.clear()
            known = self._fields[id(form)] = (form, tuple(self.outputs(tree)))
        return known[1]

    def run(self, tree: Any, loads: Any, ins: tuple, outs: tuple) -> float:
        """Fill the flat (B, m) outputs from flat (B, k) inputs, on several threads if worthwhile.

        Returns 0, or NaN if an input is not finite.
        """
        if config.DISABLE_JIT:
            packed = self.plain(tree, loads, ins, np.float64)
            for out, values, field in zip(outs, packed, self.fields(tree), strict=True):
                out[:] = field.unpacked(values)
            return 0.0 if all(np.isfinite(x).all() for x in ins) else math.nan
        batch = ins[0].shape[0]
        work = batch * len(tree.parent)
        if work < _THREADED_FROM:
            return self._run_part(tree, loads, ins, outs)
        jobs = []
        for rows in split_samples(batch, work):
            part = (tuple(x[rows] for x in ins), tuple(x[rows] for x in outs))
            jobs.append(partial(self._run_part, tree, loads, *part))
        return sum(run_on_threads(jobs))

    def _run_part(self, tree: Any, loads: Any, ins: tuple, outs: tuple) -> float:
        kept, form = self._per_thread.kept, _form(tree)
        key = (id(form), ins[-1].shape[1])
        space = kept.get(key)
        if space is None or space[0] is not form:
            if len(kept) >= _KEPT_WORKSPACES:
                kept.clear()
            space = kept[key] = (form, *self._workspace(tree, ins))
        return self.public(tree, loads, ins, outs, *space[1:])

    def _workspace(self, tree: Any, ins: tuple) -> tuple:
        """entries, lane_ins, lane_outs, wide and work of `public`."""
        fields = self.fields(tree)
        lane_outs = tuple(aligned(1, field.packed, WIDTH) for field in fields)
        wide = []
        for field, packed in zip(fields, lane_outs, strict=True):
            wide.append(aligned(1, field.size, WIDTH) if len(field.entries) else packed)
            if len(field.entries):
                wide[-1][:] = 0.0  # elements without an entry stay zero
        entries = tuple(field.entries for field in fields)
        lane_ins = tuple(aligned(1, x.shape[1], WIDTH) for x in ins)
        return entries, lane_ins, lane_outs, tuple(wide), aligned(*self.work(tree), WIDTH)

    def plain(self, tree: Any, loads: Any, ins: tuple, dtype: Any) -> tuple:
        """Packed outputs (B, m) of the same core on plain float64 or complex128 numbers."""
        ins = tuple(np.ascontiguousarray(x, dtype=dtype) for x in ins)
        outs = tuple(np.zeros((len(ins[0]), f.packed), dtype) for f in self.fields(tree))
        self.sweep(tree, loads, ins, outs, np.empty(self.work(tree), dtype))
        return outs
