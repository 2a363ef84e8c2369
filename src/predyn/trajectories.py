"""What a simulation returns: one motion, or a batch of them, and how each ended."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from predyn.controls import Control
from predyn.dynamics.aba import forward_dynamics
from predyn.dynamics.energy import kinetic_energy, potential_energy
from predyn.dynamics.forces import ExternalForce
from predyn.dynamics.rk4 import Marched
from predyn.model import Model
from predyn.stepping import Event, Run, Trouble

Floats = NDArray[np.float64]
FINISHED, EVENT, DIVERGED = "finished", "event", "diverged"


@dataclass(frozen=True, eq=False)
class Trajectory:
    """A simulated motion, or a batch of them: arrays (..., K, n), times (K,).

    A single one that stopped early ends with the state in which it stopped. In a batch the
    rows after a stop are NaN, and `end_t`, `end_q`, `end_v` hold the last state of each.
    """

    model: Model
    t: Floats  # (K,) s
    q: Floats  # (..., K, n)
    v: Floats
    tau: Floats  # what the control gave
    status: str  # finished, event or diverged: the worst of a batch
    message: str
    statuses: NDArray[np.str_]  # (...)
    event: NDArray[np.int64]  # (...) which event stopped it, -1: none
    end_t: Floats  # (...)
    end_q: Floats  # (..., n)
    end_v: Floats
    forces: tuple[ExternalForce, ...] = ()

    @cached_property
    def a(self) -> Floats:
        """Joint accelerations (..., K, n)."""
        forces = [
            replace(f, force=_over_time(f.force), moment=_over_time(f.moment)) for f in self.forces
        ]
        return self._where_known(
            lambda q, v, tau: forward_dynamics(self.model, q, v, tau, forces=forces)
        )

    @cached_property
    def energy(self) -> Floats:
        """Kinetic and potential energy (..., K), J, springs included."""
        return self._where_known(
            lambda q, v, tau: kinetic_energy(self.model, q, v) + potential_energy(self.model, q)
        )

    def _where_known(self, function: Callable[..., Floats]) -> Floats:
        known = np.asarray(np.isfinite(self.q).all(axis=-1))
        rows = [np.where(known[..., None], x, 0.0) for x in (self.q, self.v, self.tau)]
        out = np.array(function(*rows))
        out[~known] = np.nan
        return out


def runs_of(marched: Marched, t: Floats) -> list[Run]:
    runs = []
    for row in range(len(marched.q)):
        time, index, value = marched.stop[row]
        states = np.concatenate((marched.q[row], marched.v[row]), axis=1)
        if np.isnan(index):
            runs.append(Run(t, states, None, None))
            continue
        last = float(marched.last_t[row])
        kept = t <= last
        ended, states = t[kept], states[kept]
        if last > ended[-1]:
            ended = np.append(ended, last)
            end = np.concatenate((marched.last_q[row], marched.last_v[row]))
            states = np.vstack((states, end))
        runs.append(Run(ended, states, None, Trouble(float(time), int(index), float(value))))
    return runs


def gathered(
    model: Model,
    t: Floats,
    runs: list[Run],
    control: Control,
    lead: tuple[int, ...],
    forces: tuple[ExternalForce, ...],
    events: Sequence[Event],
) -> Trajectory:
    """All runs as one trajectory, or a batch of them."""
    n = model.n
    statuses = [DIVERGED if r.trouble else FINISHED if r.event is None else EVENT for r in runs]
    if not lead:
        t, states = runs[0].t, runs[0].y[None]
    else:
        states = np.full((len(runs), len(t), 2 * n), np.nan)
        for row, part in enumerate(runs):
            known = int(np.searchsorted(t, part.t[-1], side="right"))
            states[row, :known] = part.y[:known]
    q, v = np.ascontiguousarray(states[..., :n]), np.ascontiguousarray(states[..., n:])
    ends = np.stack([part.y[-1] for part in runs])
    stopped = [row for row, status in enumerate(statuses) if status != FINISHED]
    message = ""
    if stopped:
        row = min(stopped, key=lambda k: statuses[k] != DIVERGED)
        message = _told(model, runs[row], events)
        if lead:
            where = tuple(int(k) for k in np.unravel_index(row, lead))
            message = f"{len(stopped)} of {len(runs)} stopped early; trajectory {where}: {message}"
    return Trajectory(
        model=model,
        t=t,
        q=q.reshape(*lead, len(t), n),
        v=v.reshape(*lead, len(t), n),
        tau=_torques(control, t, q, v).reshape(*lead, len(t), n),
        status=next(s for s in (DIVERGED, EVENT, FINISHED) if s in statuses),
        message=message,
        statuses=np.array(statuses).reshape(lead),
        event=np.array([-1 if r.event is None else r.event for r in runs]).reshape(lead),
        end_t=np.array([r.t[-1] for r in runs]).reshape(lead),
        end_q=ends[:, :n].reshape(*lead, n),
        end_v=ends[:, n:].reshape(*lead, n),
        forces=forces,
    )


def _told(model: Model, part: Run, events: Sequence[Event]) -> str:
    if part.trouble is not None:
        return f"{part.trouble.text(model)}; check the model and torques, or shorten step"
    assert part.event is not None
    name = getattr(events[part.event], "__name__", "")
    return f"events[{part.event}] ({name}) changed sign at t = {part.t[-1]:.9g} s"


def _torques(control: Control, t: Floats, q: Floats, v: Floats) -> Floats:
    """What the control gives along flat motions (B, K, n)."""
    known = control.open_loop(t)
    if known is None:
        torques = control.on(t[0], t[-1])
        known = np.empty_like(q)
        for k, time in enumerate(t):
            known[:, k] = torques(float(time), *np.nan_to_num(np.stack((q[:, k], v[:, k]))))
    return np.where(np.isnan(q), np.nan, known)


def _over_time(value: ArrayLike) -> Floats:
    array = np.asarray(value, np.float64)
    return array if array.ndim == 1 else array[..., None, :]
