"""Saved views of the logs, on the wire."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from agents.base.schemas.wire import Timestamp, Wire, WireOutput
from agents.record.schemas.tags import Name

ViewLevel = Literal["session", "turn", "response", "step"]
Column = Annotated[str, StringConstraints(pattern=r"^[a-z_]{1,30}$")]
Columns = Annotated[list[Column], Field(max_length=30)]


class CreateView(Wire):
    """A view to keep. ``q`` is a query of the logs; its relative times stay relative."""

    name: Name
    q: str = ""
    level: ViewLevel = "turn"
    columns: Columns = []
    shared: bool = False


class UpdateView(Wire):
    """What is to be other than it is."""

    name: Name | None = None
    q: str | None = None
    level: ViewLevel | None = None
    columns: Columns | None = None
    shared: bool | None = None


class View(WireOutput):
    """A view. One that is ``built_in`` comes with the server; ``mine`` says that the caller may change it."""

    id: str
    object: Literal["view"] = "view"
    name: str
    q: str
    level: ViewLevel
    columns: list[str]
    shared: bool
    owner: str | None
    mine: bool
    built_in: bool
    created_at: Timestamp | None
    updated_at: Timestamp | None


class ViewList(WireOutput):
    """The built-in views, then those the caller sees, by name."""

    data: list[View]
