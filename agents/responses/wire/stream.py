"""A leg's events as the frames of a Responses API stream.

One object per stream; it is fed the leg's entries from its first event on, numbers every frame from
0, and gives those behind ``after``: the same entries always give the same frames. Items come
strictly one after the other, the server's tools before the client's calls.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from agents.base import ids
from agents.base.ids import Kind
from agents.record.schemas.chunked_text import ChunkedText
from agents.record.schemas.content import Usage
from agents.record.schemas.events import (
    Delta,
    Entry,
    ErrorInfo,
    InferenceDetail,
    OtherDetail,
    ShieldDetail,
    StepEnded,
    StepStarted,
    ToolDetail,
    TurnAwaiting,
    TurnEnded,
    TurnResumed,
    TurnStarted,
)
from agents.responses.wire import citations
from agents.responses.wire import responses as wire
from agents.responses.wire.responses import JSON, Outcome, ResponseHead, encode, response_json

_PHASES = {
    "file_search": ("file_search_call", ("in_progress", "searching")),
    "web_search": ("web_search_call", ("in_progress", "searching")),
    "code_interpreter": ("code_interpreter_call", ("in_progress", "interpreting")),
    "mcp": ("mcp_call", ("in_progress",)),
}
_NEVER_FAIL = frozenset({"file_search", "web_search", "code_interpreter"})
"""Tools for which there is no ``failed`` event."""


class Stream:
    """Frames of one response behind the frame numbered ``after``. ``outcome`` is how far it is."""

    def __init__(self, head: ResponseHead, *, after: int = -1) -> None:
        self.head = head
        self.over = False
        self.outcome = Outcome("in_progress")
        self.error: ErrorInfo | None = None
        self._after = after
        self._number = 0
        self._out: list[bytes] = []
        self._held: list[Any] | None = [] if head.guarded else None
        self._items: list[bytes] = []
        self._usage: Usage | None = None
        self._finish: str | None = None
        self._refusal: tuple[int, str] | None = None
        self._writing: _Message | _Thought | None = None
        self._calls: dict[int, ChunkedText] = {}
        self._order: list[str] = []
        self._index_of: dict[str, int] = {}
        self._judged_well = False
        self._tool_index = 0
        self._waiting: list[StepStarted] = []
        self._names: wire.Names | None = wire.Names() if head.cites else None

    def feed(self, entries: Iterable[Entry]) -> bytes:
        """The frames of these entries, joined; empty when none of them is shown."""
        for entry in entries:
            if isinstance(entry, Delta):
                self._delta(entry)
            else:
                self._event(entry)
        out, self._out = b"".join(self._out), []
        return out

    # ---------------------------------------------------------------------------------------- frames

    def send(self, kind: bytes, fields: bytes) -> None:
        """Number a frame, and give it out unless its reader has seen it."""
        number, self._number = self._number, self._number + 1
        if number > self._after:
            self._out.append(
                b'event: %b\ndata: {"type":"%b",%b,"sequence_number":%d}\n\n' % (kind, kind, fields, number)
            )

    def item_event(self, kind: bytes, index: int, item: JSON) -> None:
        self.send(kind, b'"output_index":%d,"item":%b' % (index, encode(item)))

    def add(self, item: JSON) -> int:
        """Begin an item; returns its index."""
        index = self._index_of[item["id"]] = len(self._items)
        self._items.append(b"")
        self.item_event(b"response.output_item.added", index, item)
        return index

    def end(self, index: int, item: JSON) -> None:
        self._items[index] = encode(item)
        self.item_event(b"response.output_item.done", index, item)

    def _whole(self, kind: bytes) -> None:
        self.send(kind, b'"response":%b' % response_json(self.head, self.outcome))

    # ---------------------------------------------------------------------------------------- deltas

    def _delta(self, delta: Delta) -> None:
        if delta.channel == "call":
            self._calls.setdefault(delta.index, ChunkedText()).append(delta.text)
        elif self._held is not None:
            _hold(self._held, delta)
        else:
            self._type(delta)

    def _type(self, delta: Delta) -> None:
        wanted = _Message if delta.channel == "text" else _Thought
        if not isinstance(self._writing, wanted):
            if wanted is _Thought and isinstance(self._writing, _Message):
                return  # a thought after words: it comes whole, at the end of the step
            self._close("completed")
            self._writing = wanted(self, delta.step)
        self._writing.type(delta.text)

    def _close(self, status: str) -> None:
        if self._writing is not None:
            self._writing.close(status)
            self._writing = None

    # ---------------------------------------------------------------------------------------- events

    def _event(self, event: Any) -> None:
        if isinstance(event, StepEnded) and event.usage:  # counted, be it shown or not
            self._usage = (self._usage or Usage()) + event.usage
        match event:
            case TurnStarted() | TurnResumed():
                self._whole(b"response.created")
                self._whole(b"response.in_progress")
            case StepEnded(detail=ShieldDetail() as detail):
                self._judged(event.step, detail)
            case TurnAwaiting():
                self._settle()
                self._finished("completed", None, event.at)
            case TurnEnded():
                self._settle()
                self._ended(event)
            case _ if self._held is not None:
                self._held.append(event)
            case _:
                self._step(event)

    def _judged(self, step: int, detail: ShieldDetail) -> None:
        found = detail.violation
        if found and found.violation_level == "error":
            self._refusal = step, found.user_message or ""
        self._judged_well = detail.touchpoint == "assistant-output" and self._refusal is None

    def _settle(self) -> None:
        """Give out what was held back for the shields, or the refusal in its place; nothing where
        they never judged."""
        held, self._held = self._held, None
        if self._refusal is not None:
            self._refuse(*self._refusal)
            return
        for entry in held or () if self._judged_well else ():
            self._type(entry) if isinstance(entry, Delta) else self._step(entry)
        self._close("incomplete")

    def _refuse(self, step: int, words: str) -> None:
        index = self.add(wire.message_item(step, None, (), "in_progress"))
        place = b'"item_id":"%b","output_index":%d,"content_index":0' % (
            ids.part("msg", Kind.STEP, step).encode(),
            index,
        )
        empty, part = ({"type": "refusal", "refusal": text} for text in ("", words))
        self.send(b"response.content_part.added", b'%b,"part":%b' % (place, encode(empty)))
        self.send(b"response.refusal.delta", b'%b,"delta":%b' % (place, encode(words)))
        self.send(b"response.refusal.done", b'%b,"refusal":%b' % (place, encode(words)))
        self.send(b"response.content_part.done", b'%b,"part":%b' % (place, encode(part)))
        self.end(index, wire.refusal_item(step, words))

    # ----------------------------------------------------------------------------------------- steps

    def _step(self, event: StepStarted | StepEnded) -> None:
        match event:
            case StepEnded(detail=InferenceDetail() as detail):
                self._inferred(event, detail)
            case StepStarted(step_type="inference"):
                self._calls = {}
            case StepStarted(step_type="tool_execution", server_side=True, status="in_progress"):
                self._waiting.append(event)
                if len(self._waiting) == 1:
                    self._begin_tool(event)
            case StepStarted(step_type="tool_execution", detail=ToolDetail() as detail):
                self._call(event.step, detail)
            case StepEnded(detail=ToolDetail() as detail):
                self._end_tool(event, detail)
            case StepEnded(detail=OtherDetail(kind="mcp_list_tools") as listing):
                self._listed(event.step, listing)
            case _:
                pass

    def _inferred(self, event: StepEnded, detail: InferenceDetail) -> None:
        """Close what was being typed, as the whole step says it."""
        self._finish = detail.finish_reason
        self._order = [call.call_id for call in detail.model_response.tool_calls]
        for item in wire.inference_items(event.step, detail.model_dump(exclude_none=True), event.status, self._names):
            self._end_item(event.step, item)

    def _end_item(self, step: int, item: JSON) -> None:
        """Close the item that is being typed, or send it whole; one that is closed already is only
        made whole for the response."""
        known = self._index_of.get(item["id"])
        if known is not None and self._items[known]:
            self._items[known] = encode(item)
            return
        if known is None:
            self._close("completed")
            self._writing = (_Message if item["type"] == "message" else _Thought)(self, step)
        assert self._writing is not None  # an item that was begun and not ended is being typed
        self._writing.close(item["status"], item)
        self._writing = None

    def _call(self, step: int, detail: ToolDetail) -> None:
        """A call of the client's: its arguments as they were typed."""
        if detail.approval:
            item = wire.tool_item(step, detail.model_dump(exclude_none=True), "in_progress", server_side=False)
            return self.end(self.add(item), item)
        [call] = [one.model_dump(exclude_none=True) for one in detail.tool_calls]
        index = self.add(wire.function_item(step, call, "in_progress", ""))
        item = wire.function_item(step, call)
        place = b'"item_id":"%b","output_index":%d' % (item["id"].encode(), index)
        for piece in self._pieces(call["call_id"], item["arguments"]):
            self.send(b"response.function_call_arguments.delta", b'%b,"delta":%b' % (place, encode(piece)))
        done = b'%b,"arguments":%b,"name":%b' % (place, encode(item["arguments"]), encode(item["name"]))
        self.send(b"response.function_call_arguments.done", done)
        self.end(index, item)

    def _pieces(self, call_id: str, arguments: str) -> list[str]:
        """A call's arguments as they came; in one piece where that is not known."""
        typed = sorted(self._calls.items())
        place = self._order.index(call_id) if call_id in self._order else len(typed)
        pieces = [text for text in typed[place][1] if text] if place < len(typed) else []
        return pieces if "".join(pieces) == arguments else [arguments]

    # ---------------------------------------------------------------------------- the server's tools

    def _begin_tool(self, event: StepStarted) -> None:
        assert isinstance(event.detail, ToolDetail)  # a call is known when its step begins
        detail = event.detail.model_dump(exclude_none=True)
        kind = event.detail.kind or "mcp"
        item = wire.tool_item(event.step, detail, "in_progress", server_side=True)
        self._tool_index = self.add(item)
        place = self._place(item)
        if kind == "mcp":
            self.send(b"response.mcp_call_arguments.delta", b'%b,"delta":%b' % (place, encode(item["arguments"])))
            self.send(b"response.mcp_call_arguments.done", b'%b,"arguments":%b' % (place, encode(item["arguments"])))
        if kind == "code_interpreter":
            self.send(b"response.code_interpreter_call_code.delta", b'%b,"delta":%b' % (place, encode(item["code"])))
            self.send(b"response.code_interpreter_call_code.done", b'%b,"code":%b' % (place, encode(item["code"])))
        name, phases = _PHASES[kind]
        for phase in phases:
            self.send(f"response.{name}.{phase}".encode(), place)

    def _place(self, item: JSON) -> bytes:
        return b'"item_id":"%b","output_index":%d' % (item["id"].encode(), self._tool_index)

    def _end_tool(self, event: StepEnded, detail: ToolDetail) -> None:
        if not self._waiting or self._waiting[0].step != event.step:
            return  # the answer of a client: an input of this response
        kind = detail.kind or "mcp"
        raw = detail.model_dump(exclude_none=True)
        wire.note_files(raw, self._names)
        item = wire.tool_item(event.step, raw, event.status, server_side=True)
        failed = item["status"] == "failed" and kind not in _NEVER_FAIL
        self.send(f"response.{_PHASES[kind][0]}.{'failed' if failed else 'completed'}".encode(), self._place(item))
        self.end(self._tool_index, item)
        self._waiting.pop(0)
        if self._waiting:
            self._begin_tool(self._waiting[0])

    def _listed(self, step: int, detail: OtherDetail) -> None:
        item = wire.listing_item(step, detail.model_dump())
        index = self.add({**item, "tools": [], "error": None})
        place = b'"item_id":"%b","output_index":%d' % (item["id"].encode(), index)
        self.send(b"response.mcp_list_tools.in_progress", place)
        self.send(b"response.mcp_list_tools.%b" % (b"failed" if item["error"] else b"completed"), place)
        self.end(index, item)

    # ------------------------------------------------------------------------------------- the end

    def _ended(self, event: TurnEnded) -> None:
        self.error = event.error
        error = wire.error_json(event.error, event.status, event.reason)
        incomplete = None if self._refusal else wire.incomplete_reason(event.reason, self._finish)
        status = wire.status_of(event.status, incomplete)
        self._finished(status, incomplete if status == "incomplete" else None, event.at, error)

    def _finished(self, status: str, incomplete: str | None, at: int, error: JSON | None = None) -> None:
        self.over = True
        if status == "completed" and self._refusal is None:
            incomplete = wire.incomplete_reason(None, self._finish)
            status = wire.status_of(status, incomplete)
        self.outcome = Outcome(
            status, [item for item in self._items if item], at, self._usage or Usage(), error, incomplete
        )
        name = "incomplete" if status in ("incomplete", "cancelled") else status
        self._whole(f"response.{name}".encode())


