"""Queries on the command line: arguments that may begin with a minus, errors with a mark under the place."""

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
    """Takes only its own options for options: ``-status:failed`` is a query, ``-vip`` a tag to take away."""

    def _parse_optional(self, arg_string: str) -> Any:
        name = arg_string.partition("=")[0]
        if arg_string != "--" and name not in self._option_string_actions:
            return None
        return super()._parse_optional(arg_string)


def parse_query(text: str, level: Level, zone: str) -> Query:
    """A query. Raises CommandError with what is wrong, where, and what would be right."""
    try:
        return parser.read(text.strip(), now_us=ids.now_us(), zone=zone, level=level)
    except QuerySyntax as error:
        raise CommandError(error_message(text.strip(), error)) from error
    except AgentsError as error:
        raise CommandError(error.message) from error


def error_message(text: str, error: QuerySyntax) -> str:
    message = f"{error.message}\n{caret(text, error.position)}"
    return f"{message}\nDid you mean: {error.suggestion}" if error.suggestion else message
