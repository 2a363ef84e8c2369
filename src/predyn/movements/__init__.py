"""Movements of people as problems, from a few numbers."""

from predyn.movements.standing import human_sit_to_stand
from predyn.movements.walking import human_walk

__all__ = ["human_sit_to_stand", "human_walk"]
