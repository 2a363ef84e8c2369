"""The stages of a phase whose passive joints are integrated: states, channels, sensitivities.

The numbering of the rows is explained in stages.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from predyn.channels.derived import Derived
from predyn.channels.parametric import Parametric
from predyn.channels.torques import Torques
from predyn.curves.bspline import BSpline
from predyn.dynamics.articulated import COLUMNS
from predyn.dynamics.free_numbers import ModelParameters
from predyn.dynamics.hybrid_partitioned import partitioned_work
from predyn.dynamics.hybrid_reduced import reduced_work
from predyn.kernels.batch import Direct, aligned
from predyn.kernels.forces import ExternalForce
from predyn.kernels.lanes import WIDTH
from predyn.kernels.tree import has_coupled_rotors
from predyn.model import Model
from predyn.transcribe.kernels import Floats
from predyn.transcribe.layout import Components
from predyn.transcribe.pool import Pool
from predyn.transcribe.shooting import segments, stages
from predyn.transcribe.shooting.stages import Grid, Pulls

STAGES = np.array([0.0, 0.5, 0.5, 1.0])  # stages of RK4 within a step
SHARES = np.array([1.0, 2.0, 2.0, 1.0]) / 6.0


class StageRows:
    """Normalised times, weights and segments of the rows of a phase, (rows, WIDTH) each.

    The last segment is repeated to fill its group, and the end to fill its row; `used` is False
    for these copies.
    """

    def __init__(self, spline: BSpline, steps: int) -> None:
        count = spline.segments
        self.steps, self.groups = steps, -(-count // WIDTH)
        lane = np.arange(self.groups * WIDTH).reshape(self.groups, 1, 1, WIDTH)
        segment = np.minimum(lane, count - 1)
        begin, end = spline.breaks[segment], spline.breaks[segment + 1]
        step = (end - begin) / steps
        k = np.arange(steps).reshape(1, steps, 1, 1)
        stage = STAGES.reshape(1, 1, 4, 1)
        s = begin + (k + stage) * step
        s = np.where((k == steps - 1) & (stage == 1.0), end, s)
        share = np.broadcast_to(SHARES.reshape(1, 1, 4, 1) * step, s.shape)

        def rows(values: NDArray, last: NDArray) -> NDArray:
            whole = np.broadcast_to(values, s.shape).reshape(-1, WIDTH)
            return np.concatenate([whole, last[None]])

        one = np.ones(WIDTH)
        self.s = rows(s, one)
        self.segment = rows(segment, np.full(WIDTH, count - 1))
        self.used = rows(lane < count, np.arange(WIDTH) == 0)
        self.weights = np.where(self.used, rows(share, 0.0 * one), 0.0)
        self.left = rows((stage > 0.0) & (s > -1.0), one > 0.0)
        self.group = np.repeat(np.arange(self.groups + 1), [*[4 * steps] * self.groups, 1])
        self.width = step.reshape(self.groups, 1, WIDTH)
        self.end = len(self.s) - 1

    def find(self, s: float) -> tuple[int, int]:
        """Row and lane of the step that begins at s, or of the end of the phase."""
        if s >= 1.0 - 1e-9:
            return self.end, 0
        first = self.s.copy()
        first[~self.used] = np.inf
        stage = np.arange(len(first)) % 4
        first[stage > 0] = np.inf
        row, lane = np.unravel_index(np.argmin(abs(first - s)), first.shape)
        return int(row), int(lane)


def _grid(rows: StageRows, passive: NDArray[np.bool_], components: int) -> Grid:
    """The joints and steps of a phase; parameters count as active joints."""
    integrated = np.zeros(components, bool)
    integrated[: len(passive)] = passive
    number, other = np.cumsum(integrated) - 1, np.cumsum(~integrated) - 1
    role = np.where(integrated, number, -1 - other)
    given = (~passive).astype(np.int64)
    joined = (np.flatnonzero(integrated), np.flatnonzero(~integrated))
    return Grid(*joined, role, given, rows.width, rows.steps)


def _integrator(model: Model, torques: Derived) -> tuple[Any, Any, Torques, tuple[int, int]]:
    """The kernel that integrates a model, its view of it, the inverse dynamics in the channel of
    torques, and the shape of the workspace.
    """
    if model.couplings:  # few models have them
        from predyn.channels.coupled import Coupled

        assert isinstance(torques, Coupled)
        inverse = _inverse_dynamics(torques.inner)
        reduced = torques.reduced(inverse.trees[0])
        return stages.integrate_reduced, reduced, inverse, reduced_work(reduced, model.n)
    inverse = _inverse_dynamics(torques)
    tree = inverse.trees[0]
    if has_coupled_rotors(model):
        return stages.integrate_rotors, tree, inverse, partitioned_work(tree)
    return stages.integrate, tree, inverse, (model.n + 1, COLUMNS)


def _inverse_dynamics(torques: Derived) -> Torques:
    inverse = torques.own if isinstance(torques, Parametric) else torques
    assert isinstance(inverse, Torques)
    return inverse


class StagePool(Pool):
    """States and derived channels at all rows, and their sensitivities in the segments' numbers."""

    def __init__(
        self,
        model: Model,
        components: Components,
        rows: StageRows,
        passive: NDArray[np.bool_],
        orders: int,
        channels: Sequence[str],
        forces: Sequence[ExternalForce],
        timed: bool,
        parameters: ModelParameters | None = None,
    ) -> None:
        names = dict.fromkeys(("tau", *channels))
        s, left = rows.s.ravel(), rows.left.ravel()
        super().__init__(
            *(model, components, s, orders, tuple(names), forces, left), parameters=parameters
        )
        self.rows, self.timed = rows, int(timed)
        self.grid = _grid(rows, passive, len(components.base))
        count, others = len(self.grid.passive), len(self.grid.active)
        self.size = 2 * count + components.points * others + self.timed
        self.torques = torques = self.derived["tau"]
        # sets the numbers of the model to the values of parameters
        self._install: Callable[[], None] | None = getattr(torques, "install", None)
        pulls = [(p, *x) for p, j in enumerate(self.grid.passive) for x in torques.depends[j]]
        table = np.array(pulls, np.int64).reshape(-1, 5)
        self.pulls = Pulls(table[:, 0].copy(), table[:, 1].copy(), table[:, 2:].copy())
        total, groups = len(rows.s), rows.groups
        self.nodes = aligned(groups + 1, 2 * count, WIDTH)
        self.ends = aligned(groups, 2 * count, WIDTH)
        self.end_slopes = aligned(groups, 2 * count * self.size, WIDTH)
        self.Z = aligned(total, 3 * count * self.size, WIDTH)
        wide = len(components.base) * self.orders
        self.slope = aligned(total, wide, WIDTH)
        factor, cross = aligned(total, count * count, WIDTH), aligned(groups, self.size, WIDTH)
        self._nu = aligned(total, count, WIDTH)
        self._adjoint_ends = aligned(groups, 2 * count, WIDTH)
        self.room = aligned(1, (2 * wide + 1) * self.size, WIDTH)
        x, none = torques, np.zeros((total, model.n, WIDTH))
        integrate, view, inverse, work = _integrator(model, torques)
        partials, states = (x.dq, x.dv, x.da), self.z[:3]
        self.on_stages = (self.grid, self.instants, self.timed, self.z, self.Z, self.room)
        self._integrate = Direct(
            *(integrate, view, inverse.loads, self.grid, self.nodes, states, none),
            *(inverse.load_values, x.value, self.ends, aligned(*work, WIDTH)),
        )
        self._sensitivities = Direct(
            stages.sensitivities,
            *(self.grid, self.instants, self.timed, self.pulls, self.z, partials, factor),
            *(self.Z, self.end_slopes),
        )
        self._adjoints = Direct(
            stages.adjoints,
            *(self.grid, self.timed, self.orders, self.pulls, partials, factor, self.Z),
            *(
                self.slope,
                self._adjoint_ends,
                aligned(1, 8 * max(count, 1), WIDTH),
                self._nu,
                cross,
            ),
        )
        self._stretch = Direct(
            segments.stretch, self.grid, self.instants, self.z, rows.group, self.slope, cross
        )

    def shoot(self, T: float, first: int = 0, last: int | None = None) -> None:
        """Integrate groups of segments from their nodes; the active joints must be up to date."""
        if self._install is not None:
            self._install()
        stop = self.rows.groups if last is None else last
        self._integrate.run(T, first, stop)

    def follow(self, control: Floats, powers: tuple[float, ...]) -> None:
        """Compute the states of the active joints at all rows."""
        self._evaluate.run(control, powers)

    def evaluate_channels(self) -> None:
        """Compute the values of the channels; the passive joints must be up to date."""
        for channel in self.derived.values():
            if channel is not self.torques:  # computed by the integration
                channel.evaluate()

    def differentiate(self, powers: tuple[float, ...]) -> None:
        """Compute the partials of the channels and the sensitivities."""
        for channel in self.derived.values():
            channel.derive()
        self._sensitivities.run(powers)

    def curve_all(self, powers: tuple[float, ...], ends: Floats) -> None:
        """Compute second partials of the channels, with passive torques weighted by their adjoints.

        `slope` and the channels' weights must be complete. ends (groups, 2 passive, WIDTH): slopes
        in the states at the ends of segments.
        """
        self._adjoint_ends[:] = ends
        self._adjoints.run(powers)
        self.torques.weights[:, self.grid.passive] += self._nu
        self.curve()

    def stretch(self, powers: tuple[float, ...], out: Floats) -> None:
        """Add the effect of T on the slopes to second derivatives (groups + 1, ..)."""
        self._stretch.run(powers, out)
