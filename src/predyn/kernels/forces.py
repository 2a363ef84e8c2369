"""External forces: forces and moments on the links from outside the mechanism."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from predyn.curves.profile import Profile
from predyn.errors import InputError
from predyn.kernels.tree import Floats, Ints, Tree
from predyn.model import Frame, Model


@dataclass(frozen=True, eq=False)
class ExternalForce:
    """A force and a moment that the surroundings exert on a link.

    link    name of the link, or of a frame fixed to it
    force   (..., 3) N; the leading shape broadcasts with that of the state. In a problem: three
            numbers, a Profile of three columns, or the name of a signal of three components, with
            a minus sign before it for the opposite
    moment  (..., 3) N m; likewise
    point   (3,) where the force acts, in the frame of `link`; it moves with the link
    frame   "world": components along world axes; "link": along the axes of `link`
    """

    link: str
    force: ArrayLike | Profile | str = (0.0, 0.0, 0.0)
    moment: ArrayLike | Profile | str = (0.0, 0.0, 0.0)
    point: ArrayLike = (0.0, 0.0, 0.0)
    frame: str = "world"


@dataclass(frozen=True, eq=False)
class UnknownForce(ExternalForce):
    """An external force that is an unknown: which components its force and moment are, and with
    which sign.
    """

    force_at: tuple[int, ...] = ()
    moment_at: tuple[int, ...] = ()
    force_sign: float = 1.0
    moment_sign: float = 1.0

    @classmethod
    def of(cls, force: ExternalForce, at: Mapping[str, tuple[int, ...]]) -> UnknownForce:
        """at: components of "force" and "moment", those that are signals."""
        own = {f.name: getattr(force, f.name) for f in fields(ExternalForce)}
        signs = {part: signal_of(own[part])[1] for part in at}
        own |= dict.fromkeys(at, np.zeros(3))
        return cls(
            **own,
            force_at=at.get("force", ()),
            moment_at=at.get("moment", ()),
            force_sign=signs.get("force", 1.0),
            moment_sign=signs.get("moment", 1.0),
        )


def signal_of(name: str) -> tuple[str, float]:
    """The signal that a force names, and its sign."""
    return (name[1:], -1.0) if name.startswith("-") else (name, 1.0)


class Loads(NamedTuple):
    """External forces in the form the kernels read; their values are passed as a (B, 6 K) input."""

    row: Ints  # (K,) workspace row of the link
    point: Floats  # (K, 3) joint frame
    R: Floats  # (K, 3, 3) axes of the components in the joint frame (identity for world axes)
    world: Ints  # (K,) 1 if the components are along world axes


NO_LOADS = Loads(
    np.zeros(0, np.int64), np.zeros((0, 3)), np.zeros((0, 3, 3)), np.zeros(0, np.int64)
)


def vector(what: str, value: ArrayLike | Profile, batched: bool = False) -> Floats:
    """A finite real 3-vector, or a batch of them."""
    if isinstance(value, Profile):
        raise InputError(f"{what}: expected 3 numbers, got a Profile; evaluate it with .at(t)")
    if isinstance(value, str):
        hint = "" if what.endswith("point") else "; only problems have signals"
        raise InputError(f"{what}: expected 3 numbers, got {value!r:.60}{hint}")
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise InputError(f"{what}: expected 3 numbers, got {value!r:.60}") from error
    if array.dtype.kind not in "fiu":
        raise InputError(f"{what}: expected 3 numbers, got {value!r:.60}")
    if array.shape[-1:] != (3,) or (not batched and array.ndim != 1):
        shape = "(..., 3)" if batched else "(3,)"
        raise InputError(f"{what}: expected shape {shape}, got {array.shape}")
    with np.errstate(over="ignore"):
        array = array.astype(np.float64)
    if not np.isfinite(array).all():
        raise InputError(f"{what}: holds NaN or infinity; give finite numbers")
    return array


def placed_forces(
    model: Model, forces: Sequence[ExternalForce]
) -> list[tuple[ExternalForce, Frame, Floats]]:
    """Each force with the frame it acts in and its point there, after a check of all three."""
    if isinstance(forces, ExternalForce):
        raise InputError("forces: expected a list of ExternalForce, got one; write forces=[f]")
    if not isinstance(forces, (list, tuple)):
        raise InputError(f"forces: expected a list of ExternalForce, got {type(forces).__name__}")
    placed = []
    for k, f in enumerate(forces):
        if not isinstance(f, ExternalForce):
            raise InputError(f"forces[{k}]: expected an ExternalForce, got {type(f).__name__}")
        if not isinstance(f.frame, str) or f.frame not in ("world", "link"):
            raise InputError(f"forces[{k}].frame: expected 'world' or 'link', got {f.frame!r:.60}")
        frame = model.frame(f.link)
        if frame.link < 0:
            raise InputError(
                f"forces[{k}].link: {f.link!r} is fixed to the world, a force there moves nothing; "
                f"links: {', '.join(model.link_names)}"
            )
        placed.append((f, frame, vector(f"forces[{k}].point", f.point)))
    return placed


def forces_at(
    forces: Sequence[ExternalForce],
    s: Floats,
    duration: float,
    signal: Callable[[str], Floats],
) -> list[ExternalForce]:
    """Forces in numbers at normalised times s (K,) of a phase.

    signal: values (K, 3) of a signal at these times, by its name.
    """

    def numbers(value: ArrayLike | Profile | str) -> ArrayLike:
        if isinstance(value, str):
            name, sign = signal_of(value)
            return sign * signal(name)
        if isinstance(value, Profile):
            return value.at(s if value.over == "phase" else s * duration)
        return value

    return [replace(f, force=numbers(f.force), moment=numbers(f.moment)) for f in forces]


def pack_forces(
    model: Model, tree: Tree, forces: Sequence[ExternalForce]
) -> tuple[Loads, list[Floats]]:
    """The constant part of the forces, and moment and force of each as arrays (..., 3)."""
    placed = placed_forces(model, forces)
    if not placed:
        return NO_LOADS, []
    rows, points, axes, world, values = [], [], [], [], []
    for k, (f, frame, point) in enumerate(placed):
        to_joint = tree.link[frame.link]
        rows.append(frame.link + 1)
        points.append(to_joint @ (frame.p + frame.R @ point))
        axes.append(np.eye(3) if f.frame == "world" else to_joint @ frame.R)
        world.append(f.frame == "world")
        values.append(vector(f"forces[{k}].moment", f.moment, batched=True))
        values.append(vector(f"forces[{k}].force", f.force, batched=True))
    loads = Loads(np.array(rows), np.array(points), np.array(axes), np.array(world, np.int64))
    return loads, values
