"""What residuals of measured channels tell: wrong places, noise that was given wrong or twice."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from predyn.estimate.marker_points import Point
from predyn.estimate.pose_fit import length_scale
from predyn.estimate.result import Channel
from predyn.estimate.samples import roughness
from predyn.model import Model

Floats = NDArray[np.float64]

EXCESS = 3.0  # estimated noise over that of third differences
LITTLE, MUCH = 0.5, 1.6  # residuals over a given noise that are told
SAME_NOISE = 0.9  # correlation of the residuals of two channels
COLOURED, SPREAD = 0.3, 3.0  # lag-1 correlation of residuals that is told, and in 1 / sqrt(count)
FEWEST = 20  # samples from which a correlation is known
AWAY = 0.05  # distance of a marker from its place, over the model's lengths, that is told


def of_channels(channels: Sequence[Channel], astray: Mapping[str, float]) -> list[str]:
    """What residuals of the channels tell; `astray`: markers that do not fit."""
    out = []
    if astray:
        told = [f"{name} ({distance:.2g} m)" for name, distance in astray.items()]
        out.append(
            f"markers {listed(told)} are so far from where the model can have them; check units, "
            "axes, names, lengths of links and places of markers"
        )
    for channel in channels:
        share = _share(channel)
        if channel.estimated or LITTLE < share < MUCH or marker_of(channel) in astray:
            continue
        if too_small(channel):
            out.append(
                f"{channel.name}: the noise given, {channel.sd:.2g}, is far below what "
                f"neighbouring samples show, {roughness((channel.t, channel.measured)):.2g}, and "
                "the torques follow that; give more, or leave it to be estimated"
            )
        else:
            out.append(
                f"{channel.name}: residuals are {share:.2g} times the noise given, which is too "
                f"{'large' if share < 1.0 else 'small, or the model does not fit'}; leave it to be "
                "estimated"
            )
    looked_at = [x for x in channels if marker_of(x) not in astray and not too_large(x)]
    coloured = [(x.name, c) for x in looked_at if (c := _alike(x)) > 0.0]
    if coloured:
        out.append(
            f"residuals of {listed([name for name, _ in coloured])}: neighbouring ones are alike "
            f"(correlation {max(c for _, c in coloured):.2f}): not only noise is left, or it is "
            "filtered already; the bands are too narrow"
        )
    return out


def going_together(channels: Sequence[Channel]) -> list[str]:
    """Channels with the same residuals at the same times, though each alone looks like noise."""
    groups: dict[bytes, list[Channel]] = {}
    for channel in channels:
        if len(channel.t) > FEWEST and not _alike(channel):
            groups.setdefault(channel.t.tobytes(), []).append(channel)
    pairs = []
    for group in groups.values():
        left = np.array([x.measured - x.fitted for x in group])
        size = np.sqrt((left**2).sum(axis=1, keepdims=True))
        unit = left / np.where(size > 0.0, size, 1.0)
        alike = np.argwhere(np.abs(np.triu(unit @ unit.T, 1)) > SAME_NOISE)
        pairs += [(group[a], group[b]) for a, b in alike]
    if not pairs:
        return []
    if any(
        marker_of(a) == marker_of(b) for a, b in pairs
    ):  # its components share no noise, joints too
        names = dict.fromkeys(x.name for pair in pairs for x in pair)
        return [
            f"residuals of {listed(list(names))} go together: not noise is left but what the model "
            "or a step this long does not fit; the bands are too narrow"
        ]
    told = [f"{a.name} and {b.name}" for a, b in pairs]
    return [
        f"the same noise is in {listed(told)}: what comes from one measurement counts twice, and "
        "the bands are too narrow; leave one of them out"
    ]


def misplaced(model: Model, channels: Sequence[Channel]) -> dict[str, float]:
    """Markers far from where the motion puts them, by more than noise: name -> distance, m."""
    parts: dict[str, list[Channel]] = {}
    for channel in channels:
        if channel.kind == "marker":
            parts.setdefault(marker_of(channel), []).append(channel)
    points = [Point(frame.link, frame.p) for frame in map(model.frame, parts)]
    least = AWAY * length_scale(model, points)
    found = {}
    for name, axes in parts.items():
        squares = [float(np.mean((x.measured - x.fitted) ** 2)) for x in axes]
        noise = [roughness((x.t, x.measured)) ** 2 for x in axes]
        distance = math.sqrt(sum(squares))
        if distance > max(least, EXCESS * math.sqrt(sum(noise))):
            found[name] = distance
    return found


def marker_of(channel: Channel) -> str:
    """The marker of a channel `marker.x`."""
    return channel.name.rpartition(".")[0] if channel.kind == "marker" else ""


def _share(channel: Channel) -> float:
    """Residuals over the noise."""
    return float(np.sqrt(np.mean((channel.measured - channel.fitted) ** 2))) / channel.sd


def too_small(channel: Channel) -> bool:
    """Whether the noise given is far below that of the samples, which the torques then follow."""
    given = not channel.estimated and _share(channel) < LITTLE
    return given and EXCESS * channel.sd < roughness((channel.t, channel.measured))


def too_large(channel: Channel) -> bool:
    """Whether the noise given is far above that of the samples."""
    given = not channel.estimated and _share(channel) < LITTLE
    return given and not too_small(channel)


def _alike(channel: Channel) -> float:
    """Correlation of neighbouring residuals if it is more than chance, else 0."""
    left = channel.measured - channel.fitted
    found = correlation(left) if len(left) > FEWEST else 0.0
    return found if found > max(COLOURED, SPREAD / math.sqrt(len(left))) else 0.0


def correlation(left: Floats) -> float:
    """Of neighbouring residuals; their mean stays in, that of noise is zero."""
    total = float(left @ left)
    return float(left[1:] @ left[:-1]) / total if total > 0.0 else 0.0


def listed(names: Sequence[str] | NDArray[np.str_]) -> str:
    shown = [str(name) for name in names[:6]]
    return ", ".join(shown) + (f" and {len(names) - 6} more" if len(names) > 6 else "")
