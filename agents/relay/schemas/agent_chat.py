"""What an agent reads of a chat request: the messages. Model, tools and sampling are the agent's own."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Field

from agents.base.schemas.wire import Wire, null_is
from agents.relay.schemas.completions import StreamOptions


class ChatText(Wire):
    type: Literal["text"]
    text: str


class ChatImageUrl(Wire):
    url: str


class ChatImage(Wire):
    type: Literal["image_url"]
    image_url: ChatImageUrl


ChatContent = str | list[Annotated[ChatText | ChatImage, Field(discriminator="type")]]


class ChatCalledFunction(Wire):
    name: str = Field(min_length=1, max_length=200)
    arguments: str


class ChatToolCall(Wire):
    id: str = Field(min_length=1, max_length=200)
    type: Literal["function"] = "function"
    function: ChatCalledFunction


class ChatSystemMessage(Wire):
    role: Literal["system", "developer"]
    content: ChatContent


class ChatUserMessage(Wire):
    role: Literal["user"]
    content: ChatContent


class ChatAssistantMessage(Wire):
    role: Literal["assistant"]
    content: Annotated[ChatContent, null_is("")] = ""
    tool_calls: Annotated[list[ChatToolCall], null_is([])] = []


class ChatToolMessage(Wire):
    role: Literal["tool"]
    tool_call_id: str = Field(min_length=1, max_length=200)
    content: ChatContent


ChatMessage = Annotated[
    ChatSystemMessage | ChatUserMessage | ChatAssistantMessage | ChatToolMessage, Field(discriminator="role")
]


def _refuse(value: Any) -> None:
    if value:
        raise ValueError("an agent has its own; leave it out")


def _refuse_format(value: Any) -> None:
    if value and not (isinstance(value, dict) and value.get("type") == "text"):
        raise ValueError("an agent has its own; leave it out")


def _refuse_unstored(value: Any) -> None:
    if value is False:
        raise ValueError("what an agent does is always kept in the log")


AgentsOwn = Annotated[Any, BeforeValidator(_refuse)]


class AgentChatRequest(Wire):
    """A chat request to an agent. What it says of sampling is left aside: that is the agent's. What would change the
    answer in other ways is refused by its name."""

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)

    model: str
    messages: list[ChatMessage] = Field(min_length=1)
    stream: Annotated[bool, null_is(False)] = False
    stream_options: StreamOptions | None = None
    tools: AgentsOwn = None
    functions: AgentsOwn = None
    response_format: Annotated[Any, BeforeValidator(_refuse_format)] = None
    store: Annotated[Any, BeforeValidator(_refuse_unstored)] = None
    n: Literal[1] | None = None
