"""Values of C3D parameters: texts, numbers and counts by name."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from predyn.recordings.text import Floats

# In the shape of the file, first index fastest. Integers keep their type: they are unsigned if they
# are counts, or if ANALOG:FORMAT says so.
Value = list[str] | Floats | NDArray[np.int16]


def join_texts(group: dict[str, Value], name: str) -> list[str]:
    """A list of texts that may continue in NAME2, NAME3, ..."""
    texts: list[str] = []
    number = 1
    while isinstance(part := group.get(name if number == 1 else f"{name}{number}"), list):
        texts += part
        number += 1
    return texts


def find_numbers(group: dict[str, Value], name: str) -> Floats | None:
    """The numbers of a parameter, or None if it has none."""
    value = group.get(name)
    return value.astype(np.float64) if isinstance(value, np.ndarray) and value.size else None


def to_unsigned(value: float) -> float:
    """Undo the sign: counts are unsigned 16-bit integers but are read as signed ones."""
    return value + 65536.0 if -32768.0 <= value < 0.0 else value


def decode(raw: bytes) -> str:
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        text = raw.decode("latin-1")
    return text.replace("\0", " ").strip()


def find_number(group: dict[str, Value], name: str, default: float) -> float:
    value = find_numbers(group, name)
    return default if value is None else float(value.flat[0])


def find_text(group: dict[str, Value], name: str) -> str:
    texts = join_texts(group, name)
    return texts[0].upper() if texts else ""
