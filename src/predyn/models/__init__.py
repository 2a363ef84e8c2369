"""Ready-made models, each a function that returns a new Model."""

from predyn.models.acrobots import acrobot, branched_acrobot
from predyn.models.cart_poles import cart_pole
from predyn.models.chains import pendulum_chain
from predyn.models.gymnasts import gymnast
from predyn.models.manutec import manutec_r3
from predyn.models.trees import random_tree
from predyn.models.trujillo import trujillo_two_link
from predyn.models.two_links import prismatic_revolute, two_link

__all__ = [
    "acrobot",
    "branched_acrobot",
    "cart_pole",
    "gymnast",
    "manutec_r3",
    "pendulum_chain",
    "prismatic_revolute",
    "random_tree",
    "trujillo_two_link",
    "two_link",
]
