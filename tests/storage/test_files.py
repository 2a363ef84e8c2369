"""Files are written completely or not at all."""

import errno
import os
import stat
import sys
from pathlib import Path

import pytest

from predyn.errors import FileError, InputError
from predyn.storage import files

posix = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX permissions or devices")


def fails_with(number):
    def write(path):
        path.write_bytes(b"half")
        raise OSError(number, os.strerror(number))

    return write


def test_writes_and_replaces(tmp_path):
    path = tmp_path / "a.txt"
    files.write_text(path, "first\r\n")
    files.write_text(str(path), "second ü\n")
    assert path.read_bytes() == "second ü\n".encode()
    assert list(tmp_path.iterdir()) == [path]


def test_the_temporary_file_is_a_neighbour_with_the_same_suffix(tmp_path):
    seen = []
    files.write_atomically(tmp_path / "a.html", lambda path: seen.append(path))
    assert seen[0].parent == tmp_path
    assert seen[0].suffix == ".html"
    assert (tmp_path / "a.html").read_bytes() == b""


@pytest.mark.parametrize(
    ("number", "step"),
    [
        (errno.ENOSPC, "free some space"),
        (errno.EDQUOT, "free some space"),
        (errno.EROFS, "may write to"),
        (errno.EIO, "try again"),
    ],
)
def test_a_failure_leaves_the_earlier_file(tmp_path, number, step):
    path = tmp_path / "a.h5"
    path.write_bytes(b"earlier")
    with pytest.raises(FileError, match=step) as caught:
        files.write_atomically(path, fails_with(number))
    assert str(caught.value).startswith(f"{path}: cannot be written: {os.strerror(number)}; ")
    assert path.read_bytes() == b"earlier"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("when", ["fsync", "replace"])
def test_a_failure_after_writing_leaves_the_earlier_file(tmp_path, monkeypatch, when):
    path = tmp_path / "a.h5"
    path.write_bytes(b"earlier")

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(files.os, when, full)
    with pytest.raises(FileError, match="No space left on device"):
        files.write_bytes(path, b"new")
    assert path.read_bytes() == b"earlier"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("error", [KeyboardInterrupt, ZeroDivisionError])
def test_other_errors_propagate_and_leave_no_file(tmp_path, error):
    def write(path):
        path.write_bytes(b"half")
        raise error

    with pytest.raises(error):
        files.write_atomically(tmp_path / "a.h5", write)
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no /dev/full")
def test_a_full_disk(tmp_path):
    path = tmp_path / "a.h5"
    path.write_bytes(b"earlier")
    with pytest.raises(FileError, match="No space left on device; free some space"):
        files.write_atomically(path, lambda _: Path("/dev/full").write_bytes(b"new"))
    assert path.read_bytes() == b"earlier"
    assert list(tmp_path.iterdir()) == [path]


@posix
def test_a_file_that_cannot_grow(tmp_path):
    import resource

    path = tmp_path / "a.h5"
    path.write_bytes(b"earlier")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, hard))
    try:
        with pytest.raises(FileError, match="ulimit"):
            files.write_bytes(path, bytes(1 << 20))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert path.read_bytes() == b"earlier"
    assert list(tmp_path.iterdir()) == [path]


def test_paths_that_cannot_be_a_file(tmp_path):
    (tmp_path / "file").write_bytes(b"x")
    for path, message in (
        (tmp_path, "it is a folder"),
        (tmp_path / "none" / "a.h5", "make the folder first"),
        (tmp_path / "file" / "a.h5", "part of the path is a file"),
        (tmp_path / ("a" * 300), "shorter name"),
    ):
        with pytest.raises(FileError, match=message):
            files.write_bytes(path, b"new")
    with pytest.raises(FileError, match="NUL"):
        files.write_bytes("a\0b", b"new")
    with pytest.raises(FileError, match="half of a surrogate pair"):
        files.write_bytes("a\ud800b", b"new")
    for path in (None, 3, b"a"):
        with pytest.raises(InputError, match="path: expected a str or a Path"):
            files.write_bytes(path, b"new")
    assert [item.name for item in tmp_path.iterdir()] == ["file"]


@posix
def test_devices_are_not_replaced():
    with pytest.raises(FileError, match="it is a device"):
        files.write_bytes("/dev/null", b"new")


@posix
def test_links_and_permissions_are_kept(tmp_path):
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_bytes(b"earlier")
    target.chmod(0o640)
    link.symlink_to(target)
    files.write_bytes(link, b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    mask = os.umask(0o022)
    try:
        files.write_bytes(tmp_path / "fresh", b"new")
    finally:
        os.umask(mask)
    assert stat.S_IMODE((tmp_path / "fresh").stat().st_mode) == 0o644


def test_writable_folder_creates_missing_folders(tmp_path):
    assert files.writable_folder(str(tmp_path / "a" / "b")) == tmp_path / "a" / "b"
    assert files.writable_folder(tmp_path / "a" / "b").is_dir()
    assert not list((tmp_path / "a" / "b").iterdir())


def test_writable_folder_refuses(tmp_path, monkeypatch):
    (tmp_path / "file").write_bytes(b"x")
    with pytest.raises(FileError, match="expected a folder, this is a file"):
        files.writable_folder(tmp_path / "file")
    with pytest.raises(FileError, match="part of the path is a file"):
        files.writable_folder(tmp_path / "file" / "below")
    with pytest.raises(FileError, match="NUL"):
        files.writable_folder("a\0b")

    def read_only(*_, **__):
        raise OSError(errno.EACCES, "Permission denied")

    monkeypatch.setattr("builtins.open", read_only)
    with pytest.raises(FileError, match="Permission denied; choose a folder that you may write to"):
        files.writable_folder(tmp_path)


@posix
@pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_permission(tmp_path):
    folder = tmp_path / "locked"
    folder.mkdir(mode=0o500)
    for write in (files.writable_folder, lambda path: files.write_bytes(path / "a", b"new")):
        with pytest.raises(FileError, match="Permission denied"):
            write(folder)
