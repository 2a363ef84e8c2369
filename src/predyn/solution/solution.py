"""What came out: the motion, its forces, its cost, and how far it can be trusted.

A solution knows no solver. The curves are kept exactly, as splines; `t, q, v, a, tau` are samples
of them at the limit points.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from predyn import __version__
from predyn.curves.bspline import BSpline
from predyn.errors import InputError, NotConverged, unknown_name
from predyn.model import PRISMATIC, Model
from predyn.samples.registry import STATES, implementation
from predyn.solution.verification import Verification

if TYPE_CHECKING:
    from predyn.dynamics.system import PhaseSystem
    from predyn.kernels.forces import ExternalForce

Floats = NDArray[np.float64]
SUCCESS = ("optimal", "acceptable")
FAILURE = (
    "infeasible", "iteration_limit", "time_limit", "interrupted", "diverged", "evaluation_error",
)  # fmt: skip
MOST_LISTED = 10
ROUNDING = 8 * float(np.finfo(float).eps)  # of the duration, in a time that was computed


class Sample(NamedTuple):
    """The motion and its forces at one instant, or at many: t (...), others (..., n)."""

    t: Floats
    q: Floats
    v: Floats
    a: Floats
    jerk: Floats
    tau: Floats
    reactions: Floats  # (..., n, 6)


class Violation(NamedTuple):
    """How far a named quantity is outside its bounds, in its own unit."""

    name: str
    excess: float  # not negative
    relative: (
        float  # excess over the size of the violated bound (over the row's scale if that is 0)
    )
    value: float
    lower: float
    upper: float
    time: float  # s from the start of the motion, NaN if it belongs to no instant


class Curve(NamedTuple):
    """Joint positions of one phase: a B-spline in normalised time."""

    degree: int
    knots: Floats
    control: Floats  # (control points, n)
    duration: float  # s


class SignalCurves(NamedTuple):
    """A signal besides the motion of the joints: one curve for each phase, None without it."""

    components: tuple[str, ...]
    unit: str
    curves: tuple[Curve | None, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Solution:
    """A motion in one or more phases, with everything needed to judge, plot and continue it."""

    name: str
    model: Model
    status: str
    message: str
    objective: float
    iterations: int
    solve_seconds: float
    max_violation: float  # relative, at the points where constraints were imposed
    max_violation_dense: float  # relative, between them too
    curves: tuple[Curve, ...]
    phase_names: tuple[str, ...]
    t: Floats  # (K,) s from the start of the motion
    phase: NDArray[np.int64]  # (K,)
    q: Floats  # (K, n)
    v: Floats
    a: Floats
    tau: Floats
    reactions: Floats  # (K, n, 6)
    limits: dict[str, Floats]  # position, velocity, acceleration, effort (n, 2); jerk if limited
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
    forces: tuple[dict[str, Any], ...] = ()  # link, force, moment, point, frame of each
    passive: tuple[str, ...] = ()  # names of the joints without a motor; their tau is an error
    verification: Verification | None = None  # None until `predyn.verify` has computed it
    starts: tuple[dict[str, Any], ...] = ()  # status and objective of each start, if several
    provenance: dict[str, str] = field(default_factory=dict)  # version, date, task text, platform
    signals: dict[str, Floats] = field(default_factory=dict)  # (K, components), NaN without it
    signal_curves: dict[str, SignalCurves] = field(default_factory=dict)  # the same, exactly
    parameters: dict[str, float] = field(default_factory=dict)  # by name
    parameter_units: dict[str, str] = field(default_factory=dict)
    systems: tuple[PhaseSystem, ...] = ()  # what moves in each phase; () in files of version 0.2

    @property
    def success(self) -> bool:
        return self.status in SUCCESS

    @property
    def duration(self) -> float:
        """s, of all phases."""
        return float(sum(curve.duration for curve in self.curves))

    @property
    def finite(self) -> bool:
        """Whether there is a motion at all: a solver that failed may leave NaN behind."""
        return all(
            np.isfinite(curve.control).all() and 0.0 < curve.duration < np.inf
            for curve in self.curves
        )

    def at(self, t: ArrayLike) -> Sample:
        """The motion at times t (s, from the start of the motion), evaluated from the curves.

        t is a number or an array of any shape (...). A time between two phases is the start of the
        later one; the third derivative is the one from the right where it jumps.
        """
        from predyn.dynamics.reactions import joint_reactions
        from predyn.dynamics.rnea import inverse_dynamics

        times = self._times(t)
        q, v, a, jerk = self._states(times)
        forces = self._external_forces()
        tau = inverse_dynamics(self.model, q, v, a, forces=forces)
        reactions = joint_reactions(self.model, q, v, a, forces=forces)
        return Sample(times, q, v, a, jerk, tau, reactions)

    def channel(self, name: str, t: ArrayLike) -> Floats:
        """A channel at times t (s, from the start of the motion): (..., components).

        name: "q", "tau", "reactions", "frame:tip" and so on, all that terms can look at; "t" is
        the time since the start of the phase.
        """
        times = self._times(t)
        if name == "t":
            return np.asarray(times - self._starts()[self.phase_at(t)])[..., None]
        states = self._states(times)
        if name in STATES:
            return np.asarray(states[STATES.index(name)])
        module, member = implementation(name)
        flat = states[:3].reshape(3, -1, self.model.n)
        found = module.values(self.model, member, tuple(flat), self._external_forces())
        return np.asarray(found).reshape(*times.shape, -1)

    def _states(self, times: Floats) -> Floats:
        """q, v, a, jerk: (4, ..., n)."""
        flat, phases = times.ravel(), self.phase_at(times).ravel()
        states = np.empty((4, flat.size, self.model.n))
        for k, (curve, start) in enumerate(zip(self.curves, self._starts(), strict=True)):
            inside = phases == k
            s = (flat[inside] - start) / curve.duration
            spline = BSpline(curve.degree, curve.knots)
            states[:, inside] = spline.evaluate(curve.control, np.clip(s, 0.0, 1.0), curve.duration)
        return states.reshape(4, *times.shape, self.model.n)

    def _external_forces(self) -> list[ExternalForce]:
        from predyn.kernels.forces import ExternalForce

        return [ExternalForce(**force) for force in self.forces]

    def phase_at(self, t: ArrayLike) -> NDArray[np.int64]:
        """Number of the phase at times t (s); between two phases the later one."""
        later = self._times(t) + ROUNDING * self.duration
        return np.asarray(np.searchsorted(self._starts()[1:], later, side="right"))

    def check(self) -> Solution:
        """This solution if it is a success; otherwise NotConverged, with the named violations."""
        if self.success:
            return self
        lines = [f"{self.name!r} ended with status {self.status!r}: {self.message}"]
        outside = [violation for violation in self.violations if violation.excess > 0.0]
        if outside:
            lines += ["worst violations:", *violation_table(outside[:MOST_LISTED])]
            if len(outside) > MOST_LISTED:
                lines.append(f"  ... and {len(outside) - MOST_LISTED} more in .violations")
        raise NotConverged("\n".join(lines))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything, the model too, to an HDF5 file that `predyn.load_solution` reads."""
        from predyn.solution.file import save_solution

        save_solution(self, path)

    def export(self, path: str | os.PathLike[str], rate: float | None = None) -> None:
        """Write the motion in the format that the suffix names: .csv, .sto, .mot; .h5 saves.

        Instants are those of `t`, or with `rate` (Hz) every 1 / rate seconds from the start on.
        """
        from predyn.recordings.motion_tables import WRITERS
        from predyn.solution.export import export_solution

        suffix = Path(path).suffix.lower()
        if suffix == ".h5":
            if rate is not None:
                raise InputError(f"rate: expected None for {path}: an .h5 file holds the curves")
            self.save(path)
        elif suffix in WRITERS:
            export_solution(self, path, rate)
        else:
            raise unknown_name("suffix", suffix, (*WRITERS, ".h5"))

    def summary(self) -> dict[str, Any]:
        """The result in numbers and words that JSON can hold; None where a number is not finite."""
        names, checks = self.phase_names, self.verification
        summary: dict[str, Any] = {
            "name": self.name,
            "status": self.status,
            "success": self.success,
            "message": self.message,
            "objective": self.objective,
            "duration": self.duration,
            "iterations": self.iterations,
            "solve_seconds": self.solve_seconds,
            "max_violation": self.max_violation,
            "max_violation_dense": self.max_violation_dense,
            "n_variables": self.n_variables,
            "n_constraints": self.n_constraints,
            "predyn_version": self.provenance.get("predyn_version", __version__),
            "model": self.model.name,
            "joints": list(self.model.joint_names),
            "phases": [
                {"name": name, "duration": curve.duration}
                for name, curve in zip(names, self.curves, strict=True)
            ],
            "costs": self.costs,
            "active_limits": list(self.active),
            "violations": [violation._asdict() for violation in self.violations[:MOST_LISTED]],
            "dense_violations": [
                violation._asdict() for violation in self.dense_violations[:MOST_LISTED]
            ],
            "verification": None if checks is None else checks.summary(self.model),
            "starts": list(self.starts),
            "timings": self.timings,
        }
        plain: dict[str, Any] = _plain(summary)
        return plain

    def __str__(self) -> str:
        rows = [
            ("status", f"{self.status}: {self.message}" if self.message else self.status),
            ("objective", f"{self.objective:.8g}"),
            *((f"  {name}", f"{value:.8g}") for name, value in self.costs.items()),
            ("duration", f"{self.duration:.6g} s{self._durations()}"),
            ("iterations", f"{self.iterations} in {self.solve_seconds:.3g} s"),
            ("size", f"{self.n_variables} variables, {self.n_constraints} constraints"),
            *([("passive", ", ".join(self.passive))] if self.passive else []),
            ("worst violation", _worst(self.max_violation, self.violations)),
            ("worst between", _worst(self.max_violation_dense, self.dense_violations)),
        ]
        if self.starts:
            same = [s["objective"] for s in self.starts if s["status"] in SUCCESS]
            best = min(same, default=math.nan)
            agree = sum(abs(x - best) <= 1e-6 * max(abs(best), 1e-12) for x in same)
            rows.append(
                ("starts", f"{len(self.starts)}: {len(same)} converged, {agree} to {best:.8g}")
            )
        width = max(len(label) for label, _ in rows) + 2
        return "\n".join([self.name, *(f"{x:<{width}}{y}" for x, y in rows), *self._joint_table()])

    __repr__ = __str__

    def _times(self, t: ArrayLike) -> Floats:
        try:
            times = np.asarray(t)
        except ValueError:
            raise InputError(f"t: expected seconds, got {t!r:.60}") from None
        if times.size and times.dtype.kind not in "fiu":
            raise InputError(f"t: expected seconds (numbers), got {t!r:.60}")
        times = times.astype(np.float64)
        rounding = ROUNDING * self.duration
        outside = ~((times >= -rounding) & (times <= self.duration + rounding))
        if outside.any():
            raise InputError(
                f"t: expected seconds from 0 to {self.duration!r}, the duration of {self.name!r}, "
                f"got {float(times[outside][0])!r}"
            )
        return times

    def _starts(self) -> Floats:
        durations = [curve.duration for curve in self.curves]
        return np.cumsum([0.0, *durations[:-1]])

    def _durations(self) -> str:
        if len(self.curves) == 1:
            return ""
        pairs = zip(self.phase_names, self.curves, strict=True)
        return f" ({', '.join(f'{name} {curve.duration:.6g}' for name, curve in pairs)})"

    def _joint_table(self) -> list[str]:
        header = ("joint", "least position", "largest", "largest speed", "largest effort")
        rows = []
        for j, name in list(enumerate(self.model.joint_names))[:MOST_LISTED]:
            length, effort = ("m", "N") if self.model.kind[j] == PRISMATIC else ("rad", "N m")
            rows.append(
                (
                    name,
                    f"{self.q[:, j].min():.4g} {length}",
                    f"{self.q[:, j].max():.4g} {length}",
                    f"{np.abs(self.v[:, j]).max():.4g} {length}/s",
                    "passive"
                    if name in self.passive
                    else f"{np.abs(self.tau[:, j]).max():.4g} {effort}",
                )
            )
        lines = _columns([header, *rows])
        if self.model.n > MOST_LISTED:
            lines.append(f"... and {self.model.n - MOST_LISTED} more joints")
        return lines


def violation_table(violations: Iterable[Violation]) -> list[str]:
    """Lines with name, excess, share of the bound, value, bounds and time, each in its unit."""
    header = ("  name", "excess", "relative", "value", "lower", "upper", "time [s]")
    return _columns(
        [
            header,
            *((f"  {v.name}", *(f"{x:.3g}" for x in v[1:6]), _time(v.time)) for v in violations),
        ]
    )


def _worst(relative: float, violations: tuple[Violation, ...]) -> str:
    if not violations or not relative > 0.0:
        return f"{relative:.2g} relative"
    worst = violations[0]
    time = "" if math.isnan(worst.time) else f" at {worst.time:.4g} s"
    return f"{relative:.2g} relative: {worst.name}{time}"


def _time(t: float) -> str:
    return "-" if math.isnan(t) else f"{t:.4g}"


def _columns(rows: list[tuple[str, ...]]) -> list[str]:
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            f"{x:<{w}}" if k == 0 else f"{x:>{w}}"
            for k, (x, w) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]


def _plain(value: Any) -> Any:
    """The same in types that JSON has."""
    if isinstance(value, dict):
        return {str(key): _plain(x) for key, x in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(x) for x in value]
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    return None if isinstance(value, float) and not math.isfinite(value) else value
