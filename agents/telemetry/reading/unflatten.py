"""Restores lists that senders flattened into attributes: ``llm.input_messages.0.message.role`` and the like."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agents.telemetry.reading.sanitize import MAX_ITEMS

MAX_NESTING = 16
Tree = dict[str, Any]


def unflatten(attributes: Mapping[str, Any], prefix: str) -> list[Tree]:
    """Return the list of objects below ``prefix``, which ends in a dot; objects whose keys are all numbers become
    lists in their order. Numbers are only compared, never counted up to: one of them may be a billion."""
    root: Tree = {}
    start = len(prefix)
    for name, value in attributes.items():
        if name.startswith(prefix):
            _insert(root, name[start:].split("."), value)
    return [item for item in _as_lists(root, 0, as_list=True) if isinstance(item, dict)]


def _insert(root: Tree, path: list[str], value: Any) -> None:
    if len(path) > MAX_NESTING:
        return
    node = root
    for name in path[:-1]:
        inner = node.get(name)
        if not isinstance(inner, dict):
            inner = node[name] = {}
        node = inner
    node.setdefault(path[-1], value)


def _as_lists(tree: Tree, depth: int, *, as_list: bool = False) -> Any:
    numbered = bool(tree) and all(name.isdecimal() and len(name) < 10 for name in tree)
    if numbered or as_list:
        names = sorted((name for name in tree if name.isdecimal() and len(name) < 10), key=int)[:MAX_ITEMS]
        return [_inner(tree[name], depth) for name in names]
    return {name: _inner(value, depth) for name, value in tree.items()}


def _inner(value: Any, depth: int) -> Any:
    return _as_lists(value, depth + 1) if isinstance(value, dict) and depth < MAX_NESTING else value
