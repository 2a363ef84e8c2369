"""Mimic joints in URDF files: coupled, through chains, or refused by name."""

from __future__ import annotations

import numpy as np
import pytest

from load.test_urdf import INERTIAL, joint
from predyn.errors import FileError
from predyn.load.urdf import load_urdf
from predyn.model import Model


def hand(first: str = "", second: str = "", third: str = "", kinds=("revolute",) * 3) -> str:
    """Three joints in a row, a, b and c, with what is inside of them."""
    links = "".join(f'<link name="l{k}">{INERTIAL}</link>' for k in range(4))
    parts = (
        joint(inside, name, kind, f"l{k}", f"l{k + 1}")
        for k, (name, inside, kind) in enumerate(
            zip("abc", (first, second, third), kinds, strict=True)
        )
    )
    return f'<robot name="hand">{links}{"".join(parts)}</robot>'


def mimic(of: str, inside: str = "") -> str:
    return f'<mimic joint="{of}" {inside}/>'


@pytest.fixture
def load(tmp_path):
    def load(text: str) -> Model:
        path = tmp_path / "robot.urdf"
        path.write_text(text)
        return load_urdf(path)

    return load


def lines(model: Model) -> dict[str, tuple]:
    return {x.joint: (x.source, x.function.line) for x in model.couplings}


def test_multiplier_and_offset_and_their_defaults(load) -> None:
    model = load(hand("", mimic("a", 'multiplier="-2" offset="0.5"'), mimic("a")))
    assert model.joint_names == ("a",)
    assert lines(model) == {"b": ("a", (-2.0, 0.5)), "c": ("a", (1.0, 0.0))}


def test_a_chain_of_mimics_ends_at_an_independent_joint(load) -> None:
    """c = 3 b + 1 and b = 2 a - 1, in any order in the file; the source may come last."""
    model = load(hand("", mimic("a", 'multiplier="2" offset="-1"'),
                      mimic("b", 'multiplier="3" offset="1"')))  # fmt: skip
    assert lines(model)["c"] == ("a", (6.0, -2.0))
    model = load(hand(mimic("b", 'multiplier="2"'), mimic("c", 'offset="1"')))
    assert lines(model) == {"a": ("c", (2.0, 2.0)), "b": ("c", (1.0, 1.0))}
    assert model.joint_names == ("c",)


def test_a_fixed_joint_does_not_mimic(load) -> None:
    kinds = ("revolute", "fixed", "prismatic")
    model = load(hand("", mimic("nobody"), mimic("a", 'multiplier="0.1"'), kinds))
    assert lines(model) == {"c": ("a", (0.1, 0.0))}
    assert "joint 'b' is fixed: its <mimic> is ignored" in model.notes


def test_limits_of_the_follower_restrict_the_source(load) -> None:
    limit = '<limit lower="{}" upper="{}" velocity="1" effort="1"/>'
    given = hand(limit.format(-1, 1), mimic("a", 'multiplier="2"') + limit.format(0, 0.5))
    np.testing.assert_allclose(load(given).limits.position[0], [0.0, 0.25])


REFUSED = {
    "cycle": (hand(mimic("b"), mimic("a")), "mimic each other in a cycle: a -> b -> a"),
    "itself": (hand(mimic("a")), "in a cycle: a -> a"),
    "fixed": (
        hand("", mimic("a"), kinds=("fixed", "revolute", "revolute")),
        "joint 'a' is fixed: expected a joint with one axis",
    ),
    "floating source": (
        hand("", mimic("a"), kinds=("floating", "revolute", "revolute")),
        "joint 'a' is floating",
    ),
    "floating": (
        hand(mimic("b"), kinds=("floating", "revolute", "revolute")),
        "joint 'a' is floating, but only a joint with one axis can mimic",
    ),
    "number": (hand("", mimic("a", 'multiplier="fast"')), "multiplier: expected a plain finite"),
    "twice": (hand("", mimic("a") + mimic("c")), "<mimic>: given twice"),
    "too large": (
        hand("", mimic("a", 'multiplier="1e9"'), mimic("b", 'multiplier="1e9"')),
        "coupling of joint 'c'",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_by_name(load, case: str) -> None:
    text, message = REFUSED[case]
    with pytest.raises(FileError, match=message):
        load(text)
