"""Bad input: bodies that are no JSON, values of wrong types, hostile text. For every writable route.

Each entry is something that has broken a server of this kind somewhere; names say what it is.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

DEEP = 100_000

NO_JSON: dict[str, bytes] = {
    "truncated object": b'{"a":',
    "truncated text": b'{"a":"b',
    "lone brace": b"{",
    "blank": b" ",
    "not a word of JSON": b"hello",
    "python": b"{'a': None}",
    "comment": b'{"a": 1 /* one */}',
    "trailing comma": b'{"a": 1,}',
    "two documents": b"{}{}",
    "trailing junk": b"{} x",
    "NUL": b"\x00",
    "raw NUL in a text": b'{"a":"\x00"}',
    "raw control character": b'{"a":"\x1b"}',
    "raw line break in a text": b'{"a":"\n"}',
    "bad UTF-8": b'{"a":"\xff\xfe"}',
    "overlong UTF-8": b'{"a":"\xc0\xaf"}',
    "UTF-8 surrogate": b'{"a":"\xed\xa0\x80"}',
    "UTF-8 cut": b'{"a":"\xe2\x82"}',
    "UTF-8 with BOM": b'\xef\xbb\xbf{"a":1}',
    "UTF-16": '{"a":1}'.encode("utf-16"),
    "UTF-16 without BOM": '{"a":1}'.encode("utf-16-le"),
    "UTF-32": '{"a":1}'.encode("utf-32"),
    "gzip": b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03",
    "lone high surrogate": b'{"a":"\\ud800"}',
    "lone low surrogate": b'{"a":"\\udc00 x"}',
    "surrogates in the wrong order": b'{"a":"\\udc00\\ud800"}',
    "lone surrogate in a key": b'{"\\ud800":1}',
    "bad escape": b'{"a":"\\x41"}',
    "NaN": b'{"a":NaN}',
    "Infinity": b'{"a":Infinity}',
    "minus Infinity": b'{"a":-Infinity}',
    "1e400": b'{"a":1e400}',
    "minus 1e400": b'{"a":-1e400}',
    "1e400 deep inside": b'{"a":[{"b":[1e400]}]}',
    "leading zero": b'{"a":01}',
    "hexadecimal": b'{"a":0x1}',
    "bare point": b'{"a":.5}',
    "2**64": b'{"a":18446744073709551616}',
    "-2**63 - 1": b'{"a":-9223372036854775809}',
    "2**64 deep inside": b'{"a":[{"b":[18446744073709551616]}]}',
    "40 digits": b'{"a":' + b"9" * 40 + b"}",
    "5,000 digits": b'{"a":' + b"9" * 5_000 + b"}",
    "100,000 digits": b'{"a":' + b"9" * 100_000 + b"}",
    "deep lists": b'{"a":' + b"[" * DEEP + b"]" * DEEP + b"}",
    "deep open lists": b"[" * DEEP,
    "deep objects": b'{"a":' * DEEP + b"1" + b"}" * DEEP,
    "deep open objects": b'{"a":' * DEEP,
    "65 lists": b'{"a":' + b"[" * 65 + b"]" * 65 + b"}",
    "null": b"null",
    "list": b"[]",
    "list of objects": b"[{}]",
    "text": b'"text"',
    "number": b"1",
    "true": b"true",
}
"""Refused as a whole on every route, before any field is looked at."""

WRONG: list[Any] = [
    None,
    True,
    -1,
    1.5,
    2**63,
    1e308,
    "",
    "text",
    [],
    [None],
    {"": None},
    {"type": "nothing"},
    {"__proto__": {"polluted": True}, "constructor": 1, "__class__": {"x": 1}},
]
"""Put in the place of every value of a valid body."""

HOSTILE: dict[str, str] = {
    "NUL": "a\x00b",
    "escaped NUL": "a\\u0000b",
    "only NUL": "\x00",
    "control characters": "".join(map(chr, range(1, 32))),
    "C1": "".join(map(chr, range(0x7F, 0xA0))),
    "ANSI": "\x1b[31mred\x1b]0;title\x07",
    "right to left": "a\u202eb\u2066c\u2069",
    "zero width": "a\u200bb\u200dc\ufeffd",
    "no characters": "\ufffe\uffff\U0010ffff",
    "replacement": "\ufffd",
    "zalgo": "z" + "\u0301" * 100,
    "emoji": "👩‍👩‍👧‍👦🏳️‍🌈",
    "line separators": "a\u2028b\u2029c\x85d",
    "CR LF": "a\r\nSet-Cookie: x=1\r\n\r\n<p>",
    "template": "{{ 7*7 }}{% debug %}${7*7}#{7*7}",
    "markup": "<script>alert(1)</script><img src=x onerror=alert(1)>",
    "quotes": "'\"`\\'; DROP TABLE agents_turn; --",
    "path": "../../../etc/passwd%00.png",
    "url": "javascript:alert(1)",
    "format": "%s%n%x{0}{__class__}",
    "dunder": "__proto__",
    "blanks": " \t\u00a0\u3000 ",
    "JSON": '{"role": "system"}',
    "spreadsheet": "=cmd|' /C calc'!A0",
    "a megabyte without a blank": "x" * 2**20,
    "a megabyte of lines": "x\n" * 2**19,
    "long words": ("y" * 3000 + " ") * 40,
}
"""Put in the place of every text of a valid body."""


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every value inside a body."""
    if path:
        yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inner:
        yield from places(one, (*path, key))


def put(body: Any, path: tuple[Any, ...], value: Any) -> Any:
    """A copy of a body with another value at a path."""
    changed = copy.deepcopy(body)
    *way, last = path
    spot = changed
    for key in way:
        spot = spot[key]
    spot[last] = value
    return changed


def at(body: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        body = body[key]
    return body


def wrong_bodies(body: Any) -> Iterator[tuple[str, Any]]:
    """A valid body with each of its values replaced by each wrong one, and with each left out."""
    for path in places(body):
        for value in WRONG:
            yield f"{path} = {json.dumps(value)[:60]}", put(body, path, value)
        if isinstance(path[-1], str):
            less = copy.deepcopy(body)
            del at(less, path[:-1])[path[-1]]
            yield f"{path} left out", less


EVERYTHING = " ".join(text for text in HOSTILE.values() if len(text) < 1000)


LONG = ("a megabyte without a blank", "a megabyte of lines", "long words")
BODIES_OF_TEXT = {"instructions", "content", "session_name"}
"""The long ones go where long texts belong, and where one is bound to be refused."""


def hostile_bodies(body: Any) -> Iterator[tuple[str, Any]]:
    """A valid body with each of its texts replaced by hostile ones: the short ones together."""
    for path in places(body):
        if isinstance(at(body, path), str):
            yield f"{path} = everything", put(body, path, EVERYTHING)
            for name in ("only NUL", "blanks", *(LONG if path[-1] in BODIES_OF_TEXT else ())):
                yield f"{path} = {name}", put(body, path, HOSTILE[name])
