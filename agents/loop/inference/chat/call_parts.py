"""The fragments of parallel tool calls, put in order.

Endpoints disagree about what tells calls apart: an index, or only an id, or the same index for
all; some repeat the id with every fragment, some never send one. Out of here each call has a
dense index of its own, a unique id, and a first fragment that carries its name. What the
arguments say is not looked at.
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
    """A call being received. ``held`` is what came before its name; None once that went out."""

    __slots__ = ("call_id", "held", "index", "sent_id")

    def __init__(self, index: int, call_id: str, sent_id: str) -> None:
        self.index = index
        self.call_id = call_id
        self.sent_id = sent_id
        self.held: str | None = ""


class CallOrder:
    """Sorts the fragments of one answer. ``mint`` makes the id of a call that has none of its own."""

    __slots__ = ("_by_id", "_by_index", "_calls", "_ids", "_mint")

    def __init__(self, mint: Callable[[], str] = random_call_id) -> None:
        self._mint = mint
        self._calls: list[_OpenCall] = []
        self._by_index: dict[int | None, _OpenCall] = {}
        self._by_id: dict[tuple[int | None, str], _OpenCall] = {}
        self._ids: set[str] = set()

    def add(self, index: int | None, call_id: str, name: str, arguments: str) -> CallPart | None:
        """The next fragment to hand on; None while a call's name is awaited or nothing was said.
        Raises TooManyCalls."""
        call = self._find(index, call_id, name) or self._open(index, call_id)
        if call.held is None:
            return CallPart(call.index, arguments) if arguments else None
        if name:
            return self._begin(call, name, arguments)
        call.held += arguments
        return None

    def nameless(self) -> list[CallPart]:
        """At the end of the answer: the calls whose name never came, whole, with an empty one."""
        return [self._begin(call, "", "") for call in self._calls if call.held is not None]

    def _find(self, index: int | None, sent_id: str, name: str) -> _OpenCall | None:
        """The call that a fragment goes on with. Under a known index a new id is a new call; with
        neither index nor id a name is."""
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
        arguments = (call.held or "") + arguments
        call.held = None
        return CallPart(call.index, arguments, call_id=call.call_id, name=name)
