"""People: models with 55 or 102 coordinates of any adult, built from published body data."""

from predyn.models.humans.boxes import human_with_box
from predyn.models.humans.building import human
from predyn.models.humans.dimensions import Dimensions, dimensions_of
from predyn.models.humans.locking import LOCK_GROUPS
from predyn.models.humans.mirroring import mirror_map
from predyn.models.humans.people import Person, height_and_mass

__all__ = [
    "LOCK_GROUPS",
    "Dimensions",
    "Person",
    "dimensions_of",
    "height_and_mass",
    "human",
    "human_with_box",
    "mirror_map",
]
