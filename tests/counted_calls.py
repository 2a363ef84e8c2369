"""How much work a call does, as a number that does not depend on the machine."""

import sys
from collections.abc import Callable
from typing import Any


def count_calls(function: Callable[[], Any]) -> int:
    """How many functions, Python's and C's, run during `function()`."""
    count = 0

    def notice(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(notice)
    try:
        function()
    finally:
        sys.setprofile(before)
    return count
