"""Motions as ROS messages: trajectory_msgs/JointTrajectory, with the field names of ROS 2.

Controllers interpolate between points: by quintics if positions, velocities and accelerations are
given. Those of ROS 2 Humble and earlier refuse points with efforts, so `effort` stays an empty list
unless it is asked for.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from predyn.errors import InputError
from predyn.recordings.motion_tables import Table

NANOSECONDS = 10**9
MOST_SECONDS = 2**31  # sec of builtin_interfaces/Duration is an int32


def format_message(table: Table, suffix: str, *, effort: bool) -> str:
    """The message as JSON (suffix ".json") or YAML. If points have one time, the last is kept."""
    message = _message(table, effort)
    return json.dumps(message, indent=1) + "\n" if suffix == ".json" else _yaml(message)


def _message(table: Table, effort: bool) -> dict[str, Any]:
    if table.t[-1] >= MOST_SECONDS:
        raise InputError(f"time_from_start: expected less than 2^31 s, got {table.t[-1]:g} s")
    nanoseconds = np.rint(table.t * NANOSECONDS).astype(np.int64)
    kept = np.append(np.diff(nanoseconds) > 0, True)
    values = (table.q, table.v, table.a, table.tau if effort else table.tau[:, :0])
    fields = ("positions", "velocities", "accelerations", "effort")
    rows = zip(nanoseconds[kept].tolist(), *(x[kept].tolist() for x in values), strict=True)
    points = [
        dict(zip(fields, row, strict=True)) | {"time_from_start": _duration(time)}
        for time, *row in rows
    ]
    return {
        "header": {"stamp": _duration(0), "frame_id": ""},  # time 0: start when it arrives
        "joint_names": list(table.model.joint_names),
        "points": points,
    }


def _duration(nanoseconds: int) -> dict[str, int]:
    sec, nanosec = divmod(nanoseconds, NANOSECONDS)
    return {"sec": sec, "nanosec": nanosec}


def _yaml(message: dict[str, Any]) -> str:
    """YAML 1.1 and 1.2: nested maps in blocks, lists of numbers and times in one line."""
    names = ", ".join(_quoted(name) for name in message["joint_names"])
    lines = [
        "header:",
        f"  stamp: {_time(message['header']['stamp'])}",
        '  frame_id: ""',
        f"joint_names: [{names}]",
        "points:",
    ]
    for point in message["points"]:
        time = _time(point.pop("time_from_start"))
        entries = [f"{key}: [{', '.join(map(_number, row))}]" for key, row in point.items()]
        lines.append(f"  - {entries[0]}")
        lines += [f"    {entry}" for entry in (*entries[1:], f"time_from_start: {time}")]
    return "\n".join(lines) + "\n"


def _time(duration: dict[str, int]) -> str:
    return f"{{sec: {duration['sec']}, nanosec: {duration['nanosec']}}}"


def _number(value: float) -> str:
    """Digits that read back as the same double; YAML 1.1 takes 1e-05 for a string, 1.0e-05 not."""
    text = repr(value)
    return text.replace("e", ".0e") if "e" in text and "." not in text else text


def _quoted(text: str) -> str:
    """A double-quoted scalar; all but plain ASCII is escaped."""
    plain = (c if " " <= c <= "~" and c not in '"\\' else f"\\U{ord(c):08x}" for c in text)
    return f'"{"".join(plain)}"'
