"""Encodes the items of a session: what the user said, and what the steps of its turns are.

An item has the same id in a stream and in a list. It is derived from the step, or of what a turn began with from the
turn and the position there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from agents.base import ids
from agents.openai_agents.wire.sessions import turn_id
from agents.record.schemas.events import USER_INPUT
from agents.record.schemas.items import media_type
from agents.record.schemas.turns import StepSnapshot

JSON = dict[str, Any]
WEB_SEARCH_TOOL = "brave_search"
"""The web search that agents have as one of their groups of tools."""
OWN_TOOLS = "builtin"
"""Label of the tools that no server was named for."""
NOT_APPROVED = "The call was not approved."
_STATUSES = {"in_progress": "in_progress", "awaiting_input": "in_progress", "completed": "completed"}
_CALL_STATUSES = {**_STATUSES, "failed": "failed"}


def step_item_id(prefix: str, step: int) -> str:
    return ids.part(prefix, ids.Kind.STEP, step)


def input_item_id(turn: int, position: int) -> str:
    """Return the id of an item that a turn began with."""
    return f"{ids.part('msg', ids.Kind.TURN, turn)}_{position}"


def turn_of_input_item(item_id: str) -> int | None:
    """Return the turn whose input an item's id names; None for any other id."""
    head, _, position = item_id.rpartition("_")
    return ids.parse_part(ids.Kind.TURN, head) if position.isdecimal() else None


# --------------------------------------------------------------------------------------------------- input


def input_items(turn: int, messages: Sequence[Mapping[str, Any]]) -> list[JSON]:
    """Encode what a turn began with. Instructions among the messages are not shown."""
    items = (_message_items(turn, input_item_id(turn, position), message) for position, message in enumerate(messages))
    return [item for made in items for item in made]


def heard_items(turn: int, data: Mapping[str, Any]) -> list[JSON]:
    """Encode what the user said while a turn ran."""
    pairs = zip(data.get("ids", ()), data.get("messages", ()), strict=False)
    return [item for item_id, message in pairs for item in _message_items(turn, item_id, message)]


def _message_items(turn: int, item_id: str, message: Mapping[str, Any]) -> Iterator[JSON]:
    """Yield the items of one message: of an assistant's from elsewhere its calls, too."""
    match message.get("role"):
        case "user":
            yield _message(turn, item_id, "user", _user_content(message.get("content")))
        case "tool":
            head = {"id": item_id, "type": "function_call_output", "turn_id": turn_id(turn)}
            output = {"call_id": message["call_id"], "output": _text(message.get("content")), "error": None}
            yield {**head, **output, "status": "completed"}
        case "assistant":
            if text := _text(message.get("content")):
                yield _message(turn, item_id, "assistant", [output_text(text)])
            for number, call in enumerate(message.get("tool_calls", ())):
                yield _function_call(turn, f"{item_id}{number}", call, "completed")


def _message(turn: int, item_id: str, role: str, content: Sequence[JSON], **more: Any) -> JSON:
    head = {"id": item_id, "type": "message", "role": role, "turn_id": turn_id(turn), "content": list(content)}
    return {**head, "phase": None, "status": "completed", **more}


def output_text(text: str) -> JSON:
    return {"type": "output_text", "text": text}


def _user_content(content: Any) -> list[JSON]:
    parts = content if isinstance(content, list) else [content]
    return [_user_part(part) for part in parts if part is not None]


def _user_part(part: Any) -> JSON:
    if not isinstance(part, dict) or part.get("type") != "image":
        return {"type": "input_text", "text": part if isinstance(part, str) else str(part.get("text", ""))}
    image = part.get("image", {})
    url = image["url"]["uri"] if image.get("url") else f"data:{media_type(image)};base64,{image.get('data', '')}"
    return {"type": "input_image", "image_url": url}


def _text(content: Any) -> str:
    parts = content if isinstance(content, list) else [content]
    return "\n".join(
        part if isinstance(part, str) else str(part.get("text", ""))
        for part in parts
        if isinstance(part, str) or (isinstance(part, dict) and part.get("type", "text") == "text")
    )


