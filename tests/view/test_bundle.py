"""The script of the pages: built, pinned, small; a wheel needs neither Node nor network."""

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import pytest

from fake_estimate import fake_estimate
from fake_solution import fake_solution
from loaded_solution import loaded_solution
from predyn.view.estimate_report import estimate_html
from predyn.view.report import report_html

ROOT = Path(__file__).parents[2]
WEB = ROOT / "web"
NAMES = ("page.js", "page.css", "study.js", "study.css", "page-licenses.txt")
BUILT = {f"predyn/view/{name}" for name in NAMES}
LARGEST_STUDY = 40_000  # bytes of its script


def bundle():
    spec = importlib.util.spec_from_file_location("bundle", WEB / "bundle.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_built_script_is_that_of_the_sources():
    assert bundle().is_fresh(), "run `make web`"


def test_packages_are_pinned_by_version_and_content_and_name_no_host():
    text = (WEB / "package-lock.json").read_text("utf-8")
    assert "://" not in text.replace("https://opencollective.com", "")
    packages = {key: x for key, x in json.loads(text)["packages"].items() if key}
    assert len(packages) > 30
    for name, package in packages.items():
        assert package["integrity"].startswith("sha512-"), name
        assert "resolved" not in package, name
    wanted = json.loads((WEB / "package.json").read_text("utf-8"))
    for version in (wanted["dependencies"] | wanted["devDependencies"]).values():
        assert re.fullmatch(r"\d+\.\d+\.\d+", version)


def test_the_front_end_is_small():
    sources = [*(WEB / "src").rglob("*.ts"), *(WEB / "src").rglob("*.css")]
    lines = {path: len(path.read_text("utf-8").splitlines()) for path in sources}
    study = [path for path in sources if path.parent.name == "study"]
    assert sum(lines[path] for path in sources if path not in study) <= 1500
    assert sum(lines[path] for path in study) <= 1250
    assert max(lines.values()) <= 300


def test_the_page_of_a_study_has_a_bundle_of_its_own():
    """Reports of motions do not grow by it, nor does it hold their libraries."""
    script = (ROOT / "src/predyn/view/study.js").read_text("utf-8")
    assert len(script.encode()) < LARGEST_STUDY
    assert "WebGLRenderer" not in script
    assert "Parallel coordinates" not in (ROOT / "src/predyn/view/page.js").read_text("utf-8")


@pytest.mark.parametrize(
    "page", [lambda: report_html(fake_solution()), lambda: report_html(loaded_solution()),
             lambda: estimate_html(fake_estimate())], ids=["motion", "phases", "estimate"],
)  # fmt: skip
def test_pages_are_small(page):
    assert len(page().encode()) < 1_500_000


def test_licenses_of_the_libraries_are_kept():
    text = (ROOT / "src/predyn/view/page-licenses.txt").read_text("utf-8")
    assert "three.js authors" in text.lower()
    assert "Leon Sorokin" in text


def run(*command, cwd, offline=False, **environment):
    """Run with nothing on the PATH, so that no installed Node hides a missing step."""
    empty = Path(cwd) / "empty"
    empty.mkdir(exist_ok=True)
    inherited = {
        key: os.environ[key] for key in os.environ if not key.startswith(("PYTHON", "npm"))
    }
    cut_off = (shutil.which("unshare"), "-rn") if offline else ()
    done = subprocess.run(
        [*cut_off, *map(str, command)], cwd=cwd, capture_output=True, text=True, timeout=900,
        env={**inherited, "PATH": str(empty), **environment},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def environment(folder, *requirements):
    """A fresh virtual environment; its interpreter."""
    run(sys.executable, "-m", "venv", folder, cwd=folder.parent)
    python = folder / "bin" / "python"
    if requirements:
        run(python, "-m", "pip", "install", "-q", *requirements, cwd=folder.parent)
    return python


@pytest.mark.verify
@pytest.mark.skipif(shutil.which("unshare") is None, reason="cuts off the network with unshare")
def test_a_wheel_works_without_node_and_network(tmp_path, browser):
    files = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split("\0")
    source = tmp_path / "source"
    for name in filter(None, files):
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, source / name)

    # a clean copy needs Node, which comes from PyPI
    tools = environment(tmp_path / "tools", "hatchling")
    run(tools, "-m", "pip", "wheel", "-q", "--no-deps", "-w", tmp_path / "dist", ".", cwd=source)
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    assert set(zipfile.ZipFile(wheel).namelist()) >= BUILT

    # an sdist contains the script, and a wheel from it needs neither Node nor network
    run(tools, "-m", "hatchling", "build", "-t", "sdist", "-d", tmp_path / "dist", cwd=source)
    (archive,) = (tmp_path / "dist").glob("*.tar.gz")
    with tarfile.open(archive) as file:
        file.extractall(tmp_path / "unpacked", filter="data")
    (unpacked,) = (tmp_path / "unpacked").iterdir()
    assert (unpacked / "web" / "src" / "page.ts").exists()
    assert not (unpacked / "web" / "node_modules").exists()
    again = tmp_path / "again"
    run(tools, "-m", "hatchling", "build", "-t", "wheel", "-d", again, cwd=unpacked, offline=True)
    (second,) = again.glob("*.whl")
    script = "predyn/view/page.js"
    assert zipfile.ZipFile(second).read(script) == zipfile.ZipFile(wheel).read(script)

    # another environment, cut off; its dependencies are those of this one
    python = environment(tmp_path / "user")
    (site,) = (tmp_path / "user" / "lib").glob("*/site-packages")
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    install = ("-m", "pip", "install", "-q", "--no-deps", "--no-index", wheel)
    run(python, *install, cwd=tmp_path, offline=True)
    where = run(python, "-c", "import predyn; print(predyn.__file__)", cwd=tmp_path)
    assert str(site) in where
    demo = ("-m", "predyn", "solve", "two-link-lifting", "--out", tmp_path / "demo")
    run(python, *demo, cwd=tmp_path, offline=True)

    browser.problems.clear()
    browser.requests.clear()
    address = (tmp_path / "demo" / "report.html").as_uri()
    browser.open(address)
    browser.wait_for("document.querySelectorAll('.uplot').length > 6")
    assert browser.run("document.querySelector('#scene').width") > 100
    assert browser.requests == [address]
    assert browser.problems == []
