"""The package from outside: the cost of an import, and its public names."""

import ast
import importlib
import importlib.metadata
import inspect
import json
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

import predyn

PACKAGES = ("analysis", "collision", "dynamics", "models", "movements", "terms")
NAMES = [name for name in dir(predyn) if name != "__version__" and name not in PACKAGES]


def loaded_by(code: str) -> set[str]:
    """The installed packages, except predyn, that `code` loads in a fresh interpreter."""
    script = (
        "import json, sys\n"
        "before = set(sys.modules)\n"
        f"{code}\n"
        "new = {name.partition('.')[0] for name in set(sys.modules) - before}\n"
        "print(json.dumps(sorted(new)))"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    installed = set(importlib.metadata.packages_distributions()) - {"predyn"}
    return installed & set(json.loads(run.stdout))


def test_import_loads_only_the_package() -> None:
    assert loaded_by("import predyn") == set()


@pytest.mark.parametrize(
    "code",
    [
        "predyn.Model, predyn.ModelBuilder, predyn.load_dh, predyn.load_urdf, predyn.ModelError",
        "predyn.models.two_link()",
    ],
)
def test_building_a_model_needs_only_numpy(code: str) -> None:
    assert loaded_by(f"import predyn; {code}") == {"numpy"}


def test_dynamics_needs_numba() -> None:
    assert "numba" in loaded_by("import predyn; predyn.inverse_dynamics")


@pytest.mark.parametrize("name", NAMES)
def test_public_name_resolves_to_its_class_or_function(name: str) -> None:
    value = getattr(predyn, name)
    assert callable(value)
    assert value.__name__ == name
    assert getattr(predyn, name) is value


@pytest.mark.parametrize("name", PACKAGES)
def test_public_package_resolves(name: str) -> None:
    assert getattr(predyn, name) is importlib.import_module(f"predyn.{name}")


def test_no_module_has_the_name_of_a_public_class_or_function() -> None:
    modules = {
        info.name.rpartition(".")[2] for info in pkgutil.walk_packages(predyn.__path__, "predyn.")
    }
    assert len(modules) > 5
    assert modules.isdisjoint(NAMES)


def test_type_checkers_see_the_same_names() -> None:
    source = inspect.getsource(predyn)
    typed = re.findall(r"^ {4,8}(?:from \S+ import )?(\w+) as \1,?$", source, re.MULTILINE)
    assert set(typed) == {*NAMES, *PACKAGES}


def test_unknown_name_is_reported_with_the_right_one() -> None:
    with pytest.raises(AttributeError, match=r"no public name 'inverse_dynamic'.*dir\(predyn\)"):
        predyn.inverse_dynamic  # noqa: B018


def test_version_is_the_installed_one() -> None:
    assert predyn.__version__ == importlib.metadata.version("predyn")


def test_imports_match_the_declared_dependencies() -> None:
    imported = set()
    for path in Path(predyn.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                imported |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                imported.add(str(node.module).partition(".")[0])
    imported -= {*sys.stdlib_module_names, "predyn"}
    # of matplotlib; where notebooks run; of distributed; what its dashboard needs
    declared, optional = set(), {"PIL", "IPython", "dask", "bokeh"}
    for line in importlib.metadata.requires("predyn"):
        name = re.match(r"[\w-]+", line)[0].replace("-", "_")
        extra = re.search(r"extra == .(\w+)", line)
        if extra is None:
            declared.add(name)
        elif extra[1] in ("pictures", "tables", "video", "cluster"):
            optional.add(name)
    # numba brings llvmlite along, in the version that fits; of casadi only its IPOPT is loaded,
    # and trimesh imports pycollada
    assert imported - optional == (declared | {"llvmlite"}) - {"casadi", "pycollada"}
