"""Which link a recorded force acts on; it may act on several links in turn.

A plate that both feet step on one after the other is given either with the times of each foot or
with the feet only. In the latter case every contact goes to the link nearest to the line along
which the force acts: about the origin x of a link the force has the moment M = m + (p - x) x f, and
its line passes x at the distance |f x M| / |f|^2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from predyn.dynamics.kinematics import frame_kinematics
from predyn.errors import InputError, unknown_name
from predyn.estimate.driving import push
from predyn.estimate.spline_grid import Floats
from predyn.model import Model
from predyn.recordings.measurements import MeasuredForce, Measurements

CONTACT, SHARE = 20.0, 0.05  # N, and of the largest force: more is a contact
CLEAR = 0.7  # the nearest link is that much nearer than the next, or a warning is given

ForceLink = str | Sequence[str] | Sequence[tuple[str, float, float]]


class Span(NamedTuple):
    """A time in which the force acts on a link, s."""

    link: str
    start: float
    end: float


Plan = dict[str, list[str] | list[Span]]  # force: candidates, or links with their times


def plan_forces(
    model: Model, data: Measurements, links: Mapping[str, ForceLink] | None, warnings: list[str]
) -> Plan:
    """The links of each force, checked; a recorded force without a link gives a warning."""
    if links is not None and not isinstance(links, Mapping):
        raise InputError(f"forces: expected a mapping, recorded force -> link, got {links!r:.60}")
    plan: Plan = {}
    for name, given in (links or {}).items():
        if name not in data.forces:
            raise unknown_name("force", name, data.forces)
        plan[name] = _read_links(name, given)
        for item in plan[name]:
            link = item.link if isinstance(item, Span) else item
            if model.frame(link).link < 0:
                raise InputError(
                    f"force {name!r}: {link!r} is fixed to the world; name one of the links: "
                    f"{', '.join(model.link_names)}"
                )
        _check_times(name, data, warnings)
    for name in data.forces:
        if name not in plan:
            warnings.append(
                f"force {name}: recorded but not used; give the link it acts on: "
                f'forces={{"{name}": link}}, or --force {name}=LINK'
            )
    return plan


def assign_forces(
    model: Model, data: Measurements, plan: Plan, q: Floats, warnings: list[str]
) -> tuple[Measurements, dict[str, str]]:
    """The recording with one force for each link, and the link of each; q (M, n) at data.t.

    A force on several links becomes FORCE@LINK for each of them, zero while it acts on another.
    """
    forces: dict[str, MeasuredForce] = {}
    links: dict[str, str] = {}
    notes: list[str] = []
    for name, force in data.forces.items():
        items = plan.get(name, [])
        if len(items) < 2 and not (items and isinstance(items[0], Span)):
            forces[name] = force
            if items:
                links[name] = str(items[0])
            continue
        spans = [item for item in items if isinstance(item, Span)]
        if not spans:
            candidates = [str(item) for item in items]
            spans = _find_nearest(model, data, name, candidates, q, warnings)
            if len({span.link for span in spans}) == 1:
                forces[name], links[name] = force, spans[0].link
                notes.append(f"force {name!r} acts on {links[name]}, the nearest link")
                continue
        _warn_of_rest(name, force, spans, warnings)
        shown = [f"{x.link} from {x.start:.4g} to {x.end:.4g} s" for x in spans]
        notes.append(f"force {name!r} acts on {', '.join(shown[:8])}"
                     + (f" and {len(shown) - 8} more" if len(shown) > 8 else ""))  # fmt: skip
        for link in dict.fromkeys(span.link for span in spans):
            part = f"{name}@{link}"
            if part in data.forces:
                raise InputError(f"force {name!r}: the recording also has a force {part!r}")
            forces[part] = _cut(force, [span for span in spans if span.link == link])
            links[part] = link
    return replace(data, forces=forces, notes=(*data.notes, *notes)) if notes else data, links


def _read_links(name: str, given: object) -> list[str] | list[Span]:
    """One or several links, or links with times that do not overlap."""
    if isinstance(given, str):
        return [given]
    items = list(given) if isinstance(given, Sequence) else []
    if items and all(isinstance(item, str) for item in items):
        if len(set(items)) < len(items):
            raise InputError(f"force {name!r}: a link is named twice, got {given!r:.80}")
        return items
    spans: list[Span] = []
    for item in items:
        numbers = item[1:] if isinstance(item, Sequence) and len(item) == 3 else ()
        if len(numbers) != 2 or not all(
            isinstance(x, int | float | np.number) and np.isfinite(x) for x in numbers
        ):
            spans = []
            break
        spans.append(Span(item[0], float(item[1]), float(item[2])))
    if not spans:
        raise InputError(
            f"force {name!r}: expected a link, several links, or (link, start, end) for each time "
            f"in s that it acts on a link, got {given!r:.80}"
        )
    spans.sort(key=lambda span: span.start)
    for span, later in zip(spans, [*spans[1:], None], strict=True):
        if not span.start < span.end:
            raise InputError(
                f"force {name!r} on {span.link}: expected start before end, got {span.start:g} to "
                f"{span.end:g} s"
            )
        if later is not None and span.end > later.start:
            raise InputError(
                f"force {name!r}: {span.link} until {span.end:g} s overlaps {later.link} from "
                f"{later.start:g} s; a force acts on one link at a time"
            )
    return spans


def _check_times(name: str, data: Measurements, warnings: list[str]) -> None:
    t, times = data.forces[name].t, data.t
    if t[-1] <= times[0] or t[0] >= times[-1]:
        raise InputError(
            f"force {name!r} was recorded from {t[0]:.4g} to {t[-1]:.4g} s, the motion from "
            f"{times[0]:.4g} to {times[-1]:.4g} s: the times do not overlap"
        )
    step = float(times[-1] - times[0]) / (len(times) - 1)
    if t[0] > times[0] + 1.5 * step or t[-1] < times[-1] - 1.5 * step:
        warnings.append(
            f"force {name}: recorded from {t[0]:.4g} to {t[-1]:.4g} s only; taken as zero in "
            "the rest of the motion"
        )


def _find_nearest(
    model: Model,
    data: Measurements,
    name: str,
    candidates: list[str],
    q: Floats,
    warnings: list[str],
) -> list[Span]:
    """Each contact of a force on the candidate that is nearest to it."""
    force = data.forces[name]
    acting = push(data.t, candidates[0], force)
    size = np.linalg.norm(acting.force, axis=1)
    far = np.zeros((len(candidates), len(data.t)))  # distance times force
    for k, link in enumerate(candidates):
        arm = acting.point - frame_kinematics(model, link, q).p
        moment = acting.moment + np.cross(arm, acting.force)
        far[k] = np.linalg.norm(np.cross(acting.force, moment), axis=1) / np.maximum(size, 1e-9)
    spans: list[Span] = []
    for start, end in _find_contacts(force):
        inside = (data.t >= start) & (data.t <= end)
        total = float(size[inside].sum())
        if not total > 0.0:
            continue  # outside the motion, or between two of its samples
        distance = far[:, inside].sum(axis=1) / total
        first, second = np.argsort(distance)[:2]
        if distance[first] > CLEAR * distance[second]:
            warnings.append(
                f"force {name} from {start:.4g} to {end:.4g} s: {candidates[first]} "
                f"({distance[first]:.2g} m) and {candidates[second]} ({distance[second]:.2g} m) "
                f"are about equally near; give the times, as in --force "
                f"{name}={candidates[first]}@{start:.4g}-{end:.4g}"
            )
        spans.append(Span(candidates[first], start, end))
    if not spans:
        raise InputError(
            f"force {name!r}: no contact above {CONTACT:g} N during the motion, so that its link "
            "cannot be found; name one link"
        )
    return spans


def _find_contacts(force: MeasuredForce) -> list[tuple[float, float]]:
    """Times of contacts, s; they meet halfway between two loads, so that no force is lost."""
    size = np.linalg.norm(force.force, axis=1)
    loaded = size > max(CONTACT, SHARE * float(size.max()))
    edges = np.flatnonzero(np.diff(np.concatenate(([0], loaded.astype(np.int8), [0]))))
    first, last = edges[::2], edges[1::2] - 1
    middle = 0.5 * (force.t[last[:-1]] + force.t[first[1:]])
    starts = [float(force.t[0]), *middle.tolist()]
    ends = [*middle.tolist(), float(force.t[-1])]
    return list(zip(starts, ends, strict=True)) if len(first) else []


def _inside(t: Floats, spans: Sequence[Span]) -> Floats:
    weight = np.zeros(len(t))
    for span in spans:
        weight[(t >= span.start) & (t < span.end)] = 1.0
        weight[t == span.end] = np.maximum(weight[t == span.end], float(t[-1] == span.end))
    return weight


def _cut(force: MeasuredForce, spans: Sequence[Span]) -> MeasuredForce:
    """The force during some times, zero otherwise."""
    weight = _inside(force.t, spans)[:, None]
    return MeasuredForce(force.t, weight * force.force, force.point, weight * force.moment)


def _warn_of_rest(
    name: str, force: MeasuredForce, spans: Sequence[Span], warnings: list[str]
) -> None:
    size = np.linalg.norm(force.force, axis=1) * (1.0 - _inside(force.t, spans))
    if size.max() > max(CONTACT, SHARE * float(np.linalg.norm(force.force, axis=1).max())):
        at = float(force.t[np.argmax(size)])
        warnings.append(
            f"force {name}: up to {size.max():.3g} N outside the given times (at {at:.4g} s) are "
            "ignored"
        )
