"""Compiled kernels on disk: found again, never trusted when damaged, shared by processes."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from predyn.kernels import kernel_cache

# the smallest kernel there can be, which takes a second to compile
PROGRAM = """
import json, warnings
from predyn import models
from predyn.kernels.batch import Kernel
from predyn.kernels.fields import dense
from predyn.kernels.lanes import jit, load, store

@jit
def twice(tree, loads, c, ins, outs, work):
    store(outs[0], c, 0, load(ins[0], c, 0) * 2.0)

kernel = Kernel(twice, work=lambda tree: (1, 1), outputs=lambda tree: (dense(1),))
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    (result,) = kernel(models.two_link(), (("q", [0.3, 0.4], (2,)),))
stats = kernel.public.stats
print(json.dumps({
    "right": result.tolist() == [0.6],
    "found": sum(stats.cache_hits.values()),
    "compiled": sum(stats.cache_misses.values()),
    "warnings": [str(w.message) for w in seen if w.category is RuntimeWarning],
}))
"""


def start(folder: Path) -> subprocess.Popen:
    path = os.pathsep.join(sys.path)
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        env=os.environ | {"PREDYN_CACHE_DIR": str(folder), "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process: subprocess.Popen) -> dict:
    stdout, stderr = process.communicate(timeout=120)
    assert process.returncode == 0, stderr
    result = json.loads(stdout)
    assert result["right"]
    return result


def run(folder: Path) -> dict:
    return finish(start(folder))


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict]:
    """A cache folder with one kernel, and the output of the process that compiled it."""
    folder = tmp_path_factory.mktemp("cache")
    return folder, run(folder)


@pytest.fixture
def copy(filled: tuple[Path, dict], tmp_path: Path) -> Path:
    """A copy of the filled folder, to damage."""
    return Path(shutil.copytree(filled[0], tmp_path / "cache"))


def entry_of(folder: Path) -> Path:
    (entry,) = folder.glob("*/*.kernel")
    return entry


def test_only_the_first_process_compiles(filled: tuple[Path, dict]) -> None:
    folder, first = filled
    assert (first["found"], first["compiled"], first["warnings"]) == (0, 1, [])
    second = run(folder)
    assert (second["found"], second["compiled"], second["warnings"]) == (1, 0, [])
    left = {path for path in folder.rglob("*") if path.is_file()}
    entry = entry_of(folder)
    assert left == {entry, entry.with_name("predyn-kernels")}, "temporary files stayed"


def _flip(content: bytes, at: int) -> bytes:
    changed = bytearray(content)
    changed[at] ^= 0x10
    return bytes(changed)


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: content[: len(content) // 2],
        lambda content: content[:20],
        lambda content: b"",
        lambda content: _flip(content, len(content) // 2),
        lambda content: _flip(content, 3),
    ],
    ids=["half", "cut in the checksum", "empty", "a bit of the kernel", "a bit of the checksum"],
)
def test_a_damaged_entry_is_compiled_again_and_replaced(copy: Path, damage) -> None:
    entry = entry_of(copy)
    entry.write_bytes(damage(entry.read_bytes()))
    after = run(copy)
    assert (after["found"], after["compiled"], after["warnings"]) == (0, 1, [])
    checksum, payload = entry.read_bytes()[:32], entry.read_bytes()[32:]
    assert kernel_cache.hashlib.sha256(payload).digest() == checksum


def test_two_processes_fill_one_folder_at_once(tmp_path: Path) -> None:
    both = [start(tmp_path), start(tmp_path)]
    for result in map(finish, both):
        assert result["warnings"] == []
    assert run(tmp_path)["compiled"] == 0


@pytest.mark.skipif(os.name == "nt", reason="modes are those of POSIX")
def test_a_folder_that_others_can_write_to_is_not_read(copy: Path) -> None:
    entry = entry_of(copy)
    assert entry.parent.stat().st_mode & 0o777 == 0o700
    entry.parent.chmod(0o770)
    result = run(copy)
    assert (result["found"], result["compiled"]) == (0, 1)
    (text,) = result["warnings"]
    assert "writable by another user" in text
    assert "Set PREDYN_CACHE_DIR to a private, writable folder" in text


def test_works_without_a_folder_that_cannot_be_created(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("not a folder")
    result = run(file / "cache")
    assert result["compiled"] == 1
    (text,) = result["warnings"]
    assert str(file / "cache") in text
    assert "compiles them again" in text


# -- the folder's name and its neighbours -------------------------------------------------------


def folder_in(base: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PREDYN_CACHE_DIR", str(base))
    path = kernel_cache.folder.__wrapped__()
    assert path is not None
    assert path.parent == base
    return path


def test_another_digest_is_another_folder(tmp_path: Path, monkeypatch) -> None:
    first = folder_in(tmp_path, monkeypatch)
    assert folder_in(tmp_path, monkeypatch) == first
    monkeypatch.setattr(kernel_cache, "_digest", lambda: "0" * 32)
    assert folder_in(tmp_path, monkeypatch) != first


PACKAGE = Path(kernel_cache.__file__).parents[1]


def test_a_change_in_any_kernel_source_changes_the_digest(tmp_path: Path, monkeypatch) -> None:
    before = kernel_cache._digest()
    skip = shutil.ignore_patterns("__pycache__")
    other = Path(shutil.copytree(PACKAGE, tmp_path / "predyn", ignore=skip))
    monkeypatch.setattr(kernel_cache, "__file__", str(other / "kernels/kernel_cache.py"))
    assert kernel_cache._digest() == before
    sources = [path for name in kernel_cache.FOLDERS for path in (other / name).glob("*.py")]
    assert len(sources) > 50
    for path in sources:
        text = path.read_bytes()
        path.write_bytes(text + b"# more\n")
        assert kernel_cache._digest() != before, path
        path.write_bytes(text)
    assert kernel_cache._digest() == before


def test_kernels_in_other_folders_are_covered_too() -> None:
    """Files that define kernels are in the folders of the digest or are passed to a keeper."""
    code = """