HELD = 1024
"""Characters of one delta that was held back: it comes with all others, so that small ones would be for nothing."""


def _hold(held: list[Any], delta: Delta) -> None:
    """Keep a delta, as one with that before it where they belong together."""
    last = held[-1] if held else None
    if isinstance(last, Delta) and (last.step, last.channel) == (delta.step, delta.channel) and len(last.text) < HELD:
        held[-1] = replace(last, text=last.text + delta.text)
    else:
        held.append(delta)


class _Message:
    """A message being typed."""

    def __init__(self, stream: Stream, step: int) -> None:
        self._stream, self._step = stream, step
        self._reader = citations.Reader() if stream.head.cites else None
        self._text = ChunkedText()
        item = wire.message_item(step, None, (), "in_progress")
        self._index = stream.add(item)
        self._place = b'"item_id":"%b","output_index":%d,"content_index":0' % (item["id"].encode(), self._index)
        self._stream.send(b"response.content_part.added", b'%b,"part":%b' % (self._place, encode(wire.text_part(""))))

    def type(self, text: str) -> None:
        if self._reader is not None:
            text = self._reader.take(text)
        if text:
            self._text.append(text)
            self._stream.send(
                b"response.output_text.delta", b'%b,"delta":%b,"logprobs":[]' % (self._place, encode(text))
            )

    def close(self, status: str, item: JSON | None = None) -> None:
        if self._reader is not None and (rest := self._reader.rest()):
            self._reader = None
            self.type(rest)
        item = item or wire.message_item(self._step, str(self._text), (), status)
        [part] = item["content"]
        for number, annotation in enumerate(part["annotations"]):
            fields = b'%b,"annotation_index":%d,"annotation":%b' % (self._place, number, encode(annotation))
            self._stream.send(b"response.output_text.annotation.added", fields)
        done = b'%b,"text":%b,"logprobs":[]' % (self._place, encode(part["text"]))
        self._stream.send(b"response.output_text.done", done)
        self._stream.send(b"response.content_part.done", b'%b,"part":%b' % (self._place, encode(part)))
        self._stream.end(self._index, item)


class _Thought:
    """Reasoning being typed."""

    def __init__(self, stream: Stream, step: int) -> None:
        self._stream, self._step = stream, step
        self._text = ChunkedText()
        item = wire.reasoning_item(step, "", "in_progress")
        self._index = stream.add(item)
        self._place = b'"item_id":"%b","output_index":%d,"content_index":0' % (item["id"].encode(), self._index)

    def type(self, text: str) -> None:
        self._text.append(text)
        self._stream.send(b"response.reasoning_text.delta", b'%b,"delta":%b' % (self._place, encode(text)))

    def close(self, status: str, item: JSON | None = None) -> None:
        item = item or wire.reasoning_item(self._step, str(self._text), status)
        text = item["content"][0]["text"] if item["content"] else ""
        if text and not self._text.size:
            self.type(text)  # it came after words, and is told whole
        self._stream.send(b"response.reasoning_text.done", b'%b,"text":%b' % (self._place, encode(text)))
        self._stream.end(self._index, item)
