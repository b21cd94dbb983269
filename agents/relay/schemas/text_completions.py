"""OpenAI's text completions, as far as this server reads them.

A request is relayed to its endpoint as received: only the fields that this server needs are checked.
The server's own models take an `OwnTextRequest`.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Field, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from agents.base.schemas.wire import JSON, Wire
from agents.relay.schemas.completions import StreamOptions

MAX_PROMPTS = 128
"""The maximum of prompts in one request, and of completions in one answer."""


def _refusal(reason: str) -> PydanticCustomError:
    return PydanticCustomError("refused", "{why}", {"why": reason})


def _check_prompt(value: JSON) -> JSON:
    """Check that a prompt has one of its four types: one error message, where a union would give four."""
    several = _is_list_of(value, str) or (
        _is_list_of(value, list) and all(tokens and _is_list_of(tokens, int) for tokens in value)
    )
    if isinstance(value, str) or (_is_list_of(value, int) and value) or (several and 0 < len(value) <= MAX_PROMPTS):
        return value
    raise _refusal(f"must be a text, 1 to {MAX_PROMPTS} texts, a list of tokens, or 1 to {MAX_PROMPTS} such lists")


def _is_list_of(value: JSON, kind: type) -> bool:
    return isinstance(value, list) and all(type(item) is kind or (kind is int and _is_integral(item)) for item in value)


def _is_integral(value: JSON) -> bool:
    """Whether a float is an integer: JSON has one type of number, 5.0 is 5."""
    return isinstance(value, float) and value.is_integer()


_SeveralPrompts = Field(min_length=1, max_length=MAX_PROMPTS)
Prompt = Annotated[
    str
    | Annotated[list[str], _SeveralPrompts]
    | Annotated[list[int], Field(min_length=1)]
    | Annotated[list[Annotated[list[int], Field(min_length=1)]], _SeveralPrompts],
    BeforeValidator(_check_prompt),
]


class CreateCompletion(Wire):
    """A request for completions. ``prompt`` is a text, several texts, or tokens. Everything is relayed."""

    model_config = ConfigDict(frozen=True, extra="allow", allow_inf_nan=False)

    model: str = Field(min_length=1, max_length=300)
    prompt: Prompt
    stream: bool | None = None
    stream_options: StreamOptions | None = None


class OwnTextRequest(Wire):
    """The fields of a request that the server's own models support; others are refused by name. Without
    ``max_tokens`` the answer is not cut."""

    prompt: Prompt
    n: int = Field(default=1, ge=1, le=MAX_PROMPTS)
    best_of: int | None = None
    echo: bool | None = None
    logprobs: int | None = None
    suffix: str | None = None
    temperature: float | None = Field(default=None, ge=0, le=2)
    top_p: float | None = Field(default=None, gt=0, le=1)
    max_tokens: int | None = Field(default=None, ge=1)
    stop: str | Annotated[list[str], Field(max_length=16)] | None = None

    @field_validator("prompt")
    @classmethod
    def _is_text(cls, value: JSON) -> JSON:
        if isinstance(value, list) and not all(isinstance(prompt, str) for prompt in value):
            raise _refusal("this model takes texts, not tokens")
        return value

    @field_validator("n", mode="before")
    @classmethod
    def _one_by_default(cls, value: JSON) -> JSON:
        return 1 if value is None else value

    @field_validator("n")
    @classmethod
    def _not_too_many(cls, value: int, info: ValidationInfo) -> int:
        prompt = info.data.get("prompt", "")
        if value * (len(prompt) if isinstance(prompt, list) else 1) > MAX_PROMPTS:
            raise _refusal(f"more than {MAX_PROMPTS} completions in all")
        return value

    @field_validator("best_of")
    @classmethod
    def _no_choice(cls, value: int | None, info: ValidationInfo) -> int | None:
        if value not in (None, info.data.get("n")):
            raise _refusal("this model cannot choose among its answers")
        return value

    @field_validator("echo", "logprobs", "suffix")
    @classmethod
    def _refuse_unsupported(cls, value: JSON, info: ValidationInfo) -> JSON:
        if value not in (None, "") and value is not False:
            raise _refusal(_UNSUPPORTED[info.field_name or ""])
        return value

    @property
    def prompts(self) -> list[str]:
        """One prompt for each completion, in their order."""
        prompts = [self.prompt] if isinstance(self.prompt, str) else self.prompt
        return [str(prompt) for prompt in prompts for _ in range(self.n)]

    @property
    def stops(self) -> list[str]:
        return [self.stop] if isinstance(self.stop, str) else self.stop or []


_UNSUPPORTED = {
    "echo": "this model does not give the prompt back",
    "logprobs": "this model knows no probabilities",
    "suffix": "this model does not fill in before a text",
}


class TextChoice(Wire):
    index: int
    text: str
    finish_reason: str | None = None
    logprobs: dict[str, Any] | None = None


class CompletionObject(Wire):
    """A completion as the endpoint sent it; in a stream, one event."""

    model_config = ConfigDict(frozen=True, extra="allow", allow_inf_nan=False)

    id: str
    object: Literal["text_completion"] = "text_completion"
    created: int
    model: str
    choices: list[TextChoice]
    usage: dict[str, Any] | None = None
