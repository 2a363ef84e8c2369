"""Safe reading of small XML files into elements that know their line.

A file is refused before it is interpreted if it is too large, is not UTF-8 or XML, has a document
type or entities, is nested too deep or has too many elements. Text between tags is dropped unless
the caller asks for it.
"""

from __future__ import annotations

import math
import os
import re
from dataclasses import dataclass, field
from typing import Any, NoReturn
from xml.parsers import expat

from predyn.errors import FileError, InputError
from predyn.model.parts import LARGEST
from predyn.storage.reading import read_at_most

MOST_BYTES = 32 * 2**20
MOST_DEPTH = 64
MOST_ELEMENTS = 20_000
LONGEST_TAG = 100_000  # characters from one "<" to the next
LONGEST_NAME = 200
LONGEST_NUMBER = 400  # the largest float has 309 digits if written in full
INFINITE = re.compile(r"[+-]?inf(inity)?", re.IGNORECASE)
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


@dataclass(eq=False, slots=True)
class Element:
    """A tag with its attributes, children and position in the file."""

    path: str
    tag: str
    attributes: dict[str, str]
    line: int
    children: list[Element] = field(default_factory=list)
    content: str = ""  # text between the tags

    def fail(self, message: str) -> NoReturn:
        """Raise a FileError that names the file, the line and this element."""
        name = self.attributes.get("name")
        shown = f"<{self.tag:.40}>" if name is None else f"<{self.tag:.40} name={name!r:.60}>"
        raise FileError(f"{self.path}, line {self.line}, {shown}: {message}")

    def all(self, tag: str) -> list[Element]:
        """The children with this tag."""
        return [child for child in self.children if child.tag == tag]

    def one(self, tag: str) -> Element | None:
        """The only child with this tag, or None; two are an error."""
        found = self.all(tag)
        if len(found) > 1:
            found[1].fail(f"given twice in <{self.tag}> in line {self.line}; expected one")
        return found[0] if found else None

    def need(self, tag: str) -> Element:
        """The only child with this tag, which is required."""
        found = self.one(tag)
        if found is None:
            self.fail(f"expected a <{tag}> inside, found none")
        return found

    def text(self, attribute: str) -> str:
        """An attribute that is required and must not be blank, such as a name."""
        value = self.attributes.get(attribute, "").strip()
        if not value:
            self.fail(f"expected the attribute {attribute!r}, got none or a blank one")
        if len(value) > LONGEST_NAME:
            self.fail(f"{attribute!r} has {len(value)} characters; expected at most {LONGEST_NAME}")
        return value

    def number(self, attribute: str, default: float | None = None) -> float:
        """A finite number; the default if the attribute is missing."""
        if attribute not in self.attributes and default is not None:
            return default
        (value,) = self.numbers(attribute, 1)
        return value

    def bound(self, attribute: str, default: float | None = None) -> float:
        """Like `number`, but may be infinite, as are numbers too large for a model."""
        word = self.attributes.get(attribute, "").strip()
        if len(word) <= LONGEST_NUMBER and (NUMBER.fullmatch(word) or INFINITE.fullmatch(word)):
            value = float(word)
            if abs(value) > LARGEST:
                return math.copysign(math.inf, value)
        return self.number(attribute, default)

    def numbers(self, attribute: str, count: int, default: Any = None) -> tuple[float, ...]:
        """`count` finite numbers separated by blanks."""
        if attribute not in self.attributes:
            if default is not None:
                return tuple(default)
            self.fail(f"expected the attribute {attribute!r} with {count} number(s), got none")
        words = self.attributes[attribute].split()
        if len(words) != count:
            got = self.attributes[attribute]
            self.fail(f"{attribute}={got!r:.60}: expected {count} number(s), got {len(words)}")
        return tuple(self._read_number(attribute, word) for word in words)

    def _read_number(self, attribute: str, word: str) -> float:
        value = float(word) if len(word) <= LONGEST_NUMBER and NUMBER.fullmatch(word) else math.nan
        if not abs(value) <= LARGEST:
            self.fail(
                f"{attribute}: expected a plain finite number of magnitude up to {LARGEST:g}, "
                f"got {word!r:.60}"
            )
        return value


def read_xml(
    path: str | os.PathLike[str],
    root: str,
    *,
    most_elements: int = MOST_ELEMENTS,
    keep_text: bool = False,
) -> Element:
    """The root element of a file, which must have the tag `root`; `keep_text` fills `content`."""
    try:
        name = os.fsdecode(path)
    except TypeError:
        raise InputError(f"expected the path of a file, got {type(path).__name__}") from None
    data = read_at_most(name, MOST_BYTES, "expected a text file without embedded meshes")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise FileError(f"{name}, line {line}: not UTF-8 text; save the file as UTF-8") from None
    del data
    if (start := _find_long_tag(text)) is not None:
        line = text.count("\n", 0, start) + 1
        raise FileError(
            f"{name}, line {line}: more than {LONGEST_TAG} characters without a new tag; expected "
            "a description of a model, not a data file"
        )
    top = _parse(name, text, most_elements, keep_text)
    if top.tag != root:
        top.fail(f"expected <{root}> as the outermost element")
    return top


def _find_long_tag(text: str) -> int | None:
    """Start of the first run of more than LONGEST_TAG characters without "<", if any."""
    at = 0
    while at + LONGEST_TAG < len(text):
        last = text.rfind("<", at + 1, at + LONGEST_TAG + 1)
        if last < 0:
            return at
        at = last
    return None


def _parse(name: str, text: str, most_elements: int, keep_text: bool) -> Element:
    parser = expat.ParserCreate("UTF-8")
    open_elements: list[Element] = []
    texts: list[list[str]] = []  # of the open elements
    top: list[Element] = []
    count = 0

    def refuse(message: str) -> NoReturn:
        raise FileError(f"{name}, line {parser.CurrentLineNumber}: {message}")

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal count
        count += 1
        if len(open_elements) >= MOST_DEPTH:
            refuse(f"elements nested more than {MOST_DEPTH} deep")
        if count > most_elements:
            refuse(f"more than {most_elements} elements")
        element = Element(name, tag, attributes, parser.CurrentLineNumber)
        (open_elements[-1].children if open_elements else top).append(element)
        open_elements.append(element)
        texts.append([])

    def end(tag: str) -> None:
        open_elements.pop().content = "".join(texts.pop())

    def text_inside(data: str) -> None:
        if texts and not data.isspace():
            texts[-1].append(data)

    def doctype(*_: Any) -> None:
        refuse("a document type or entities are not accepted; remove the <!DOCTYPE ...>")

    def declaration(version: str, encoding: str | None, standalone: int) -> None:
        if encoding is not None and encoding.lower() not in ("utf-8", "us-ascii", "ascii"):
            refuse(f"encoding {encoding!r:.40}: save the file as UTF-8")

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.StartDoctypeDeclHandler = doctype
    parser.EntityDeclHandler = doctype
    parser.XmlDeclHandler = declaration
    if keep_text:
        parser.buffer_text = True
        parser.CharacterDataHandler = text_inside
    try:
        parser.Parse(text, True)
    except expat.ExpatError as error:
        raise FileError(f"{name}, line {error.lineno}: not XML: "
                        f"{expat.ErrorString(error.code)}") from None  # fmt: skip
    return top[0]
