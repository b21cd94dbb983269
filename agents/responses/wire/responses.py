"""Encodes responses and their output items for OpenAI's Responses API.

Only `items_of_step` turns a step into items. The id of an output item is derived from its step's key.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from agents.base import ids
from agents.base.ids import Kind
from agents.record.schemas.content import Usage
from agents.record.schemas.events import ErrorInfo
from agents.record.schemas.turns import LoadDetail, StepSnapshot, unchanged
from agents.responses.wire import citations, outcomes
from agents.responses.wire.client_items import arguments_of, client_item

JSON = dict[str, Any]
encode = msgspec.json.encode

_PREFIXES = {
    "file_search": "fs",
    "web_search": "ws",
    "code_interpreter": "ci",
    "mcp": "mcp",
}
_CODES = {
    "rate_limited": "rate_limit_exceeded",
    "invalid_request_error": "invalid_prompt",
    "budget_reached": "insufficient_quota",
}


class _Tool(msgspec.Struct):
    type: str = ""


class _Reasoning(msgspec.Struct):
    summary: str | None = None


class _Settings(msgspec.Struct):
    """The settings of a response that decide how it is encoded."""

    guardrails: list[str] = []
    tools: list[_Tool] = []
    reasoning: _Reasoning | None = None


_settings = msgspec.json.Decoder(_Settings)


def _read_settings(settings: bytes) -> _Settings:
    return _settings.decode(settings or b"{}")


@dataclass(frozen=True, slots=True)
class ResponseHead:
    """The part of a response that is known from its start. ``settings`` are the fields repeated from its
    request, as a JSON object; ``seal`` encrypts reasoning for a client that has asked for it."""

    key: int
    created_at: int
    settings: bytes
    seal: Callable[[str], str] | None = None

    @property
    def guarded(self) -> bool:
        """Whether shields check the output, so that nothing is sent before they have passed it."""
        return bool(_read_settings(self.settings).guardrails)

    @property
    def cites(self) -> bool:
        """Whether there is a file search, so that the text may cite files."""
        return any(tool.type == "file_search" for tool in _read_settings(self.settings).tools)

    @property
    def id(self) -> str:
        return ids.openai(Kind.RESPONSE, self.key)

    @property
    def summarizes(self) -> bool:
        """Whether a summary of the reasoning is asked for: it is the reasoning itself, which nobody sums up."""
        reasoning = _read_settings(self.settings).reasoning
        return reasoning is not None and bool(reasoning.summary)

    def finished(self, item: JSON) -> JSON:
        """Return an output item with its reasoning as a summary, and sealed, beside it, where that is asked for."""
        if item["type"] != "reasoning" or not item["content"]:
            return item
        text = item["content"][0]["text"]
        if self.summarizes:
            item = {**item, "summary": [{"type": "summary_text", "text": text}]}
        return item if self.seal is None else {**item, "encrypted_content": self.seal(text)}


@dataclass(frozen=True, slots=True)
class ResponseState:
    """The current state of a response. ``output`` yields items as JSON once; ``completed_at`` is in microseconds."""

    status: str
    output: Iterable[bytes] = ()
    completed_at: int | None = None
    usage: Usage | None = None
    error: JSON | None = None
    incomplete: str | None = None


def response_json(head: ResponseHead, outcome: ResponseState) -> bytes:
    """Encode a response."""
    return b"".join(response_chunks(head, outcome))


def response_chunks(head: ResponseHead, outcome: ResponseState, more: Iterable[bytes] = ()) -> Iterator[bytes]:
    """Encode a response in chunks, with the fields of ``more`` at its end."""
    ended = outcome.completed_at // 1_000_000 if outcome.completed_at and outcome.status == "completed" else None
    incomplete = outcomes.incomplete_details(outcome.incomplete)
    head_and_status = head.id.encode(), head.created_at // 1_000_000, outcome.status.encode()
    yield b'{"id":"%b","object":"response","created_at":%d,"status":"%b",' % head_and_status
    fields = encode(ended), encode(outcome.error), encode(incomplete)
    yield b'"completed_at":%b,"error":%b,"incomplete_details":%b,"output":[' % fields
    for position, item in enumerate(outcome.output):
        yield b"," if position else b""
        yield item
    yield b'],"usage":%b,' % encode(usage_json(outcome.usage))
    yield head.settings[1:-1]
    yield from more
    yield b"}"


def usage_json(usage: Usage | None) -> JSON | None:
    if usage is None:
        return None
    return {
        "input_tokens": usage.input_tokens,
        "input_tokens_details": {"cached_tokens": usage.cached_tokens, "cache_write_tokens": 0},
        "output_tokens": usage.output_tokens,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
        "total_tokens": usage.input_tokens + usage.output_tokens,
    }


# ---------------------------------------------------------------------------------------------- items


FileNames = dict[str, str]
"""Names of the files found so far, by their ids, for the annotations of citations."""


def items_of_step(step: StepSnapshot, names: FileNames | None = None) -> list[JSON]:
    """Return the output items of one step in order. A call that a client runs is an item of its own step.
    With ``names``, citations are parsed, and the names of files found by a search are added to it."""
    if step.detail is None:
        return []
    detail = msgspec.json.decode(step.detail)
    match step.type:
        case "inference":
            return inference_items(step.key, detail, step.status, names)
        case "tool_execution":
            add_file_names(detail, names)
            return [tool_item(step.key, detail, step.status, server_side=step.server_side)]
        case "other":
            return [listing_item(step.key, detail)] if detail.get("kind") == "mcp_list_tools" else []
        case _:
            return []


def add_file_names(detail: JSON, names: FileNames | None) -> None:
    """Add the names of the files that a search found."""
    if names is not None and detail.get("kind") == "file_search":
        for answer in detail.get("tool_responses") or ():
            names.update({result["file_id"]: result["filename"] for result in _metadata(answer).get("results", ())})


def inference_items(step: int, detail: JSON, status: str, names: FileNames | None = None) -> list[JSON]:
    """Return the items of an inference: the reasoning and the message; none of one that another step repeats."""
    if detail.get("is_cut"):
        return []
    if (summary := detail.get("compaction")) is not None:
        return [compaction_item(step, summary)] if summary else []
    out: list[JSON] = []
    message = detail["model_response"]
    is_complete = status == "completed" and outcomes.incomplete_reason(None, detail.get("finish_reason")) is None
    item_status = "completed" if is_complete else "incomplete"
    content = message.get("content") or ""
    if detail.get("reasoning"):
        was_over = bool(content) and not detail.get("reasoning_last")  # when the message began
        out.append(reasoning_item(step, detail["reasoning"], "completed" if was_over else item_status))
    if content or not message.get("tool_calls"):
        text, annotations = citations.read_citations(content, names) if names is not None else (content, [])
        out.append(message_item(step, text, annotations, item_status, detail.get("logprobs") or ()))
    return out[::-1] if detail.get("reasoning_last") else out


def compaction_item(step: int, sealed_summary: str) -> JSON:
    """Return the summary that stands for what came before it, as its client keeps it."""
    return {"id": ids.part("cmp", Kind.STEP, step), "type": "compaction", "encrypted_content": sealed_summary}


def reasoning_item(step: int, text: str, status: str) -> JSON:
    content = [{"type": "reasoning_text", "text": text}] if text else []
    return {
        "id": ids.part("rs", Kind.STEP, step),
        "type": "reasoning",
        "summary": [],
        "content": content,
        "status": status,
    }


def text_part(text: str, annotations: Sequence[JSON] = (), logprobs: Sequence[JSON] = ()) -> JSON:
    return {"type": "output_text", "text": text, "annotations": list(annotations), "logprobs": list(logprobs)}


def message_item(
    step: int, text: str | None, annotations: Sequence[JSON], status: str, logprobs: Sequence[JSON] = ()
) -> JSON:
    """Return a message of the model; ``text`` is None for one that has only begun."""
    return {
        "id": ids.part("msg", Kind.STEP, step),
        "type": "message",
        "role": "assistant",
        "status": status,
        "content": [] if text is None else [text_part(text, annotations, logprobs)],
    }


def refusal_item(step: int, text: str) -> JSON:
    """Return the refusal that replaces an answer which a shield blocked."""
    content = [{"type": "refusal", "refusal": text}]
    return {**message_item(step, None, (), "completed"), "content": content}


def tool_item(step: int, detail: JSON, status: str, *, server_side: bool) -> JSON:
    """Return the item of a call: a function call for the client, or the item of a tool that ran here."""
    [call] = detail["tool_calls"]
    answers = detail.get("tool_responses") or [{}]
    ended = status if status in ("in_progress", "completed") else "failed"
    if detail.get("approval"):
        return approval_request_item(step, detail, call)
    if not server_side:
        return client_item(step, detail, call)
    kind = detail.get("kind") or "mcp"
    fields = _FIELDS[kind](detail, call, answers[0], ended)
    return {"id": ids.part(_PREFIXES[kind], Kind.STEP, step), **fields}


def approval_request_item(step: int, detail: JSON, call: JSON) -> JSON:
    """Return the request to approve a call."""
    return {
        "id": ids.part("mcpr", Kind.STEP, step),
        "type": "mcp_approval_request",
        "server_label": detail.get("label") or "",
        "name": call["tool_name"],
        "arguments": arguments_of(call),
    }


def approval_response_item(key: int, step: int, detail: JSON, reason: str | None) -> JSON:
    """Return the client's decision on a call, an item of the row ``key``."""
    return {
        "id": ids.part("mcpa", Kind.ITEM, key),
        "type": "mcp_approval_response",
        "approval_request_id": ids.part("mcpr", Kind.STEP, step),
        "approve": detail.get("approval") == "approved",
        "reason": reason,
    }


