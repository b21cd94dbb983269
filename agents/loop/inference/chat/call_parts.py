"""Sorts the fragments of parallel tool calls.

Endpoints identify calls differently: by an index, or only by an id, or with the same index for all;
some repeat the id with every fragment, some never send one. After sorting, each call has a dense
index of its own, a unique id, and a first fragment that carries its name. Arguments are not parsed.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable

from agents.loop.inference.base import CallPart

MAX_CALLS = 128
MAX_CALL_ID_CHARS = 200


class TooManyCalls(ValueError):
    """More than `MAX_CALLS` calls in one answer."""


def random_call_id() -> str:
    return f"call_{secrets.token_hex(12)}"


class _OpenCall:
    """A call being received. ``buffered`` are the arguments received before its name; None once the
    first fragment was returned."""

    __slots__ = ("buffered", "call_id", "index", "sent_id")

    def __init__(self, index: int, call_id: str, sent_id: str) -> None:
        self.index = index
        self.call_id = call_id
        self.sent_id = sent_id
        self.buffered: str | None = ""


class FragmentSorter:
    """Sorts the fragments of one answer. ``mint`` makes the id of a call that came without one."""

    __slots__ = ("_by_id", "_by_index", "_calls", "_ids", "_mint")

    def __init__(self, mint: Callable[[], str] = random_call_id) -> None:
        self._mint = mint
        self._calls: list[_OpenCall] = []
        self._by_index: dict[int | None, _OpenCall] = {}
        self._by_id: dict[tuple[int | None, str], _OpenCall] = {}
        self._ids: set[str] = set()

    def add(self, index: int | None, call_id: str, name: str, arguments: str) -> CallPart | None:
        """Take a fragment and return the next one to pass on; None while the call's name is missing,
        or for an empty fragment. Raises TooManyCalls."""
        call = self._find(index, call_id, name) or self._open(index, call_id)
        if call.buffered is None:
            return CallPart(call.index, arguments) if arguments else None
        if name:
            return self._begin(call, name, arguments)
        call.buffered += arguments
        return None

    def unnamed_calls(self) -> list[CallPart]:
        """Return the calls whose name never arrived, complete and with an empty name, at the end of the
        answer."""
        return [self._begin(call, "", "") for call in self._calls if call.buffered is not None]

    def _find(self, index: int | None, sent_id: str, name: str) -> _OpenCall | None:
        """Return the open call that a fragment belongs to. Under a known index a new id begins a new
        call; without index and id a name does."""
        if sent_id:
            latest = self._by_index.get(index)
            return self._by_id.get((index, sent_id)) or (latest if latest and not latest.sent_id else None)
        if index is None and name:
            return None
        return self._by_index.get(index)

    def _open(self, index: int | None, sent_id: str) -> _OpenCall:
        if len(self._calls) >= MAX_CALLS:
            raise TooManyCalls(f"more than {MAX_CALLS} tool calls")
        usable = sent_id and len(sent_id) <= MAX_CALL_ID_CHARS and sent_id not in self._ids
        call = _OpenCall(len(self._calls), sent_id if usable else self._mint(), sent_id)
        self._calls.append(call)
        self._ids.add(call.call_id)
        self._by_index[index] = call
        self._by_id[index, sent_id] = call
        return call

    def _begin(self, call: _OpenCall, name: str, arguments: str) -> CallPart:
        arguments = (call.buffered or "") + arguments
        call.buffered = None
        return CallPart(call.index, arguments, call_id=call.call_id, name=name)
