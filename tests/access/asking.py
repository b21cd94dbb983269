"""Asking for a cell of the matrix, and looking for what must not be told."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from django.test import Client

from tests.access.matrix import Target, Who, World, hidden

PARAM = re.compile(r"<(?:\w+:)?(\w+)>")


@dataclass(frozen=True)
class Cell:
    """One request and what must be answered."""

    method: str
    path: str
    target: Target
    expected: int
    body: dict[str, Any] | None = None

    def __str__(self) -> str:
        return f"{self.method} {self.path} ({self.target.name}), expected {self.expected},"


def filled(route: str, values: Mapping[str, str]) -> str:
    """A route's path with its parameters."""
    return PARAM.sub(lambda match: quote(values[match[1]], safe="/:"), route)


def ask(client: Client, cell: Cell, **headers: str) -> Any:
    """Send it as JSON; ``client`` says who asks by its cookies, ``headers`` by their key."""
    body = json.dumps(cell.body) if cell.body is not None else ""
    return client.generic(cell.method.upper(), cell.path, body, "application/json", headers=headers)


def leaks(answer: bytes, who: Who, world: World, asked: str) -> list[str]:
    """What of others stands in an answer that did not stand in the request."""
    others = [text for chain in hidden(who, world) for text in (chain.canary, *chain.ids.values())]
    return [text for text in others if text not in asked and text.encode() in answer]
