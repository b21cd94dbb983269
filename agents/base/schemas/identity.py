"""Attributes of users and programs, and the identity behind a token."""

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
    """The request that a token came with, as an identity provider gets it: without secrets."""

    path: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    params: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Identity:
    """The user that a token belongs to: ``name`` for display, ``owner`` a unique id of the owner of rows, which no
    other issuer, claim or name shares. ``until`` is when the token expires, in seconds since 1970, if that is
    known."""

    name: str
    owner: str
    attributes: Attributes = field(default_factory=dict)
    until: float | None = None
