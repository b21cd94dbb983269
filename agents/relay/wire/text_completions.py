"""OpenAI's text completions: prompts to the inference protocol, its chunks to choices, events to completions.
Reasoning is left out of a text, and there are no tools."""

from __future__ import annotations

from collections.abc import Mapping

from agents.base.schemas.wire import JSON
from agents.loop.inference.base import Chunk, Finish, InferenceRequest, Text
from agents.record.schemas.content import Usage, UserMessage
from agents.record.schemas.items import input_item
from agents.relay.schemas.text_completions import OwnTextRequest
from agents.relay.wire.chat_completions import sampling, usage_json


def prompt_requests(model: str, body: OwnTextRequest) -> list[InferenceRequest]:
    """Return an inference request for each completion: the model gets a prompt as a message of the user."""
    sampled = sampling(body.temperature, body.top_p, limit=body.max_tokens or 0, stop=body.stops or None)
    return [
        InferenceRequest(model=model, messages=[input_item(UserMessage(content=prompt))], sampling=sampled)
        for prompt in body.prompts
    ]


def text_choice(index: int, chunk: Chunk) -> dict[str, JSON] | None:
    """Return the choice for a chunk; None for a chunk that has no part in a text."""
    match chunk:
        case Text(text):
            return _choice(index, text)
        case Finish(reason):
            return _choice(index, "", reason or "stop")
        case _:
            return None


def _choice(index: int, text: str, finish: str | None = None) -> dict[str, JSON]:
    return {"index": index, "text": text, "logprobs": None, "finish_reason": finish}


class TextAssembly:
    """Assembles the events of a stream to a completion."""

    def __init__(self) -> None:
        self._texts: dict[int, list[str]] = {}
        self._ends: dict[int, str] = {}
        self.usage: JSON = None

    def add(self, event: Mapping[str, JSON]) -> None:
        for choice in event.get("choices") or ():
            if isinstance(choice, dict):
                index = choice["index"] if isinstance(choice.get("index"), int) else 0
                self._texts.setdefault(index, []).append(str(choice.get("text") or ""))
                if isinstance(choice.get("finish_reason"), str):
                    self._ends[index] = choice["finish_reason"]
        self.usage = event.get("usage") or self.usage

    @property
    def is_finished(self) -> bool:
        """Whether every text that began has a finish reason."""
        return bool(self._texts) and set(self._texts) == set(self._ends)

    def completion(self) -> dict[str, JSON]:
        """Return choices and usage; the caller adds id, model and time."""
        choices = [
            _choice(index, "".join(parts), self._ends.get(index)) for index, parts in sorted(self._texts.items())
        ]
        return {"choices": choices, "usage": self.usage}


def total_usage_json(usages: list[Usage]) -> dict[str, JSON]:
    """Return the summed token counts of several inferences in the format of completions."""
    return usage_json(sum(usages, Usage()))
