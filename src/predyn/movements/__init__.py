"""Movements of people as problems, from a few numbers; postures that a lift runs through."""

from predyn.movements.lift_problem import human_lift_box
from predyn.movements.lifting import lift_guess, lift_heights, lift_postures
from predyn.movements.postures import Balance, Held, Posture, find_posture
from predyn.movements.standing import human_sit_to_stand
from predyn.movements.walking import human_walk

__all__ = [
    "Balance",
    "Held",
    "Posture",
    "find_posture",
    "human_lift_box",
    "human_sit_to_stand",
    "human_walk",
    "lift_guess",
    "lift_heights",
    "lift_postures",
]
