"""Rows of the logs, numbers of them, and what is done to one."""

from __future__ import annotations

import importlib
import json
import os
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypedDict, TypeVar, Unpack
from urllib.parse import quote

from turnlog.client import objects
from turnlog.client.errors import NotFound
from turnlog.client.transport import Async, Request, Resource, S, Steps, Sync, ask, call

if TYPE_CHECKING:
    from pandas import DataFrame

T = TypeVar("T")
R = TypeVar("R", bound=objects.Row)

PAGE_ROWS = 200
FORK_TIMEOUT_S = 600.0
"""A fork is answered when its turn has ended."""


class Listing(Generic[S, T]):
    """Everything that is listed, page by page while it is read: by ``for``, of an async client by ``async for``."""

    def __init__(self, sender: S, page: Callable[[str | None], Steps[objects.Page[T]]]) -> None:
        self._sender: S = sender
        self._page = page

    def __iter__(self: Listing[Sync, T]) -> Iterator[T]:
        page = self._sender.run(self._page(None))
        yield from page.items
        while page.next:
            page = self._sender.run(self._page(page.next))
            yield from page.items

    async def __aiter__(self: Listing[Async, T]) -> AsyncIterator[T]:
        page = await self._sender.run(self._page(None))
        for row in page.items:
            yield row
        while page.next:
            page = await self._sender.run(self._page(page.next))
            for row in page.items:
                yield row


class Log(Resource[S], Generic[S, R]):
    """A level of the logs. ``q`` is a query, see docs/queries.md; ``sort`` an amount, with ``-`` the largest first."""

    _level: str
    _pages: type[objects.Page[R]]

    def __call__(self, q: str = "", *, sort: str | None = None) -> Listing[S, R]:
        """All rows that match, newest first or in the order that ``sort`` says; read when they are iterated."""
        return Listing(self._sender, lambda after: self._page(q, sort=sort, after=after, limit=PAGE_ROWS))

    def _page(self, q: str, **params: Any) -> Steps[objects.Page[R]]:
        return ask(self._pages, "GET", f"logs/{self._level}", q=q, tz=self._time_zone, **params)

    @call
    def page(
        self,
        q: str = "",
        *,
        sort: str | None = None,
        after: str | None = None,
        before: str | None = None,
        limit: int = 50,
    ) -> Steps[objects.Page[R]]:
        """One page, of at most 1000 rows."""
        return self._page(q, sort=sort, after=after, before=before, limit=limit)

    def _row(self, row_id: str) -> Steps[R]:
        page = yield from self._page(_of_id(row_id), limit=1)
        if not page.items:
            raise _not_found(row_id)
        return page.items[0]

    @call
    def get(self, row_id: str) -> Steps[R]:
        """The row of this id. Raises NotFound."""
        return self._row(row_id)

    def _records(self, q: str, sort: str | None, limit: int | None) -> Steps[list[dict[str, Any]]]:
        rows: list[dict[str, Any]] = []
        after = None
        while limit is None or len(rows) < limit:
            size = PAGE_ROWS if limit is None else min(PAGE_ROWS, limit - len(rows))
            page = yield from self._page(q, sort=sort, after=after, limit=size)
            rows += [row.flat() for row in page.items]
            after = page.next
            if after is None:
                break
        return rows

    @call
    def records(self, q: str = "", *, sort: str | None = None, limit: int | None = None) -> Steps[list[dict[str, Any]]]:
        """The rows as flat dicts (``usage.total_tokens``), all of them or the first ``limit``."""
        return self._records(q, sort, limit)

    @call
    def frame(self, q: str = "", *, sort: str | None = None, limit: int | None = None) -> Steps[DataFrame]:
        """The rows as a DataFrame with the columns of `records`. Raises ImportError where pandas is not installed."""
        try:
            pandas = importlib.import_module("pandas")
        except ImportError as error:
            raise ImportError("frame() needs pandas, which is not installed: pip install pandas") from error
        rows = yield from self._records(q, sort, limit)
        frame: DataFrame = pandas.DataFrame(rows)
        return frame

    def _number(self, kind: type[objects.Numbers], q: str, **params: Any) -> Steps[objects.Numbers]:
        return ask(kind, "GET", f"logs/{self._level}/stats", q=q, tz=self._time_zone, **params)

    @call
    def stats(self, q: str = "") -> Steps[objects.Stats]:
        """Sums and percentiles of all rows that match."""
        return (yield from self._number(objects.Numbers, q)).total

    @call
    def groups(self, q: str = "", *, by: Sequence[str], limit: int = 100) -> Steps[objects.Numbers]:
        """The same for groups, by one or two fields or lengths of time: ``by=["day", "agent"]``."""
        return self._number(objects.Numbers, q, by=",".join(by), limit=limit)

    @call
    def facets(
        self, q: str = "", *, by: Sequence[str] | None = None, limit: int | None = None
    ) -> Steps[list[objects.Facet]]:
        """How many rows have which value of these fields."""
        names = ",".join(by) if by else None
        path = f"logs/{self._level}/facets"
        return (yield from ask(objects.Facets, "GET", path, q=q, tz=self._time_zone, by=names, limit=limit)).items

    @call
    def histogram(self, q: str = "", *, buckets: int | None = None) -> Steps[objects.Histogram]:
        """Rows over time, by how they ended."""
        path = f"logs/{self._level}/histogram"
        return ask(objects.Histogram, "GET", path, q=q, tz=self._time_zone, buckets=buckets)

    def _export(self, to: str | os.PathLike[str], **params: Any) -> Steps[Path]:
        target = Path(to)
        unfinished = target.with_name(f"{target.name}.part")
        try:
            with unfinished.open("wb") as file:
                path = f"logs/{self._level}/export"
                yield Request(method="GET", path=path, params={"tz": self._time_zone, **params}, sink=file.write)
            unfinished.replace(target)
        finally:
            unfinished.unlink(missing_ok=True)
        return target

    @call
    def export(
        self,
        q: str = "",
        *,
        to: str | os.PathLike[str],
        format: str = "jsonl",
        fields: Sequence[str] | None = None,
        sort: str | None = None,
    ) -> Steps[Path]:
        """Write all rows that match to a file, as they come: ``jsonl``, ``csv``, ``parquet``, of turns ``otlp`` and
        ``atif``. The file is there once it is whole."""
        names = ",".join(fields) if fields else None
        return self._export(to, q=q, format=format, fields=names, sort=sort)


