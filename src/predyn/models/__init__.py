"""Ready-made models, each a function that returns a new Model.

People and their tables are loaded on first use.
"""

from typing import TYPE_CHECKING, Any

from predyn.models.acrobots import acrobot, branched_acrobot
from predyn.models.arms import seven_axis_arm, six_axis_arm
from predyn.models.cart_poles import cart_pole
from predyn.models.chains import pendulum_chain
from predyn.models.gymnasts import gymnast
from predyn.models.manutec import manutec_r3
from predyn.models.planar_walkers import planar_walker
from predyn.models.trees import random_tree
from predyn.models.trujillo import trujillo_two_link
from predyn.models.two_links import prismatic_revolute, two_link

if TYPE_CHECKING:
    from predyn.models.humans import human as human
    from predyn.models.humans import human_with_box as human_with_box

__all__ = [
    "acrobot",
    "branched_acrobot",
    "cart_pole",
    "gymnast",
    "human",
    "human_with_box",
    "manutec_r3",
    "pendulum_chain",
    "planar_walker",
    "prismatic_revolute",
    "random_tree",
    "seven_axis_arm",
    "six_axis_arm",
    "trujillo_two_link",
    "two_link",
]


def __getattr__(name: str) -> Any:
    if name in ("human", "human_with_box"):
        from predyn.models import humans

        return getattr(humans, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
