"""User functions, loaded from Python files named in a task."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

from predyn.errors import FileError, InputError, PredynError


class FileFunction:
    """A function in a Python file. When pickled for another process, it is reloaded from there."""

    def __init__(self, path: Path, name: str) -> None:
        self.path, self.__name__ = path, name
        self._call = _loaded(path, name)

    def __call__(self, *args: Any) -> Any:
        try:
            return self._call(*args)
        except PredynError:
            raise
        except (Exception, SystemExit) as error:
            raise InputError(f"{self!r}: {type(error).__name__}: {error}") from error

    def __reduce__(self) -> tuple[type, tuple[Path, str]]:
        return FileFunction, (self.path, self.__name__)

    def __repr__(self) -> str:
        return f"{self.path}:{self.__name__}"


def _loaded(path: Path, name: str) -> Callable[..., Any]:
    spec = importlib.util.spec_from_file_location(f"predyn_task_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise FileError(f"{path}: expected a Python file (.py)")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise FileError(f"{path}: {type(error).__name__}: {error}") from error
    found: Any = getattr(module, name, None)
    if not callable(found):
        raise FileError(f"{path}: has no function {name!r}")
    return found  # type: ignore[no-any-return]
