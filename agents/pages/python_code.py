"""Parts of Python programs on pages: ASCII, so that no text can end a string, control the terminal, or change the
writing direction."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from agents.pages.curl import CurlTarget

MAX_LINE_CHARS = 88
INDENT = "    "


def opening(target: CurlTarget, module: str, client: str, path: str = "") -> list[str]:
    """The lines that import a client and point it at this server."""
    key = 'os.environ["ASK_KEY"]' if target.with_key else '"none"'
    imports = ["import os", ""] if target.with_key else []
    imported = f"from {module} import {client}"
    return [*imports, imported, "", f"client = {client}(base_url={target.base_url + path!a}, api_key={key})"]


def call(name: str, arguments: Iterable[tuple[str, Any]]) -> list[str]:
    """The lines of a call with an argument in each; one without a name stands alone."""
    parts = ((f"{argument}=" if argument else "", literal(value, 1)) for argument, value in arguments)
    return [f"{name}(", *(f"{INDENT}{argument}{value}," for argument, value in parts), ")"]


class Code(str):
    """An argument that is Python already."""


def literal(value: Any, depth: int) -> str:
    """A JSON value as a Python literal, over several lines if one is too long."""
    if isinstance(value, Code):
        return value
    line = ascii(value)
    if len(line) + depth * len(INDENT) <= MAX_LINE_CHARS or not isinstance(value, dict | list) or not value:
        return line
    inner, outer = INDENT * (depth + 1), INDENT * depth
    if isinstance(value, dict):
        parts = [f"{inner}{name!a}: {literal(item, depth + 1)}," for name, item in value.items()]
        return "\n".join(["{", *parts, outer + "}"])
    return "\n".join(["[", *(f"{inner}{literal(item, depth + 1)}," for item in value), outer + "]"])