class _Tagged(Log[S, R]):
    @call
    def tag(self, row_id: str, *tags: str) -> Steps[list[str]]:
        """Add tags; returns all that it then has."""
        path = f"logs/{self._level}/{quote(row_id, safe='')}/tags"
        return (yield from ask(objects.Tags, "PUT", path, json={"tags": tags})).tags

    @call
    def untag(self, row_id: str, *tags: str) -> Steps[list[str]]:
        """Remove tags; returns those that are left."""
        path = f"logs/{self._level}/{quote(row_id, safe='')}/tags"
        return (yield from ask(objects.Tags, "DELETE", path, tag=tags)).tags


class Changes(TypedDict, total=False):
    """What is changed from the step of a fork on."""

    model: str
    instructions: str
    sampling_params: dict[str, Any]
    tool_result: str
    input: str


class Turns(_Tagged[S, objects.Turn]):
    _level, _pages = "turns", objects.Page[objects.Turn]

    @call
    def whole(self, turn_id: str) -> Steps[objects.WholeTurn]:
        """A turn with all that was said and done. Raises NotFound."""
        pieces: list[bytes] = []
        params = {"q": _of_id(turn_id), "whole": True}
        yield Request(method="GET", path="logs/turns/export", params=params, sink=pieces.append)
        if not pieces:
            raise _not_found(turn_id)
        return objects.WholeTurn.model_validate_json(b"".join(pieces))

    @call
    def export_whole(self, q: str = "", *, to: str | os.PathLike[str], sort: str | None = None) -> Steps[Path]:
        """Write each turn with all that was said and done, one on a line; ``logs import`` of a server reads it."""
        return self._export(to, q=q, sort=sort, whole=True)

    def _path(self, turn: str | objects.Turn) -> Steps[str]:
        row = (yield from self._row(turn)) if isinstance(turn, str) else turn
        if row.agent_id is None:
            raise ValueError(f"turn {row.id} has no agent, which this needs")
        return f"agents/{row.agent_id}/session/{row.session_id}/turn/{row.id}"

    @call
    def fork(
        self, turn: str | objects.Turn, *, step: int | str, tools: str = "recorded", **changes: Unpack[Changes]
    ) -> Steps[objects.TurnResult]:
        """Run a turn again from one of its steps (an id, or its place from 1), with changes; returns how it ended,
        also where it failed. With ``tools="live"`` all tools are run anew."""
        path = f"{(yield from self._path(turn))}/fork"
        body = {"step": step, "tools": tools, "changes": changes}
        answer = yield Request(
            method="POST", path=path, params={}, json=body, timeout_s=FORK_TIMEOUT_S, failed_turn=True
        )
        content = json.loads(answer.body)
        if answer.is_success:
            return objects.TurnResult.model_validate(content)
        return objects.TurnResult.model_validate({**content["turn"], "error": content["error"]})

    @call
    def cancel(self, turn: str | objects.Turn) -> Steps[objects.TurnResult]:
        """Stop a turn that runs or waits; returns how it ended."""
        return (yield from ask(objects.TurnResult, "POST", f"{(yield from self._path(turn))}/cancel"))

    @call
    def compare(self, turn_id: str, other_id: str) -> Steps[objects.Comparison]:
        """Two turns side by side."""
        path = f"logs/turns/{quote(turn_id, safe='')}/compare/{quote(other_id, safe='')}"
        return ask(objects.Comparison, "GET", path)


class Sessions(_Tagged[S, objects.Session]):
    _level, _pages = "sessions", objects.Page[objects.Session]


class LoggedSteps(_Tagged[S, objects.Step]):
    _level, _pages = "steps", objects.Page[objects.Step]


class Responses(Log[S, objects.Response]):
    _level, _pages = "responses", objects.Page[objects.Response]


def _of_id(row_id: str) -> str:
    """Return a query for one row: as a tree, in which an id is nothing but an id."""
    return json.dumps({"kind": "term", "field": "id", "op": "=", "value": {"kind": "whole", "text": row_id}})


def _not_found(row_id: str) -> NotFound:
    return NotFound(f"'{row_id}' not found.", 404, {}, "", None)