def _argument(call: JSON, name: str) -> str:
    arguments = call.get("arguments")
    return str(arguments.get(name, "")) if isinstance(arguments, dict) else ""


def _metadata(answer: JSON) -> JSON:
    return answer.get("metadata") or {}


def _file_search(detail: JSON, call: JSON, answer: JSON, status: str) -> JSON:
    results = _metadata(answer).get("results", []) if status != "in_progress" else None
    queries = [_argument(call, "query")]
    return {"type": "file_search_call", "queries": queries, "status": status, "results": results}


def _web_search(detail: JSON, call: JSON, answer: JSON, status: str) -> JSON:
    action: JSON = {"type": "search", "query": _argument(call, "query")}
    sources = _metadata(answer).get("sources")
    if sources:
        action["sources"] = sources
    return {"type": "web_search_call", "status": status, "action": action}


def _code_interpreter(detail: JSON, call: JSON, answer: JSON, status: str) -> JSON:
    logs = answer_text(answer)
    outputs = [{"type": "logs", "logs": logs}] if logs else None
    code = _argument(call, "code")
    return {
        "type": "code_interpreter_call",
        "code": code,
        "container_id": detail.get("label") or "sandbox",
        "outputs": outputs,
        "status": status,
    }


def _mcp(detail: JSON, call: JSON, answer: JSON, status: str) -> JSON:
    text = answer_text(answer)
    failed, approval_step = status == "failed", detail.get("asked")
    return {
        "type": "mcp_call",
        "server_label": detail.get("label") or "builtin",
        "name": call["tool_name"],
        "arguments": arguments_of(call),
        "output": None if failed or status == "in_progress" else text,
        "error": _mcp_error(text or "The call did not end.") if failed else None,
        "status": status,
        "approval_request_id": f"mcpr_{approval_step.replace('-', '')}" if approval_step else None,
    }


