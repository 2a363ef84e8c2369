"""Functions of channels, chained to the states: which components act on them, and how.

Rows of terms and single channel components are both such functions: a list of channel components
with a partial each. Their partials in the states are stored in groups, one for each pair of a row
and a component (joint, component of another signal, parameter) that acts on it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from predyn.channels.derived import ChannelPart
from predyn.kernels.batch import Direct, aligned
from predyn.kernels.lanes import WIDTH
from predyn.transcribe import kernels
from predyn.transcribe.kernels import Floats, FromChannel, FromStates, Groups
from predyn.transcribe.layout import Components

_NOTHING = FromChannel(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros((0, 3), np.int64))
Dependence = tuple[str, int, int]  # channel, component, column of its partial


class Chained:
    """Partials of rows in the states, and in T at fixed states (through the channel t).

    partials (chunks, groups * orders, WIDTH), explicit (chunks, rows, WIDTH)
    """

    def __init__(
        self,
        rows: Sequence[Sequence[Dependence]],
        derived: Mapping[str, ChannelPart],
        components: Components,
        fraction: Floats,
        orders: int,
    ) -> None:
        chunks, direct = len(fraction), components.direct
        self._width, self._fraction = orders, fraction
        found: dict[tuple[int, int], int] = {}
        for r, row in enumerate(rows):
            acting = {j for channel, x, _ in row for j in _acting(channel, x, derived, direct)}
            for component in sorted(acting):
                found[r, component] = len(found)
        where = np.array(list(found), np.int64).reshape(-1, 2)
        start = np.searchsorted(where[:, 0], np.arange(len(rows) + 1))
        self.groups = Groups(start, where[:, 0].copy(), where[:, 1].copy())
        self.orders: NDArray[np.bool_] = np.zeros((len(found), orders), bool)
        states, explicit = [], []
        chained: dict[str, list[tuple[int, int, tuple[int, ...]]]] = {}
        for r, row in enumerate(rows):
            for channel, x, e in row:
                if channel == "t":
                    explicit.append((r, e))
                elif channel in direct:
                    first, _, order = direct[channel]
                    g = found[r, first + x]
                    states.append((e, g, order))
                    self.orders[g, order] = True
                else:
                    for component, *columns in derived[channel].depends[x]:
                        g = found[r, component]
                        chained.setdefault(channel, []).append((e, g, tuple(columns)))
                        self.orders[g, :3] |= np.array(columns) >= 0
        from_states = FromStates(*np.array(states, np.int64).reshape(-1, 3).T.copy())
        self._explicit = np.array(explicit, np.int64).reshape(-1, 2)
        found_channels = [
            (
                FromChannel(
                    np.array([e for e, _, _ in items]),
                    np.array([g for _, g, _ in items]),
                    np.array([columns for _, _, columns in items]),
                ),
                *(derived[channel].dq, derived[channel].dv, derived[channel].da),
            )
            for channel, items in chained.items()
        ]
        self.partials = aligned(chunks, max(len(found), 1) * orders, WIDTH)
        self.explicit = aligned(chunks, len(rows), WIDTH)
        self.explicit[:] = 0.0
        main = found_channels[0] if found_channels else (_NOTHING, *(self.partials,) * 3)
        self._chain = Direct(kernels.chain, from_states, *main, orders, self.partials)
        self._others = found_channels[1:]
        self.timed = np.zeros(len(rows), bool)  # rows with the channel t
        self.timed[self._explicit[:, 0]] = True
        self.bent = np.array([any(c in derived for c, _, _ in row) for row in rows], bool)  # curved

    def update(self, given: Floats) -> None:
        """Compute the partials from those of the rows in channels, (chunks, columns, WIDTH)."""
        self._chain.run(given)
        for entries, dq, dv, da in self._others:
            kernels.chain_more(entries, given, dq, dv, da, self._width, self.partials)
        if len(self._explicit):
            self.explicit[:] = 0.0
            for r, e in self._explicit:
                self.explicit[:, r] += given[:, e] * self._fraction[:, 0]

    def components(self, row: int) -> list[int]:
        """Components that a row depends on."""
        start = self.groups.start
        return [int(j) for j in self.groups.component[start[row] : start[row + 1]]]

    def in_time(self, count: int) -> NDArray[np.bool_]:
        """(count,): whether a time derivative of a component acts on a row."""
        result = np.zeros(count, bool)
        result[self.groups.component[self.orders[:, 1:].any(axis=1)]] = True
        return result


def _acting(
    channel: str,
    component: int,
    derived: Mapping[str, ChannelPart],
    direct: Mapping[str, tuple[int, int, int]],
) -> list[int]:
    if channel == "t":
        return []
    if channel in direct:
        return [direct[channel][0] + component]
    return [j for j, *_ in derived[channel].depends[component]]
