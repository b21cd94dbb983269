"""Models, as requests register them (Llama Stack 0.2.12)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from agents.base.schemas.wire import SmallJson, Timestamp, Wire, null_is


class RegisterModel(Wire):
    """Another name for ``provider_model_id`` of the endpoint ``provider_id`` (the default one)."""

    model_id: str = Field(min_length=1, max_length=300)
    provider_id: str | None = Field(default=None, max_length=100)
    provider_model_id: str | None = Field(default=None, min_length=1, max_length=300)
    metadata: Annotated[SmallJson, null_is({})] = {}
    model_type: Annotated[Literal["llm", "embedding"], null_is("llm")] = "llm"


class ModelObject(Wire):
    """A superset: the OpenAI object, Llama Stack's Model, and 0.3's ``custom_metadata``."""

    id: str
    object: Literal["model"] = "model"
    created: int
    owned_by: str
    identifier: str
    provider_id: str
    provider_resource_id: str
    type: Literal["model"] = "model"
    model_type: Literal["llm", "embedding"]
    metadata: dict[str, Any]
    custom_metadata: dict[str, Any]


class MessagesModel(Wire):
    """A model as Anthropic's clients know it."""

    type: Literal["model"] = "model"
    id: str
    display_name: str
    created_at: Timestamp
    lifecycle: Literal["active"] = "active"


class MessagesModelPage(Wire):
    """A page of models; the next one is asked for by ``after_id``."""

    data: list[MessagesModel]
    has_more: bool
    first_id: str | None
    last_id: str | None


class ModelPage(Wire):
    object: Literal["list"] = "list"
    data: list[ModelObject]
