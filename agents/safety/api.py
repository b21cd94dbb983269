"""Shields: their list, registering one, running one; moderation in OpenAI's words."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Sequence

from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from agents.base.api.views import ApiView, Awaited, answer, data_list, no_content
from agents.base.errors import InvalidRequest, NotFound
from agents.loop import check_shields
from agents.loop.caller_errors import errors_for_caller
from agents.loop.current_service import service
from agents.loop.protocols.shields import ShieldInput, ShieldProtocol, ShieldSpec, Touchpoint
from agents.record.schemas.content import CompletionMessage, Message, SafetyViolation, text_of
from agents.safety import shields as guards
from agents.safety.schemas import (
    Moderate,
    Moderation,
    ModerationResult,
    RegisterShield,
    RunShield,
    ShieldObject,
    ShieldPage,
    ShieldVerdict,
)

MAX_CONCURRENT_TEXTS = 8
"""Texts of one moderation that are looked at together."""


def _shield_object(spec: ShieldSpec) -> ShieldObject:
    return ShieldObject(
        identifier=spec.name,
        provider_id=spec.provider,
        provider_resource_id=spec.resource or spec.name,
        params=spec.params,
    )


class ShieldList(ApiView):
    actions = {"get": "read", "post": "manage"}

    @extend_schema(operation_id="list_shields", responses=ShieldPage)
    def get(self, request: Request) -> HttpResponseBase:
        return data_list(_shield_object(spec).model_dump() for spec in guards.listing(service().providers, self.actor))

    @extend_schema(operation_id="register_shield", request=RegisterShield, responses=ShieldObject)
    def post(self, request: Request) -> HttpResponseBase:
        body: RegisterShield = self.body(RegisterShield)
        spec = ShieldSpec(body.shield_id, body.provider_id, body.provider_shield_id, body.params)
        return answer(_shield_object(guards.register(service().providers, self.actor, spec)))


class ShieldDetailView(ApiView):
    actions = {"get": "read", "delete": "manage"}

    @extend_schema(operation_id="get_shield", responses=ShieldObject)
    def get(self, request: Request, shield_id: str) -> HttpResponseBase:
        spec = guards.find(service().providers, self.actor, shield_id)
        if spec is None:
            raise NotFound(f"Shield '{shield_id[:200]}' not found.")
        return answer(_shield_object(spec))

    @extend_schema(operation_id="unregister_shield", responses={204: None})
    def delete(self, request: Request, shield_id: str) -> HttpResponseBase:
        guards.unregister(service().providers, self.actor, shield_id)
        return no_content()


# ------------------------------------------------------------------------------------------- running


def _shield_input(message: Message) -> ShieldInput:
    return ShieldInput("assistant" if isinstance(message, CompletionMessage) else "user", text_of(message.content))


class ShieldRun(ApiView):
    """What a shield finds in a conversation: in what the user says, or, where the last word is the
    model's, in that."""

    actions = {"post": "run"}

    @extend_schema(operation_id="run_shield", request=RunShield, responses=ShieldVerdict)
    def post(self, request: Request) -> HttpResponseBase:
        body: RunShield = self.body(RunShield)
        chosen = [guards.shield_for_run(service().providers, self.actor, body.shield_id, body.params)]
        messages = [_shield_input(message) for message in body.messages]
        touchpoint: Touchpoint = "assistant-output" if messages[-1].role == "assistant" else "user-input"

        async def work() -> HttpResponseBase:
            with errors_for_caller():
                return answer(ShieldVerdict(violation=await check_shields.check(chosen, messages, touchpoint)))

        return Awaited(work)


class Moderations(ApiView):
    """A shield's judgement on texts, as OpenAI words it."""

    actions = {"post": "run"}

    @extend_schema(operation_id="create_moderation", request=Moderate, responses=Moderation)
    def post(self, request: Request) -> HttpResponseBase:
        body: Moderate = self.body(Moderate)
        name = body.model or self._only()
        shield = guards.name_of(service().providers, self.actor, name)
        chosen = guards.shields(service().providers, self.actor, [shield], "model")
        texts = [body.input] if isinstance(body.input, str) else body.input

        async def work() -> HttpResponseBase:
            with errors_for_caller():
                results = await _moderated(chosen, texts)
            return answer(Moderation(id=f"modr-{secrets.token_hex(12)}", model=name, results=results))

        return Awaited(work)

    def _only(self) -> str:
        names = [spec.name for spec in guards.listing(service().providers, self.actor, "run")]
        if len(names) != 1:
            raise InvalidRequest(f"model: name a shield: {', '.join(names[:50]) or 'there is none'}.", param="model")
        return names[0]


async def _moderated(shields: Sequence[ShieldProtocol], texts: Sequence[str]) -> list[ModerationResult]:
    gate = asyncio.Semaphore(MAX_CONCURRENT_TEXTS)

    async def moderate(text: str) -> ModerationResult:
        async with gate:
            return _result(await check_shields.check(shields, [ShieldInput("user", text)], "user-input"))

    return list(await asyncio.gather(*map(moderate, texts)))


def _result(violation: SafetyViolation | None) -> ModerationResult:
    """What does not stop a turn is told, and flags nothing."""
    if violation is None:
        return ModerationResult(flagged=False, categories={}, category_scores={})
    flagged = violation.violation_level == "error"
    kinds = str(violation.metadata.get("violation_type") or violation.violation_level).split(",")
    scores = violation.metadata.get("category_scores") or {}
    return ModerationResult(
        flagged=flagged,
        categories=dict.fromkeys(kinds, flagged),
        category_scores={kind: float(scores.get(kind, 1.0 if flagged else 0.0)) for kind in kinds},
        user_message=violation.user_message,
        metadata=violation.metadata,
    )
