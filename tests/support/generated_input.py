"""Requests made up from the description of the API: valid ones, and what is left of them after one or
more mistakes. One seed makes the same requests each time.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from tests.support.input_corpus import EVERYTHING, HOSTILE, NO_JSON, WRONG, at, places, put

Schema = Mapping[str, Any]

DEPTH = 7
"""Below it a value has only what it must have."""
WORDS = ("", "kettle", "a b", "scripted/fast", "user", "text", "2026-11-23T14:00:00Z", "en", "-1", "{}", "a" * 300)
NUMBERS = (0, 1, 2, 5, 50, 1000, -1, 2**31, 2**53, 10**30, 0.5, -0.0, 1e-300)
SMALL = [name for name, text in HOSTILE.items() if len(text) <= 5000]
KINDS = (
    "application/json; charset=utf-16",
    "text/plain",
    "multipart/form-data",
    "multipart/form-data; boundary=x",
    "application/x-www-form-urlencoded",
    "application/x-protobuf",
    "application/json, text/html",
    "",
    "/",
    "\x7f",
)
HEADERS = (
    {"Content-Encoding": "gzip"},
    {"Content-Encoding": "zstd, gzip"},
    {"Content-Encoding": "x"},
    {"Accept": "text/event-stream"},
    {"Last-Event-ID": "9" * 40},
    {"Idempotency-Key": "k" * 300},
    {"Idempotency-Key": "\x01"},
    {"X-LlamaStack-Provider-Data": "[1"},
    {"X-LlamaStack-Provider-Data": '{"a": 1e400}'},
    {"Range": "bytes=9-1"},
    {"If-None-Match": '"' * 500},
    {"X-Request-ID": "x\ty" * 100},
)
FORMS = (
    b'--x\r\nContent-Disposition: form-data; name="file"; filename="../a"\r\n\r\nabc\r\n--x--\r\n',
    b'--x\r\nContent-Disposition: form-data; name="file"\r\n\r\n',
    b'--x\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nassistants\r\n--x--\r\n',
    b'--x\r\nContent-Disposition: form-data; name="\x00"; filename="\xff"\r\n\r\n\x00\r\n--x--',
    b"--x--",
    b"\r\n\r\n--x\r\n" * 500,
    b"a=1&b=%zz&&=" * 50,
    b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
)


@dataclass(frozen=True)
class Ask:
    """One request. ``path`` has its query."""

    method: str
    path: str
    body: bytes
    kind: str
    headers: Mapping[str, str]

    def __str__(self) -> str:
        return f"{self.method} {self.path[:200]} {dict(self.headers)} {self.kind} {self.body[:600]!r}"


@dataclass(frozen=True)
class Route:
    """What can be asked: a path with ``{names}``, and what the description says of its query and body."""

    path: str
    method: str
    query: Mapping[str, Schema]
    body: Schema | None


class Requests:
    """Makes requests to these routes. ``names`` are what parameters and fields of a name may well be."""

    def __init__(self, seed: int, schemas: Mapping[str, Schema], names: Mapping[str, str]) -> None:
        self._random = random.Random(seed)  # the same ones each time
        self._schemas = schemas
        self._names = names

    def any(self, route: Route, *, spoilt: bool = True) -> Ask:
        """One to this route, valid as far as the description tells unless it is spoilt."""
        names = {name: self._parameter(name, spoilt) for name in self._parameters(route.path)}
        path = route.path.format(**names)
        query = self._query(route, spoilt)
        kind, raw = self._body(route, spoilt)
        headers = dict(self._random.choice(HEADERS)) if spoilt and self._one_in(12) else {}
        return Ask(route.method.upper(), f"{path}?{query}" if query else path, raw, kind, headers)

    def _one_in(self, number: int) -> bool:
        return self._random.randrange(number) == 0

    def _parameters(self, path: str) -> Iterator[str]:
        return (part.partition("}")[0] for part in path.split("{")[1:])

    def _parameter(self, name: str, spoilt: bool) -> str:
        if spoilt and self._one_in(8):
            return quote(self._text()[:2000], safe="/") or "x"
        return quote(self._names.get(name, "no-id"), safe="/:")

    def _query(self, route: Route, spoilt: bool) -> str:
        given = {}
        for name, schema in route.query.items():
            if self._one_in(2 if spoilt else 4):
                given[name] = self._text() if spoilt and self._one_in(2) else self.value(schema, name)
        told = [f"{quote(name)}={quote(_said(value)[:3000])}" for name, value in given.items()]
        if spoilt and self._one_in(15):
            told.append(self._random.choice(["=", "&&", "a[]=1", "%", "%00=1", "limit=1&limit=2", "+", "\u2028"]))
        return "&".join(told)

    def _body(self, route: Route, spoilt: bool) -> tuple[str, bytes]:
        kind = "application/json"
        if route.body is None:
            sent = self._one_in(4)
            return kind, self._raw() if sent else b""
        body = self.value(route.body)
        if spoilt:
            if self._one_in(10):
                return self._random.choice((kind, *KINDS)), self._raw()
            for _ in range(self._random.choice((1, 1, 1, 2, 5))):
                body = self._spoil(body)
        return kind, json.dumps(body).encode()

    def _raw(self) -> bytes:
        one = self._random.randrange(3)
        if one == 0:
            return self._random.choice(FORMS)
        if one == 1:
            return self._random.choice([raw for raw in NO_JSON.values() if len(raw) < 20_000])
        return self._random.randbytes(self._random.randrange(200))

    def _spoil(self, body: Any) -> Any:
        """The body with one mistake more."""
        spots = list(places(body))
        if not spots:
            return self._random.choice(WRONG)
        path = self._random.choice(spots)
        found = at(body, path)
        match self._random.randrange(8):
            case 0 | 1:
                return put(body, path, self._random.choice(WRONG))
            case 2 | 3:
                return put(body, path, self._text())
            case 4:
                return put(body, path, self._random.choice(NUMBERS))
            case 5:
                return put(body, path, [found] * self._random.choice((1, 2, 40)))
            case 6:
                return put(body, path, self._nested(found))
            case _:
                changed = put(body, path, None)
                parent = at(changed, path[:-1])
                del parent[path[-1]]
                if isinstance(parent, dict):
                    parent[self._text()[:300]] = found
                return changed

    def _nested(self, value: Any) -> Any:
        for _ in range(self._random.choice((1, 20, 70))):
            value = {"a": value} if self._one_in(2) else [value]
        return value

    def _text(self) -> str:
        if self._one_in(20):
            return EVERYTHING
        if self._one_in(5):
            return "".join(
                chr(self._random.choice((self._random.randrange(0x250), 0x1F600, 0xFFFF))) for _ in range(20)
            )
        return self._random.choice((*WORDS, *(HOSTILE[name] for name in SMALL)))

    # ------------------------------------------------------------------------------------------- values

    def value(self, schema: Schema, name: str = "", depth: int = 0) -> Any:
        """A value that fits, but for patterns, and for what the fields of one have to do with each other."""
        schema = self._resolved(schema)
        for several in ("anyOf", "oneOf"):
            if several in schema and "properties" not in schema:
                return self._of_several(schema[several], name, depth)
        if "allOf" in schema and "properties" not in schema:
            return self.value(schema["allOf"][0], name, depth)
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return self._random.choice(schema["enum"])
        return self._of_type(schema, name, depth)

    def _of_type(self, schema: Schema, name: str, depth: int) -> Any:
        match schema.get("type"):
            case "object":
                return self._object(schema, depth)
            case "array":
                least = int(schema.get("minItems", 0))
                count = least if depth > DEPTH else max(least, self._random.randrange(3))
                return [self.value(schema.get("items", {}), name, depth + 1) for _ in range(count)]
            case "string":
                return self._string(schema, name)
            case "integer" | "number" as kind:
                return self._number(schema, whole=kind == "integer")
            case "boolean":
                return self._one_in(2)
            case "null":
                return None
        return self._random.choice(("text", 5, None, {"a": [1, "b"]}, []))

    def _resolved(self, schema: Schema) -> Schema:
        while "$ref" in schema:
            schema = self._schemas[schema["$ref"].rpartition("/")[2]]
        return schema

    def _of_several(self, several: list[Schema], name: str, depth: int) -> Any:
        if depth > DEPTH:
            several = [one for one in several if self._resolved(one).get("type") == "null"] or several[:1]
        return self.value(self._random.choice(several), name, depth + 1)

    def _object(self, schema: Schema, depth: int) -> dict[str, Any]:
        wanted, out = set(schema.get("required", ())), {}
        for field, inner in schema.get("properties", {}).items():
            if field in wanted or (depth <= DEPTH and self._one_in(2)):
                out[field] = self.value(inner, field, depth + 1)
        more = schema.get("additionalProperties")
        if isinstance(more, Mapping) and depth <= DEPTH:
            out["key"] = self.value(more, "", depth + 1)
        return out

    def _string(self, schema: Schema, name: str) -> str:
        known = self._names.get(name) or self._names.get(name.removesuffix("s"))
        if known and not self._one_in(5):
            return known
        text = self._random.choice(WORDS)
        least, most = int(schema.get("minLength", 0)), int(schema.get("maxLength", 10_000))
        return (text if len(text) >= least else text + "x" * least)[:most]

    def _number(self, schema: Schema, *, whole: bool) -> float:
        low = schema.get("minimum", schema.get("exclusiveMinimum", -5))
        high = schema.get("maximum", schema.get("exclusiveMaximum", low + 100))
        return self._random.randint(int(low), int(high)) if whole else self._random.uniform(low, high)


def _said(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
