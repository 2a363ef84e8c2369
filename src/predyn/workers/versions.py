"""Versions that decide results, here and in a worker on another machine."""

from __future__ import annotations

import inspect


def versions() -> dict[str, str]:
    """Versions of what computes. Other processes get this function as text (`LOOK`), so that it
    must not need anything of this package, which may be missing there or another version.
    """
    import importlib
    import platform
    from importlib import metadata

    found = {"Python": platform.python_version()}
    try:
        found["predyn"] = importlib.import_module("predyn").__version__
    except Exception:
        found["predyn"] = "none"
    for name in ("numpy", "numba", "scipy", "casadi"):  # casadi brings the solver
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "none"
    return found


def expression() -> str:
    """An expression whose value is that of `versions` in the process that evaluates it."""
    text = inspect.getsource(versions)
    return f"(lambda names: (exec({text!r}, names), names['versions']())[1])({{}})"


def difference(theirs: dict[str, str], ours: dict[str, str]) -> str:
    """What differs, with both versions; empty if nothing does.

    Of Python the first two numbers are compared: later ones only correct errors.
    """
    return ", ".join(
        f"{name} {theirs.get(name, 'none')} there and {version} here"
        for name, version in ours.items()
        if _release(name, theirs.get(name, "none")) != _release(name, version)
    )


def releases() -> dict[str, str]:
    """The versions here as they are compared."""
    return {name: _release(name, version) for name, version in versions().items()}


def _release(name: str, version: str) -> str:
    return ".".join(version.split(".")[:2]) if name == "Python" else version
