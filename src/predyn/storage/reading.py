"""What may be read: regular files only, since opening a named pipe would wait for a writer."""

from __future__ import annotations

import os
import stat
from typing import Final

from predyn.errors import FileError

KINDS: Final = (
    (stat.S_ISDIR, "a folder; name a file in it"),
    (stat.S_ISFIFO, "a named pipe; write what comes out of it to a file, and name that"),
    (stat.S_ISSOCK, "a socket; write what comes out of it to a file, and name that"),
)


def refuse_irregular(path: str | os.PathLike[str]) -> None:
    """A FileError if the path leads to something that is not a file; nothing is opened.

    A path that leads nowhere, or is none, is left to whoever opens it, who says so.
    """
    try:
        mode = os.stat(os.fspath(path)).st_mode
    except (OSError, TypeError, ValueError):
        return
    if stat.S_ISREG(mode):
        return
    what = next((what for is_kind, what in KINDS if is_kind(mode)), "a device; name a file")
    raise FileError(f"{os.fsdecode(path)}: expected a file, this is {what}")
