"""The result of a simulation: one motion, or a batch of them, and how each ended."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from predyn.display import Moving
from predyn.dynamics.aba import forward_dynamics
from predyn.dynamics.closed_dynamics import accelerations_of
from predyn.dynamics.energy import kinetic_energy, potential_energy
from predyn.dynamics.rk4 import Marched, empty_march
from predyn.kernels.forces import ExternalForce
from predyn.model import Model
from predyn.recordings.labelled_tables import (
    Attributes,
    Variable,
    by_joint,
    data_frame,
    dataset,
)
from predyn.simulation.base_coordinates import base_quaternions
from predyn.simulation.controls import Control
from predyn.simulation.stepping import STEP_LIMIT, Event, Run, Trouble

if TYPE_CHECKING:
    import pandas
    import xarray

Floats = NDArray[np.float64]
FINISHED, EVENT, LIMITED, DIVERGED = "finished", "event", "step_limit", "diverged"


@dataclass(frozen=True, eq=False, repr=False)
class Trajectory(Moving):
    """A simulated motion, or a batch of them: arrays (..., K, n), times (K,).

    A single trajectory that stopped early ends with the state in which it stopped. In a batch, rows
    after a stop are NaN, and `end_t`, `end_q`, `end_v` hold the last state of each trajectory.
    """

    model: Model
    t: Floats  # (K,) s
    q: Floats  # (..., K, n)
    v: Floats
    tau: Floats  # from the control
    status: str  # finished, event, step_limit or diverged: the worst of a batch
    message: str
    statuses: NDArray[np.str_]  # (...)
    event: NDArray[np.int64]  # (...) index of the event that stopped it, -1: none
    end_t: Floats  # (...)
    end_q: Floats  # (..., n)
    end_v: Floats
    forces: tuple[ExternalForce, ...] = ()

    @cached_property
    def a(self) -> Floats:
        """Joint accelerations (..., K, n)."""
        forces = [
            replace(f, force=_add_time_axis(f.force), moment=_add_time_axis(f.moment))
            for f in self.forces
        ]
        if self.model.loops:
            return self._evaluate_known(
                lambda q, v, tau: accelerations_of(self.model, q, v, tau, forces)
            )
        return self._evaluate_known(
            lambda q, v, tau: forward_dynamics(self.model, q, v, tau, forces=forces)
        )

    @cached_property
    def energy(self) -> Floats:
        """Kinetic and potential energy (..., K), J, springs included."""
        return self._evaluate_known(
            lambda q, v, tau: kinetic_energy(self.model, q, v) + potential_energy(self.model, q)
        )

    @cached_property
    def base_quaternion(self) -> Floats | None:
        """Orientation (..., K, 4) of a floating base in the world: w, x, y, z, without jumps.

        None if the model has no floating base.
        """
        return base_quaternions(self.model, self.q)

    def to_pandas(self) -> pandas.DataFrame:
        """A pandas.DataFrame: index t (a batch: run and t), columns "q.JOINT" and so on, "energy".

        Units of the columns are in `attrs["units"]`. Needs the extra `predyn[tables]`.
        """
        return data_frame(self.t, self._variables(), self._attributes())

    def to_xarray(self) -> xarray.Dataset:
        """q, v, a, tau and energy as an xarray.Dataset: dimensions t, joint, and run in a batch.

        Units are in `attrs["units"]` of each variable. Needs the extra `predyn[tables]`.
        """
        return dataset({"t": self.t}, self._variables(), self._attributes())

    def _variables(self) -> list[Variable]:
        motion = [by_joint(self.model, x, getattr(self, x)) for x in ("q", "v", "a", "tau")]
        return [*motion, Variable("energy", self.energy, ("J",))]

    def _attributes(self) -> Attributes:
        return {"model": self.model.name, "status": self.status}

    def __repr__(self) -> str:
        ending = f"{self.status}: {self.message}" if self.message else self.status
        return (
            f"Trajectory of {self.model.name!r}, q {self.q.shape}, t {self.t[0]:.6g} to "
            f"{self.t[-1]:.6g} s, {ending}"
        )

    def _evaluate_known(self, function: Callable[..., Floats]) -> Floats:
        known = np.asarray(np.isfinite(self.q).all(axis=-1))
        rows = [np.where(known[..., None], x, 0.0) for x in (self.q, self.v, self.tau)]
        out = np.array(function(*rows))
        out[~known] = np.nan
        return out


def gather_runs(runs: Sequence[Run], t: Floats, n: int) -> tuple[Marched, NDArray[np.int64]]:
    """Single runs as a batch, and the event that ended each (-1: none)."""
    B, K = len(runs), len(t)
    out = empty_march(B, K, n)
    for row, part in enumerate(runs):
        known = int(np.searchsorted(t, part.t[-1], side="right"))
        out.q[row, :known], out.v[row, :known] = part.y[:known, :n], part.y[:known, n : 2 * n]
        out.last_t[row] = part.t[-1]
        out.last_q[row], out.last_v[row] = part.y[-1, :n], part.y[-1, n : 2 * n]
        if part.trouble is not None:
            out.stop[row] = tuple(part.trouble)
    return out, np.array([-1 if part.event is None else part.event for part in runs])


def gather_trajectory(
    model: Model,
    t: Floats,
    parts: Marched,
    event: NDArray[np.int64],
    controls: Control | Sequence[Control],
    lead: tuple[int, ...],
    forces: tuple[ExternalForce, ...],
    events: Sequence[Event],
) -> Trajectory:
    """One trajectory, or a batch of the leading shape, from a flat batch.

    controls: one for the whole batch, or one for each trajectory.
    """
    n, B = model.n, len(parts.q)
    diverged = ~np.isnan(parts.stop[:, 1])
    stopped = np.flatnonzero(diverged | (event >= 0))
    message = ""
    if len(stopped):
        row = int(stopped[np.argmax(diverged[stopped])])
        message = _describe_stop(model, parts, row, int(event[row]), events)
        if lead:
            where = tuple(int(k) for k in np.unravel_index(row, lead))
            message = f"{len(stopped)} of {B} stopped early; trajectory {where}: {message}"
    q, v = parts.q, parts.v
    if not lead and len(stopped):
        q, v = (x[:, t <= parts.last_t[0]] for x in (q, v))
        t = t[t <= parts.last_t[0]]
        if parts.last_t[0] > t[-1]:
            t = np.append(t, parts.last_t[0])
            q, v = (
                np.concatenate((x, end[:, None]), axis=1)
                for x, end in ((q, parts.last_q), (v, parts.last_v))
            )
    if isinstance(controls, Control):
        tau = _evaluate_torques(controls, t, q, v, parts)
    else:
        tau = np.concatenate(
            [
                _evaluate_torques(
                    control, t, q[k : k + 1], v[k : k + 1], Marched(*(x[k:] for x in parts))
                )
                for k, control in enumerate(controls)
            ]
        )
    stop = np.where(parts.stop[:, 1] == STEP_LIMIT, LIMITED, DIVERGED)
    statuses = np.where(diverged, stop, np.where(event >= 0, EVENT, FINISHED))
    return Trajectory(
        model=model,
        t=t,
        q=q.reshape(*lead, len(t), n),
        v=v.reshape(*lead, len(t), n),
        tau=tau.reshape(*lead, len(t), n),
        status=next(s for s in (DIVERGED, LIMITED, EVENT, FINISHED) if s in statuses),
        message=message,
        statuses=statuses.reshape(lead),
        event=event.reshape(lead),
        end_t=parts.last_t.reshape(lead),
        end_q=parts.last_q.reshape(*lead, n),
        end_v=parts.last_v.reshape(*lead, n),
        forces=forces,
    )


def _describe_stop(
    model: Model, parts: Marched, row: int, event: int, events: Sequence[Event]
) -> str:
    if event < 0:
        time, place, value = parts.stop[row]
        trouble = Trouble(float(time), int(place), float(value))
        if trouble.place < 0:
            return trouble.text(model)
        return f"{trouble.text(model)}; check the model, the torques and, with rk4, the step"
    name = getattr(events[event], "__name__", type(events[event]).__name__)
    return f"events[{event}] ({name}) changed sign at t = {parts.last_t[row]:.9g} s"


def _evaluate_torques(control: Control, t: Floats, q: Floats, v: Floats, parts: Marched) -> Floats:
    """The torques of the control along flat motions (B, K, n), NaN where the motions are NaN."""
    known = control.open_loop(t)
    gone = np.isnan(q)
    if known is None:
        known = np.empty(q.shape)
        for k, time in enumerate(t):
            at_q = np.where(gone[:, k], parts.last_q[: len(q)], q[:, k])
            at_v = np.where(gone[:, k], parts.last_v[: len(q)], v[:, k])
            known[:, k] = control.at(float(time), at_q, at_v)
    known = np.broadcast_to(known, q.shape)
    return np.where(gone, np.nan, known) if gone.any() else known


def _add_time_axis(value: Any) -> Floats:
    array = np.asarray(value, np.float64)
    return array if array.ndim == 1 else array[..., None, :]
