"""A JSON value as a tree that is opened branch by branch: of each only its own members are read, so that
ten megabytes open as quickly as ten lines.

A branch is found by its path, member by member; what lies inside of others is skipped, not decoded. The
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

LARGEST = 32 * 1024 * 1024
"""Bytes of a value that is read as a tree."""
MEMBERS = 200
"""Members of a branch shown at a time."""
LEAF = 300
"""Characters shown of a text or number."""

Path = tuple[int, ...]
"""The places of the members on the way to a branch."""

_PATH = re.compile(r"(\d{1,9}(\.\d{1,9}){0,199})?")
_members = msgspec.json.Decoder(dict[str, msgspec.Raw])
_items = msgspec.json.Decoder(list[msgspec.Raw])


@dataclass(frozen=True, slots=True)
class Member:
    """``path`` leads to it where it can be opened; ``pointer`` is its JSON pointer; ``cut`` the size of a
    leaf that is shown in part."""

    name: str
    kind: str
    html: SafeString
    path: str
    pointer: str
    cut: str


@dataclass(frozen=True, slots=True)
class Branch:
    """``first`` numbers the members shown, ``total`` counts all; ``trail`` are the branches around it, from
    the outermost, each with its name and path."""

    members: tuple[Member, ...]
    first: int
    total: int
    path: str
    trail: tuple[tuple[str, str], ...]

    @property
    def behind(self) -> int:
        """The first member of the next page; 0 where there is none."""
        return self.first + MEMBERS if self.first + MEMBERS < self.total else 0

    @property
    def before(self) -> int:
        """The first member of the page before."""
        return max(self.first - MEMBERS, 0)

    @property
    def last(self) -> int:
        """How many members there are up to the last one shown."""
        return self.first + len(self.members)


def read_path(text: str) -> Path | None:
    """``3.0.12``; None for what is no path."""
    return tuple(map(int, filter(None, text.split(".")))) if _PATH.fullmatch(text) else None


def branch(body: bytes, path: Path, first: int = 0) -> Branch | None:
    """A branch of a value; None where there is none, or the value is no JSON."""
    try:
        return _branch(body, path, first)
    except (msgspec.DecodeError, RecursionError):
        return None


def _branch(body: bytes, path: Path, first: int) -> Branch | None:
    raw, trail = msgspec.Raw(body), list[tuple[str, str]]()
    for depth, place in enumerate(path):
        found = _child(raw, place)
        if found is None:
            return None
        name, raw = found
        trail.append((name, ".".join(map(str, path[: depth + 1]))))
    inside = _inside(raw)
    if inside is None:
        return None
    pointer = "".join(f"/{_escaped(name)}" for name, _path in trail)
    every = list(inside)
    shown = (
        _member(name, value, (*path, place), pointer)
        for place, (name, value) in enumerate(every[first : first + MEMBERS], first)
    )
    return Branch(tuple(shown), first, len(every), ".".join(map(str, path)), tuple(trail))


def value_at(body: bytes, path: Path) -> bytes | None:
    """The JSON text of a member; None where there is none."""
    try:
        raw = msgspec.Raw(body)
        for place in path:
            found = _child(raw, place)
            if found is None:
                return None
            raw = found[1]
        return bytes(raw).strip()
    except (msgspec.DecodeError, RecursionError):
        return None


def _child(raw: msgspec.Raw, place: int) -> tuple[str, msgspec.Raw] | None:
    inside = _inside(raw)
    return next(islice(inside, place, None), None) if inside is not None else None


def _inside(raw: msgspec.Raw) -> Iterator[tuple[str, msgspec.Raw]] | None:
    """The members of an object or a list; None for what has none."""
    match bytes(memoryview(raw)[:64]).lstrip()[:1]:
        case b"{":
            return iter(_members.decode(raw).items())
        case b"[":
            return ((str(place), value) for place, value in enumerate(_items.decode(raw)))
        case _:
            return None


def _member(name: str, raw: msgspec.Raw, path: Path, pointer: str) -> Member:
    text, here = memoryview(raw), f"{pointer}/{_escaped(name)}"
    start = bytes(text[: LEAF * 4]).decode(errors="ignore").strip()
    if start[:1] in {"{", "["}:
        size = json_view.size(len(text))
        end = "…" if len(text) > 80 else ""
        beginning = json_view.coloured(f"{start[:80]}{end}")
        opens = ".".join(map(str, path)) if start.strip("{}[] \n") else ""
        return Member(name, "branch" if opens else "leaf", beginning, opens, here, size if opens else "")
    cut = json_view.size(len(text)) if len(text) > LEAF * 4 or len(start) > LEAF else ""
    return Member(name, "leaf", json_view.coloured(start[:LEAF]), "", here, cut)


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


def looks_like_json(start: bytes) -> bool:
    """Whether a text that begins so may be an object or a list."""
    return start.lstrip()[:1] in {b"{", b"["}
