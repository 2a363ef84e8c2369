"""Match the names in a recording to joints, frames and links of a model."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from predyn.errors import InputError
from predyn.estimate.observations import Observed, angle, marker
from predyn.estimate.samples import Steps, odd_steps
from predyn.estimate.spline_grid import Floats
from predyn.model import PRISMATIC, Model
from predyn.recordings.measurements import Measurements
from predyn.recordings.sampling import usual_interval

LONG_GAP, LEAST_GAP = 10.0, 0.1  # sample intervals; s
LEAST_SAMPLES, SLOW = 8, 0.2  # s
TURN = 2.0 * np.pi


class Matched(NamedTuple):
    """The channels in use, and warnings about the rest."""

    t: Floats  # (M,) s
    observed: list[Observed]
    angles: dict[int, Floats]  # joint number -> values (M,)
    markers: list[tuple[str, Floats]]
    warnings: list[str]


def match(model: Model, data: Measurements) -> Matched:
    """Joints and markers of the recording by name; InputError if nothing can be used."""
    if len(data.t) < LEAST_SAMPLES:
        raise InputError(
            f"{_source(data)}: {len(data.t)} samples; expected at least {LEAST_SAMPLES} to "
            "estimate torques from"
        )
    frames = [name for name in model.frame_names if name != "world"]
    angles: dict[int, Floats] = {}
    markers: list[tuple[str, Floats]] = []
    warnings: list[str] = []
    unknown: list[tuple[str, Sequence[str]]] = []
    odd: dict[tuple[str, str], Steps] = {}
    for name, values in data.angles.items():
        if name not in model.joint_names:
            unknown.append((name, model.joint_names))
        elif not np.isfinite(values).any():
            warnings.append(f"joint {name}: every sample is missing; skipped")
        else:
            joint = model.joint_index(name)
            turning = model.kind[joint] != PRISMATIC
            unit = "rad" if turning else "m"
            if data.units.get(name, unit) != unit:
                raise InputError(
                    f"{_source(data)}: joint {name!r} {'rotates' if turning else 'slides'}, but "
                    f"its column is in {data.units[name]}; expected {unit}"
                )
            values = _unwrapped(name, values, warnings) if turning else values
            odd[name, unit] = odd_steps(f"joint {name}", data.t, values[:, None], unit)
            angles[joint] = values
    for name, points in data.markers.items():
        if name not in frames:
            unknown.append((name, frames))
        elif model.frame(name).link < 0:
            raise InputError(
                f"marker {name!r}: the frame of this name is fixed to the world, not to a link; "
                f"place it on one of the links: {', '.join(model.link_names)}"
            )
        elif not np.isfinite(points).any():
            warnings.append(f"marker {name}: every sample is missing; skipped")
        else:
            odd[name, "m"] = odd_steps(f"marker {name}", data.t, points, "m")
            markers.append((name, points))
    if not angles and not markers:
        raise InputError(_describe_no_match(model, data, unknown, warnings))
    if unknown:
        warnings.append(_describe_unknown(model, unknown))
    warnings += [steps.jumps for steps in odd.values() if steps.jumps]
    fast = [f"{name} ({x.speed:.2g} {unit}/s)" for (name, unit), x in odd.items() if x.speed > 0.0]
    if fast:
        warnings.append(
            f"implausible speed of {', '.join(fast[:6])}"
            + (f" and {len(fast) - 6} more" if len(fast) > 6 else "")
            + "; check the units of positions and times"
        )
    usual = usual_interval(data.t)
    if usual > SLOW:
        warnings.append(
            f"samples are {usual:.3g} s apart, which is long for a motion; is the time in "
            "milliseconds?"
        )
    observed: list[Observed] = [
        angle(model.joint_names[joint], joint, values) for joint, values in angles.items()
    ]
    observed += [marker(name, points) for name, points in markers]
    seen = data.t[np.unique(np.concatenate([x.samples for x in observed]))]
    empty = np.diff(seen)
    if empty.max(initial=0.0) > max(LONG_GAP * usual, LEAST_GAP):
        k = int(np.argmax(empty))
        warnings.append(
            f"no data from {seen[k]:.3g} to {seen[k + 1]:.3g} s: torques there rest on smoothness "
            "alone, and the filter for comparison on linear interpolation"
        )
    return Matched(data.t, observed, angles, markers, warnings)


def match_joints(model: Model, names: Sequence[str]) -> list[int]:
    """Numbers of unactuated joints."""
    if isinstance(names, str):
        raise InputError(
            f"unactuated: expected a list of joint names, got {names!r}; write [{names!r}]"
        )
    if not isinstance(names, Iterable):
        raise InputError(f"unactuated: expected a list of joint names, got {names!r:.60}")
    numbers = sorted({model.joint_index(name) for name in names})
    if len(numbers) == model.n:
        raise InputError(
            "unactuated: expected some joints, got all; there is no torque to estimate"
        )
    return numbers


def _unwrapped(name: str, values: Floats, warnings: list[str]) -> Floats:
    """Angles without jumps by a whole turn."""
    present = np.flatnonzero(np.isfinite(values))
    steps = np.diff(values[present])
    jumps = np.abs(np.abs(steps) - TURN) < 0.2 * TURN
    if not jumps.any():
        return values
    out = values.copy()
    out[present] = np.unwrap(values[present])
    warnings.append(
        f"joint {name}: {int(jumps.sum())} jumps by a full turn, the first after sample "
        f"{present[np.flatnonzero(jumps)[0]]}; the angle was unwrapped"
    )
    return out


def _near(name: str, valid: Iterable[str]) -> str:
    plain = {_plain(x): x for x in valid}
    near = [plain[x] for x in difflib.get_close_matches(_plain(name), plain, n=2, cutoff=0.5)]
    near = [plain[_plain(name)]] if _plain(name) in plain else near
    return f"{name} (similar: {', '.join(near)})" if near else name


def _plain(name: str) -> str:
    return "".join(sign for sign in name[:60].casefold() if sign.isalnum())


def _describe_unknown(model: Model, unknown: list[tuple[str, Sequence[str]]]) -> str:
    sources = {coupling.joint: coupling.source for coupling in model.couplings}
    following = [f"{name} (follows {sources[name]})" for name, _ in unknown if name in sources]
    absent = [(name, valid) for name, valid in unknown if name not in sources]
    texts = []
    for what, names in (
        (f"not in model {model.name}, skipped", [_near(*entry) for entry in absent]),
        ("joints without a coordinate of their own, skipped", following),
    ):
        if names:
            more = f" and {len(names) - 8} more" if len(names) > 8 else ""
            texts.append(f"{what}: {'; '.join(names[:8])}{more}")
    return "; ".join(texts) + _hint(absent)


def _hint(unknown: list[tuple[str, Sequence[str]]]) -> str:
    """How to rename channels that the model knows without a prefix such as `Subject:`."""
    for name, valid in unknown:
        for sign in ":_":
            head, found, tail = name.rpartition(sign)
            if found and tail in valid:
                old = f"{head}{sign}*"
                return f"; to remove the prefix: rename={{{old!r}: '*'}}, or --rename '{old}=*'"
        near = [x for x in valid if _plain(x) == _plain(name)]
        if near:
            return f"; to use other names: rename={{{name!r}: {near[0]!r}}}, or --rename OLD=NEW"
    return ""


def _describe_no_match(
    model: Model,
    data: Measurements,
    unknown: list[tuple[str, Sequence[str]]],
    warnings: list[str],
) -> str:
    if not data.angles and not data.markers:
        return f"{_source(data)}: contains neither joint angles nor markers"
    parts = [f"{_source(data)}: contains nothing usable"]
    if unknown:
        parts.append(_describe_unknown(model, unknown))
    parts += warnings
    frames = [frame.name for frame in model.frames if frame.link >= 0]
    parts.append(
        f"joints of the model: {', '.join(model.joint_names[:12])}; frames that can serve as "
        f"markers: {', '.join(frames[:12]) or 'none (place_markers adds some to links)'}"
    )
    return "; ".join(parts)


def _source(data: Measurements) -> str:
    return data.source or "measurements"
