"""Warnings about measured channels: misplaced markers, wrong noise levels, systematic residuals."""

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
LITTLE, MUCH = 0.5, 1.6  # residuals over a given noise outside which a warning is given
SAME_NOISE = 0.9  # correlation of the residuals of two channels
COLOURED, SPREAD = 0.3, 3.0  # lag-1 correlation worth a warning, and in 1 / sqrt(count)
FEWEST = 20  # samples needed to estimate a correlation
AWAY = 0.05  # distance of a marker from its place, over the model's lengths, worth a warning


def warn_of_residuals(
    channels: Sequence[Channel], astray: Mapping[str, float], white: bool = True
) -> list[str]:
    """Warnings about residuals; `astray`: markers that do not fit, with distances in m; white:
    whether the noise is taken as white."""
    out = []
    if astray:
        distances = [f"{name} ({distance:.2g} m)" for name, distance in astray.items()]
        out.append(
            f"markers {join_names(distances)} are that far from where the model can place them; "
            "check units, axes, names, link lengths and marker positions"
        )
    for channel in channels:
        share = _residual_ratio(channel)
        if channel.estimated or LITTLE < share < MUCH or marker_name(channel) in astray:
            continue
        if noise_too_small(channel):
            out.append(
                f"{channel.name}: the given noise, {channel.sd:.2g}, is far below that between "
                f"neighbouring samples, {roughness((channel.t, channel.measured)):.2g}, so the "
                "torques follow the noise; give a larger value, or let it be estimated"
            )
        else:
            out.append(
                f"{channel.name}: residuals are {share:.2g} times the given noise, which is too "
                f"{'large' if share < 1.0 else 'small, or the model does not fit'}; let it be "
                "estimated"
            )
    looked_at = [x for x in channels if marker_name(x) not in astray and not noise_too_large(x)]
    coloured = [(x.name, c) for x in looked_at if (c := lag_correlation(x)) > 0.0]
    if coloured and white:
        out.append(
            f"residuals of {join_names([name for name, _ in coloured])}: neighbouring samples are "
            f"correlated (up to {max(c for _, c in coloured):.2f}): the residuals are not white "
            "noise, or the data were filtered before; the bands are too narrow"
        )
    return out


def warn_of_common_noise(channels: Sequence[Channel]) -> list[str]:
    """Channels with the same residuals at the same times, though each alone looks like noise."""
    groups: dict[bytes, list[Channel]] = {}
    for channel in channels:
        if len(channel.t) > FEWEST and not lag_correlation(channel):
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
        marker_name(a) == marker_name(b) for a, b in pairs
    ):  # its components share no noise, joints too
        names = dict.fromkeys(x.name for pair in pairs for x in pair)
        return [
            f"residuals of {join_names(list(names))} are systematic, not noise: the model or the "
            "step size does not fit; the bands are too narrow"
        ]
    names_of_pairs = [f"{a.name} and {b.name}" for a, b in pairs]
    return [
        f"the same noise appears in {join_names(names_of_pairs)}: one measurement is counted "
        "twice, so the bands are too narrow; remove one of them"
    ]


def find_misplaced(model: Model, channels: Sequence[Channel]) -> dict[str, float]:
    """Markers far from where the motion puts them, by more than noise: name -> distance, m."""
    parts: dict[str, list[Channel]] = {}
    for channel in channels:
        if channel.kind == "marker":
            parts.setdefault(marker_name(channel), []).append(channel)
    points = [Point(frame.link, frame.p) for frame in map(model.frame, parts)]
    least = AWAY * length_scale(model, points)
    distances = {}
    for name, axes in parts.items():
        squares = [float(np.mean((x.measured - x.fitted) ** 2)) for x in axes]
        noise = [roughness((x.t, x.measured)) ** 2 for x in axes]
        distance = math.sqrt(sum(squares))
        if distance > max(least, EXCESS * math.sqrt(sum(noise))):
            distances[name] = distance
    return distances


def marker_name(channel: Channel) -> str:
    """The marker of a channel `marker.x`."""
    return channel.name.rpartition(".")[0] if channel.kind == "marker" else ""


def _residual_ratio(channel: Channel) -> float:
    """Residuals over the noise."""
    return float(np.sqrt(np.mean((channel.measured - channel.fitted) ** 2))) / channel.sd


def noise_too_small(channel: Channel) -> bool:
    """Whether the given noise is far below that of the samples, which the torques then follow."""
    given = not channel.estimated and _residual_ratio(channel) < LITTLE
    return given and EXCESS * channel.sd < roughness((channel.t, channel.measured))


def noise_too_large(channel: Channel) -> bool:
    """Whether the given noise is far above that of the samples."""
    given = not channel.estimated and _residual_ratio(channel) < LITTLE
    return given and not noise_too_small(channel)


def lag_correlation(channel: Channel) -> float:
    """Correlation of neighbouring residuals if it is more than chance, else 0."""
    left = channel.measured - channel.fitted
    lag_one = correlation(left) if len(left) > FEWEST else 0.0
    return lag_one if lag_one > max(COLOURED, SPREAD / math.sqrt(len(left))) else 0.0


def correlation(left: Floats) -> float:
    """Of neighbouring residuals; their mean stays in, that of noise is zero."""
    total = float(left @ left)
    return float(left[1:] @ left[:-1]) / total if total > 0.0 else 0.0


def join_names(names: Sequence[str] | NDArray[np.str_]) -> str:
    """The first six names, and how many more there are."""
    shown = [str(name) for name in names[:6]]
    return ", ".join(shown) + (f" and {len(names) - 6} more" if len(names) > 6 else "")
