"""Encodes a response's events as the frames of a Responses API stream.

There is one object per stream. It gets the response's entries from the first event on: the same entries always
give the same frames. Items come strictly one after the other, the server's tools before the client's calls.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec.structs import replace

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
from agents.responses.wire import outcomes
from agents.responses.wire import responses as wire
from agents.responses.wire.client_items import client_item
from agents.responses.wire.open_items import OpenMessage, OpenReasoning
from agents.responses.wire.responses import JSON, ResponseHead, ResponseState, encode, response_json

_PHASES = {
    "file_search": ("file_search_call", ("in_progress", "searching")),
    "web_search": ("web_search_call", ("in_progress", "searching")),
    "code_interpreter": ("code_interpreter_call", ("in_progress", "interpreting")),
    "mcp": ("mcp_call", ("in_progress",)),
}
_NEVER_FAIL = frozenset({"file_search", "web_search", "code_interpreter"})
"""Tools without a ``failed`` event."""


class ResponseStream:
    """The frames of one response after the frame numbered ``after``. ``state`` is the response's current state."""

    def __init__(self, head: ResponseHead, *, after: int = -1) -> None:
        self.head = head
        self.of_response = b'"response_id":"%b"' % head.id.encode()
        """A field that clients of Llama Stack expect of items and their parts."""
        self.is_over = False
        self.state = ResponseState("in_progress")
        self.error: ErrorInfo | None = None
        self._after = after
        self._number = 0
        self._out: list[bytes] = []
        self._held_back: list[Any] | None = [] if head.guarded else None
        self._items: list[bytes] = []
        self._usage: Usage | None = None
        self._finish: str | None = None
        self._refusal: tuple[int, str] | None = None
        self._open_item: OpenMessage | OpenReasoning | None = None
        self._typed_arguments: dict[int, ChunkedText] = {}
        self._call_order: list[str] = []
        self._index_of: dict[str, int] = {}
        self._output_passed = False
        self._tool_index = 0
        self._tool_queue: list[StepStarted] = []
        self._calls: list[bool] | None = None
        self._has_begun = False
        self._file_names: wire.FileNames | None = wire.FileNames() if head.cites else None

    def feed(self, entries: Iterable[Entry]) -> bytes:
        """Return the frames of these entries, joined; empty when none of them has a frame."""
        return b"".join(self.frames(entries))

    def frames(self, entries: Iterable[Entry]) -> list[bytes]:
        """Return the frames of these entries."""
        for entry in entries:
            if isinstance(entry, Delta):
                self._add_delta(entry)
            else:
                self._add_event(entry)
        out, self._out = self._out, []
        return out

    # ---------------------------------------------------------------------------------------- frames

    def send(self, kind: bytes, fields: bytes) -> None:
        """Number a frame, and append it unless its reader has seen it."""
        number, self._number = self._number, self._number + 1
        if number > self._after:
            self._out.append(self.frame(kind, fields, number))

    def frame(self, kind: bytes, fields: bytes, number: int) -> bytes:
        """Return a frame as a server-sent event."""
        return b'event: %b\ndata: {"type":"%b",%b,"sequence_number":%d}\n\n' % (kind, kind, fields, number)

    def item_event(self, kind: bytes, index: int, item: JSON) -> None:
        self.send(kind, b'"output_index":%d,"item":%b,%b' % (index, encode(item), self.of_response))

    def begin_item(self, item: JSON) -> int:
        """Begin an item; returns its index."""
        index = self._index_of[item["id"]] = len(self._items)
        self._items.append(b"")
        self.item_event(b"response.output_item.added", index, item)
        return index

    def end_item(self, index: int, item: JSON) -> None:
        item = self.head.finished(item)
        self._items[index] = encode(item)
        self.item_event(b"response.output_item.done", index, item)

    def send_response(self, kind: bytes) -> None:
        self.send(kind, b'"response":%b' % response_json(self.head, self.state))

    # ---------------------------------------------------------------------------------------- deltas

    def _add_delta(self, delta: Delta) -> None:
        if delta.channel == "call":
            self._typed_arguments.setdefault(delta.index, ChunkedText()).append(delta.text)
        elif self._held_back is not None:
            _hold_back(self._held_back, delta)
        else:
            self._add_text(delta)

    def _add_text(self, delta: Delta) -> None:
        item_type = OpenMessage if delta.channel == "text" else OpenReasoning
        if not isinstance(self._open_item, item_type):
            if item_type is OpenReasoning and isinstance(self._open_item, OpenMessage):
                return  # reasoning after text is sent complete at the end of the step
            self._close("completed")
            self._open_item = item_type(self, delta.step)
        self._open_item.add_text(delta.text, delta.logprobs)

    def _close(self, status: str) -> None:
        if self._open_item is not None:
            self._open_item.close(status)
            self._open_item = None

    # ---------------------------------------------------------------------------------------- events

    def _add_event(self, event: Any) -> None:
        if isinstance(event, StepEnded) and event.usage:  # counted also for steps that are not shown
            self._usage = (self._usage or Usage()) + event.usage
        self._note_calls(event)
        match event:
            case TurnResumed() if self._has_begun:
                self._release_held()
                if outcomes.was_steered(self._calls):
                    self._end_response("incomplete", outcomes.STEERED, event.at)
                else:
                    self._end_response("completed", None, event.at)
            case TurnStarted() | TurnResumed():
                self._has_begun = True
                self.send_response(b"response.created")
                self.send_response(b"response.in_progress")
            case StepEnded(detail=ShieldDetail() as detail):
                self._note_shield(event.step, detail)
            case TurnAwaiting():
                self._release_held()
                self._end_response("completed", None, event.at)
            case TurnEnded():
                self._release_held()
                self._end_turn(event)
            case _ if self._held_back is not None:
                self._held_back.append(event)
            case _:
                self._add_step(event)

    def _note_calls(self, event: Any) -> None:
        """Note the calls since the last inference: whether the server runs each."""
        match event:
            case StepEnded(step_type="inference"):
                self._calls = []
            case StepStarted(step_type="tool_execution") if self._calls is not None:
                self._calls.append(event.server_side)
            case _:
                pass

    def _note_shield(self, step: int, detail: ShieldDetail) -> None:
        violation = detail.violation
        if violation and violation.violation_level == "error":
            self._refusal = step, violation.user_message or ""
        self._output_passed = detail.touchpoint == "assistant-output" and self._refusal is None

    def _release_held(self) -> None:
        """Send the entries that were held back for the shields, or the refusal instead; nothing where the
        shields did not check."""
        held_entries, self._held_back = self._held_back, None
        if self._refusal is not None:
            self._send_refusal(*self._refusal)
            return
        for entry in held_entries or () if self._output_passed else ():
            self._add_text(entry) if isinstance(entry, Delta) else self._add_step(entry)
        self._close("incomplete")

    def _send_refusal(self, step: int, refusal: str) -> None:
        index = self.begin_item(wire.message_item(step, None, (), "in_progress"))
        fields = b'"item_id":"%b","output_index":%d,"content_index":0' % (
            ids.part("msg", Kind.STEP, step).encode(),
            index,
        )
        empty, part = ({"type": "refusal", "refusal": text} for text in ("", refusal))
        self.send(b"response.content_part.added", b'%b,"part":%b,%b' % (fields, encode(empty), self.of_response))
        self.send(b"response.refusal.delta", b'%b,"delta":%b' % (fields, encode(refusal)))
        self.send(b"response.refusal.done", b'%b,"refusal":%b' % (fields, encode(refusal)))
        self.send(b"response.content_part.done", b'%b,"part":%b,%b' % (fields, encode(part), self.of_response))
        self.end_item(index, wire.refusal_item(step, refusal))

    # ----------------------------------------------------------------------------------------- steps

    def _add_step(self, event: StepStarted | StepEnded) -> None:
        match event:
            case StepEnded(detail=InferenceDetail() as detail):
                self._end_inference(event, detail)
            case StepStarted(step_type="inference"):
                self._typed_arguments = {}
            case StepStarted(step_type="tool_execution", server_side=True, status="in_progress"):
                self._tool_queue.append(event)
                if len(self._tool_queue) == 1:
                    self._begin_tool(event)
            case StepStarted(step_type="tool_execution", detail=ToolDetail() as detail):
                self._send_call(event.step, detail)
            case StepEnded(detail=ToolDetail() as detail):
                self._end_tool(event, detail)
            case StepEnded(detail=OtherDetail(kind="mcp_list_tools") as listing):
                self._send_tool_list(event.step, listing)
            case _:
                pass

    def _end_inference(self, event: StepEnded, detail: InferenceDetail) -> None:
        """Close the open items with the step's final content. Those of a cut inference end as incomplete, and are
        not in the output: another step repeats it."""
        if detail.is_cut:
            self._close("incomplete")
            for name in ("rs", "msg"):
                index = self._index_of.get(ids.part(name, Kind.STEP, event.step))
                if index is not None:
                    self._items[index] = b""
            return
        if detail.compaction is not None:
            self._send_compaction(event.step, detail.compaction)
            return
        self._finish = detail.finish_reason
        self._call_order = [call.call_id for call in detail.model_response.tool_calls]
        for item in wire.inference_items(
            event.step, detail.model_dump(exclude_none=True), event.status, self._file_names
        ):
            self._end_item(event.step, item)

    def _send_compaction(self, step: int, sealed_summary: str) -> None:
        """Send a summary complete; nothing where it did not come about."""
        if not sealed_summary:
            return
        item = wire.compaction_item(step, sealed_summary)
        index = self.begin_item({**item, "encrypted_content": ""})
        fields = b'"item_id":"%b","output_index":%d' % (item["id"].encode(), index)
        self.send(b"response.compaction.compacting", fields)
        self.end_item(index, item)

    def _end_item(self, step: int, item: JSON) -> None:
        """Close the open item, or send the item complete; an item that is closed already is only updated in the
        response."""
        index = self._index_of.get(item["id"])
        if index is not None and self._items[index]:
            self._items[index] = encode(self.head.finished(item))
            return
        if index is None:
            self._close("completed")
            self._open_item = (OpenMessage if item["type"] == "message" else OpenReasoning)(self, step)
        assert self._open_item is not None  # an item that has begun and not ended is open
        self._open_item.close(item["status"], item)
        self._open_item = None

    def _send_call(self, step: int, detail: ToolDetail) -> None:
        """Send a call of the client with its arguments as they arrived."""
        if detail.approval:
            item = wire.tool_item(step, detail.model_dump(exclude_none=True), "in_progress", server_side=False)
            return self.end_item(self.begin_item(item), item)
        [call] = [tool_call.model_dump(exclude_none=True) for tool_call in detail.tool_calls]
        item = client_item(step, detail.model_dump(exclude_none=True), call)
        match item["type"]:
            case "function_call":
                chunks = self._argument_chunks(call["call_id"], item["arguments"])
                self._send_typed(item, "arguments", chunks, "function_call_arguments", name=item["name"])
            case "custom_tool_call":
                self._send_typed(item, "input", [item["input"]], "custom_tool_call_input")
            case _:
                index = self.begin_item({**item, "status": "in_progress"})
                self.end_item(index, item)

    def _send_typed(self, item: JSON, field: str, chunks: Sequence[str], event: str, **more: str) -> None:
        """Send a call whose ``field`` is typed in chunks."""
        index = self.begin_item({**item, "status": "in_progress", field: ""})
        fields = b'"item_id":"%b","output_index":%d' % (item["id"].encode(), index)
        for chunk in chunks:
            self.send(f"response.{event}.delta".encode(), b'%b,"delta":%b' % (fields, encode(chunk)))
        done = {field: item[field], **more}
        self.send(f"response.{event}.done".encode(), b"%b,%b" % (fields, encode(done)[1:-1]))
        self.end_item(index, item)

    def _argument_chunks(self, call_id: str, arguments: str) -> list[str]:
        """Return a call's arguments in the chunks they arrived in; in one chunk where these are unknown."""
        arguments_by_index = sorted(self._typed_arguments.items())
        position = self._call_order.index(call_id) if call_id in self._call_order else len(arguments_by_index)
        chunks = (
            [text for text in arguments_by_index[position][1] if text] if position < len(arguments_by_index) else []
        )
        return chunks if "".join(chunks) == arguments else [arguments]

    # ---------------------------------------------------------------------------- the server's tools

    def _begin_tool(self, event: StepStarted) -> None:
        assert isinstance(event.detail, ToolDetail)  # a tool's step has its call from the start
        detail = event.detail.model_dump(exclude_none=True)
        kind = event.detail.kind or "mcp"
        item = wire.tool_item(event.step, detail, "in_progress", server_side=True)
        self._tool_index = self.begin_item(item)
        fields = self._item_fields(item)
        if kind == "mcp":
            self.send(b"response.mcp_call_arguments.delta", b'%b,"delta":%b' % (fields, encode(item["arguments"])))
            self.send(b"response.mcp_call_arguments.done", b'%b,"arguments":%b' % (fields, encode(item["arguments"])))
        if kind == "code_interpreter":
            self.send(b"response.code_interpreter_call_code.delta", b'%b,"delta":%b' % (fields, encode(item["code"])))
            self.send(b"response.code_interpreter_call_code.done", b'%b,"code":%b' % (fields, encode(item["code"])))
        name, phases = _PHASES[kind]
        for phase in phases:
            self.send(f"response.{name}.{phase}".encode(), fields)

    def _item_fields(self, item: JSON) -> bytes:
        return b'"item_id":"%b","output_index":%d' % (item["id"].encode(), self._tool_index)

    def _end_tool(self, event: StepEnded, detail: ToolDetail) -> None:
        if not self._tool_queue or self._tool_queue[0].step != event.step:
            return  # a client's answer is input of this response
        kind = detail.kind or "mcp"
        raw = detail.model_dump(exclude_none=True)
        wire.add_file_names(raw, self._file_names)
        item = wire.tool_item(event.step, raw, event.status, server_side=True)
        failed = item["status"] == "failed" and kind not in _NEVER_FAIL
        self.send(
            f"response.{_PHASES[kind][0]}.{'failed' if failed else 'completed'}".encode(), self._item_fields(item)
        )
        self.end_item(self._tool_index, item)
        self._tool_queue.pop(0)
        if self._tool_queue:
            self._begin_tool(self._tool_queue[0])

    def _send_tool_list(self, step: int, detail: OtherDetail) -> None:
        item = wire.listing_item(step, detail.model_dump())
        index = self.begin_item(
            {name: [] if name == "tools" else value for name, value in item.items() if name != "error"}
        )
        fields = b'"item_id":"%b","output_index":%d' % (item["id"].encode(), index)
        self.send(b"response.mcp_list_tools.in_progress", fields)
        self.send(b"response.mcp_list_tools.%b" % (b"failed" if "error" in item else b"completed"), fields)
        self.end_item(index, item)

    # ------------------------------------------------------------------------------------- the end

    def _end_turn(self, event: TurnEnded) -> None:
        self.error = event.error
        error = wire.error_json(event.error, event.status, event.reason)
        incomplete = None if self._refusal else outcomes.incomplete_reason(event.reason, self._finish)
        status = outcomes.status_of(event.status, incomplete)
        self._end_response(status, incomplete if status == "incomplete" else None, event.at, error)

    def _end_response(self, status: str, incomplete: str | None, at: int, error: JSON | None = None) -> None:
        self.is_over = True
        if status == "completed" and self._refusal is None:
            incomplete = outcomes.incomplete_reason(None, self._finish)
            status = outcomes.status_of(status, incomplete)
        self.state = ResponseState(
            status, [item for item in self._items if item], at, self._usage or Usage(), error, incomplete
        )
        name = "incomplete" if status in ("incomplete", "cancelled") else status
        self.send_response(f"response.{name}".encode())


MAX_HELD_CHARS = 1024
"""The size up to which deltas that are held back are merged: they are sent together anyway."""


def _hold_back(held_entries: list[Any], delta: Delta) -> None:
    """Hold back a delta, merged with the one before it if they have the same step and channel."""
    last: Any = held_entries[-1] if held_entries else None
    follows = isinstance(last, Delta) and (last.step, last.channel) == (delta.step, delta.channel)
    if follows and len(last.text) < MAX_HELD_CHARS:
        logprobs = [*last.logprobs, *delta.logprobs]
        held_entries[-1] = replace(last, text=last.text + delta.text, logprobs=logprobs)
    else:
        held_entries.append(delta)
