"""Parses queries on the command line: they may begin with a minus, and errors are marked under their position."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError, CommandParser

from agents.base import ids
from agents.base.errors import AgentsError, QuerySyntax
from agents.query import parser
from agents.query.scanner import caret
from agents.query.tree import Level, Query

LEVELS: tuple[Level, ...] = ("turn", "session", "step", "response")


class QueryParser(CommandParser):
    """An argument parser that treats only its own options as options: ``-status:failed`` is a query, ``-vip`` a tag
    to remove."""

    def _parse_optional(self, arg_string: str) -> Any:
        name = arg_string.partition("=")[0]
        if arg_string != "--" and name not in self._option_string_actions:
            return None
        return super()._parse_optional(arg_string)


def parse_query(text: str, level: Level, zone: str) -> Query:
    """Parse a query. Raises CommandError with the message, the position and a suggestion."""
    try:
        return parser.read(text.strip(), now_us=ids.now_us(), zone=zone, level=level)
    except QuerySyntax as error:
        raise CommandError(error_message(text.strip(), error)) from error
    except AgentsError as error:
        raise CommandError(error.message) from error


def error_message(text: str, error: QuerySyntax) -> str:
    message = f"{error.message}\n{caret(text, error.position)}"
    return f"{message}\nDid you mean: {error.suggestion}" if error.suggestion else message
