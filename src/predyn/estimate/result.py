"""Estimate: the torques behind a recorded motion, with their uncertainty and warnings."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from predyn import __version__
from predyn.display import Reported
from predyn.errors import NotConverged
from predyn.model import PRISMATIC, Model
from predyn.published.lcurve import LCurve
from predyn.recordings.measurements import Measurements
from predyn.storage.files import checked_path

if TYPE_CHECKING:
    import pandas
    import xarray

Floats = NDArray[np.float64]

BAND = 1.959963984540054  # 95 % of a normal distribution lie within so many standard deviations
STATUSES = CONVERGED, LIMITED, UNIDENTIFIABLE, IMPLAUSIBLE, INTERRUPTED = (
    "converged",
    "iteration_limit",
    "unidentifiable",
    "implausible",
    "interrupted",
)
ORDERS = (0, 1, 2, 3)  # of regularisation
INDEPENDENT = JOINTS, LINKS, ACCELERATIONS, NONE = "joints", "links", "accelerations", "none"

NOISES = WHITE, OF_JOINTS, OF_TIME = "white", "joints", "time"  # how noise is correlated


class Channel(NamedTuple):
    """One measured quantity, where it was measured, and what the estimated motion makes of it."""

    name: str  # of the joint, or "marker.x"
    kind: str  # "angle" or "marker"
    unit: str  # "rad" or "m"
    t: Floats
    measured: Floats
    fitted: Floats
    sd: float  # standard deviation of the noise
    estimated: bool  # whether sd was found from the data


class Filtered(NamedTuple):
    """The usual way, for comparison: zero-lag Butterworth filter, differences, inverse dynamics."""

    cutoff: float  # Hz
    t: Floats  # (K + 1,)
    q: Floats
    v: Floats
    a: Floats
    tau: Floats  # (K + 1, n)


def prior_words(order: int, independent: str, corner: float) -> str:
    """A prior in plain words."""
    what = {
        JOINTS: "torques of joints",
        LINKS: "torques on links",
        ACCELERATIONS: "accelerations of joints",
        NONE: "accelerations of links, correlated",
    }[independent]
    if corner:
        return f"{what}, falling off above {corner:.2g} Hz (order {order})"
    return ("", "differences of ", "second differences of ")[order] + what


class OrderTrial(NamedTuple):
    """One order of regularisation, its best weights, and how well it explains the data."""

    order: int
    independent: str  # "joints", "links", "accelerations" or "none"
    log_evidence: float  # less what a corner and correlations are charged
    weights: Floats
    chosen: bool
    corner: float = 0.0  # Hz; 0: differences, without a corner frequency
    noise: str = WHITE  # "white", "joints" (correlated between them) or "time" (between samples)

    @property
    def words(self) -> str:
        """What is taken as small or as a process, in plain words."""
        return prior_words(self.order, self.independent, self.corner)

    @property
    def name(self) -> str:
        """As in summaries."""
        corner = ", corner" if self.corner else ""
        between = {OF_JOINTS: "between joints", OF_TIME: "in time"}.get(self.noise, "")
        noise = f", noise correlated {between}" if between else ""
        return f"order {self.order}{corner}, {self.independent}{noise}"


class RootResidual(NamedTuple):
    """Force and moment at a floating base, which has no motor: what model and forces leave open.

    Root mean squares and peaks over the intervals, of the length of the force and of the torques
    about the base's hinges taken together.
    """

    joints: tuple[str, ...]  # of the base
    weight: float  # N, of the whole body
    assumed: float  # its standard deviation over the weight; 0: held at zero; inf: not held at all
    force_rms: float  # N
    force_peak: float  # N
    moment_rms: float  # N m
    moment_peak: float  # N m
    note: str  # why it is not held, else empty

    @property
    def force_rms_percent(self) -> float:
        """In percent of the body's weight; NaN without gravity."""
        return 100.0 * self.force_rms / self.weight if self.weight else float("nan")

    @property
    def force_peak_percent(self) -> float:
        """In percent of the body's weight; NaN without gravity."""
        return 100.0 * self.force_peak / self.weight if self.weight else float("nan")


