"""What a client of a socket says while a response runs: messages of its user, and nothing else."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, StringConstraints, field_validator

from agents.base.schemas.wire import Wire
from agents.responses.schemas.input_items import FilePart, ImagePart, MessageItem, TextPart, items_of_input

SaidText = Annotated[str, StringConstraints(min_length=1)]
SteerPart = Annotated[TextPart | ImagePart | FilePart, Field(discriminator="type")]


class _Exact(Wire):
    """A value without other fields than these."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class SteerMessage(_Exact):
    type: Literal["message"] = "message"
    role: Literal["user"]
    content: SaidText | Annotated[list[SteerPart], Field(min_length=1)]

    @field_validator("content")
    @classmethod
    def _check_parts(cls, value: Any) -> Any:
        for part in value:
            if isinstance(part, TextPart) and part.type != "input_text":
                raise ValueError(f"a part of type '{part.type}' is not said by a user")
        return value


class SteerResponse(_Exact):
    """The message ``response.steer``."""

    type: Literal["response.steer"]
    previous_response_id: Annotated[str, Field(min_length=1, max_length=200)]
    input: SaidText | Annotated[list[SteerMessage], Field(min_length=1, max_length=100)]

    @property
    def items(self) -> list[MessageItem]:
        """The items of its input."""
        if isinstance(self.input, str):
            return items_of_input(self.input)
        return [MessageItem.model_validate(message.model_dump(exclude_none=True)) for message in self.input]
