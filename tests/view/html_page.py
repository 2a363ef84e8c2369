"""A page as read by tests: whether it is well-formed, its text, its data, its resources."""

import json
import re
from html.parser import HTMLParser

VOID = {"meta", "link", "input", "br", "rect", "circle", "path", "line"}


class Page(HTMLParser):
    """Checks nesting; keeps attributes, text outside scripts, and the embedded data."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.words: list[str] = []
        self.scripts: list[str] = []
        self.feed(html)
        self.close()
        assert not self.open
        self.text = " ".join(self.words)
        self.data = json.loads(self.scripts[0])

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes += [(tag, key, value or "") for key, value in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes += [(tag, key, value or "") for key, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script":
            self.scripts.append(data)
        elif self.open and self.open[-1] != "style":
            self.words.append(data)


def assert_self_contained(html: str) -> None:
    """Nothing is loaded, nothing foreign may run, nothing of the template is left."""
    page = Page(html)
    loading = [
        (tag, key, value)
        for tag, key, value in page.attributes
        if key in ("src", "href", "srcset", "action", "data", "poster") and value[:1] != "#"
    ]
    assert loading == [("link", "href", "data:,")]
    assert len(page.scripts) == 2
    addresses = set(re.findall(r"https?://[^\"'` ]*", html))
    names = {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xhtml"}
    assert addresses <= names  # never fetched
    for way in ("@import", "url(", "fetch(", "XMLHttpRequest", "WebSocket", "new Worker"):
        assert way not in html
    policy = next(v for tag, key, v in page.attributes if "default-src" in v)
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "{{" not in html.replace(page.scripts[1], "")
