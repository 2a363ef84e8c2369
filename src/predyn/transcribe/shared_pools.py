"""Build the sets of an arrangement: those of a phase that use the same channels share a pool."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from predyn.transcribe.instants import InstantSet, looks_together
from predyn.transcribe.model_parameters import model_parameters
from predyn.transcribe.pool import Pool

if TYPE_CHECKING:
    from predyn.transcribe.arrange import Arrangement


def shared_pools(arrangement: Arrangement) -> list[tuple[int, Pool]]:
    """See `Arrangement.build_sets`."""
    shared: dict[tuple, list[InstantSet]] = {}
    for points in arrangement.sets:
        channels, direct = points.channels, points.components.direct
        orders = 4 if "jerk" in channels else 3 if channels else 0
        derived = tuple(sorted(c for c in channels if c not in direct and c != "t"))
        shared.setdefault((points.phase, orders, derived), []).append(points)
    pools = []
    for (p, orders, derived), sets in shared.items():
        s = np.concatenate([points.padded for points in sets])
        components, model = arrangement.layouts[p].components, arrangement.systems[p].model
        pool = Pool(
            *(model, components, s, orders, derived, arrangement.forces(p, s)),
            looks=looks_together(sets),
            parameters=model_parameters(arrangement.problem, p, components),
        )
        first = 0
        for points in sets:
            points.build(pool, first)
            first += points.chunks
        pools.append((p, pool))
    return pools
