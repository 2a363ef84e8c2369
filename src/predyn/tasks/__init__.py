"""Task files that come with predyn."""

from pathlib import Path

FOLDER = Path(__file__).parent
NAMES = (
    "two-link-time-optimal",
    "two-link-lifting",
    "two-link-pick-place",
    "prismatic-revolute",
    "arm-2r-min-effort",
    "manutec-min-time",
    "manutec-min-energy",
    "arm6-pick",
    "robot-stud-welding",
    "robot-pick-place-shelf",
    "acrobot-swingup",
    "acrobot-swingup-far",
    "branched-acrobot-swingup",
    "cart-pole-swingup",
    "gymnast-swing",
    "planar-walker",
    "human-walk",
    "human-walk-published",
    "human-sit-to-stand",
    "human-lift-box",
    "quadruped-stand-up",
)


def path_of(name: str) -> Path:
    """The file of a task by name."""
    return FOLDER / f"{name}.toml"
