"""Jobs in other processes: on this machine, or on a cluster. Knows nothing of motions.

DaskWorkers is imported from its own module: most runs do not need what it loads.
"""

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
