"""Compiled kernels on disk, so that only the first process has to compile.

Numba's own cache does not notice changes in other files that a kernel inlines, and unpickles
whatever it finds. Here the folder is keyed by everything a kernel depends on (all kernel sources,
Numba, LLVM, Python, CPU, lane width), it is private to the user, each entry carries its own
SHA-256, and a truncated or altered entry is compiled again instead of loaded. Entries are written
to a temporary name and moved into place, so that several processes may fill the cache at once.

The base folder is PREDYN_CACHE_DIR if set, else the platform's cache folder of the user. It may
contain other files: only folders with our mark are removed, and only the kernels in them.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import pickle
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
from llvmlite import binding
from numba import config
from numba.core.caching import NullCache
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps
from platformdirs import user_cache_path

from predyn.kernels.lanes import WIDTH, entry
from predyn.model import PRISMATIC, REVOLUTE, SCREW
from predyn.storage.interrupts import held_back

FOLDERS = ("kernels", "dynamics", "collision", "published")  # their kernels inline each other
_KEPT_FOLDERS = 4
_MARK = "predyn-kernels"  # a file in each folder created by this module
_SUFFIXES = (".kernel", ".kernel-part")


def _digest() -> str:
    """One hash of everything that a compiled kernel depends on."""
    package = Path(__file__).resolve().parent.parent
    hasher = hashlib.sha256()
    for folder in FOLDERS:
        for path in sorted((package / folder).glob("*.py")):
            hasher.update(f"{folder}/{path.name}".encode() + b"\0" + path.read_bytes())
    features = sorted(k for k, on in binding.get_host_cpu_features().items() if on)
    host = (binding.get_host_cpu_name(), binding.get_process_triple(), features, WIDTH)
    versions = (numba.__version__, binding.llvm_version_info, sys.version, sys.flags.optimize)
    joint_kinds = (REVOLUTE, PRISMATIC, SCREW)
    hasher.update(repr((host, versions, joint_kinds)).encode())
    return hasher.hexdigest()[:32]


def _check_private(folder: Path) -> None:
    """Only this user may write there: its files are unpickled."""
    if os.name == "nt":
        return
    info = folder.stat()
    if info.st_uid != os.getuid() or info.st_mode & 0o022:
        raise PermissionError(f"{folder} belongs to or is writable by another user")


@functools.cache
def folder() -> Path | None:
    """The folder of this version's kernels, created if missing; None and a warning if unusable."""
    given = os.environ.get("PREDYN_CACHE_DIR")
    base = Path(given) if given else user_cache_path("predyn", appauthor=False)
    path = base / _digest()
    try:
        base.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not given and os.name != "nt":
            base.chmod(0o700)  # private, even if a lenient umask opened it to a group
        _check_private(base)
        path.mkdir(mode=0o700, exist_ok=True)
        _check_private(path)
        tempfile.TemporaryFile(dir=path).close()
        if not (path / _MARK).exists():
            (path / _MARK).write_text("Compiled kernels of predyn. This folder may be deleted.\n")
            with contextlib.suppress(OSError):  # another process may be doing the same
                _remove_old(base)
    except OSError as error:
        warnings.warn(
            f"predyn keeps compiled kernels in {base}, which cannot be used ({error}): each "
            "process compiles them again. Set PREDYN_CACHE_DIR to a private, writable folder.",
            RuntimeWarning,
            stacklevel=2,
        )
        return None
    return path


def _remove_old(base: Path) -> None:
    """Remove the kernels of earlier versions, all but the newest few."""
    ours = [p for p in base.iterdir() if not p.is_symlink() and (p / _MARK).is_file()]
    ours.sort(key=lambda p: p.stat().st_mtime, reverse=True)
    for old in ours[_KEPT_FOLDERS:]:
        with contextlib.suppress(OSError):  # in use, or another process was faster
            for path in old.iterdir():
                if path.suffix in _SUFFIXES:
                    path.unlink()
            if [path.name for path in old.iterdir()] == [_MARK]:
                (old / _MARK).unlink()
                old.rmdir()


compiling: list[Callable[[], None]] = []  # called before a kernel is compiled rather than loaded


class KernelCache(NullCache):
    """The cache of one compiled entry function, used in place of Numba's own."""

    def __init__(self, name: str) -> None:
        self._name = name

    def _path(self, sig: Any) -> Path | None:
        base = folder()
        key = hashlib.sha256(str(sig).encode()).hexdigest()[:24]
        return base and base / f"{self._name}-{key}.kernel"

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        payload = self._kept(sig)
        if payload is None:
            for tell in tuple(compiling):
                tell()
            return None
        with held_back():  # an interrupt within an LLVM callback would leave LLVM locked
            target_context.refresh()
            return CompileResult._rebuild(target_context, *pickle.loads(payload))

    def _kept(self, sig: Any) -> bytes | None:
        """The cached kernel; None if it is missing or damaged."""
        path = self._path(sig)
        try:
            content = b"" if path is None else path.read_bytes()
        except OSError:
            return None
        checksum, payload = content[:32], content[32:]
        return payload if hashlib.sha256(payload).digest() == checksum else None

    def save_overload(self, sig: Any, data: Any) -> None:
        path = self._path(sig)
        if path is None:
            return
        payload = dumps(data._reduce())
        try:
            with tempfile.NamedTemporaryFile(
                dir=path.parent, suffix=_SUFFIXES[1], delete=False
            ) as file:
                file.write(hashlib.sha256(payload).digest() + payload)
            os.replace(file.name, path)
        except OSError as error:
            warnings.warn(
                f"the compiled kernel {self._name} could not be saved in {path.parent} ({error}): "
                "the next process compiles it again.",
                RuntimeWarning,
                stacklevel=2,
            )


def is_covered(file: Path) -> bool:
    """Whether the folder's key covers this source file."""
    package = Path(__file__).resolve().parent.parent
    return file.resolve().parent in [package / folder for folder in FOLDERS]


def hash_files(*files: str | Path) -> str:
    """One hash of source files that the folder's key does not cover."""
    sources = b"".join(Path(file).read_bytes() for file in files)
    return hashlib.sha256(sources).hexdigest()[:12]


def keeper(*files: str | Path) -> Callable[[Any], Any]:
    """A decorator that compiles a function when first called and caches it on disk until one of
    the files changes."""
    known = hash_files(*files)

    def kept(function: Any) -> Any:
        compiled = entry(function)
        if not config.DISABLE_JIT:
            compiled._cache = KernelCache(f"{known}.{function.__name__}")
        return compiled

    return kept
