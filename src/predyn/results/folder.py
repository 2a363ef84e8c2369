"""A folder of results: one writer at a time, and files that are replaced together.

The new files are first written to a hidden folder beside the old ones. Renaming that folder to
`.predyn-commit` is the single step that decides: before it nothing has changed, and after it the
new files are safe. Should the process be killed, or a move fail, the next command that opens the
folder moves what is still to be moved. Files derived from a result (summary, report, ...) go first
and come last, so that at no moment does one of them stand beside another result.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path

from predyn.errors import FileError
from predyn.storage.files import (
    not_written,
    remove_leftovers,
    sync_folder,
    temporary_name,
    writable_folder,
)
from predyn.storage.folder_lock import lock_folder

COMMIT = ".predyn-commit"
RESULT_SUFFIX = ".h5"  # everything else in a folder is derived from these files
NEW, STALE = "new", "stale"  # parts of the hidden folder


@contextlib.contextmanager
def locked(folder: Path, names: Collection[str] = ()) -> Iterator[None]:
    """Make the folder if need be and keep other writers out; one that stays empty is removed.

    names: files that are to be written there. Obstacles are errors at once, and not only
    after a long solve.
    """
    made = not os.path.exists(folder)
    writable_folder(folder)
    _refuse_folders(folder, names)
    try:
        with lock_folder(folder):
            remove_leftovers(folder)
            _move_into_place(folder)
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
    if os.path.lexists(folder / COMMIT):
        with contextlib.suppress(FileError), lock_folder(folder):
            remove_leftovers(folder)
            _move_into_place(folder)


def replace_together(
    folder: Path, writers: Mapping[str, Callable[[Path], None]], stale: Sequence[str] = ()
) -> list[Path]:
    """Let each writer fill a file, then put all in their places; returns their paths.

    To be called within `locked`. If a writer fails, the folder is as it was. Stale files are
    removed with the results they belonged to.
    """
    _refuse_folders(folder, (*writers, *stale))
    waiting = folder / temporary_name()
    try:
        for part in (NEW, STALE):
            (waiting / part).mkdir(parents=True)
        for name in stale:
            (waiting / STALE / name).touch()
        for name, write in writers.items():
            write(waiting / NEW / name)
        for path in (waiting / NEW, waiting / STALE, waiting):
            sync_folder(path)
        os.rename(waiting, folder / COMMIT)
    except FileError as error:
        raise FileError(str(error).replace(str(waiting / NEW), str(folder))) from error
    except OSError as error:
        raise not_written(folder, error) from error
    finally:
        shutil.rmtree(waiting, ignore_errors=True)
    sync_folder(folder)
    _move_into_place(folder)
    return [folder / name for name in writers]


def _move_into_place(folder: Path) -> None:
    """Carry out what the commit folder says, if there is one, from wherever it stopped before."""
    commit = folder / COMMIT
    if not os.path.lexists(commit):
        return
    parts = (commit, commit / NEW, commit / STALE)
    if any(part.is_symlink() or not part.is_dir() for part in parts):
        raise FileError(f"{commit}: expected a folder written by predyn; move or remove it")
    try:
        results, derived = _by_kind(os.listdir(commit / NEW))
        if results:  # otherwise they are in place, and derived files there belong to them
            for name in (*derived, *os.listdir(commit / STALE)):
                (folder / name).unlink(missing_ok=True)
        for name in (*results, *derived):
            os.replace(commit / NEW / name, folder / name)
        sync_folder(folder)
        done = folder / temporary_name()
        os.rename(commit, done)  # in one step: an existing commit folder is complete
    except OSError as error:
        raise FileError(
            f"{folder}: the results in {commit / NEW} could not be moved into place: "
            f"{error.strerror}; the next predyn command for this folder tries again"
        ) from error
    shutil.rmtree(done, ignore_errors=True)


def _refuse_folders(folder: Path, names: Collection[str]) -> None:
    for name in names:
        if (folder / name).is_dir():
            raise FileError(
                f"{folder / name}: cannot be written: it is a folder; move it or write elsewhere"
            )


def _by_kind(names: Collection[str]) -> tuple[list[str], list[str]]:
    """Results, and files derived from them."""
    results = sorted(name for name in names if name.endswith(RESULT_SUFFIX))
    return results, sorted(set(names) - set(results))
