"""IPOPT's C interface, from the library inside the casadi wheel; casadi itself is not imported."""

from __future__ import annotations

import os
import sys
from ctypes import CDLL, CFUNCTYPE, byref, c_bool, c_char_p, c_double, c_int, c_void_p
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from predyn.errors import PredynError

# Arrays are addresses: their data is moved in one piece, without a Python object per call.
ObjectiveCallback = CFUNCTYPE(c_bool, c_int, c_void_p, c_bool, c_void_p, c_void_p)
GradientCallback = CFUNCTYPE(c_bool, c_int, c_void_p, c_bool, c_void_p, c_void_p)
ConstraintsCallback = CFUNCTYPE(c_bool, c_int, c_void_p, c_bool, c_int, c_void_p, c_void_p)
JacobianCallback = CFUNCTYPE(
    c_bool, c_int, c_void_p, c_bool, c_int, c_int, c_void_p, c_void_p, c_void_p, c_void_p
)
HessianCallback = CFUNCTYPE(
    c_bool,
    *(c_int, c_void_p, c_bool, c_double, c_int, c_void_p, c_bool),
    *(c_int, c_void_p, c_void_p, c_void_p, c_void_p),
)
IterationCallback = CFUNCTYPE(
    c_bool, c_int, c_int, *(c_double,) * 8, c_int, c_void_p
)  # mode, iteration, f, primal, dual, mu, step, regularisation, two step lengths, trials

_FUNCTIONS = {  # name: result, arguments
    "CreateIpoptProblem": (
        c_void_p,
        *(c_int, c_void_p, c_void_p, c_int, c_void_p, c_void_p, c_int, c_int, c_int),
        *(ObjectiveCallback, ConstraintsCallback, GradientCallback),
        *(JacobianCallback, HessianCallback),
    ),
    "FreeIpoptProblem": (None, c_void_p),
    "AddIpoptStrOption": (c_bool, c_void_p, c_char_p, c_char_p),
    "AddIpoptNumOption": (c_bool, c_void_p, c_char_p, c_double),
    "AddIpoptIntOption": (c_bool, c_void_p, c_char_p, c_int),
    "SetIntermediateCallback": (c_bool, c_void_p, IterationCallback),
    "IpoptSolve": (c_int, *(c_void_p,) * 8),
    "GetIpoptCurrentIterate": (
        c_bool,
        *(c_void_p, c_bool, c_int, c_void_p, c_void_p, c_void_p, c_int, c_void_p, c_void_p),
    ),
    "GetIpoptVersion": (None, c_void_p, c_void_p, c_void_p),
}
_FILES = {"win32": "libipopt*.dll", "darwin": "libipopt*.dylib"}
_REPAIR = "reinstall it: python -m pip install --force-reinstall casadi"


@cache
def ipopt() -> CDLL:
    """The library with its functions declared, loaded once."""
    path = _library_file()
    if sys.platform == "win32":
        os.add_dll_directory(str(path.parent))
    try:
        library = CDLL(str(path))
    except OSError as error:
        raise PredynError(f"IPOPT cannot be loaded from {path}: {error}; {_REPAIR}") from error
    # Sums in OpenBLAS depend on its number of threads: with one, results repeat bit for bit.
    set_threads = getattr(library, "openblas_set_num_threads", None)
    if set_threads is not None:
        set_threads(1)
    missing = [name for name in _FUNCTIONS if not hasattr(library, name)]
    if missing:
        raise PredynError(
            f"{path} lacks {', '.join(missing)}: IPOPT 3.14 or newer is needed; "
            "python -m pip install --upgrade casadi"
        )
    for name, (result, *arguments) in _FUNCTIONS.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


def ipopt_version() -> str:
    """Of the library in use, as "3.14.19"."""
    parts = c_int(), c_int(), c_int()
    ipopt().GetIpoptVersion(*map(byref, parts))
    return ".".join(str(part.value) for part in parts)


def _library_file() -> Path:
    spec = find_spec("casadi")
    if spec is None or not spec.submodule_search_locations:
        raise PredynError(
            "IPOPT comes with the package casadi, which is not installed: "
            "python -m pip install casadi"
        )
    pattern = _FILES.get(sys.platform, "libipopt.so*")
    folders = [Path(folder) for folder in spec.submodule_search_locations]
    files = [path for folder in folders for path in sorted(folder.glob(pattern))]
    if not files:
        raise PredynError(f"no IPOPT library ({pattern}) in {folders[0]}; {_REPAIR}")
    # casadi's own IPOPT plugin asks for the name with the major version: share that file.
    return next((path for path in files if path.name == "libipopt.so.3"), files[0])
