"""Arrange a problem as sets of stages with blocks of rows: costs at all stages, limits at steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from predyn.errors import InputError
from predyn.kernels.lanes import WIDTH
from predyn.problem import At, Hybrid
from predyn.terms.joints import JointTorque
from predyn.terms.term import Residual, Smoothed
from predyn.transcribe.arrange import Arrangement
from predyn.transcribe.instants import Block, InstantSet
from predyn.transcribe.model_parameters import model_parameters
from predyn.transcribe.pool import Pool
from predyn.transcribe.shooting.layout import ShootingLayout
from predyn.transcribe.shooting.stage_pool import StagePool
from predyn.transcribe.shooting.stage_sets import StageSet


class StageArrangement(Arrangement):
    """Sets of rows at stages: costs at all stages, limits where steps begin."""

    layouts: Sequence[ShootingLayout]

    def _add_passive_torques(self, p: int) -> None:
        """Add nothing: the integration keeps passive torques at zero."""

    def for_equality(self, p: int, residual: Residual) -> InstantSet:
        return self.at(p, "knots")

    def _choose(self, p: int, at: At | Literal["knots"], cost: bool, average: bool) -> StageSet:
        layout, method = self.layouts[p], self.problem.transcription
        if average:
            raise InputError("method 'hybrid' integrates costs; leave average out")
        assert isinstance(method, Hybrid)
        rows = layout.rows
        every = np.arange(len(rows.s))
        weights = None
        if at == "throughout" and cost:
            chosen, weights = rows.used.copy(), rows.weights
            chosen[rows.end] = False
        elif at in ("throughout", "knots"):
            wanted = 1 if at == "knots" else method.limit_points
            steps = np.unique(np.arange(wanted) * rows.steps // wanted)
            begins = every[: rows.end : 4]
            every = np.append(begins[np.isin(np.arange(len(begins)) % rows.steps, steps)], rows.end)
            chosen = rows.used[every]
        else:
            ends = {"start": (0.0,), "end": (1.0,)}
            if isinstance(at, str) and at not in ends:
                raise InputError(
                    f"at: expected 'throughout', 'start', 'end' or fractions, got {at!r}"
                )
            found = [rows.find(float(s)) for s in (ends[at] if isinstance(at, str) else at)]
            every = np.unique([row for row, _ in found])
            chosen = np.zeros((len(every), WIDTH), bool)
            for row, lane in found:
                chosen[np.searchsorted(every, row), lane] = True
        return StageSet(p, layout.components, rows, every, chosen, weights)

    def build_sets(self) -> list[tuple[int, Pool]]:
        pools: list[tuple[int, Pool]] = []
        for p, layout in enumerate(self.layouts):
            sets = [x for x in self.sets if isinstance(x, StageSet) and x.phase == p]
            orders = 4 if any("jerk" in x.channels for x in sets) else 3
            direct = (*layout.components.direct, "t")
            names = {name for x in sets for name in x.channels if name not in direct}
            model = self.systems[p].model
            passive = np.isin(model.joint_names, self.systems[p].passive)
            pool = StagePool(
                model, layout.components, layout.rows, passive, orders, sorted(names),
                self.forces(p, layout.rows.s.ravel()), layout.T_column >= 0,
                model_parameters(self.problem, p, layout.components),
            )  # fmt: skip
            whole = self._whole(p)
            for x in sets:
                for row in x.dependences():
                    for channel, component, _ in row:
                        if channel in pool.derived:
                            whole.curved.setdefault(channel, set()).add(component)
            whole.curved.setdefault("tau", set()).update(int(j) for j in layout.passive)
            for x in (*sets, whole) if whole not in sets else sets:
                x.settle(pool)
            pools.append((p, pool))
        return pools

    def _whole(self, p: int) -> StageSet:
        """The set of the integrated costs of a phase; without costs, a set that adds nothing."""
        whole = self.at(p, "throughout", cost=True)
        assert isinstance(whole, StageSet)
        if not whole.blocks:
            self.sets = list(self._sets.values())
            residual = JointTorque().bind(self.systems[p].model)
            loss = Smoothed("linear", 1.0)
            whole.add(Block("no cost", residual, loss=loss, weight=0.0, objective=True))
        return whole