# --------------------------------------------------------------------------------------------------- steps


def step_items(turn: int, step: StepSnapshot, detail: JSON) -> list[JSON]:
    """Encode a step: none, one, or several items."""
    match step.type:
        case "inference":
            return inference_items(turn, step.key, detail, step.status)
        case "tool_execution":
            return tool_items(turn, step.key, detail, step.status, server_side=step.server_side)
        case "shield_call":
            return refusal_items(turn, step.key, detail)
        case "other" if detail.get("kind") == USER_INPUT:
            return heard_items(turn, detail.get("data", {}))
        case _:
            return []


def inference_items(turn: int, step: int, detail: JSON, status: str) -> list[JSON]:
    """Encode what a model wrote: its reasoning, and its message. Its calls are steps of their own. One that another
    step repeats, and a summary for the model itself, are not shown."""
    message, shown = detail.get("model_response", {}), _STATUSES.get(status, "incomplete")
    if detail.get("is_cut") or detail.get("compaction") is not None:
        return []
    text, items = _text(message.get("content")), []
    if reasoning := detail.get("reasoning"):
        items.append(reasoning_item(turn, step, reasoning, shown))
    if text:
        phase = "commentary" if message.get("tool_calls") else "final_answer"
        items.append(assistant_item(turn, step, text, shown, phase if shown == "completed" else None))
    return items[::-1] if detail.get("reasoning_last") else items


def assistant_item(turn: int, step: int, text: str | None, status: str, phase: str | None = None) -> JSON:
    """Encode a model's message; None is one that has no text yet."""
    content = [] if text is None else [output_text(text)]
    return _message(turn, step_item_id("msg", step), "assistant", content, status=status, phase=phase)


def reasoning_item(turn: int, step: int, text: str | None, status: str) -> JSON:
    summary = [] if text is None else [{"type": "summary_text", "text": text}]
    head = {"id": step_item_id("rs", step), "type": "reasoning", "turn_id": turn_id(turn)}
    return {**head, "summary": summary, "status": status}


def refusal_items(turn: int, step: int, detail: JSON) -> list[JSON]:
    """Encode a shield's refusal, which is the answer then."""
    violation = detail.get("violation") or {}
    if violation.get("violation_level") != "error":
        return []
    return [assistant_item(turn, step, violation.get("user_message") or "", "completed", "final_answer")]


def tool_items(turn: int, step: int, detail: JSON, status: str, *, server_side: bool) -> list[JSON]:
    """Encode a call: one of the server is one item, one of the client two, once it is answered. A question for
    approval is none, but when it was refused: then it is the call that was not made."""
    if not detail.get("tool_calls"):
        return []
    if detail.get("approval"):
        return [refused_call(turn, step, detail)] if detail["approval"] == "refused" else []
    if server_side or detail.get("kind") in ("mcp", "web_search", "file_search", "code_interpreter"):
        return [server_call(turn, step, detail, status)]
    call = function_call(turn, step, detail, status)
    return [call, answer_item(turn, step, detail)] if detail.get("tool_responses") else [call]


def function_call(turn: int, step: int, detail: JSON, status: str) -> JSON:
    """Encode a call of the client's function."""
    shown = "failed" if _failure(detail) else _CALL_STATUSES.get(status, "incomplete")
    return _function_call(turn, step_item_id("fc", step), detail["tool_calls"][0], shown)


def _function_call(turn: int, item_id: str, call: JSON, status: str) -> JSON:
    head = {"id": item_id, "type": "function_call", "turn_id": turn_id(turn), "call_id": call["call_id"]}
    return {**head, "name": call["tool_name"], "arguments": call.get("arguments"), "status": status}


