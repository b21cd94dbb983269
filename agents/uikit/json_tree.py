"""Read a JSON value as a tree, one branch at a time: of each branch only its own members are decoded, so that
ten megabytes open as quickly as ten lines.

A path leads to a branch, member by member; the contents of other members are skipped, not decoded. The
text is hostile, and may be no JSON at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import msgspec
from django.utils.safestring import SafeString

from agents.uikit import json_view

MAX_BYTES = 32 * 1024 * 1024
"""A larger value is shown as text."""
PAGE_SIZE = 200
"""Members of a branch on one page."""
MAX_LEAF_CHARS = 300
"""Characters shown of a string or number."""

Path = tuple[int, ...]
"""The index of each member on the way to a branch."""

_PATH = re.compile(r"(\d{1,9}(\.\d{1,9}){0,199})?")
_members = msgspec.json.Decoder(dict[str, msgspec.Raw])
_items = msgspec.json.Decoder(list[msgspec.Raw])


@dataclass(frozen=True, slots=True)
class TreeMember:
    """A member of a branch. ``path`` leads to it where it can be opened; ``pointer`` is its JSON pointer; ``cut``
    the full size where it is shown in part."""

    name: str
    kind: str
    html: SafeString
    path: str
    pointer: str
    cut: str


@dataclass(frozen=True, slots=True)
class TreeBranch:
    """One page of the members of a value, from number ``first`` on, of ``total``. ``trail`` has the enclosing
    branches from the outermost on, each with its name and path."""

    members: tuple[TreeMember, ...]
    first: int
    total: int
    path: str
    trail: tuple[tuple[str, str], ...]

    @property
    def next_first(self) -> int:
        """The first member of the next page; 0 where there is none."""
        return self.first + PAGE_SIZE if self.first + PAGE_SIZE < self.total else 0

    @property
    def previous_first(self) -> int:
        """The first member of the previous page."""
        return max(self.first - PAGE_SIZE, 0)

    @property
    def last(self) -> int:
        """The number of the last member on the page, counted from 1."""
        return self.first + len(self.members)


def read_path(text: str) -> Path | None:
    """Parse a path such as ``3.0.12``; None if it is not one."""
    return tuple(map(int, filter(None, text.split(".")))) if _PATH.fullmatch(text) else None


def branch(body: bytes, path: Path, first: int = 0) -> TreeBranch | None:
    """A branch of a value; None if it does not exist, or the value is not JSON."""
    try:
        return _branch(body, path, first)
    except (msgspec.DecodeError, RecursionError):
        return None


def _branch(body: bytes, path: Path, first: int) -> TreeBranch | None:
    raw, trail = msgspec.Raw(body), list[tuple[str, str]]()
    for depth, index in enumerate(path):
        child = _child(raw, index)
        if child is None:
            return None
        name, raw = child
        trail.append((name, ".".join(map(str, path[: depth + 1]))))
    children = _children(raw)
    if children is None:
        return None
    pointer = "".join(f"/{_escape_pointer(name)}" for name, _path in trail)
    members = list(children)
    page = (
        _member(name, value, (*path, index), pointer)
        for index, (name, value) in enumerate(members[first : first + PAGE_SIZE], first)
    )
    return TreeBranch(tuple(page), first, len(members), ".".join(map(str, path)), tuple(trail))


def value_at(body: bytes, path: Path) -> bytes | None:
    """The JSON text of a member; None if it does not exist."""
    try:
        raw = msgspec.Raw(body)
        for index in path:
            child = _child(raw, index)
            if child is None:
                return None
            raw = child[1]
        return bytes(raw).strip()
    except (msgspec.DecodeError, RecursionError):
        return None


def _child(raw: msgspec.Raw, index: int) -> tuple[str, msgspec.Raw] | None:
    children = _children(raw)
    return next(islice(children, index, None), None) if children is not None else None


def _children(raw: msgspec.Raw) -> Iterator[tuple[str, msgspec.Raw]] | None:
    """The members of an object or a list; None for any other value."""
    match bytes(memoryview(raw)[:64]).lstrip()[:1]:
        case b"{":
            return iter(_members.decode(raw).items())
        case b"[":
            return ((str(index), value) for index, value in enumerate(_items.decode(raw)))
        case _:
            return None


def _member(name: str, raw: msgspec.Raw, path: Path, pointer: str) -> TreeMember:
    text, own_pointer = memoryview(raw), f"{pointer}/{_escape_pointer(name)}"
    start = bytes(text[: MAX_LEAF_CHARS * 4]).decode(errors="ignore").strip()
    if start[:1] in {"{", "["}:
        size = json_view.byte_size(len(text))
        end = "…" if len(text) > 80 else ""
        beginning = json_view.highlight_json(f"{start[:80]}{end}")
        opens = ".".join(map(str, path)) if start.strip("{}[] \n") else ""
        return TreeMember(name, "branch" if opens else "leaf", beginning, opens, own_pointer, size if opens else "")
    cut = json_view.byte_size(len(text)) if len(text) > MAX_LEAF_CHARS * 4 or len(start) > MAX_LEAF_CHARS else ""
    return TreeMember(name, "leaf", json_view.highlight_json(start[:MAX_LEAF_CHARS]), "", own_pointer, cut)


def _escape_pointer(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


def looks_like_json(start: bytes) -> bool:
    """Whether a text with this beginning may be an object or a list."""
    return start.lstrip()[:1] in {b"{", b"["}
