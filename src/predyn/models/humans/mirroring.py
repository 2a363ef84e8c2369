"""Left and right exchanged: which coordinate mirrors which, and with which sign."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from predyn.errors import InputError
from predyn.model.parts import Array, IntArray

SIDES = {"_r": "_l", "_l": "_r"}
TURNED = (
    *("global_ty", "global_rotation_1", "global_rotation_2"),
    *("box_ty", "box_rotation_1", "box_rotation_2"),
)


def mirror_map(joints: Sequence[str]) -> tuple[IntArray, Array]:
    """Numbers (n,) and signs (n,) with mirrored q = signs * q[numbers], for a person's joints.

    The mirror is the plane y = 0. Sides must be complete: "knee_flexion_r" needs "knee_flexion_l".
    """
    names = list(joints)
    single = [x for x in names if x[-2:] in SIDES and f"{x[:-2]}{SIDES[x[-2:]]}" not in names]
    if single:
        raise InputError(
            f"joint {single[0]!r} has no counterpart on the other side; lock both sides"
        )
    swap = SIDES
    numbers = [
        names.index(name[:-2] + swap[name[-2:]]) if name[-2:] in swap else j
        for j, name in enumerate(names)
    ]
    midline = [name[-2:] not in swap for name in names]
    signs = [
        -1.0 if middle and (name in TURNED or name.endswith(("_bending", "_rotation"))) else 1.0
        for name, middle in zip(names, midline, strict=True)
    ]
    return np.array(numbers, dtype=np.int64), np.array(signs)
