"""Reads and writes the small table of distinct attribute sets, cached in the process."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping

from agents.base.access import GRANTING_ROLES, Actor, Attributes, attributes_of
from agents.base.models.scopes import Scope

_cache: tuple[float, dict[int, Attributes]] = (0.0, {})
_ids: dict[frozenset[tuple[str, frozenset[str]]], int] = {}
CACHE_TTL_S = 2.0
"""Another process may add a scope; it is seen here this much later at most."""


def all_scopes() -> Mapping[int, Attributes]:
    """Return every scope's attributes by id."""
    global _cache
    loaded_at, scopes = _cache
    if time.monotonic() - loaded_at > CACHE_TTL_S:
        rows = Scope.objects.values_list("pk", "attributes")
        scopes = {key: attributes_of(raw) for key, raw in rows}
        _cache = (time.monotonic(), scopes)
    return scopes


def forget() -> None:
    """Empty the cache."""
    global _cache
    _cache = (0.0, {})
    _ids.clear()


def scope_of(attributes: Attributes) -> int:
    """Return the id of the scope with exactly these attributes; create it if it is new. Writes."""
    name = frozenset(attributes.items())
    if name not in _ids:
        _ids[name] = _find_or_create(attributes)
    return _ids[name]


def _find_or_create(attributes: Attributes) -> int:
    plain = {category: sorted(values) for category, values in sorted(attributes.items())}
    digest = hashlib.sha256(json.dumps(plain).encode()).hexdigest()
    scope, created = Scope.objects.get_or_create(digest=digest, defaults={"attributes": plain})
    if created:
        forget()
    return int(scope.pk)


def scope_for(actor: Actor) -> int:
    """Return the scope of rows that an actor creates: its own attributes without the roles that only grant
    actions. Writes."""
    roles = actor.attributes.get("roles", frozenset()) - GRANTING_ROLES
    attributes = {**actor.attributes, "roles": roles}
    return scope_of({category: values for category, values in attributes.items() if values})
