"""Motions as programs for robots of Universal Robots: one `servoj` for each period.

Source: Universal Robots, *Script Manual*, servoj: a target for every period of the controller,
0.002 s (e-Series and later) or 0.008 s (CB3); lookahead_time from 0.03 s to 0.2 s, gain from 100 to
2000; joints from base to wrist 3.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from predyn.errors import InputError
from predyn.model import REVOLUTE, Model
from predyn.recordings.motion_tables import Table

JOINTS = 6
RATES = (500.0, 125.0)  # Hz
GAIN, LOOKAHEAD = 300, 0.1  # the manual's defaults
NEAR = 0.01  # rad: how near each joint must be to the start
HOLD = 0.5  # s at the end: a robot arrives later than its targets
STOP = 2.0  # rad/s^2


def servo_rate(model: Model, rate: float | None) -> float:
    """The rate (Hz), 500 by default; an InputError if it or the robot is not one of theirs."""
    sliding = [x for x, k in zip(model.joint_names, model.kind, strict=True) if k != REVOLUTE]
    if model.n != JOINTS or sliding:
        also = f", and {sliding[0]!r:.60} does more than turn" if sliding else ""
        raise InputError(
            f"format 'urscript': expected a robot with {JOINTS} revolute joints, as those of "
            f"Universal Robots have, got {model.name!r:.60} with {model.n}{also}"
        )
    if rate is not None and rate not in RATES:
        raise InputError(
            "rate: expected 500 Hz (e-Series and later) or 125 Hz (CB3) for the format 'urscript', "
            f"got {rate!r:.40}"
        )
    return RATES[0] if rate is None else float(rate)


def format_urscript(table: Table, rate: float) -> str:
    """A program that follows the positions of the table, one for each period.

    It ends with a message if the robot is not at the start. Sent to the controller it runs at once;
    as a file in a program of PolyScope it defines a function, which must then be called.
    """
    names = ", ".join(json.dumps(name) for name in table.model.joint_names)
    targets = [_list(row) for row in table.q.tolist()]
    options = f"t={1.0 / rate:g}, lookahead_time=lookahead, gain=servo_gain"
    lines = [
        f"# {json.dumps(table.name)}: {table.t[-1]:.4f} s, {len(targets)} targets at {rate:g} Hz",
        f"# joints from base to wrist 3: {names}",
        "def predyn_motion():",
        f"  servo_gain = {GAIN}  # 100 to 2000",
        f"  lookahead = {LOOKAHEAD}  # 0.03 s to 0.2 s",
        f"  start = {targets[0]}",
        "  actual = get_actual_joint_positions()",
        *_loop(JOINTS, [
            f"if norm(actual[i] - start[i]) > {NEAR}:",
            '  popup("The robot is not at the start of the motion.", title="predyn", error=True, '
            "blocking=True)",
            "  halt",
            "end",
        ]),
        *(f"  servoj({target}, {options})" for target in targets),
        *_loop(round(HOLD * rate), [f"servoj({targets[-1]}, {options})"]),
        f"  stopj({STOP})",
        "end",
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def _loop(count: int, body: list[str]) -> list[str]:
    inner = [*body, "i = i + 1"]
    return ["  i = 0", f"  while i < {count}:", *(f"    {line}" for line in inner), "  end"]


def _list(row: Iterable[float]) -> str:
    """Fixed notation: the manual has no numbers with exponents."""
    return f"[{', '.join(f'{x:.10f}' for x in row)}]"
