"""COLLADA files (DAE) before they are read: checked, and reduced to their geometry.

A file may place a part many times, and parts within parts: a few lines can stand for billions of
triangles, so the size with all copies is computed first. Materials are removed, since the reader
drops a part if one of its materials is missing.
"""

from __future__ import annotations

import math
import re
from xml.etree import ElementTree

from predyn.errors import FileError

MOST_TAGS = 500_000
PART = 10_000  # what placing a part costs at least, in characters of data
MOST_EXPANDED = 2**28  # characters of data after all copies are made
OPEN = -1
LETTER = re.compile("[a-df-z]", re.IGNORECASE)  # in a list of numbers
UNUSED = ("library_images", "library_materials", "library_effects", "library_cameras",
          "library_lights", "library_animations", "bind_material", "instance_camera",
          "instance_light", "extra")  # fmt: skip


def geometry_of(data: bytes) -> tuple[bytes, float]:
    """The file without materials, and metres per unit of length; a FileError if it is not safe."""
    if data.startswith(b"PK"):
        raise FileError("a compressed archive; expected COLLADA text")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise FileError("not UTF-8 text; save the file as UTF-8") from None
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise FileError("a document type or entities are not accepted")
    if text.count("<") > MOST_TAGS:
        raise FileError(f"more than {MOST_TAGS} tags")
    try:
        root = ElementTree.fromstring(text)
    except (ElementTree.ParseError, ValueError) as error:
        raise FileError(f"not XML: {error!s:.80}") from None
    if _tag(root) != "COLLADA":
        raise FileError(f"expected <COLLADA> as the outermost element, got <{_tag(root):.40}>")
    _check_size(root)
    _check_points(root)
    _remove_materials(root)
    return ElementTree.tostring(root, encoding="utf-8"), _read_unit(root)


def _tag(element: ElementTree.Element) -> str:
    return element.tag.rpartition("}")[2]


def _read_unit(root: ElementTree.Element) -> float:
    for element in root.iterfind("{*}asset/{*}unit"):
        word = element.get("meter", "1")
        try:
            unit = float(word)
        except ValueError:
            unit = math.nan
        if not 1e-9 <= unit <= 1e9:
            raise FileError(f"unit: expected metres per unit, got {word!r:.40}")
        return unit
    return 1.0


def _check_points(root: ElementTree.Element) -> None:
    """Refuse points that are not finite; the reader would set them to 0."""
    inputs = root.iterfind(".//{*}vertices/{*}input[@semantic='POSITION']")
    names = {(item.get("source") or "").removeprefix("#") for item in inputs}
    for source in root.iterfind(".//{*}source[@id]"):
        for array in source.iterfind("{*}float_array"):
            if source.get("id") in names and LETTER.search(array.text or ""):
                raise FileError("points that are not finite numbers")


def _remove_materials(root: ElementTree.Element) -> None:
    for parent in root.iter():
        for child in [child for child in parent if _tag(child) in UNUSED]:
            parent.remove(child)


def _check_size(root: ElementTree.Element) -> None:
    """Refuse a file that becomes too large when every part is placed where it is referred to."""
    by_id = {element.get("id"): element for element in root.iter() if element.get("id")}
    sizes: dict[int, int] = {}

    def size(element: ElementTree.Element) -> int:
        known = sizes.get(id(element))
        if known == OPEN:
            raise FileError(f"part {element.get('id')!r:.60} contains itself")
        if known is not None:
            return known
        sizes[id(element)] = OPEN
        total = len(element.text or "") if _tag(element) == "p" else 0
        for child in element:
            total += size(child)
        if _tag(element).startswith("instance_"):
            total += PART
            target = by_id.get((element.get("url") or "").removeprefix("#"))
            total += size(target) if target is not None else 0
        sizes[id(element)] = total
        return total

    try:
        if size(root) > MOST_EXPANDED:
            raise FileError("too large with all copies of its parts")
    except RecursionError:
        raise FileError("elements are nested too deep") from None
