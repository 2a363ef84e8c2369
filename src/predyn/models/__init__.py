"""Ready-made models, each a function that returns a new Model.

`human` and its tables are loaded on first use.
"""

from typing import TYPE_CHECKING, Any

from predyn.models.acrobots import acrobot, branched_acrobot
from predyn.models.cart_poles import cart_pole
from predyn.models.chains import pendulum_chain
from predyn.models.gymnasts import gymnast
from predyn.models.manutec import manutec_r3
from predyn.models.planar_walkers import planar_walker
from predyn.models.trees import random_tree
from predyn.models.trujillo import trujillo_two_link
from predyn.models.two_links import prismatic_revolute, two_link

if TYPE_CHECKING:
    from predyn.models.humans.building import human as human

__all__ = [
    "acrobot",
    "branched_acrobot",
    "cart_pole",
    "gymnast",
    "human",
    "manutec_r3",
    "pendulum_chain",
    "planar_walker",
    "prismatic_revolute",
    "random_tree",
    "trujillo_two_link",
    "two_link",
]


def __getattr__(name: str) -> Any:
    if name == "human":
        from predyn.models.humans.building import human

        return human
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