import importlib, pkgutil, predyn
from predyn.kernels import kernel_cache
seen = set()
version = kernel_cache.hash_files
def noting(*files):
    seen.update(map(str, files))
    return version(*files)
kernel_cache.hash_files = noting
for module in pkgutil.walk_packages(predyn.__path__, "predyn."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
print("\\n".join(sorted(seen)))
"""
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    watched = {Path(line).resolve() for line in shown.stdout.split("\n") if line}
    for path in PACKAGE.rglob("*.py"):
        defines = re.search(r"^@(jit|kept)\b", path.read_text(), re.MULTILINE)
        if defines and not kernel_cache.is_covered(path):
            assert path in watched, f"{path}: an edit would leave old kernels in the cache"


def test_the_digest_depends_on_machine_and_versions(monkeypatch) -> None:
    seen = {kernel_cache._digest()}
    for owner, name, value in (
        (kernel_cache, "WIDTH", 16),
        (kernel_cache.numba, "__version__", "0.0"),
        (kernel_cache.sys, "version", "4.0"),
        (kernel_cache.binding, "get_host_cpu_name", lambda: "another"),
        (kernel_cache.binding, "get_host_cpu_features", dict),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(owner, name, value)
            seen.add(kernel_cache._digest())
    assert len(seen) == 6


def test_old_versions_are_removed_and_other_folders_kept(tmp_path: Path, monkeypatch) -> None:
    base, elsewhere = tmp_path / "base", tmp_path / "elsewhere"
    base.mkdir(mode=0o700)
    for age in range(12):
        old = base / f"{age:032d}"
        old.mkdir()
        (old / "a.kernel").write_text("compiled")
        if age != 5:  # somebody else's
            (old / "predyn-kernels").write_text("")
        if age == 7:
            (old / "letters").mkdir()
        os.utime(old, (1e9 - age, 1e9 - age))
    elsewhere.mkdir()
    (elsewhere / "predyn-kernels").write_text("")
    (elsewhere / "a.kernel").write_text("compiled")
    (base / ("f" * 32)).symlink_to(elsewhere)
    new = folder_in(base, monkeypatch)
    left = {path.name for path in base.iterdir()}
    assert left == {new.name, "f" * 32, *(f"{age:032d}" for age in (0, 1, 2, 5, 7))}
    assert (base / f"{5:032d}" / "a.kernel").exists()
    assert {path.name for path in (base / f"{7:032d}").iterdir()} == {"letters", "predyn-kernels"}
    assert (elsewhere / "a.kernel").exists()


@pytest.mark.skipif(os.name == "nt", reason="modes are those of POSIX")
@pytest.mark.parametrize("mode", [0o770, 0o707, 0o1777])
def test_a_base_folder_that_others_can_write_to_is_refused(
    mode: int, tmp_path: Path, monkeypatch
) -> None:
    """Other users could replace our folder by theirs."""
    base = tmp_path / "base"
    base.mkdir()
    base.chmod(mode)
    monkeypatch.setenv("PREDYN_CACHE_DIR", str(base))
    with pytest.warns(RuntimeWarning, match="base belongs to or is writable by another user"):
        assert kernel_cache.folder.__wrapped__() is None
    assert list(base.iterdir()) == []


@pytest.mark.skipif(os.name == "nt", reason="modes are those of POSIX")
def test_the_default_base_folder_becomes_private(tmp_path: Path, monkeypatch) -> None:
    base = tmp_path / "predyn"
    base.mkdir()
    base.chmod(0o775)  # as a umask of 002 makes it
    monkeypatch.delenv("PREDYN_CACHE_DIR", raising=False)
    monkeypatch.setattr(kernel_cache, "user_cache_path", lambda *_, **__: base)
    path = kernel_cache.folder.__wrapped__()
    assert path is not None
    assert path.parent == base
    assert base.stat().st_mode & 0o777 == 0o700


def test_a_kernel_that_cannot_be_saved_is_warned_about(tmp_path: Path, monkeypatch) -> None:
    class Compiled:
        def _reduce(self) -> tuple:
            return (1, 2)

    monkeypatch.setattr(kernel_cache, "folder", lambda: tmp_path / "gone")
    with pytest.warns(RuntimeWarning, match="kernel name could not be saved in .*gone"):
        kernel_cache.KernelCache("name").save_overload("signature", Compiled())
