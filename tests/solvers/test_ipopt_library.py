"""Finding IPOPT, and messages if it is missing or broken."""

import subprocess
import sys
from importlib.machinery import ModuleSpec

import pytest

from predyn.errors import PredynError
from predyn.solvers import ipopt_library
from predyn.solvers.ipopt_library import ipopt, ipopt_version


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A fake package casadi in a test folder, and no library loaded yet."""
    spec = ModuleSpec("casadi", None, is_package=True)
    spec.submodule_search_locations = [str(tmp_path)]
    monkeypatch.setattr(ipopt_library, "find_spec", lambda name: spec)
    monkeypatch.setattr(ipopt_library, "ipopt", ipopt.__wrapped__)
    return tmp_path


def test_casadi_is_not_imported():
    code = (
        "import sys; from predyn.solvers.ipopt_library import ipopt; ipopt(); "
        "assert 'casadi' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_version():
    major, minor, _ = map(int, ipopt_version().split("."))
    assert (major, minor) >= (3, 14)


def test_without_casadi(monkeypatch):
    monkeypatch.setattr(ipopt_library, "find_spec", lambda name: None)
    with pytest.raises(PredynError, match="not installed: python -m pip install casadi"):
        ipopt.__wrapped__()


def test_without_the_library(folder):
    with pytest.raises(PredynError, match=r"no IPOPT library .*; reinstall it"):
        ipopt_library.ipopt()


def test_a_library_that_cannot_be_loaded(folder):
    name = {"win32": "libipopt-3.dll", "darwin": "libipopt.3.dylib"}.get(
        sys.platform, "libipopt.so.3"
    )
    (folder / name).write_bytes(b"not a library")
    with pytest.raises(PredynError, match=r"cannot be loaded from .*; reinstall it"):
        ipopt_library.ipopt()


def test_a_library_that_is_too_old(folder, monkeypatch):
    (folder / "libipopt.so.3").touch()
    (folder / "libipopt-3.dll").touch()
    (folder / "libipopt.3.dylib").touch()
    monkeypatch.setattr(ipopt_library, "CDLL", lambda path: object())
    with pytest.raises(PredynError, match=r"lacks .*GetIpoptCurrentIterate.*3\.14"):
        ipopt_library.ipopt()
