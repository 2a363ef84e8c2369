"""What came out: the motion, its forces, its cost, and how far it can be trusted.

A solution knows no solver. The curves are kept exactly, as splines; `t, q, v, a, tau` are samples
of them at the limit points, computed when they are first looked at (later_samples.py).
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from predyn.display import Compared
from predyn.errors import InputError, NotConverged
from predyn.model import Limits, Model
from predyn.solution.channel_names import ChannelInfo, channels_of
from predyn.solution.evaluation import channel_at, checked_times, phase_starts, sample_at
from predyn.solution.later_samples import with_sampled_fields
from predyn.solution.parts import (
    EXCEEDS,
    MOST_LISTED,
    ROUNDING,
    SUCCESS,
    UNUSABLE,
    Curve,
    Floats,
    Sample,
    SignalCurves,
    Violation,
)

if TYPE_CHECKING:
    import pandas
    import xarray

    from predyn.collision.certificate import Certificate
    from predyn.collision.scene import Scene
    from predyn.dynamics.system import PhaseSystem
    from predyn.problem import Problem
    from predyn.solution.ground import GroundPlane
    from predyn.solution.repeating import Repeat
    from predyn.solution.stages import Stage
    from predyn.solution.verification import Verification


@with_sampled_fields
@dataclass(frozen=True, eq=False, repr=False)
class Solution(Compared):
    """A motion in one or more phases, with everything needed to judge, plot and continue it."""

    name: str
    model: Model
    status: str
    message: str
    objective: float
    iterations: int
    solve_seconds: float
    max_violation: float  # relative, at the points where constraints were imposed
    max_violation_dense: float  # relative, between them too; above 0.05 it is not a success
    curves: tuple[Curve, ...]
    phase_names: tuple[str, ...]
    t: Floats  # (K,) s from the start of the motion
    phase: NDArray[np.int64]  # (K,)
    q: Floats  # (K, n)
    v: Floats
    a: Floats
    tau: Floats
    reactions: Floats  # (K, links, 6)
    limits: Limits  # as the problem states them; `system(k).limits` are those of phase k
    costs: dict[str, float]  # the objective by term, weights included
    violations: tuple[Violation, ...]  # worst first, at the imposed points
    dense_violations: tuple[Violation, ...]  # worst first, one per named quantity
    active: tuple[str, ...]  # names of the limits that hold with equality somewhere
    multipliers: dict[str, Floats]  # by name of constraint block, and "x_lower", "x_upper"
    history: dict[str, Floats]  # iteration, objective, violation, step, ... of each iterate
    timings: dict[str, float]  # s: transcribe, solve, evaluate, check
    jacobian: tuple[NDArray[np.int32], NDArray[np.int32]]  # pattern: rows, columns
    n_variables: int
    n_constraints: int
    x: Floats  # the decision variables, to start again from
    forces: tuple[dict[str, Any], ...] = ()  # constant ones: link, force, moment, point, frame
    jerk_limit: Floats | None = None  # (n,) plus and minus; None without a limit
    passive: tuple[str, ...] = ()  # names of the joints without a motor; their tau is an error
    verification: Verification | None = None  # None until `predyn.verify` has computed it
    starts: tuple[dict[str, Any], ...] = ()  # status and objective of each start, if several
    provenance: dict[str, str] = field(default_factory=dict)  # version, date, task text, platform
    signals: dict[str, Floats] = field(default_factory=dict)  # (K, components), NaN without it
    signal_curves: dict[str, SignalCurves] = field(default_factory=dict)  # the same, exactly
    parameters: dict[str, float] = field(default_factory=dict)  # by name
    parameter_units: dict[str, str] = field(default_factory=dict)
    unsmoothed: dict[str, float] = field(default_factory=dict)  # exact costs, where they differ
    widths: dict[str, float] = field(default_factory=dict)  # within which kinks were rounded off
    systems: tuple[PhaseSystem, ...] = ()  # what moves in each phase; () in files of version 0.2
    ground: GroundPlane | None = None  # what contact points touch; None without contacts
    cycle: Repeat | None = None  # how the motion goes on after its end; None if it is not cyclic
    scene: Scene | None = None  # obstacles and parts on the robot; None without a scene
    certificate: Certificate | None = None  # of this motion in the scene; None if not certified
    stages: tuple[Stage, ...] = ()  # of a solve among obstacles: plan, time, improve
    problem: Problem | None = field(default=None, compare=False)  # as solved; not in files

    @property
    def success(self) -> bool:
        """Whether it solves the problem; in a scene, only with a proof that it keeps clear."""
        proved = self.certificate is not None and self.certificate.status == "certified"
        return self.status in SUCCESS and (self.scene is None or proved)

    @property
    def duration(self) -> float:
        """s, of all phases."""
        return float(sum(curve.duration for curve in self.curves))

    @property
    def finite(self) -> bool:
        """Whether there is a motion at all: a solver that failed may leave NaN behind.

        Numbers so large that angles have no fractions count as infinite.
        """
        signals = [curve for signal in self.signal_curves.values() for curve in signal.curves]
        return all(
            bool((np.abs(curve.control) < UNUSABLE).all()) and 0.0 < curve.duration < np.inf
            for curve in (*self.curves, *signals)
            if curve is not None
        )

    def system(self, k: int) -> PhaseSystem:
        """What moves in phase k: the model with its loads, forces, passive joints, limits."""
        from predyn.dynamics.system import PhaseSystem
        from predyn.kernels.forces import ExternalForce

        last = len(self.curves) - 1
        whole = isinstance(k, int | np.integer) and not isinstance(k, bool)
        if not whole or not 0 <= k <= last:
            raise InputError(f"phase: expected a number from 0 to {last}, got {k!r:.60}")
        if self.systems:
            return self.systems[k]
        forces = tuple(ExternalForce(**force) for force in self.forces)
        return PhaseSystem(self.model, (), forces, self.passive, self.limits, self.jerk_limit)

    def at(self, t: ArrayLike) -> Sample:
        """The motion at times t (s, from the start of the motion), evaluated from the curves.

        t is a number or an array of any shape (...). A time between two phases is the start of the
        later one; the third derivative is the one from the right where it jumps. Torques and
        reactions are those of the phase's system: with what it carries and what acts on it.
        """
        return sample_at(self, checked_times(self, t))

    @property
    def channels(self) -> dict[str, ChannelInfo]:
        """Names of all channels, with the names and units of their components."""
        return channels_of(self)

    def channel(self, name: str, t: ArrayLike | None = None) -> Floats:
        """A channel at times t (s, from the start of the motion): (..., components).

        name: "q", "tau", "reactions", "frame:tip" and so on, all that terms can look at; "t" is
        the time since the start of the phase. Also "power", "energy", "com", "angular_momentum"
        and other quantities of the whole mechanism; "signal:NAME", "rate:NAME" (its first time
        derivative), both NaN in phases without the signal, "force:NAME" of a loaded link, and
        "parameter:NAME". `channels` lists them. Without t, at the samples: those of `t`, `q`,
        `tau`, in their phases.
        """
        if t is None:
            return channel_at(self, name, self.t, self.phase)
        return channel_at(self, name, checked_times(self, t))

    def phase_at(self, t: ArrayLike) -> NDArray[np.int64]:
        """Number of the phase at times t (s); between two phases the later one."""
        later = checked_times(self, t) + ROUNDING * self.duration
        return np.asarray(np.searchsorted(phase_starts(self)[1:], later, side="right"))

    def repeated(self, count: int = 2) -> Solution:
        """A cyclic motion and its continuation, `count` times as long.

        The end of a cyclic motion is its start, moved on and possibly mirrored: two steps of a
        walk, of which one was predicted, are a whole gait cycle. The costs, the violations and the
        decision variables stay those of the predicted part.
        """
        from predyn.solution.repeating import repeated

        return repeated(self, count)

    def check(self) -> Solution:
        """This solution if it is a success; otherwise NotConverged, with the named violations."""
        if self.success:
            return self
        lines = [f"{self.name!r} ended with status {self.status!r}: {self.message}"]
        listed = self.dense_violations if self.status == EXCEEDS else self.violations
        outside = [violation for violation in listed if violation.excess > 0.0]
        if outside:
            from predyn.solution.summary import violation_table

            lines += ["worst violations:", *violation_table(outside[:MOST_LISTED])]
            if len(outside) > MOST_LISTED:
                where = "dense_violations" if self.status == EXCEEDS else "violations"
                lines.append(f"  ... and {len(outside) - MOST_LISTED} more in .{where}")
        raise NotConverged("\n".join(lines))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything, the model too, to an HDF5 file that `predyn.load_solution` reads."""
        from predyn.solution.file import save_solution

        save_solution(self, path)

    def export(
        self,
        path: str | os.PathLike[str],
        rate: float | None = None,
        *,
        format: str | None = None,
    ) -> None:
        """Write the motion for other programs, in the format that the suffix names.

        .csv, .sto, .mot: tables; .yaml: a ROS message; .script: URScript; .h5 saves. `format` is
        "ros", "ros-effort" (with torques), "urscript" or "polynomials"; .json needs it. Instants
        are those of `t`, or with `rate` (Hz) every 1 / rate seconds from the start on.
        """
        from predyn.solution.export import export_solution

        export_solution(self, path, rate, format)

    def export_forces(
        self,
        path: str | os.PathLike[str],
        rate: float | None = None,
        *,
        loads: str | os.PathLike[str] | None = None,
    ) -> None:
        """Write the forces of the ground on each foot for OpenSim: .mot or .sto, y up.

        Instants are those of `export`. With `loads` also an external-loads file (.xml), which names
        the bodies that the forces act on. `load_measurements(path, axes="x-zy")` reads them back.
        """
        from predyn.solution.force_export import export_forces

        export_forces(self, path, rate, loads)

    def to_pandas(self, *channels: str, t: ArrayLike | None = None) -> pandas.DataFrame:
        """Channels as a pandas.DataFrame: index t, columns "phase", "q.JOINT" and so on.

        By default q, v, a, tau and the signals, at the samples or at times t (K,). Units of the
        columns are in `attrs["units"]`. Needs the extra `predyn[tables]`.
        """
        from predyn.solution.tables import solution_frame

        return solution_frame(self, channels, t)

    def to_xarray(self, *channels: str, t: ArrayLike | None = None) -> xarray.Dataset:
        """Channels as an xarray.Dataset with the dimensions t, joint and others.

        By default q, v, a, tau and the signals, at the samples or at times t (K,). Units are in
        `attrs["units"]` of each variable. Needs the extra `predyn[tables]`.
        """
        from predyn.solution.tables import solution_dataset

        return solution_dataset(self, channels, t)

    def __getstate__(self) -> dict[str, Any]:
        """For copies and pickles, with all samples."""
        return {name: getattr(self, name) for name in vars(self)}

    def summary(self) -> dict[str, Any]:
        """The result in numbers and words that JSON can hold; None where a number is not finite."""
        from predyn.solution.summary import summary_of

        return summary_of(self)

    def __str__(self) -> str:
        from predyn.solution.summary import text_of

        return text_of(self)

    __repr__ = __str__
