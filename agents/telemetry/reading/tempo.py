"""Shapes of Grafana Tempo's JSON, as requests of OTLP/JSON: what ``GET /api/traces/{id}`` and ``/api/v2/traces/{id}``
return, and what Grafana and Jaeger's ``/api/v3`` save (read in their documentation, not run).

``{"batches": [ … ]}`` or ``{"trace": {"resourceSpans": [ … ]}}``. Ids are base64, as protobuf's own JSON has bytes, or
hex; spans of older versions are under ``instrumentationLibrarySpans``.
"""

from __future__ import annotations

from typing import Any

_HOLDERS = ("trace", "result")
_LISTS = ("resourceSpans", "batches")
_OLDER = {"instrumentationLibrarySpans": "scopeSpans", "instrumentationLibrary": "scope"}

JsonObject = dict[str, Any]


def is_tempo(body: JsonObject) -> bool:
    """Tell whether a body has spans in one of Tempo's shapes. Other programs have a list ``batches``, too."""
    inner = _inner(body)
    groups = inner.get("batches")
    if inner is body and "batches" not in body:
        return False
    if "resourceSpans" in inner:
        return True
    return isinstance(groups, list) and any(_has_spans(group) for group in groups)


def as_otlp(body: object) -> object:
    """Return a body of Tempo's as one of OTLP; every other one as it is."""
    if not isinstance(body, dict) or not is_tempo(body):
        return body
    groups = next(inner[name] for inner in [_inner(body)] for name in _LISTS if name in inner)
    if isinstance(groups, list):
        groups = [_with_scopes(group) for group in groups]
    return {"resourceSpans": groups}


def _inner(body: JsonObject) -> JsonObject:
    return next((body[name] for name in _HOLDERS if isinstance(body.get(name), dict)), body)


def _has_spans(group: object) -> bool:
    return isinstance(group, dict) and bool(group.keys() & {"scopeSpans", "instrumentationLibrarySpans"})


def _with_scopes(group: object) -> object:
    """Return a resource with its spans under the names of newer versions."""
    renamed = _renamed(group)
    if isinstance(renamed, dict) and isinstance(renamed.get("scopeSpans"), list):
        return {**renamed, "scopeSpans": [_renamed(scope) for scope in renamed["scopeSpans"]]}
    return renamed


def _renamed(value: object) -> object:
    return {_OLDER.get(name, name): inner for name, inner in value.items()} if isinstance(value, dict) else value
