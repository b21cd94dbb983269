"""The reference pages of the documentation: ``make docs`` writes them from the code."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_args

import django

from tests import ROOT
from tests.sdks import table

FOLDER = ROOT / "docs" / "reference"
ELSEWHERE = ROOT / "docs" / "elsewhere.md"
"""Has a table of what SDKs report."""

_ROUTES_HEAD = """# Routes

Every operation of the API, with the action that a key needs for it. Bodies and parameters are on [the API's own
page](../../api/), where each can be tried, and in `/v1/openapi.json`.
"""
_EVENTS_HEAD = """# Events of a turn

What happened in a turn, as its log has it: on the page of a turn under Raw, in `/turns/<id>/events.jsonl`, and on the
socket `/ws/live`. Events are numbered from 0 without gaps (`seq`) and have a time (`at`). The streams of the APIs say
the same in their own words: [Supported APIs](../coverage.md) lists those, [Webhooks](../webhooks.md) what is sent to
addresses of yours.

"""


def routes() -> str:
    """Return the page of all operations, by the first word of their paths."""
    sections: dict[str, list[str]] = {}
    for path, method, operation in operations():
        row = f"| `{method.upper()}` | `{path}` | {actions()[path, method]} | {purpose(operation)} |\n"
        sections.setdefault(operation["tags"][0], []).append(row)
    head = _ROUTES_HEAD
    table = "\n| | path | needs | |\n| --- | --- | --- | --- |\n"
    return head + "".join(f"\n## {name}\n{table}{''.join(rows)}" for name, rows in sorted(sections.items()))


def operations() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield path, method and description of each operation."""
    from drf_spectacular.generators import SchemaGenerator

    generator: Any = SchemaGenerator  # untyped
    for path, methods in generator().get_schema(request=None, public=True)["paths"].items():
        for method, operation in methods.items():
            yield path, method, operation


def actions() -> dict[tuple[str, str], str]:
    """Return what a key needs for an operation, by path and method."""
    from agents.server.api.urls import routes

    found: dict[tuple[str, str], str] = {}
    for route, view in routes():
        path = re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", route)
        for method, action in view.actions.items():
            found[path, method] = action or "nothing"
    return found


def purpose(operation: dict[str, Any]) -> str:
    """Return the first sentence of a description, else the operation's own name as words."""
    said = re.split(r"(?<=\.)\s", operation.get("description") or "", maxsplit=1)[0]
    return _as_markdown(said) or str(operation["operationId"]).replace("_", " ")


def events() -> str:
    """Return the page of all events of a turn."""
    from agents.record.schemas.events import Event

    rows = "".join(
        f"| `{kind.model_fields['type'].default}` | {_fields(kind)} | {_as_markdown(kind.__doc__ or '')} |\n"
        for kind in get_args(get_args(Event)[0])
    )
    return f"{_EVENTS_HEAD}| type | fields | |\n| --- | --- | --- |\n{rows}"


def _fields(kind: Any) -> str:
    return " ".join(f"`{name}`" for name in kind.model_fields if name not in ("type", "seq", "at"))


def _as_markdown(text: str) -> str:
    """Return a docstring as one line of a table."""
    return " ".join(text.replace("``", "`").split()).replace("|", "\\|")


PAGES: dict[str, Callable[[], str]] = {"routes.md": routes, "events.md": events}


def write(folder: Path = FOLDER) -> None:
    folder.mkdir(exist_ok=True)
    for name, page in PAGES.items():
        (folder / name).write_text(page())
    ELSEWHERE.write_text(table.with_table(ELSEWHERE.read_text()))


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
    django.setup()
    write()
