"""Files are written completely or not at all: after a failure the old file is unchanged.

A process that is killed while it writes leaves a temporary file behind. Its name identifies the
process and the machine, so that the next process to lock the folder can tell it is abandoned.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
import secrets
import shutil
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from predyn.errors import FileError, InputError

NEXT_STEPS = {
    errno.ENOSPC: "free some space or choose another folder",
    errno.EDQUOT: "free some space or choose another folder",
    errno.EFBIG: "raise the limit on file sizes (ulimit -f) or choose another folder",
    errno.EACCES: "choose a folder that you may write to",
    errno.EPERM: "choose a folder that you may write to",
    errno.EROFS: "choose a folder that you may write to",
    errno.ENOENT: "make the folder first, or choose one that exists",
    errno.ENOTDIR: "choose a folder; part of the path is a file",
    errno.ENAMETOOLONG: "choose a shorter name",
}

_TEMPORARY = re.compile(r"\.predyn-(?P<pid>\d+)-(?P<host>[0-9a-f]{8})-[0-9a-f]{8}(\.\w+)?")
_ABANDONED_SECONDS = 86400.0  # used if it is unknown whether the process still runs


def write_atomically(path: str | os.PathLike[str], write: Callable[[Path], None]) -> None:
    """Let `write` fill a new file in the same folder, then replace `path` with it.

    `write` gets an empty file with a temporary name and the same suffix. If it raises, or the disk
    is full, the file at `path` is unchanged and the temporary file is removed; OSErrors become
    FileErrors. A symbolic link is kept and its target replaced. Permissions are kept; a new file
    gets the user's default.
    """
    checked_path(path)
    try:
        target = Path(os.path.realpath(path))
        earlier = target.exists()
        if earlier and not target.is_file():
            what = "a folder" if target.is_dir() else "a device"
            raise FileError(f"{path}: cannot be written: it is {what}; choose the name of a file")
        temporary = target.with_name(temporary_name(target.suffix))
        with open(temporary, "xb"):
            pass
        try:
            if earlier:
                shutil.copymode(target, temporary)
            write(temporary)
            with open(temporary, "rb+") as file:
                os.fsync(file.fileno())
            os.replace(temporary, target)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise not_written(path, error) from error
    sync_folder(target.parent)


def write_bytes(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a whole file atomically."""
    write_atomically(path, lambda temporary: _fill(temporary, data))


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a whole UTF-8 file atomically; line ends are kept.

    A character that UTF-8 cannot represent (half of a surrogate pair) becomes its \\u escape.
    """
    write_bytes(path, _encoded(text))


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", errors="backslashreplace")


def write_texts(
    texts: Sequence[tuple[str | os.PathLike[str], str]], first: Callable[[], None] | None = None
) -> None:
    """Write several files, or none if one of them fails, or `first`, which writes another file."""
    if not texts:
        if first is not None:
            first()
        return
    (path, text), *others = texts

    def write(temporary: Path) -> None:
        _fill(temporary, _encoded(text))
        write_texts(others, first)

    write_atomically(path, write)


def writable_folder(path: str | os.PathLike[str]) -> Path:
    """Create the folder if it is missing; raise a FileError if no file can be written there."""
    folder = checked_path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        trial = folder / temporary_name()
        with open(trial, "xb"):
            pass
        trial.unlink()
    except FileExistsError:
        raise FileError(f"{path}: expected a folder, this is a file; choose another name") from None
    except OSError as error:
        raise not_written(path, error) from error
    return folder


def temporary_name(suffix: str = "") -> str:
    """A unique name that identifies this process and machine."""
    return f".predyn-{os.getpid()}-{_host()}-{secrets.token_hex(4)}{suffix}"


def remove_leftovers(folder: Path) -> None:
    """Remove the temporary files and folders of processes that no longer run.

    Only for folders that this process has locked: from within a container, the processes of another
    container look as if they had ended.
    """
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            match = _TEMPORARY.fullmatch(entry.name)
            if match and _is_abandoned(entry, int(match["pid"]), match["host"]):
                if entry.is_dir(follow_symlinks=False):
                    shutil.rmtree(entry.path, ignore_errors=True)
                else:
                    with contextlib.suppress(OSError):
                        os.unlink(entry.path)


def _is_abandoned(entry: os.DirEntry[str], pid: int, host: str) -> bool:
    if host == _host() and os.name != "nt":  # on Windows os.kill(pid, 0) would interrupt it
        try:
            os.kill(pid, 0)
        except (ProcessLookupError, OverflowError):
            return True
        except OSError:  # it runs as another user
            return False
        return False
    return time.time() - entry.stat(follow_symlinks=False).st_mtime > _ABANDONED_SECONDS


def _host() -> str:
    from socket import gethostname

    return hashlib.sha256(gethostname().encode()).hexdigest()[:8]


def checked_path(path: str | os.PathLike[str]) -> Path:
    """The path, if it is one that the system can represent."""
    try:
        name = os.fspath(path)
    except TypeError:
        name = None
    if not isinstance(name, str):
        raise InputError(f"path: expected a str or a Path, got {type(path).__name__} {path!r:.60}")
    if "\0" in name:
        raise FileError(f"{name!r}: a path cannot contain a NUL character")
    try:
        os.fsencode(name)
    except UnicodeEncodeError:
        raise FileError(f"{name!r}: a path cannot contain half of a surrogate pair") from None
    return Path(name)


def _fill(path: Path, data: bytes) -> None:
    with open(path, "wb") as file:
        file.write(data)


def not_written(path: str | os.PathLike[str], error: OSError) -> FileError:
    cause = error.strerror or str(error) or type(error).__name__
    step = NEXT_STEPS.get(error.errno or 0, "choose another folder or try again")
    return FileError(f"{path}: cannot be written: {cause}; {step}")


def sync_folder(folder: Path) -> None:
    """Make the new name survive a power cut, if the system supports it."""
    with contextlib.suppress(OSError):  # Windows, some network folders
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
