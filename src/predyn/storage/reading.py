"""Only regular files are read: opening a named pipe would wait for a writer."""

from __future__ import annotations

import os
import stat
from typing import Final

from predyn.errors import FileError

KINDS: Final = (
    (stat.S_ISDIR, "a folder; name a file in it"),
    (stat.S_ISFIFO, "a named pipe; write its output to a file, and name that file"),
    (stat.S_ISSOCK, "a socket; write its output to a file, and name that file"),
)


def refuse_irregular(path: str | os.PathLike[str]) -> None:
    """Raise a FileError if the path is not a regular file; does not open it.

    A path that does not exist or is invalid passes: opening it fails with a message.
    """
    try:
        mode = os.stat(os.fspath(path)).st_mode
    except (OSError, TypeError, ValueError):
        return
    if stat.S_ISREG(mode):
        return
    what = next((what for is_kind, what in KINDS if is_kind(mode)), "a device; name a file")
    raise FileError(f"{os.fsdecode(path)}: expected a file, this is {what}")


def read_at_most(path: str, most: int, advice: str) -> bytes:
    """All bytes of a regular file; a FileError, with advice, if there are more than `most`."""
    refuse_irregular(path)
    try:
        with open(path, "rb") as file:
            data = file.read(most + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise FileError(f"{path}: cannot be read: {reason}; check the path") from None
    if len(data) > most:
        raise FileError(f"{path}: larger than {most // 2**20} MB; {advice}")
    return data
