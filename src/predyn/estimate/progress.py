"""Show the progress of an estimate."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from predyn.solvers.live_table import LiveTable, Place, chosen_place

Report = Callable[[int, float, float, str], None]

_TITLES = f"{'iteration':>9} {'value':>15} {'step':>8}"


class EstimateProgress(LiveTable):
    """Pass it to `estimate_torques` as `report`, and close it, preferably by `with`."""

    def __init__(self, place: Place) -> None:
        super().__init__(_TITLES, place)

    def __call__(self, iteration: int, value: float, step: float, text: str) -> None:
        self.row(lambda: f"{iteration:9d} {value:15.8g} {step:8.1e}  {text}")


@contextmanager
def shown_progress(verbose: bool | None, report: Report | None) -> Iterator[Report | None]:
    """A report that also shows progress. If verbose is None, one that is given suffices."""
    place = chosen_place(False if verbose is None and report is not None else verbose)
    if place is None:
        yield report
        return
    with EstimateProgress(place) as progress:

        def both(iteration: int, value: float, step: float, text: str) -> None:
            progress(iteration, value, step, text)
            if report is not None:
                report(iteration, value, step, text)

        yield both
