"""Guides that connect external agents to this server: a template in ``telemetry/connect/`` for each framework.

A guide is its file alone. The file sets the fields of `ConnectGuide`, and renders the snippets to copy; its name is the
name in URLs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter

from django.utils.safestring import SafeString

from agents.uikit.templates import fragment_with_variables, pages_of

FOLDER = "telemetry/connect"


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """The address of this server: its base URL without a slash, the key to send, '' where none is needed, and the URL
    of OTLP over gRPC, '' where that is not spoken."""

    base: str
    key: str
    grpc: str = ""

    @property
    def password(self) -> str:
        """The key, or a stand-in for clients that send nothing without one."""
        return self.key or "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectGuide:
    """The guide for one framework.

    ``about`` is a sentence on top, ``hints`` are below the snippets; ``session`` explains how turns get the same
    session. Guides are listed in the order of ``order``. Texts are translated.
    """

    name: str
    order: int
    title: str
    about: str
    snippets: SafeString
    session: str = ""
    hints: Sequence[str] = ()
    needs_key: bool = True
    """Whether what is copied sends something to this server."""


def guides(server: ServerAddress) -> list[ConnectGuide]:
    """Read all guides in order, in the language of the reader and with the address of this server."""
    return sorted((_guide(template, server) for template in pages_of(FOLDER)), key=attrgetter("order"))


def _guide(template: str, server: ServerAddress) -> ConnectGuide:
    snippets, variables = fragment_with_variables(template, server=server)
    name = template.removeprefix(f"{FOLDER}/").removesuffix(".html")
    return ConnectGuide(name=name, snippets=snippets, **variables)
