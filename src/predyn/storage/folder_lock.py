"""One writer at a time in a folder; the system releases the lock when its holder dies."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from predyn.errors import FileError

LOCK = ".predyn-lock"
LOCK_SECONDS = 0.5  # for who opened the lock file of a process that was about to end


@contextlib.contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder that exists; a FileError if it is taken."""
    from filelock import FileLock, Timeout

    lock = FileLock(folder / LOCK, timeout=LOCK_SECONDS)
    try:
        lock.acquire()
    except Timeout:
        raise FileError(
            f"{folder}: another predyn process is writing there; wait until it ends or choose "
            "another folder"
        ) from None
    except OSError as error:
        raise FileError(f"{folder / LOCK}: cannot be locked: {error.strerror}") from error
    try:
        yield
    finally:
        # Removed while held: who opened it before finds that it has no name any more, and tries
        # again with a new one.
        with contextlib.suppress(OSError):
            (folder / LOCK).unlink(missing_ok=True)
        lock.release()
