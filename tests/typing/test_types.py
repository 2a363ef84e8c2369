"""The types of the public interface, as a strict type checker of a user sees them."""

import inspect
import re
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import predyn

SCRIPT = Path(__file__).with_name("user_script.py")
SETTINGS = """
[mypy]
strict = True
mypy_path = {source}
[mypy-predyn.*]
follow_imports = silent
[mypy-numba.*,llvmlite.*,h5py.*,scipy.*,pandas.*,xarray.*]
follow_imports = skip
ignore_missing_imports = True
"""


def test_a_strict_checker_accepts_a_users_script_and_finds_its_mistakes(tmp_path, request):
    """5 to 10 s in a new clone, half a second with the cache of an earlier run."""
    settings = tmp_path / "mypy.ini"
    settings.write_text(SETTINGS.format(source=Path(predyn.__file__).parents[1]))
    cache = request.config.cache.mkdir("mypy")
    command = [sys.executable, "-m", "mypy", "--no-error-summary", "--config-file", settings]
    done = subprocess.run(
        [*command, "--cache-dir", cache, SCRIPT], capture_output=True, text=True, timeout=300
    )
    lines = SCRIPT.read_text().splitlines()
    marked = {k for k, line in enumerate(lines, 1) if line.endswith("# mistake")}
    found = re.findall(r"^.*user_script\.py:(\d+): error: .*$", done.stdout, re.MULTILINE)
    assert {int(k) for k in found} == marked, done.stdout + done.stderr
    assert len(marked) > 8


def public_functions():
    """Functions, and methods of classes, by name."""
    for module in (predyn, predyn.dynamics, predyn.models, predyn.terms):
        for name in module.__all__:
            value = getattr(module, name)
            parts = vars(value) if inspect.isclass(value) else {name: value}
            for part, function in parts.items():
                inner = getattr(function, "fget", getattr(function, "__func__", function))
                if inspect.isfunction(inner) and not part.startswith("_"):
                    yield f"{module.__name__}.{name} {part}", inner


def test_every_public_function_is_typed():
    checked = 0
    for name, function in public_functions():
        signature = inspect.signature(function)
        given = [x for x in signature.parameters.values() if x.name not in ("self", "cls")]
        untyped = [x.name for x in given if x.annotation is x.empty]
        assert not untyped, name
        assert signature.return_annotation is not signature.empty, name
        checked += 1
    assert checked > 100


def test_the_package_is_marked_as_typed():
    assert files("predyn").joinpath("py.typed").is_file()
