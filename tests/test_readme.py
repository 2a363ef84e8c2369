"""The examples in README and pages run, and the pages are complete."""

import dataclasses
import inspect
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import typer.main

import predyn
from predyn import cli
from predyn.problem import Hybrid
from predyn.terms import TERMS

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = (
    "examples",
    "problems",
    "terms",
    "contact",
    "loops",
    "two-step",
    "standing",
    "lifting",
    "solver",
    "solutions",
    "notebooks",
    "sensitivities",
    "studies",
    "retiming",
    "collision",
    "planning",
    "obstacles",
    "simulation",
    "estimation",
    "gait",
    "recordings",
)
BASE = {  # what a part of a task file is added to
    "model": '[model]\nbuiltin = "two_link"\n',
    "phases": "[[phases]]\nduration = 1.0\nstart = { q = [1.32, -2.37], v = 0.0 }\n"
    "end = { q = [2.80, -2.37], v = 0.0 }\n",
}


def blocks(path: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", path.read_text("utf-8"), re.DOTALL)


def run(code: str, folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_examples_print_the_output_in_the_readme(tmp_path: Path) -> None:
    code, said = (blocks(ROOT / "README.md", language) for language in ("python", "text"))
    assert len(code) == len(said) == 2
    assert [run(block, tmp_path) for block in code] == said


@pytest.mark.parametrize("page", PAGES)
def test_a_page_runs_from_top_to_bottom(page: str, tmp_path: Path) -> None:
    code = blocks(DOCS / f"{page}.md", "python")
    assert code
    run("\n".join(code), tmp_path)


def test_the_first_task_file_solves(tmp_path: Path) -> None:
    (task,) = blocks(DOCS / "first-steps.md", "toml")
    (tmp_path / "reach.toml").write_text(task, "utf-8")
    (code,) = blocks(DOCS / "first-steps.md", "python")
    run(code, tmp_path)
    assert (tmp_path / "reach.csv").exists()


def test_the_task_among_obstacles_is_certified(tmp_path: Path) -> None:
    (task,) = blocks(DOCS / "obstacles.md", "toml")
    (tmp_path / "past-a-ball.toml").write_text(task, "utf-8")
    solution = predyn.solve(tmp_path / "past-a-ball.toml").check()
    assert solution.certificate is not None
    assert solution.certificate.status == "certified"


@pytest.fixture(scope="module")
def task_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files that the examples of the task page name."""
    folder = tmp_path_factory.mktemp("tasks")
    for name in ("arm.urdf", "column.py"):
        shutil.copy(ROOT / "examples" / "own_task" / name, folder)
    (folder / "earlier").mkdir()
    predyn.solve("two-link-lifting").save(folder / "earlier" / "solution.h5")
    return folder


def test_every_example_of_the_task_page_loads(task_folder: Path) -> None:
    examples = [*blocks(DOCS / "tasks.md", "toml"), *blocks(DOCS / "terms.md", "toml")]
    assert len(examples) > 15
    for k, example in enumerate(examples):
        missing = [text for key, text in BASE.items() if key not in tomllib.loads(example)]
        file = task_folder / f"{k}.toml"
        file.write_text("\n".join([example, *missing]), "utf-8")
        predyn.load_task(file, allow_code=True)


def test_the_task_page_names_every_key() -> None:
    page = (DOCS / "tasks.md").read_text("utf-8")
    keys = [f.name for kind in (Hybrid, predyn.SolverOptions) for f in dataclasses.fields(kind)]
    keys += [
        "name",
        "description",
        "continuity",
        "passive",
        "builtin",
        "urdf",
        "dh",
        "gravity",
        "payloads",
    ]
    tables = (predyn.Signal, predyn.Parameter, predyn.System, predyn.Payload, predyn.Profile)
    keys += [f.name for kind in tables for f in dataclasses.fields(kind) if f.name != "jerk_limit"]
    keys += ["system", "impact", "over", "contacts", "imposed_at"]
    contacts = (predyn.Contact, predyn.Ground, predyn.Cycle, predyn.Points)
    keys += [f.name for kind in contacts for f in dataclasses.fields(kind)]
    keys += [*predyn.DHRow.__dataclass_fields__, "convention", "floating_base", "jerk"]
    assert not [key for key in keys if f"`{key}`" not in page and f"`{key} =" not in page]


def test_the_page_of_terms_names_every_term_with_its_parameters() -> None:
    page = (DOCS / "terms.md").read_text("utf-8")
    for kind, term in TERMS.items():
        row = next(line for line in page.splitlines() if line.startswith(f"| `{kind}` "))
        assert f"`{term.__name__}`" in row
        assert not [
            f.name
            for f in dataclasses.fields(term)  # type: ignore[arg-type]
            if f.init and f"`{f.name}`" not in row
        ], kind


LISTED = (
    *(
        "",
        "analysis",
        "channels",
        "cli",
        "curves",
        "dynamics",
        "estimate",
        "kernels",
        "load",
        "model",
    ),
    *(
        "models",
        "nlp",
        "planning",
        "problem",
        "published",
        "recordings",
        "results",
        "samples",
        "simulation",
        "solution",
    ),
    *("solving", "storage", "transcribe", "transcribe/shooting", "view"),
)  # file by file


def test_the_architecture_page_names_every_file() -> None:
    page = (DOCS / "architecture.md").read_text("utf-8")
    source = Path(predyn.__file__).parent
    folders = [path for path in source.iterdir() if (path / "__init__.py").is_file()]
    assert not [path.name for path in folders if f"{path.name}/" not in page]
    files = [path.name for name in LISTED for path in (source / name).glob("[!_]*.py")]
    assert len(files) > 120
    assert not [name for name in files if f"`{name}`" not in page]


def test_the_reference_names_everything_public() -> None:
    page = (DOCS / "reference.md").read_text("utf-8")
    names = [name for name in dir(predyn) if name != "__version__"]
    assert not [name for name in names if not re.search(rf"`(predyn\.)?{name}\b", page)]


def test_the_pages_name_every_argument_and_field_of_an_estimate() -> None:
    page = (DOCS / "estimation.md").read_text("utf-8")
    arguments = inspect.signature(predyn.estimate_torques).parameters
    fields = [f.name for f in dataclasses.fields(predyn.Estimate)]
    names = {*arguments, *fields, *(f.name for f in dataclasses.fields(predyn.Placed))}
    names -= {"data"}  # the recording, which the whole page is about
    assert not [name for name in sorted(names) if not re.search(rf"`(\w+\.)?{name}[`(=]", page)]


def test_the_page_of_commands_names_every_option() -> None:
    page = (DOCS / "command-line.md").read_text("utf-8")
    commands = typer.main.get_command(cli.app).commands  # type: ignore[attr-defined]
    assert len(commands) == 12
    for name, command in commands.items():
        assert f"`predyn {name}" in page
        for option in command.params:
            ways = [*option.opts, *option.secondary_opts]
            assert not ways[0].startswith("--") or any(
                re.search(rf"{way}(?![\w-])", page) for way in ways
            ), name
