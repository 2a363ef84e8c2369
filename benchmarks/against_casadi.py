"""Weighted second derivatives beside CasADi's automatic differentiation.

The peer is an SX function of an independent formulation (tests/oracles), called through its buffer
interface without conversions, in CasADi's virtual machine and as generated C compiled by the
machine's compiler if there is one.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from functools import partial
from pathlib import Path

import casadi
import numpy as np
from against_pinocchio import BATCH, TREES, states, tree
from timing import medians

import predyn
from oracles.casadi_oracle import weighted_hessian_function

COMPILED_UP_TO = 30  # joints; the generated C of larger trees takes minutes to compile


def second_derivatives(repeats: int) -> list[dict]:
    rows = []
    for n, depth_like in TREES:
        model, (q, v, a) = tree(n, depth_like), states(n)
        w = np.random.default_rng(1).standard_normal((BATCH, n))
        out = tuple(np.zeros((BATCH, n, n)) for _ in range(4))
        function = weighted_hessian_function(model)
        rivals = {
            "predyn": partial(predyn.inverse_dynamics_hessian, model, q, v, a, w, out=out),
            "vm": through_buffer(function, (q, v, a, w)),
        }
        compiled = _compiled(function) if n <= COMPILED_UP_TO else None
        if compiled is not None:
            rivals["c"] = through_buffer(compiled, (q, v, a, w))
        times = medians(rivals, max(3, repeats // 3))
        us = {key: 1e6 * value / BATCH for key, value in times.items()}
        row = {"joints": n, "predyn": us["predyn"], "casadi": us["vm"]}
        row["ratio"] = us["vm"] / us["predyn"]
        row["casadi in C"] = us.get("c")
        row["ratio to C"] = us["c"] / us["predyn"] if "c" in us else None
        rows.append(row)
    return rows


def through_buffer(function: casadi.Function, inputs: tuple[np.ndarray, ...]):
    """Call the function for every sample by its buffer; results stay in place."""
    buffer, run = function.buffer()
    args = [np.zeros(function.nnz_in(k)) for k in range(function.n_in())]
    results = [np.zeros(function.nnz_out(k)) for k in range(function.n_out())]
    for k, x in enumerate(args):
        buffer.set_arg(k, memoryview(x))
    for k, x in enumerate(results):
        buffer.set_res(k, memoryview(x))

    def call() -> None:
        for sample in range(BATCH):
            for x, values in zip(args, inputs, strict=True):
                x[:] = values[sample]
            run()

    call.keep = (buffer, function, results)  # CasADi holds bare pointers into them
    return call


def _compiled(function: casadi.Function) -> casadi.Function | None:
    compiler = shutil.which("cc")
    if compiler is None:
        return None
    folder = Path(tempfile.mkdtemp())
    generator = casadi.CodeGenerator("hessian.c")
    generator.add(function)
    source = generator.generate(f"{folder}/")
    library = folder / "hessian.so"
    flags = ("-O1", "-march=native", "-fPIC", "-shared")
    subprocess.run([compiler, *flags, source, "-o", library], check=True)
    return casadi.external(function.name(), str(library))
