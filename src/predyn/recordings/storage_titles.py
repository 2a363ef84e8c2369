"""What OpenSim's storage files contain that are not positions: speeds, controls, EMG and the like.

A column of speeds named like a coordinate cannot be told from positions by its numbers, so the
title of the file and the names of the columns decide.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

TITLES = {  # the last word of the title: what the file contains
    "speeds": "speeds",
    "velocities": "speeds",
    "accelerations": "accelerations",
    "controls": "controls",
    "excitations": "controls",
    "activations": "muscle activations",
    "moments": "joint moments",
    "torques": "joint moments",
    "powers": "powers",
    "reactions": "joint reactions",
    "errors": "errors of inverse kinematics",
}
WORDS = {"emg": "EMG", "generalized": "joint moments"}  # anywhere in the title
FILES = {  # how names that OpenSim's analyses give to files end
    "kinematics_u": "speeds",
    "kinematics_dudt": "accelerations",
    "kinematics_q": "",
}
MUSCLES = re.compile(
    r"(?:emg|semg|muscle)|"
    r"(?:^|[^a-z])(?:glut|gmax|gmed|gmin|glmax|glmed|glmin|bif(?:em|lh|sh)|bf(?:lh|sh)?(?=[^a-z]|$)|"
    r"semi(?:mem|ten)|hamstrings?|rect(?:_?fem)?(?=[^a-z]|$)|recfem|rf(?=[^a-z]|$)|vas(?:ti|med|lat|int)|"
    r"gas(?:troc|med|lat)?(?=[^a-z]|$)|med_gas|lat_gas|sol(?:eus)?(?=[^a-z]|$)|tib(?:ant|post|_ant|_post|ialis)|"
    r"per(?:brev|long|oneus)|iliopsoas|iliacus|psoas|add(?:brev|long|mag)|sar(?:torius)?(?=[^a-z]|$)|"
    r"tfl(?=[^a-z]|$)|ercspn|intobl|extobl|deltoid|biceps|triceps|brachialis|pectoralis)",
    re.IGNORECASE,
)
EFFORT = re.compile(r".*_(moment|force|torque)")
MUSCLE_STATE = re.compile(r".*([./](activation|fiber_length|excitation|normalized_tendon_force))")


def find_other_contents(title: str, names: Sequence[str]) -> str:
    """What the columns are if they are not positions, else ""; names without `time`."""
    pairs = {f"{name}_u" for name in names}  # states of old versions: coordinates and speeds
    if any(name.endswith("/value") or name in pairs for name in names):
        return ""
    lowered = title.lower()
    for end, what in FILES.items():
        if lowered.removesuffix(".sto").endswith(end):
            return what
    # "control_03_walk" and "slow_speed" are names of trials, "ModelControls" is not
    words = re.findall(r"[a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", title).lower())
    words = words[:-1] if words[-1:] in (["sto"], ["mot"]) else words
    for word in words:
        if word in WORDS:
            return WORDS[word]
    if words and words[-1] in TITLES:
        return TITLES[words[-1]]
    for what, share in (
        ("speeds", _share(names, lambda name: name.endswith(("/speed", "_u")))),
        ("accelerations", _share(names, lambda name: name.endswith(("/accel", "_dudt")))),
        ("joint moments", _share(names, lambda name: bool(EFFORT.fullmatch(name)))),
        ("muscle states", _share(names, lambda name: bool(MUSCLE_STATE.fullmatch(name)))),
        ("EMG, activations or controls of muscles",
         _share(names, lambda name: bool(MUSCLES.search(name)))),
    ):  # fmt: skip
        if share > 0.5:
            return what
    return ""


def _share(names: Sequence[str], matches: Callable[[str], bool]) -> float:
    return sum(map(matches, names)) / len(names) if names else 0.0
