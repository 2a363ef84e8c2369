"""Whether two results are the same, bit for bit."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass

import numpy as np


def assert_same(got, expected, where="result"):
    """Equal types, orders and bits, at all levels."""
    if isinstance(expected, Mapping):
        assert isinstance(got, Mapping), where
    else:
        assert type(got) is type(expected), where
    if is_dataclass(expected):
        for field in fields(expected):
            name = field.name
            if not field.compare:
                continue
            assert_same(getattr(got, name), getattr(expected, name), f"{where}.{name}")
    elif isinstance(expected, Mapping):
        assert list(got) == list(expected), where
        for key in expected:
            assert_same(got[key], expected[key], f"{where}[{key!r}]")
    elif isinstance(expected, tuple):
        assert len(got) == len(expected), where
        for k, (x, y) in enumerate(zip(got, expected, strict=True)):
            assert_same(x, y, f"{where}[{k}]")
    elif isinstance(expected, np.ndarray):
        assert (got.dtype, got.shape) == (expected.dtype, expected.shape), where
        assert got.tobytes() == expected.tobytes(), where
    elif isinstance(expected, float):
        assert np.float64(got).tobytes() == np.float64(expected).tobytes(), where
    else:
        assert got == expected, where
