"""Shields and moderation, as requests speak of them (Llama Stack 0.2.12, OpenAI)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from agents.base.schemas.wire import DataList, SmallJson, Wire, null_is
from agents.record.schemas.content import Message, SafetyViolation


class RegisterShield(Wire):
    """``provider_shield_id`` is what the provider looks with: a model, as ``endpoint/model``."""

    shield_id: str = Field(min_length=1, max_length=300)
    provider_id: Annotated[str, Field(max_length=100), null_is("llama-guard")] = "llama-guard"
    provider_shield_id: Annotated[str, Field(max_length=300), null_is("")] = ""
    params: Annotated[SmallJson, null_is({})] = {}


class ShieldObject(Wire):
    identifier: str
    provider_id: str
    provider_resource_id: str
    type: Literal["shield"] = "shield"
    params: dict[str, Any]


class ShieldPage(DataList[ShieldObject]):
    """Shields."""


class RunShield(Wire):
    """``params`` hold for this run, in place of those of their names that the shield was registered
    with: ``excluded_categories`` (llama-guard, moderation), ``phrases`` (scripted). Others are refused."""

    shield_id: str = Field(min_length=1, max_length=300)
    messages: list[Message] = Field(min_length=1)
    params: Annotated[dict[str, Any], null_is({})] = {}


class ShieldVerdict(Wire):
    violation: SafetyViolation | None = None


class Moderate(Wire):
    """``model`` is a shield's id; it may be left out where there is only one."""

    input: str | Annotated[list[str], Field(min_length=1, max_length=100)]
    model: str | None = Field(default=None, max_length=300)


class ModerationResult(Wire):
    flagged: bool
    categories: dict[str, bool]
    category_scores: dict[str, float]
    user_message: str | None = None
    metadata: dict[str, Any] = {}


class Moderation(Wire):
    id: str
    model: str
    results: list[ModerationResult]
