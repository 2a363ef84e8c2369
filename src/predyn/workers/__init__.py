"""Jobs in other processes: on this machine, or on a cluster. Knows nothing of motions."""

from predyn.workers.dask_workers import DaskWorkers
from predyn.workers.events import (
    Done,
    Event,
    Failed,
    Joined,
    Lost,
    NoWorkers,
    Refused,
    Unsendable,
)
from predyn.workers.local_workers import LocalWorkers

__all__ = [
    "DaskWorkers",
    "Done",
    "Event",
    "Failed",
    "Joined",
    "LocalWorkers",
    "Lost",
    "NoWorkers",
    "Refused",
    "Unsendable",
]
