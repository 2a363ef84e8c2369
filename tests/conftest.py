"""Shared by all tests: the long checks, and the folder of data outside the repository."""

import os
import signal

import pytest

# A shell starts background jobs deaf to Ctrl-C; the tests of Ctrl-C and their processes need it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

VERIFY = os.environ.get("PREDYN_VERIFY") == "1"


def pytest_report_header() -> list[str]:
    shared = os.environ.get("PREDYN_SHARED")
    return [
        "long checks: " + ("on" if VERIFY else "off (make verify runs them)"),
        "shared data: "
        + (shared or "PREDYN_SHARED is not set; checks that read data from there are left out"),
    ]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if VERIFY:
        return
    long = [item for item in items if item.get_closest_marker("verify")]
    if long:
        config.hook.pytest_deselected(items=long)
        items[:] = [item for item in items if item not in long]
