"""Hybrid dynamics of coupled models, in lanes: that of the tree, reduced to the coordinates.

With the slopes A of the joints (expansion.py) and a = 0 at passive coordinates, inverse dynamics of
the tree gives bias = A^T tau_tree for the active accelerations and for f'' v^2; the remainder moves
the passive coordinates:

    M_pp a_p = tau_p - bias_p,      tau_a = bias_a + M_ap a_p,      M = A^T M_tree A.

So a follower of an active coordinate moves as given, and one of a passive coordinate adds to M_pp.
"""

from __future__ import annotations

from typing import NamedTuple

from predyn.dynamics.expansion import Floats, Functions, expand_chunk
from predyn.dynamics.hybrid_partitioned import (
    GIVEN,
    complete,
    dense_mass_matrix,
    partitioned_work,
)
from predyn.dynamics.rnea import rnea
from predyn.kernels.lanes import jit, load, store
from predyn.kernels.tree import Tree


class Reduced(NamedTuple):
    """A tree, the functions of its joints, and room for the motion of all joints."""

    tree: Tree
    functions: Functions
    motion: tuple[Floats, Floats, Floats]  # q, v, a (chunks, links and more, WIDTH)
    slopes: Floats  # (7, chunks, links and more, WIDTH)
    first: Floats  # (chunks, links and more, WIDTH) the slopes A, in the same memory
    tau: Floats  # (chunks, links, WIDTH)


def reduced_work(view: Reduced, n: int) -> tuple[int, int]:
    """Rows as for partitioned mass matrices, then those of the reduced one of n coordinates."""
    rows, columns = partitioned_work(view.tree)
    return rows + n, columns


@jit
def hybrid_reduced(view, loads, active, c, ins, outs, work):
    """Like `hybrid` of hybrid.py in coordinates, with a workspace of the size reduced_work."""
    q, v, a_in, tau_in, values = ins
    a, tau = outs
    n, links = active.shape[0], view.tree.parent.shape[0]
    for i in range(n):
        store(work, i + 1, GIVEN, load(tau_in, c, i))
        store(tau, c, i, 0.0)
        if active[i] == 1:
            store(a, c, i, load(a_in, c, i))
        else:
            store(a, c, i, 0.0)
    expand_chunk(view.functions, c, (q, v, a), view.motion, view.slopes)
    full_q, full_v, full_a = view.motion
    rnea(view.tree, loads, c, (full_q, full_v, full_a, values), (view.tau,), work)
    dense_mass_matrix(view.tree, links + 1, work)
    _reduce(view, n, c, tau, work)
    complete(active, 2 * links + 1, c, a, tau, work)


@jit
def _reduce(view, n, c, tau, work):
    """Add A^T tau_tree to tau, and write A^T M_tree A to the last n rows of work."""
    source = view.functions.source
    links = source.shape[0]
    whole, first = links + 1, 2 * links + 1
    for i in range(n):
        for k in range(n):
            store(work, first + i, k, 0.0)
    for i in range(links):
        s, slope = source[i], load(view.first, c, i)
        store(tau, c, s, load(tau, c, s) + slope * load(view.tau, c, i))
        for k in range(links):
            entry = slope * load(work, whole + i, k) * load(view.first, c, k)
            store(work, first + s, source[k], load(work, first + s, source[k]) + entry)
