"""Links as long as measured: the distance between two markers against that in the model."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from predyn.errors import InputError, unknown_name
from predyn.model import Model

Floats = NDArray[np.float64]

# link: markers at its joint and far end[, name of that end], or two markers and two names of ends
Lengths = Mapping[str, Sequence[str]]


class Span(NamedTuple):
    """A link between two markers."""

    link: int
    start: str  # marker at its joint, or at another end
    end: str  # marker at its far end
    near: Floats  # (3,) m, where the first marker is in the model, link axes
    far: Floats  # (3,) m, the far end there


def spans_of(model: Model, lengths: Lengths | None, measured: Collection[str]) -> list[Span]:
    """What `lengths` says, every name checked."""
    if lengths is not None and not isinstance(lengths, Mapping):
        raise InputError(f"lengths: expected {{link: (marker, marker)}}, got {lengths!r:.60}")
    spans = []
    for link, entry in (lengths or {}).items():
        j = model.link_index(link)
        if isinstance(entry, str) or not isinstance(entry, Sequence) or not 2 <= len(entry) <= 4:
            raise InputError(
                f"length of link {link!r}: expected (marker at its joint, marker at its far end) "
                "and, if it has several, the name of the far end, or the names of both ends, got "
                f"{entry!r:.80}"
            )
        for name in entry[:2]:
            if name not in measured:
                raise unknown_name(f"marker for the length of link {link!r}", name, measured)
        if entry[0] == entry[1]:
            raise InputError(
                f"length of link {link!r}: expected two markers, got {entry[0]!r} twice"
            )
        far = _far_end(model, j, entry[-1] if len(entry) > 2 else None)
        near = _far_end(model, j, entry[2]) if len(entry) == 4 else np.zeros(3)
        if not (far - near).any():
            raise InputError(
                f"length of link {link!r}: its ends are at the same place, so there is no length "
                "to scale"
            )
        spans.append(Span(j, entry[0], entry[1], near, far))
    return spans


def _far_end(model: Model, link: int, to: str | None) -> Floats:
    """The child joint or frame called `to`; without a name the child joints, else the frames."""
    name = model.link_names[link]
    children: dict[str, Floats] = {
        model.expanded.joint_names[k]: model.p[k] for k in np.flatnonzero(model.parent == link)
    }
    frames: dict[str, Floats] = {
        frame.name: frame.p for frame in model.frames if frame.link == link
    }
    ends = frames | children
    if to is not None:
        if to not in ends:
            raise unknown_name(f"child joint or frame of link {name!r}", to, ends)
        far = ends[to]
    elif not ends:
        raise InputError(
            f"length of link {name!r}: it has no child joint and no frame to measure to; "
            "add a frame at its end when building it"
        )
    else:
        first, *others = (children or frames).values()
        if any(np.abs(first - other).max() > 1e-9 * np.abs(first).max() for other in others):
            raise InputError(
                f"length of link {name!r}: it has several ends; name one after the two markers: "
                f"{', '.join(map(repr, sorted(ends)))}"
            )
        far = first
    if not far.any():
        raise InputError(
            f"length of link {name!r}: its end is at its joint, so there is no length to scale; "
            f"name another end after the two markers: {', '.join(map(repr, sorted(ends)))}"
        )
    return far


def measured_scale(model: Model, span: Span, places: Mapping[str, Floats]) -> float:
    """Measured over model length; of planar data by the components that both markers have.

    A link that reaches out of the measured plane then comes out too short.
    """
    apart = places[span.end] - places[span.start]
    both = np.isfinite(apart)
    distance = float(np.linalg.norm(apart[both]))
    length = float(np.linalg.norm(span.far - span.near))
    if both.sum() < 2:
        raise InputError(
            f"length of link {model.link_names[span.link]!r}: markers {span.start!r} and "
            f"{span.end!r} must have two of the components x, y, z in common"
        )
    if not distance > 1e-6 * length:
        raise InputError(
            f"length of link {model.link_names[span.link]!r}: markers {span.start!r} and "
            f"{span.end!r} are {distance:.3g} m apart, expected about {length:.3g} m"
        )
    return distance / length


def scaled(model: Model, link: int, factor: float) -> Model:
    """All of a link larger by a factor: what sits on it, and its inertia at equal mass."""
    p, inertia = model.p.copy(), model.inertia.copy()
    p[model.parent == link] *= factor
    inertia[link, 1:4] *= factor
    inertia[link, 4:] *= factor**2
    return replace(
        model,
        p=p,
        inertia=inertia,
        frames=tuple(
            replace(frame, p=factor * frame.p) if frame.link == link else frame
            for frame in model.frames
        ),
        shapes=tuple(
            replace(shape, p=factor * shape.p, size=tuple(factor * x for x in shape.size))
            if shape.link == link
            else shape
            for shape in model.shapes
        ),
        dh=None,
    )