def answer_item(turn: int, step: int, detail: JSON) -> JSON:
    """Encode the client's answer to its call."""
    answer, failure = detail["tool_responses"][0], _failure(detail)
    output = (answer.get("metadata") or {}).get(SAID, {}).get("output", _text(answer.get("content")))
    head = {"id": step_item_id("fco", step), "type": "function_call_output", "turn_id": turn_id(turn)}
    status = "failed" if failure else "completed"
    return {**head, "call_id": answer["call_id"], "output": output, "error": failure, "status": status}


SAID = "openai_tool_result"
"""Key in the metadata of a client's answer: what it said in the words of this API."""


def _failure(detail: JSON) -> str | None:
    """Return why the client says that its call failed; None where it does not say so."""
    answers = detail.get("tool_responses") or [{}]
    said = (answers[0].get("metadata") or {}).get(SAID, {})
    return (said.get("error") or "The call failed.") if said.get("success") is False else None


def server_call(turn: int, step: int, detail: JSON, status: str) -> JSON:
    """Encode a call of one of the server's tools."""
    call, answers = detail["tool_calls"][0], detail.get("tool_responses") or []
    shown = _CALL_STATUSES.get(status, "incomplete")
    if detail.get("kind") == "web_search" or (not detail.get("kind") and call["tool_name"] == WEB_SEARCH_TOOL):
        arguments = call.get("arguments")
        query = arguments.get("query") if isinstance(arguments, dict) else None
        action = {"type": "search", "query": query, "queries": None}
        head = {"id": step_item_id("ws", step), "type": "web_search_call", "turn_id": turn_id(turn)}
        return {**head, "action": action, "status": "incomplete" if shown == "failed" else shown}
    text = _text(answers[0].get("content")) if answers else None
    failed = shown == "failed"
    return {
        **_mcp_head(turn, step, detail),
        "output": None if failed else text,
        "error": (text or "The call failed.") if failed else None,
        "status": shown,
    }


def _mcp_head(turn: int, step: int, detail: JSON) -> JSON:
    call = detail["tool_calls"][0]
    head = {"id": step_item_id("mcp", step), "type": "mcp_call", "turn_id": turn_id(turn)}
    label = detail.get("label") or OWN_TOOLS
    return {**head, "server_label": label, "name": call["tool_name"], "arguments": call.get("arguments")}


def refused_call(turn: int, step: int, detail: JSON) -> JSON:
    """Encode a call that the client did not approve."""
    answers = detail.get("tool_responses") or [{}]
    error = _text(answers[0].get("content")) or NOT_APPROVED
    return {**_mcp_head(turn, step, detail), "output": None, "error": error, "status": "failed"}


# ------------------------------------------------------------------------------------------- required actions


def required_action(turn: int, step: int, detail: JSON) -> JSON:
    """Encode what a turn waits for: the answer to a call, or the approval of one."""
    call = detail["tool_calls"][0]
    if not detail.get("approval"):
        return {
            "type": "function_call",
            "turn_id": turn_id(turn),
            "call_id": call["call_id"],
            "name": call["tool_name"],
            "arguments": call.get("arguments"),
        }
    label = detail.get("label") or OWN_TOOLS
    request = {
        "type": "mcp_tool_call",
        "server_label": label,
        "name": call["tool_name"],
        "arguments": call.get("arguments"),
        "message": f"May {call['tool_name']} of {label} be called?",
    }
    return {
        "type": "mcp_approval_request",
        "turn_id": turn_id(turn),
        "request_id": step_item_id("mcpr", step),
        "request": request,
    }


# ----------------------------------------------------------------------------------- items put in by hand


def hand_items(key: int, body: bytes, turn: str) -> list[JSON]:
    """Encode a row that was put into a conversation by hand; ``turn`` stands for the turn that it has not."""
    items: list[JSON] = []
    for message in msgspec.json.decode(b"[%b]" % body):
        role = message.get("role")
        if role not in ("user", "assistant"):
            continue
        text = _text(message.get("content"))
        content = [output_text(text)] if role == "assistant" else [{"type": "input_text", "text": text}]
        item_id = ids.part("msg", ids.Kind.ITEM, key)
        items.append({**_message(0, item_id, role, content), "turn_id": turn})
    return items
