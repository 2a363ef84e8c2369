"""A coupled Model as URDF text, for other readers: hinges and slides, mimic joints for lines."""

from __future__ import annotations

import numpy as np

from predyn.model import PRISMATIC, SCREW, Model
from predyn.model.parts import unpack_inertia


def _numbers(x: np.ndarray) -> str:
    return " ".join(repr(float(y)) for y in np.ravel(x))


def _rpy(R: np.ndarray) -> np.ndarray:
    """Angles about the fixed x, then y, then z."""
    pitch = np.arctan2(-R[2, 0], np.hypot(R[0, 0], R[1, 0]))
    return np.array([np.arctan2(R[2, 1], R[2, 2]), pitch, np.arctan2(R[1, 0], R[0, 0])])


def urdf_text(model: Model) -> str:
    """Links on a root called "base"; without frames, springs, friction and rotors."""
    tree, lines = model.expanded, {x.joint: x for x in model.couplings}
    parts = ["<robot name='tree'><link name='base'/>"]
    for j, (link, joint) in enumerate(zip(tree.link_names, tree.joint_names, strict=True)):
        assert tree.kind[j] != SCREW
        mass, com, I = unpack_inertia(tree.inertia[j])  # noqa: E741
        pairs = zip(("xx", "xy", "xz", "yy", "yz", "zz"), I[np.triu_indices(3)], strict=True)
        entries = " ".join(f"i{k}='{float(x)!r}'" for k, x in pairs)
        parts.append(
            f"<link name='{link}'><inertial><mass value='{mass!r}'/>"
            f"<origin xyz='{_numbers(com)}'/>"
            f"<inertia {entries}/></inertial></link>"
        )
        up = tree.link_names[tree.parent[j]] if tree.parent[j] >= 0 else "base"
        kind = "prismatic" if tree.kind[j] == PRISMATIC else "revolute"
        mimic = ""
        if joint in lines:
            multiplier, offset = lines[joint].function.line
            mimic = f"<mimic joint='{lines[joint].source}' multiplier='{multiplier!r}'"
            mimic += f" offset='{offset!r}'/>"
        parts.append(
            f"<joint name='{joint}' type='{kind}'><parent link='{up}'/><child link='{link}'/>"
            f"<origin xyz='{_numbers(tree.p[j])}' rpy='{_numbers(_rpy(tree.R[j]))}'/>"
            f"<axis xyz='{_numbers(tree.axis[j])}'/>{mimic}"
            "<limit lower='-9' upper='9' velocity='9' effort='9'/></joint>"
        )
    return "".join(parts) + "</robot>"
