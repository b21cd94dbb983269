"""Encodes the events of a session's turns as the frames of its stream.

There is one object per stream, and it gets the entries of one turn after the other, each from its start: the same
entries always give the same frames, with the same event ids. Frames of events up to a number can be left out, for
readers that come later.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from agents.base import ids, sse
from agents.openai_agents.wire import items as wire
from agents.openai_agents.wire.open_items import TypedMessage, TypedReasoning
from agents.openai_agents.wire.sessions import (
    SessionHead,
    TurnOfSession,
    error_code,
    session_json,
    turn_id,
    turn_json,
    usage_json,
)
from agents.record.schemas.events import (
    USER_INPUT,
    Delta,
    Entry,
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

JSON = dict[str, Any]
TURN = "agent.session.turn"
_encode = msgspec.json.encode


class SessionStream:
    """The frames of a session's turns. ``head`` is the session as it is now: who feeds entries that tell of another
    state renews it before. ``ended`` counts the turns that are over."""

    def __init__(self, head: SessionHead, agent_id: str) -> None:
        self.head, self.agent_id = head, agent_id
        self.ended = 0
        self._turn = 0
        self._after = -1
        self._event = self._event_prefix = b""
        self._frames_of_event = 0
        self._is_silent = False
        self._out: list[bytes] = []
        self._begun_at = 0
        self._item_count = 0
        self._indexes: dict[str, int] = {}
        self._open_item: TypedMessage | TypedReasoning | None = None
        self._held_calls: list[StepStarted] = []
        self._waiting: dict[int, JSON] = {}
        self._resumes = False

    def created(self, status: str | None) -> bytes:
        """Return the first frame of a stream that begins with its session."""
        self._event, self._frames_of_event = b"evt_%b_created" % self.head.id.encode(), 0
        self.send("agent.session.created", {"session": session_json(self.head, status, ())})
        return self._taken()

    def subagent(self, what: str, event_id: str, subagent: JSON) -> bytes:
        """Return the frame that tells of a sub-agent: that it was created, was closed, or is active again."""
        kind = f"agent.session.subagent.{what}"
        return sse.frame(_encode({"type": kind, "event_id": event_id, "subagent": subagent}))

    def begin_turn(self, turn: int, after: int = -1) -> None:
        """Go over to another turn; of its events up to number ``after`` no frames are sent."""
        self._turn, self._after = turn, after
        self._event_prefix = f"{ids.part('evt', ids.Kind.TURN, turn)}_".encode()
        self._begun_at = self._item_count = 0
        self._indexes, self._waiting = {}, {}
        self._open_item, self._held_calls, self._resumes = None, [], False

    def feed(self, entries: Iterable[Entry]) -> bytes:
        """Return the frames of these entries of the turn, joined."""
        for entry in entries:
            self._frames_of_event = 0
            if isinstance(entry, Delta):
                self._event = b"%b%d.%d" % (self._event_prefix, entry.after, entry.ordinal)
                self._is_silent = entry.after < self._after
                self._add_delta(entry)
            else:
                self._event = b"%b%d" % (self._event_prefix, entry.seq)
                self._is_silent = entry.seq <= self._after
                self._add_event(entry)
        return self._taken()

    def _taken(self) -> bytes:
        out, self._out = self._out, []
        return b"".join(out)

    # ---------------------------------------------------------------------------------------- frames

    def send(self, kind: str, fields: JSON) -> None:
        """Append a frame."""
        event_id = self._next_id()
        if not self._is_silent:
            self._out.append(sse.frame(_encode({"type": kind, "event_id": event_id.decode(), **fields})))

    def _next_id(self) -> bytes:
        number, self._frames_of_event = self._frames_of_event, self._frames_of_event + 1
        return b"%b_%d" % (self._event, number) if number else self._event

    def delta_head(self, kind: str, fields: JSON) -> bytes:
        """Encode what the frames of an item's deltas share, once: there is one for every token."""
        place = {"session_id": self.head.id, "turn_id": turn_id(self._turn), **fields}
        return b'data: {"type":"%b.%b",%b,"delta":' % (TURN.encode(), kind.encode(), _encode(place)[1:-1])

    def send_delta(self, head: bytes, text: str) -> None:
        """Append the frame of a delta."""
        event_id = self._next_id()
        if not self._is_silent:
            self._out.append(b'%b%b,"event_id":"%b"}\n\n' % (head, _encode(text), event_id))

    def send_in_turn(self, kind: str, fields: JSON) -> None:
        """Append a frame of the turn."""
        self.send(f"{TURN}.{kind}", {"session_id": self.head.id, "turn_id": turn_id(self._turn), **fields})

    def _send_session(self, kind: str, status: str) -> None:
        actions = list(self._waiting.values()) if status == "awaiting_input" else []
        session = session_json(self.head, status, actions, is_over_budget=kind == "budget_reached")
        self.send(f"agent.session.{kind}", {"session": session})

    def _send_turn(self, kind: str, status: str, **more: Any) -> None:
        usage = {"usage": usage_json(more["usage"])} if "usage" in more else {}
        turn = TurnOfSession(self._turn, self.head.key, self.agent_id, status, self._begun_at, **more)
        self.send_in_turn(kind, {"turn": turn_json(turn), **usage})

    def add_item(self, item: JSON) -> int:
        """Send that an output item begins; returns its index."""
        index = self._indexes[item["id"]] = self._item_count
        self._item_count += 1
        self.send_in_turn("item.added", {"item": item, "output_index": index})
        return index

    def end_item(self, item: JSON) -> None:
        """Send that an output item is over; one that has not begun begins with it."""
        if item["id"] not in self._indexes:
            self.add_item({**item, "status": "in_progress"})
        self.send_in_turn("item.done", {"item": item, "output_index": self._indexes[item["id"]]})

    def _add_input(self, items: Iterable[JSON]) -> None:
        for item in items:
            self.send_in_turn("item.added", {"item": item, "output_index": None})

    # ---------------------------------------------------------------------------------------- deltas

    def _add_delta(self, delta: Delta) -> None:
        if delta.channel == "call":
            return  # calls are sent whole
        kind = TypedMessage if delta.channel == "text" else TypedReasoning
        if not isinstance(self._open_item, kind):
            if kind is TypedReasoning and isinstance(self._open_item, TypedMessage):
                return  # reasoning after the text is sent whole at the end of the step
            self._close("completed")
            self._open_item = kind(self, self._turn, delta.step)
        self._open_item.add_text(delta.text)

    def _close(self, status: str) -> None:
        if self._open_item is not None:
            self._open_item.close(status)
            self._open_item = None

    # ---------------------------------------------------------------------------------------- events

    def _add_event(self, event: Any) -> None:
        match event:
            case TurnStarted():
                self._begin(event)
            case TurnResumed():
                self._resumes = event.steering is None
            case TurnAwaiting():
                self._send_held_calls()
                self._send_session("requires_action", "awaiting_input")
            case TurnEnded():
                self._end(event)
            case StepStarted() | StepEnded():
                self._add_step(event)
            case _:
                pass

    def _begin(self, event: TurnStarted) -> None:
        self._begun_at = event.at
        messages = [message.model_dump(mode="json", exclude_none=True) for message in event.input_messages]
        self._send_turn("created", "in_progress")
        self._add_input(wire.input_items(self._turn, messages))
        self._send_session("in_progress", "in_progress")
        self._send_turn("in_progress", "in_progress")

    def _go_on(self) -> None:
        """Send once, after the answers that a turn goes on with, that it does."""
        if self._resumes:
            self._resumes = False
            self._send_session("in_progress", "in_progress")

    def _end(self, event: TurnEnded) -> None:
        self._go_on()
        self._close("incomplete")
        self._held_calls, self._waiting = [], {}
        status = {"interrupted": "failed"}.get(event.status, event.status)
        more = {"completed_at": event.at, "error": event.error, "usage": event.usage}
        self._send_turn(status, event.status, **more)
        if status == "failed":
            self._send_error(event)
        self.ended += 1
        failed_by_budget = event.error is not None and event.error.budget == "session"
        is_last = self.head.last_turn == self._turn
        is_over = failed_by_budget or (is_last and self.head.is_over_budget)
        self._send_session("budget_reached" if is_over else "idle", event.status)

    def _send_error(self, event: TurnEnded) -> None:
        code = error_code(event.error) if event.error else "internal_error"
        message = event.error.message if event.error else f"The turn was {event.status}."
        error = {"type": "server_error", "code": code, "message": message, "param": None}
        self.send("error", {"session_id": self.head.id, "error": error})

    # ----------------------------------------------------------------------------------------- steps

    def _add_step(self, event: StepStarted | StepEnded) -> None:
        if isinstance(event, StepEnded) and event.step in self._waiting:
            self._add_answer(event)
            return
        self._go_on()
        match event:
            case StepEnded(detail=InferenceDetail() as detail):
                self._end_inference(event, detail)
            case StepStarted(step_type="tool_execution", server_side=False):
                self._held_calls.append(event)
            case StepStarted(step_type="tool_execution", detail=ToolDetail() as detail):
                self.add_item(wire.server_call(self._turn, event.step, _plain(detail), "in_progress"))
            case StepEnded(detail=ToolDetail() as detail):
                self._end_tool(event, detail)
            case StepEnded(detail=ShieldDetail() as detail):
                for item in wire.refusal_items(self._turn, event.step, _plain(detail)):
                    self._send_message(event.step, item)
            case StepEnded(detail=OtherDetail(kind=kind, data=data)) if kind == USER_INPUT:
                self._add_input(wire.heard_items(self._turn, data))
            case _:
                pass

    def _end_inference(self, event: StepEnded, detail: InferenceDetail) -> None:
        """Close the open items with the step's final content. Those of an inference that is asked again end as
        incomplete."""
        for item in wire.inference_items(self._turn, event.step, _plain(detail), event.status):
            if item["id"] in self._indexes:
                if self._open_item is not None and self._open_item.item_id == item["id"]:
                    self._open_item.close(item["status"], item)
                    self._open_item = None
            else:
                self._close("completed")
                self._send_message(event.step, item)
        self._close("incomplete")

    def _send_message(self, step: int, item: JSON) -> None:
        """Send a message, or reasoning, that nothing was typed of."""
        kind = TypedMessage if item["type"] == "message" else TypedReasoning
        kind(self, self._turn, step).close(item["status"], item)

    def _end_tool(self, event: StepEnded, detail: ToolDetail) -> None:
        for item in wire.tool_items(self._turn, event.step, _plain(detail), event.status, server_side=True):
            self.end_item(item)

    def _send_held_calls(self) -> None:
        """Send the client's calls, now that they can be answered."""
        for held in self._held_calls:
            assert isinstance(held.detail, ToolDetail)  # a tool's step has its call from the start
            detail = _plain(held.detail)
            self._waiting[held.step] = wire.required_action(self._turn, held.step, detail)
            if not detail.get("approval"):
                self.add_item(wire.function_call(self._turn, held.step, detail, "in_progress"))
        self._held_calls = []

    def _add_answer(self, event: StepEnded) -> None:
        """Send the answer to a call that the turn waited for, or that it was never answered."""
        del self._waiting[event.step]
        assert isinstance(event.detail, ToolDetail)  # clients answer calls
        detail = _plain(event.detail)
        if detail.get("approval"):
            if detail["approval"] == "refused":
                self.end_item(wire.refused_call(self._turn, event.step, detail))
            return
        if detail.get("tool_responses"):
            self._add_input([wire.answer_item(self._turn, event.step, detail)])
        self.end_item(wire.function_call(self._turn, event.step, detail, event.status))


def _plain(detail: Any) -> JSON:
    plain: JSON = detail.model_dump(mode="json", exclude_none=True)
    return plain
