"""Show the progress of a solve."""

from __future__ import annotations

from typing import TYPE_CHECKING

from predyn.solvers.live_table import LiveTable, Place, chosen_place

if TYPE_CHECKING:
    from predyn.solvers.ipopt_callbacks import Iterate

_TITLES = f"{'iteration':>9} {'objective':>15} {'violation':>9} {'step':>8} {'seconds':>8}  worst"


class Progress(LiveTable):
    """Pass it to a solver as `report`, and close it, preferably by `with`."""

    def __init__(self, place: Place, interval: float | None = None) -> None:
        super().__init__(_TITLES, place, interval)
        self._stage, self._announced = "", False

    def announce(self, stage: str) -> None:
        """Name the part of the solve that begins: a stage, a refinement."""
        self._stage, self._announced = stage, True

    def __call__(self, iterate: Iterate) -> None:
        stage, at_once, self._announced = self._stage, self._announced, False
        self.row(lambda: progress_line(iterate, stage), at_once)


def progress_of(verbose: bool | None) -> Progress | None:
    """The progress to show, if any; see live_table.chosen_place."""
    place = chosen_place(verbose)
    return None if place is None else Progress(place)


def progress_line(iterate: Iterate, stage: str = "") -> str:
    """One row of the table, without an end of line."""
    mark = "r" if iterate.restoration else " "
    more = ": ".join(text for text in (stage, iterate.worst) if text)
    return (
        f"{iterate.iteration:8d}{mark} {iterate.objective:15.8g} {iterate.violation:9.2e} "
        f"{iterate.step:8.1e} {iterate.elapsed:8.2f}  {more}"
    ).rstrip()
