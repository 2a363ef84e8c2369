"""Entries of OpenSim's XML files: values are the text of child elements."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from predyn.load.xml_file import (
    INFINITE,
    LONGEST_NAME,
    LONGEST_NUMBER,
    NUMBER,
    Element,
    read_xml,
)
from predyn.model.parts import LARGEST, Array, turn

MOST_ELEMENTS = 400_000  # a model of the whole body with its muscles has some 100,000
TRUE, FALSE = ("true", "1", "yes"), ("false", "0", "no")


def read_document(path: str | os.PathLike[str]) -> Element:
    """The root of a file that OpenSim wrote."""
    return read_xml(path, "OpenSimDocument", most_elements=MOST_ELEMENTS, keep_text=True)


def read_word(element: Element, tag: str, default: str | None = None) -> str:
    """The text of a child, not blank; the default if there is no such child or text."""
    child = element.one(tag)
    value = "" if child is None else child.content.strip()
    if not value:
        if default is None:
            (child or element).fail(f"expected <{tag}> with a name, got none")
        return default
    if len(value) > LONGEST_NAME:
        (child or element).fail(
            f"{len(value)} characters; expected a name of at most {LONGEST_NAME}"
        )
    return value


def read_flag(element: Element, tag: str, default: bool) -> bool:
    """A child that is true or false; the default if it is missing or blank."""
    word = read_word(element, tag, "").lower()
    if word and word not in (*TRUE, *FALSE):
        element.need(tag).fail(f"expected true or false, got {word!r:.40}")
    return word in TRUE if word else default


def is_on(element: Element, tag: str) -> bool:
    """Whether a force or constraint is in effect; versions before 4.0 stored the opposite."""
    if element.one("isDisabled") is not None:
        return not read_flag(element, "isDisabled", False)
    return read_flag(element, tag, True)


def read_numbers(
    element: Element, tag: str, count: int | None, default: Any = None
) -> tuple[float, ...]:
    """`count` finite numbers in a child (None: any number of them), or the default without it."""
    child = element.one(tag)
    if child is None or not child.content.strip():
        if default is None:
            (child or element).fail(f"expected numbers in <{tag}>, got none")
        return tuple(default)
    words = child.content.split()
    if count is not None and len(words) != count:
        child.fail(f"expected {count} number(s), got {len(words)}: {child.content.strip()!r:.60}")
    return tuple(_read_number(child, word) for word in words)


def _read_number(element: Element, word: str) -> float:
    value = float(word) if len(word) <= LONGEST_NUMBER and NUMBER.fullmatch(word) else np.nan
    if not abs(value) <= LARGEST:
        element.fail(f"expected finite numbers of magnitude up to {LARGEST:g}, got {word!r:.60}")
    return value


def read_number(element: Element, tag: str, default: float | None = None) -> float:
    """A finite number in a child, or the default without it."""
    (value,) = read_numbers(element, tag, 1, None if default is None else (default,))
    return value


def read_range(element: Element, default: tuple[float, float]) -> tuple[float, float]:
    """The lower and upper value in <range>; beyond the numbers of a model they are infinite."""
    child = element.one("range")
    words = [] if child is None else child.content.split()
    if child is None or not words:
        return default
    if len(words) != 2:
        child.fail(f"expected a lower and an upper value, got {len(words)} number(s)")
    lower, upper = (_read_bound(child, word) for word in words)
    if lower > upper or (np.isinf(lower) and lower == upper):
        child.fail(f"the range is reversed or empty: {lower:g} to {upper:g}")
    return lower, upper


def _read_bound(element: Element, word: str) -> float:
    plain = len(word) <= LONGEST_NUMBER and NUMBER.fullmatch(word)
    if INFINITE.fullmatch(word) or (plain and abs(float(word)) > LARGEST):
        return -np.inf if word[0] == "-" else np.inf
    return _read_number(element, word)


def read_objects(element: Element, tag: str) -> list[Element]:
    """The members of a set: the children of <objects> in the child `tag`; none without it."""
    held = element.one(tag)
    objects = None if held is None else held.one("objects")
    return [] if objects is None else objects.children


def read_pose(element: Element, location: str, orientation: str) -> tuple[Array, Array]:
    """(R, p) from a position and angles about the moving x, then y, then z axis."""
    angles = read_numbers(element, orientation, 3, (0.0, 0.0, 0.0))
    p = np.array(read_numbers(element, location, 3, (0.0, 0.0, 0.0)))
    return body_fixed(angles), p


def body_fixed(angles: tuple[float, ...]) -> Array:
    """The rotation by angles about x, then about the turned y, then about the turned z axis."""
    x, y, z = np.eye(3)
    R: Array = turn(x, angles[0]) @ turn(y, angles[1]) @ turn(z, angles[2])
    return R
