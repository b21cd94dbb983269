"""Reads a page as a browser would, and names what must not be in it."""

from __future__ import annotations

from html.parser import HTMLParser

VOID = frozenset({"base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "wbr"})


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.open: list[str] = []
        self.words: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open, f"</{tag}> without a beginning"
            assert self.open.pop() == tag, f"</{tag}> closes something else"

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def _read(page: str) -> _Reader:
    reader = _Reader()
    reader.feed(page)
    reader.close()
    return reader


def elements(page: str, tag: str = "") -> list[dict[str, str]]:
    """The attributes of the page's elements of that name, of all without one."""
    return [attributes for name, attributes in _read(page).elements if tag in ("", name)]


def words(page: str) -> str:
    """What is read on the page, blanks folded."""
    return " ".join(" ".join(_read(page).words).split())


def unsafe(page: str) -> list[str]:
    """What a strict policy would refuse, or hostile text could have made: scripts and styles in the
    page, handlers, images from elsewhere, links of a kind that runs, elements left open."""
    reader = _read(page)
    found = [f"<{tag}> left open" for tag in reader.open]
    for tag, attributes in reader.elements:
        if tag == "style" or (tag == "script" and not attributes.get("src", "").startswith("/static/")):
            found.append(f"<{tag}>")
        found += [f"{tag} {name}" for name in attributes if name.startswith("on") or name == "style"]
        if tag == "img" and not attributes.get("src", "").startswith(("data:image/", "/static/")):
            found.append(f"img {attributes.get('src')}")
        if attributes.get("href", "").strip().lower().startswith(("javascript:", "data:", "vbscript:")):
            found.append(f"{tag} {attributes['href']}")
        if tag in {"iframe", "object", "embed", "base"}:
            found.append(f"<{tag}>")
    return found