@dataclass(frozen=True, eq=False, repr=False)
class Estimate(Reported):
    """Torques, states and their uncertainty from measurements of a motion.

    The motion has constant acceleration on each of K intervals; `tau[k]` is held over interval k.
    Standard deviations are those of the linearised problem at the estimate, for the given or
    estimated noise and weights: they do not account for errors of the model.
    """

    name: str
    model: Model
    measurements: Measurements
    status: str
    message: str
    t: Floats  # (K + 1,) s, ends of the intervals
    q: Floats  # (K + 1, n)
    v: Floats
    q_sd: Floats
    v_sd: Floats
    t_tau: Floats  # (K,) s, middles of the intervals
    a: Floats  # (K, n)
    tau: Floats
    tau_sd: Floats
    grid_error: Floats  # (K, n) torque that the grid adds or takes, see docs
    channels: tuple[Channel, ...]
    order: int
    total_variation: bool
    independent: str  # what changes independently: torques of "joints", on "links",
    # "accelerations" of joints; "none": accelerations of links, correlated with each other
    weights: Floats  # (n,) size of a torque (0), of its difference (1) or second difference (2)
    orders: tuple[OrderTrial, ...]
    lcurve: LCurve
    comparison: Filtered | None
    unactuated: tuple[str, ...]
    force_links: Mapping[str, str]
    warnings: tuple[str, ...]
    iterations: int
    solve_seconds: float
    corner: float = 0.0  # Hz, above which torques or accelerations fall off; 0: no corner
    noise_model: str = WHITE  # "white", or correlated between "joints" or in "time"
    root_residual: RootResidual | None = None  # of a floating base; None: the model has none

    @property
    def success(self) -> bool:
        return self.status == CONVERGED

    @property
    def tau_band(self) -> tuple[Floats, Floats]:
        """Lower and upper end of the 95 % band of the torques, (K, n) each."""
        return self.tau - BAND * self.tau_sd, self.tau + BAND * self.tau_sd

    @property
    def q_band(self) -> tuple[Floats, Floats]:
        return self.q - BAND * self.q_sd, self.q + BAND * self.q_sd

    @property
    def v_band(self) -> tuple[Floats, Floats]:
        return self.v - BAND * self.v_sd, self.v + BAND * self.v_sd

    def middle_states(self) -> tuple[Floats, Floats]:
        """Positions and speeds (K, n) at `t_tau`; the acceleration is constant on an interval."""
        h = np.diff(self.t)[:, None]
        q = 0.5 * (self.q[:-1] + self.q[1:]) - h**2 / 8.0 * self.a
        return q, 0.5 * (self.v[:-1] + self.v[1:])

    def joint_reactions(self) -> Floats:
        """(K, links, 6) wrench on each link through its joint at `t_tau`: moment, then force.

        In link axes about the joint's origin, as `predyn.joint_reactions`; the measured forces
        act. These are net loads between segments: muscles that span a joint press its surfaces
        together in addition, so contact forces in the joint are larger.
        """
        from predyn.dynamics.reactions import joint_reactions
        from predyn.estimate.driving import acting, push

        q, v = self.middle_states()
        measured = self.measurements.forces
        pushes = [push(self.t_tau, link, measured[x]) for x, link in self.force_links.items()]
        forces = acting(self.model, pushes, q)
        return np.asarray(joint_reactions(self.model, q, v, self.a, forces=forces))

    def check(self) -> Estimate:
        """Itself, or NotConverged with the reason."""
        if not self.success:
            raise NotConverged(f"{self.name}: {self.status}: {self.message}")
        return self

    def summary(self) -> dict[str, Any]:
        """Numbers for summary.json."""
        names = self.model.joint_names
        return {
            "name": self.name,
            "status": self.status,
            "success": self.success,
            "message": self.message,
            "n_samples": len(self.measurements.t),
            "n_intervals": len(self.t_tau),
            "step": float(self.t[1] - self.t[0]),
            "order": self.order,
            "total_variation": self.total_variation,
            "independent": self.independent,
            "corner": self.corner,
            "noise_model": self.noise_model,
            "weights": dict(zip(names, self.weights.tolist(), strict=True)),
            "noise": {c.name: c.sd for c in self.channels},
            "noise_estimated": {c.name: c.estimated for c in self.channels},
            "rms_residual": {
                c.name: float(np.sqrt(np.mean((c.measured - c.fitted) ** 2))) for c in self.channels
            },
            "rms_torque": dict(
                zip(names, np.sqrt(np.mean(self.tau**2, axis=0)).tolist(), strict=True)
            ),
            "mean_torque_sd": dict(zip(names, self.tau_sd.mean(axis=0).tolist(), strict=True)),
            "rms_grid_error": dict(
                zip(names, np.sqrt(np.mean(self.grid_error**2, axis=0)).tolist(), strict=True)
            ),
            "log_evidence": {
                trial.name: trial.log_evidence  # the best one of a name
                for trial in sorted(self.orders, key=lambda trial: trial.log_evidence)
            },
            "filter_cutoff": None if self.comparison is None else self.comparison.cutoff,
            "unactuated": list(self.unactuated),
            "root_residual": self._root_summary(),
            "warnings": list(self.warnings),
            "iterations": self.iterations,
            "solve_seconds": self.solve_seconds,
            "predyn_version": __version__,
        }

    def _root_summary(self) -> dict[str, Any] | None:
        root = self.root_residual
        if root is None:
            return None
        numbers = root._asdict() | {"joints": list(root.joints)}
        numbers["assumed"] = root.assumed if np.isfinite(root.assumed) else None
        percents = (root.force_rms_percent, root.force_peak_percent)
        for name, value in zip(("force_rms", "force_peak"), percents, strict=True):
            numbers[f"{name}_percent"] = value if np.isfinite(value) else None
        return numbers

    def torques_csv(self) -> str:
        """One line per interval: its start and end, then torque and ends of its band per joint."""
        units = ["N" if kind == PRISMATIC else "N m" for kind in self.model.kind]
        header = ["start [s]", "end [s]"]
        for name, unit in zip(self.model.joint_names, units, strict=True):
            header += [f"{name} [{unit}]", f"{name} lower [{unit}]", f"{name} upper [{unit}]"]
        low, high = self.tau_band
        values = np.stack((self.tau, low, high), axis=2).reshape(len(self.t_tau), -1)
        buffer = io.StringIO()
        writer = csv.writer(buffer, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(np.column_stack((self.t[:-1], self.t[1:], values)).tolist())
        return buffer.getvalue()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything, the model and the measurements too, to an HDF5 file."""
        from predyn.estimate.result_file import save_estimate

        save_estimate(self, path)

    def export(self, path: str | os.PathLike[str]) -> None:
        """Write motion and torques in the format of the suffix: .csv, .sto, .mot; .h5 saves.

        .mot: positions at `t`; .sto, .csv: positions, speeds, accelerations and torques at `t_tau`.
        """
        if checked_path(path).suffix.lower() == ".h5":
            self.save(path)
            return
        from predyn.estimate.result_export import export_estimate

        export_estimate(self, path)

    def to_pandas(self, of: str = "torques") -> pandas.DataFrame:
        """A pandas.DataFrame with units in `attrs["units"]`; needs the extra `predyn[tables]`.

        of  "torques": tau, tau_sd, a and grid_error of each joint at `t_tau`, with start and end
            of the intervals; "states": q, v, q_sd, v_sd at `t`
        """
        from predyn.estimate.result_tables import estimate_frame

        return estimate_frame(self, of)

    def to_xarray(self) -> xarray.Dataset:
        """Torques and states as an xarray.Dataset with the dimensions t, t_tau and joint.

        Units are in `attrs["units"]` of each variable. Needs the extra `predyn[tables]`.
        """
        from predyn.estimate.result_tables import estimate_dataset

        return estimate_dataset(self)

    def __repr__(self) -> str:
        what = "total variation" if self.total_variation else f"order {self.order}"
        what += f", corner {self.corner:.2g} Hz" if self.corner else ""
        return (
            f"Estimate({self.name!r}, {self.status}, {what}, {len(self.t_tau)} intervals of "
            f"{self.t[1] - self.t[0]:.4g} s, {self.model.n} joints)"
        )
