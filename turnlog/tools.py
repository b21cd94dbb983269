"""What a Python function that the server offers to models (`TOOL_FUNCTIONS`) may import: whose run it is, and results
that are more than a text or JSON.

A function returns what it likes: a text is the answer as it is, a `Text`, an `Image`, a list of these or a `ToolResult`
is content, and everything else is answered as JSON. An exception is a failure, and its message is for the model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class ToolContext:
    """The run that a function is called for; the model has no influence on it. A parameter with this annotation is
    filled by the server, and no model sees it. Ids are public ones, empty where a tool is called outside a turn.
    ``provider_data`` is the caller's data for providers (keys, headers): for this run only, never stored and never
    shown. ``call_key`` is the same whenever this call is repeated, because its process was lost before the result was
    stored, and differs for every other call."""

    session_id: str
    turn_id: str
    actor: str
    provider_data: Mapping[str, Any] = field(default_factory=dict, repr=False)
    call_key: str = ""


@dataclass(frozen=True, slots=True)
class Text:
    """A text among other content."""

    text: str


@dataclass(frozen=True, slots=True)
class Image:
    """An image: exactly one of the bytes of its file and a URL. Raises ValueError otherwise."""

    data: bytes | None = None
    url: str | None = None

    def __post_init__(self) -> None:
        if (self.data is None) == (self.url is None):
            raise ValueError("exactly one of data and url must be given")


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of a call. ``error`` is None if the function succeeded, else the error for model and log.
    ``metadata`` is kept with the call's step, as JSON."""

    content: str | Text | Image | Sequence[Text | Image]
    error: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
