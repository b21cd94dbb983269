"""Attributes of people and programs, and who a token belongs to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

Attributes = Mapping[str, frozenset[str]]
"""Values by category."""
CATEGORIES = ("roles", "teams", "projects", "namespaces")
ADMIN_ROLE, OPERATOR_ROLE, READER_ROLE = "admin", "operator", "reader"
GRANTING_ROLES = frozenset({ADMIN_ROLE, OPERATOR_ROLE, READER_ROLE})
"""Roles that say what an actor may do. Rows are never shared by them: one operator's rows would else
be those of every operator."""


@dataclass(frozen=True, slots=True)
class TokenRequest:
    """A request, as far as an identity provider may be told of it: without its secrets."""

    path: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    params: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Identity:
    """Who a token belongs to: ``name`` is what they are called, ``owner`` whose rows theirs are, which no
    other issuer, claim or name shares. ``until`` is when the token ends, in seconds since 1970, where it
    says so."""

    name: str
    owner: str
    attributes: Attributes = field(default_factory=dict)
    until: float | None = None
