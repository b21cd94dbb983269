"""Prompts on the wire: Llama Stack's ``/v1/prompts``, and how a request of OpenAI's Responses names one."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Annotated, Any

from pydantic import Field, StringConstraints, field_validator, model_validator

from agents.base.schemas.wire import Wire, WireOutput, null_is
from agents.responses.schemas.input_items import FilePart, ImagePart, TextPart

MAX_VERSION = 1_000
MAX_TEXT = 16 * 1024
_VARIABLE = re.compile(r"\{\{\s*(\w+)\s*\}\}")

Text = Annotated[str, StringConstraints(min_length=1, max_length=MAX_TEXT)]
Names = Annotated[
    list[Annotated[str, StringConstraints(pattern=r"^\w+$", max_length=64)]] | None, Field(max_length=100)
]
Version = Annotated[int, Field(ge=1, le=MAX_VERSION)]


def variables_in(text: str) -> list[str]:
    """Return the names of the variables in a text, each once."""
    return list(dict.fromkeys(_VARIABLE.findall(text)))


def filled_text(text: str, value_of: Callable[[str], str]) -> str:
    """Return a text with the values of its variables; what looks like a variable in a value stays as it is."""
    return _VARIABLE.sub(lambda found: value_of(found[1]), text)


class CreatePrompt(Wire):
    """``variables`` are the names that ``{{ name }}`` in the text may have; those in it where they are left out."""

    prompt: Text
    variables: Names = None

    @model_validator(mode="after")
    def _check_names(self) -> CreatePrompt:
        unknown = [name for name in variables_in(self.prompt) if name not in self.names]
        if unknown:
            raise ValueError(f"variables: the text has {', '.join(unknown)[:200]}, which is not among them")
        if any(len(name) > 64 for name in self.names) or len(self.names) > 100:
            raise ValueError("prompt: at most 100 variables, with names of at most 64 characters")
        return self

    @property
    def names(self) -> list[str]:
        return variables_in(self.prompt) if self.variables is None else list(dict.fromkeys(self.variables))


class UpdatePrompt(CreatePrompt):
    """A new version, after ``version``, the last."""

    version: Version
    set_as_default: Annotated[bool, null_is(True)] = True


class SetDefaultVersion(Wire):
    version: Version


class PromptObject(WireOutput):
    prompt_id: str
    version: int
    prompt: str
    variables: list[str]
    is_default: bool


class PromptList(WireOutput):
    data: list[PromptObject]
    has_more: bool = False


class PromptVersionList(WireOutput):
    data: list[PromptObject]


PromptPart = Annotated[TextPart | ImagePart | FilePart, Field(discriminator="type")]


class PromptReference(Wire):
    """The prompt of a request, with the values of its variables."""

    id: Annotated[str, Field(min_length=1, max_length=200)]
    version: Annotated[str, StringConstraints(pattern=r"^[0-9]{1,6}$")] | None = None
    variables: Annotated[dict[str, str | PromptPart], Field(max_length=100), null_is({})] = {}

    @field_validator("variables")
    @classmethod
    def _check_parts(cls, value: dict[str, Any]) -> dict[str, Any]:
        for name, part in value.items():
            if isinstance(part, TextPart) and part.type != "input_text":
                raise ValueError(f"{name[:64]}: a text, an input_text, an input_image or an input_file is needed")
        return value
