"""Versions that decide results."""

import platform
import sys

import casadi
import numba
import numpy as np
import pytest
import scipy

import predyn
from predyn.workers.versions import difference, expression, versions


def test_versions_by_a_call_and_by_their_text() -> None:
    found = versions()
    assert found == {
        "Python": platform.python_version(),
        "predyn": predyn.__version__,
        "numpy": np.__version__,
        "numba": numba.__version__,
        "scipy": scipy.__version__,
        "casadi": casadi.__version__,
    }
    assert eval(expression()) == found


def test_what_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    ours = {"Python": "3.11.7", "predyn": "1.0", "numpy": "2.1.0"}
    assert difference(ours, ours) == ""
    assert difference({**ours, "Python": "3.11.9"}, ours) == ""
    text = difference({"Python": "3.12.7", "predyn": "1.0"}, ours)
    assert text == "Python 3.12.7 there and 3.11.7 here, numpy none there and 2.1.0 here"
    monkeypatch.setitem(sys.modules, "predyn", None)
    assert versions()["predyn"] == "none"