def _mcp_error(text: str) -> JSON:
    return {"type": "mcp_tool_execution_error", "content": [{"type": "text", "text": text}]}


_FIELDS = {
    "file_search": _file_search,
    "web_search": _web_search,
    "code_interpreter": _code_interpreter,
    "mcp": _mcp,
}


def answer_text(answer: JSON) -> str:
    """Return the text of a tool's answer, without images."""
    content = answer.get("content") or ""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else [content]
    return "\n".join(str(part.get("text", "")) for part in parts if part.get("type") == "text")


def listing_item(step: int, detail: JSON) -> JSON:
    """Return the list of tools of an MCP server. What is null is left out: some clients refuse it."""
    data = detail.get("data") or {}
    tools = [{name: value for name, value in tool.items() if value is not None} for tool in data.get("tools", [])]
    item = {
        "id": ids.part("mcpl", Kind.STEP, step),
        "type": "mcp_list_tools",
        "server_label": data.get("server_label", ""),
        "tools": tools,
    }
    return {**item, "error": data["error"]} if data.get("error") else item


def output_of(
    steps: Iterable[StepSnapshot], head: ResponseHead, load_detail: LoadDetail = unchanged
) -> Iterator[bytes]:
    """Encode the output of a response: the items of its steps, or the refusal instead of all of them. ``load_detail``
    loads the full detail of a step; where shields check the output, only what they have passed is included."""
    visible, names = list(steps), FileNames() if head.cites else None
    if head.guarded and not any(step.type == "shield_call" and step.name == "assistant-output" for step in visible):
        visible = [step for step in visible if step.type == "shield_call"]
    for step in visible:
        refusal = refusal_text(load_detail(step)) if step.type == "shield_call" else None
        if refusal is not None:
            yield encode(refusal_item(step.key, refusal))
            return
    for step in visible:
        for item in items_of_step(load_detail(step), names):
            yield encode(head.finished(item))


def refusal_text(step: StepSnapshot) -> str | None:
    """Return the text of a shield's refusal; None where it passed the messages."""
    if step.type != "shield_call" or not step.detail or b'"violation"' not in step.detail:
        return None
    violation = msgspec.json.decode(step.detail).get("violation") or {}
    return str(violation.get("user_message") or "") if violation.get("violation_level") == "error" else None


# -------------------------------------------------------------------------------------------- the end


def error_json(error: ErrorInfo | None, status: str, reason: str | None = None) -> JSON | None:
    """Return the error of a failed response, with one of OpenAI's codes."""
    if status == "interrupted":
        return {"code": "server_error", "message": f"The response was interrupted: {reason or 'the server stopped'}."}
    if status != "failed":
        return None
    if error is None:
        return {"code": "server_error", "message": "The response failed."}
    code = "rate_limit_exceeded" if error.upstream_status == 429 else _CODES.get(error.type, "server_error")
    return {"code": code, "message": error.message}
