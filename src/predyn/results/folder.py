"""A folder of results: one writer at a time, and files that are replaced together.

The new files are first written to a hidden folder beside the old ones. Renaming that folder to
`.predyn-commit` is the single step that decides: a process killed before it has changed nothing,
and what it decided is completed by the next command that opens the folder. While files move, those
derived from a result (summary, report, ...) go first and come last, so that at no moment does one
of them stand beside another result.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from predyn.errors import FileError
from predyn.storage.files import remove_leftovers, sync_folder, temporary_name, writable_folder

COMMIT = ".predyn-commit"
LOCK = ".predyn-lock"
RESULT_SUFFIX = ".h5"  # everything else in a folder is derived from these files
NEW, STALE, BEFORE = "new", "stale", "before"  # parts of the hidden folder


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Make the folder if need be and keep other writers out; one that stays empty is removed."""
    made = not os.path.exists(folder)
    writable_folder(folder)
    try:
        with _lock(folder) as ours:
            if not ours:
                raise FileError(
                    f"{folder}: another predyn process is writing there; wait until it has ended "
                    "or choose another folder"
                )
            remove_leftovers(folder)
            try:
                _move_into_place(folder)
            except OSError as error:
                raise _not_written(folder, error) from error
            yield
    finally:
        if made:
            with contextlib.suppress(OSError):
                folder.rmdir()


def complete(folder: Path) -> None:
    """Finish the replacement that a killed process had decided on, if there is one.

    Where that cannot be done (another process is at it, or the folder is read-only), the files in
    place are still a result with what belongs to it.
    """
    if not (folder / COMMIT).is_dir():
        return
    with contextlib.suppress(OSError), _lock(folder) as ours:
        if ours:
            remove_leftovers(folder)
            _move_into_place(folder)


def replace_together(
    folder: Path, writers: Mapping[str, Callable[[Path], None]], stale: Sequence[str] = ()
) -> list[Path]:
    """Let each writer fill a file, then put all in their places; returns their paths.

    To be called within `locked`. If a writer or a move fails, the folder is as it was. Stale files
    are removed with the results they belonged to.
    """
    for name in (*writers, *stale):
        if (folder / name).is_dir():
            raise FileError(
                f"{folder / name}: cannot be written: it is a folder; move it or choose another one"
            )
    waiting = folder / temporary_name()
    try:
        for part in (NEW, STALE, BEFORE):
            (waiting / part).mkdir(parents=True)
        for name in stale:
            (waiting / STALE / name).touch()
        for name, write in writers.items():
            write(waiting / NEW / name)
        for part in (NEW, STALE):
            sync_folder(waiting / part)
        os.rename(waiting, folder / COMMIT)
        sync_folder(folder)
        try:
            _move_into_place(folder)
        except BaseException:
            _undo(folder, list(writers), stale)
            raise
    except FileError as error:
        raise FileError(str(error).replace(str(waiting / NEW), str(folder))) from error
    except OSError as error:
        raise _not_written(folder, error) from error
    finally:
        shutil.rmtree(waiting, ignore_errors=True)
    return [folder / name for name in writers]


def _move_into_place(folder: Path) -> None:
    """Carry out what the commit folder says, if there is one, from wherever it stopped before."""
    commit = folder / COMMIT
    if not commit.is_dir():
        return
    results, derived = _by_kind(os.listdir(commit / NEW))
    if results:  # otherwise they are in place, and derived files there belong to them
        old = [*derived, *os.listdir(commit / STALE)]
        for name in (*old, *results):
            if os.path.lexists(folder / name):
                _link(folder / name, commit / BEFORE / name)
        for name in old:
            (folder / name).unlink(missing_ok=True)
    for name in (*results, *derived):
        os.replace(commit / NEW / name, folder / name)
    sync_folder(folder)
    done = folder / temporary_name()
    os.rename(commit, done)  # in one step: a commit folder that is there is whole
    shutil.rmtree(done, ignore_errors=True)


def _undo(folder: Path, new: Sequence[str], stale: Sequence[str]) -> None:
    """Put back what was there before, in the same order: a kill in here mixes nothing either."""
    waiting = folder / temporary_name()
    os.rename(folder / COMMIT, waiting)
    results, derived = _by_kind(new)
    moved = {name for name in new if not os.path.lexists(waiting / NEW / name)}
    for name in moved.intersection(derived):
        (folder / name).unlink(missing_ok=True)
    for name in moved.intersection(results):
        if os.path.lexists(waiting / BEFORE / name):
            os.replace(waiting / BEFORE / name, folder / name)
        else:
            (folder / name).unlink(missing_ok=True)
    for name in (*derived, *stale):
        if os.path.lexists(waiting / BEFORE / name) and not os.path.lexists(folder / name):
            os.rename(waiting / BEFORE / name, folder / name)
    shutil.rmtree(waiting, ignore_errors=True)


def _by_kind(names: Iterable[str]) -> tuple[list[str], list[str]]:
    """Results, and files derived from them."""
    results = sorted(name for name in names if name.endswith(RESULT_SUFFIX))
    return results, sorted(set(names) - set(results))


def _link(path: Path, copy: Path) -> None:
    """A second name of a file, or a copy where the file system has no second names."""
    copy.unlink(missing_ok=True)
    try:
        os.link(path, copy, follow_symlinks=False)
    except OSError:
        shutil.copy2(path, copy, follow_symlinks=False)


@contextlib.contextmanager
def _lock(folder: Path) -> Iterator[bool]:
    """Whether this process got the lock. The system releases it when its holder dies."""
    from filelock import FileLock, Timeout

    lock = FileLock(folder / LOCK, timeout=0)
    try:
        lock.acquire()
    except Timeout:
        yield False
        return
    try:
        yield True
    finally:
        # Still held: who waits for the old file sees that it has no name any more and tries again.
        with contextlib.suppress(OSError):
            (folder / LOCK).unlink(missing_ok=True)
        lock.release()


def _not_written(folder: Path, error: OSError) -> FileError:
    return FileError(f"{folder}: cannot be written: {error.strerror}")
