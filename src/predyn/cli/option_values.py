"""Values of options: numbers by name, links of forces, times, options of movements."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from predyn.errors import InputError, unknown_name

if TYPE_CHECKING:
    from predyn.estimate.force_links import ForceLink

TIMES = re.compile(r"(.+)@(-?[0-9.]+(?:e[+-]?[0-9]+)?)-(-?[0-9.]+(?:e[+-]?[0-9]+)?)")


def read_numbers(option: str, given: Sequence[str] | None) -> float | dict[str, float] | None:
    """One number for all, or one by name."""
    if not given:
        return None
    if len(given) == 1 and "=" not in given[0]:
        return read_number(option, given[0])
    return read_numbers_by_name(option, given)


def read_numbers_by_name(option: str, given: Sequence[str] | None) -> dict[str, float] | None:
    pairs = read_pairs(option, given, "NAME=NUMBER")
    return None if pairs is None else {name: read_number(option, x) for name, x in pairs.items()}


def read_number(option: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputError(f"{option}: expected a number, got {text!r:.60}") from None


def read_pairs(option: str, given: Sequence[str] | None, form: str) -> dict[str, str] | None:
    if not given:
        return None
    pairs: dict[str, str] = {}
    for text in given:
        name, sign, value = text.rpartition("=")
        if not sign or not name or not value:
            raise InputError(f"{option}: expected {form}, got {text!r:.60}")
        if name in pairs:
            raise InputError(f"{option}: {name!r:.60} is given twice")
        pairs[name] = value
    return pairs


def read_positions(
    option: str, given: Sequence[str] | None, joints: Sequence[str]
) -> list[float] | None:
    """Positions of all joints: numbers with commas in their order, or JOINT=NUMBER for each."""
    if not given:
        return None
    if len(given) == 1 and "=" not in given[0]:
        numbers = [read_number(option, text) for text in given[0].split(",")]
        if len(numbers) != len(joints):
            raise InputError(
                f"{option}: expected {len(joints)} numbers, for {', '.join(joints)}; "
                f"got {len(numbers)}"
            )
        return numbers
    return in_joint_order(option, read_numbers_by_name(option, given) or {}, joints)


def in_joint_order(what: str, positions: Mapping[str, float], joints: Sequence[str]) -> list[float]:
    """Positions by name, in the order of the joints; an InputError unless each joint has one."""
    for name in positions:
        if name not in joints:
            raise unknown_name(f"joint of {what}", name, joints)
    missing = [name for name in joints if name not in positions]
    if missing:
        raise InputError(f"{what}: expected a position of every joint, none for {missing[0]!r:.60}")
    return [positions[name] for name in joints]


def read_pose(option: str, given: str) -> tuple[str, list[float], list[float] | None]:
    """FRAME=X,Y,Z or FRAME=X,Y,Z,ROLL,PITCH,YAW: frame, position, and orientation if given."""
    frame, _, text = given.rpartition("=")
    numbers = [read_number(option, part) for part in text.split(",")] if frame else []
    if len(numbers) not in (3, 6):
        raise InputError(
            f"{option}: expected FRAME=X,Y,Z or FRAME=X,Y,Z,ROLL,PITCH,YAW, got {given!r:.60}"
        )
    return frame, numbers[:3], numbers[3:] or None


def read_force_links(given: Sequence[str] | None) -> dict[str, ForceLink] | None:
    """PLATE=LINK, PLATE=LINK,LINK or PLATE=LINK@START-END,LINK@START-END."""
    pairs = read_pairs("--force", given, "PLATE=LINK")
    if pairs is None:
        return None
    links: dict[str, ForceLink] = {}
    for plate, text in pairs.items():
        parts = text.split(",")
        timed = [TIMES.fullmatch(part) for part in parts]
        if not any(timed):
            links[plate] = text if len(parts) == 1 else parts
            continue
        spans: list[tuple[str, float, float]] = []
        for part, match in zip(parts, timed, strict=True):
            if match is None:
                raise InputError(
                    f"--force: expected LINK@START-END with times in s for every link of "
                    f"{plate!r:.60}, got {part!r:.60}"
                )
            spans.append(
                (match[1], read_number("--force", match[2]), read_number("--force", match[3]))
            )
        links[plate] = spans
    return links


def read_baseline(given: str | None) -> str | tuple[float, float] | None:
    if given is None or "," not in given:
        return given
    low, _, high = given.partition(",")
    return read_number("--force-baseline", low), read_number("--force-baseline", high)


def read_movement_options(given: Sequence[str] | None) -> dict[str, str]:
    """KEY=VALUE pairs of --set as a table."""
    found = {}
    for text in given or ():
        key, sign, value = text.partition("=")
        if not sign or not key.strip() or not value.strip():
            raise InputError(f"--set: expected KEY=VALUE, such as speed=1.4, got {text!r}")
        found[key.strip()] = value.strip()
    return found
