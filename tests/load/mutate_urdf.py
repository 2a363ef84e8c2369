"""Structure-aware mutation of URDF text: tags stay balanced, their contents change."""

import copy
import random
import xml.etree.ElementTree as ET
from collections.abc import Iterator

NUMBERS = ("0", "-1", "nan", "inf", "-inf", "1e308", "-1e308", "1e-308", "1e12", "1e-12", "5e-324",
           "", " ", "text", "1_0", "0x10", "1,5", "+.5", "1e999", "٣", "9" * 400)  # fmt: skip
TYPES = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar", "ball", "", "Fixed")
TAGS = ("link", "joint", "inertial", "mass", "limit", "mimic", "axis", "origin", "gazebo", "robot")


def mutants(bases: list[str], count: int, seed: int) -> Iterator[str]:
    """`count` mutated files, each with one to four changes; equal seeds give equal files."""
    rng = random.Random(seed)
    trees = [ET.fromstring(base) for base in bases]
    for _ in range(count):
        root = copy.deepcopy(rng.choice(trees))
        for _ in range(rng.choice((1, 1, 1, 2, 3, 4))):
            rng.choice(CHANGES)(root, rng)
        yield ET.tostring(root, encoding="unicode")


def pick(root: ET.Element, rng: random.Random) -> tuple[ET.Element, ET.Element]:
    """An element below the root, and its parent."""
    pairs = [(child, parent) for parent in root.iter() for child in parent]
    return rng.choice(pairs) if pairs else (root, ET.Element("gone"))


def delete_element(root: ET.Element, rng: random.Random) -> None:
    child, parent = pick(root, rng)
    if child in list(parent):
        parent.remove(child)


def duplicate_element(root: ET.Element, rng: random.Random) -> None:
    child, parent = pick(root, rng)
    parent.insert(rng.randrange(len(parent) + 1), copy.deepcopy(child))


def move_element(root: ET.Element, rng: random.Random) -> None:
    child, parent = pick(root, rng)
    inside = set(child.iter())
    target = rng.choice([element for element in root.iter() if element not in inside] or [root])
    if child in list(parent):
        parent.remove(child)
        target.append(child)


def rename_element(root: ET.Element, rng: random.Random) -> None:
    pick(root, rng)[0].tag = rng.choice(TAGS)


def shuffle_elements(root: ET.Element, rng: random.Random) -> None:
    element = rng.choice(list(root.iter()))
    children = list(element)
    rng.shuffle(children)
    element[:] = children


def attribute(root: ET.Element, rng: random.Random) -> tuple[ET.Element, str]:
    pairs = [(element, name) for element in root.iter() for name in element.attrib]
    return rng.choice(pairs) if pairs else (root, "name")


def delete_attribute(root: ET.Element, rng: random.Random) -> None:
    element, name = attribute(root, rng)
    element.attrib.pop(name, None)


def rename_attribute(root: ET.Element, rng: random.Random) -> None:
    element, name = attribute(root, rng)
    other = rng.choice(("name", "link", "xyz", "value", "lower", name.upper(), name + "x"))
    element.set(other, element.attrib.pop(name, ""))


def swap_attributes(root: ET.Element, rng: random.Random) -> None:
    (one, a), (two, b) = attribute(root, rng), attribute(root, rng)
    first, second = one.get(a, ""), two.get(b, "")
    one.set(a, second)
    two.set(b, first)


def change_number(root: ET.Element, rng: random.Random) -> None:
    """Replace one number of an attribute, by something nasty or by itself scaled."""
    pairs = [
        (element, name)
        for element in root.iter()
        for name, value in element.attrib.items()
        if value.strip()[:1] in set("0123456789-+.")
    ]
    if not pairs:
        return
    element, name = rng.choice(pairs)
    words = element.get(name, "").split()
    place = rng.randrange(len(words))
    if rng.random() < 0.6:
        words[place] = rng.choice(NUMBERS)
    else:
        try:
            words[place] = repr(float(words[place]) * 10.0 ** rng.randint(-9, 9))
        except ValueError:
            words.append("0")
    element.set(name, " ".join(words))


def reparent_joint(root: ET.Element, rng: random.Random) -> None:
    ends = [element for element in root.iter() if element.tag in ("parent", "child")]
    links = [element.get("name", "") for element in root.iter("link")]
    if ends and links:
        rng.choice(ends).set("link", rng.choice([*links, "nowhere"]))


def change_type(root: ET.Element, rng: random.Random) -> None:
    joints = list(root.iter("joint"))
    if joints:
        rng.choice(joints).set("type", rng.choice(TYPES))


def rename_thing(root: ET.Element, rng: random.Random) -> None:
    named = [element for element in root.iter() if "name" in element.attrib]
    if named:
        names = [element.get("name", "") for element in named]
        rng.choice(named).set("name", rng.choice([*names, "world", "", "x" * 300, "é"]))


CHANGES = (delete_element, duplicate_element, move_element, rename_element, shuffle_elements,
           delete_attribute, rename_attribute, swap_attributes, change_number, change_number,
           change_number, reparent_joint, change_type, change_type, rename_thing)  # fmt: skip
