"""Values of a table as what a task file holds."""

from __future__ import annotations

import json
from typing import Any

from predyn.study.study import TEXT


def case_value(form: str, value: Any) -> Any:
    """A value of a varied column in the form that `Knob.values` names."""
    if form == "json":
        return json.loads(str(value))
    if form == TEXT:
        return str(value)
    return int(value) if form == "whole" else float(value)
