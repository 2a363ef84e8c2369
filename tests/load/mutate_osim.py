"""Structure-aware mutation of OpenSim models: tags stay balanced, texts and structure change."""

import copy
import random
import xml.etree.ElementTree as ET
from collections.abc import Iterator

from load.mutate_urdf import (
    NUMBERS,
    delete_element,
    duplicate_element,
    move_element,
    rename_thing,
    shuffle_elements,
)

TAGS = ("Body", "PinJoint", "WeldJoint", "FreeJoint", "BallJoint", "CustomJoint", "Coordinate",
        "SimmSpline", "Constant", "LinearFunction", "PolynomialFunction", "MultiplierFunction",
        "TransformAxis", "objects", "function", "range", "frames")  # fmt: skip


def mutants(bases: list[str], count: int, seed: int) -> Iterator[str]:
    """`count` mutated files, each with one to four changes; equal seeds give equal files."""
    rng = random.Random(seed)
    trees = [ET.fromstring(base) for base in bases]
    for _ in range(count):
        root = copy.deepcopy(rng.choice(trees))
        for _ in range(rng.choice((1, 1, 1, 2, 3, 4))):
            rng.choice(CHANGES)(root, rng)
        yield ET.tostring(root, encoding="unicode")


def with_text(root: ET.Element) -> list[ET.Element]:
    return [element for element in root.iter() if (element.text or "").strip()] or [root]


def change_word(root: ET.Element, rng: random.Random) -> None:
    """Replace a word by something nasty, or scale a number."""
    element = rng.choice(with_text(root))
    words = (element.text or "").split() or [""]
    place = rng.randrange(len(words))
    try:
        scaled = repr(float(words[place]) * 10.0 ** rng.randint(-9, 9))
    except ValueError:
        scaled = words[place] + "x"
    words[place] = rng.choice((*NUMBERS, scaled, scaled, scaled))
    element.text = " ".join(words)


def change_count(root: ET.Element, rng: random.Random) -> None:
    """Drop or repeat a word."""
    element = rng.choice(with_text(root))
    words = (element.text or "").split()
    element.text = " ".join(words[:-1] if rng.random() < 0.5 else words + words[-1:])


def swap_texts(root: ET.Element, rng: random.Random) -> None:
    one, two = rng.choice(with_text(root)), rng.choice(with_text(root))
    one.text, two.text = two.text, one.text


def rename_element(root: ET.Element, rng: random.Random) -> None:
    rng.choice(list(root.iter())[1:]).tag = rng.choice(TAGS)


CHANGES = (delete_element, duplicate_element, move_element, shuffle_elements, rename_thing,
           rename_element, change_word, change_word, change_word, change_count, swap_texts,
           swap_texts)  # fmt: skip
