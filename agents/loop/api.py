"""Models: what the endpoints offer, and the names registered for them. Decisions on calls whose process was lost."""

from __future__ import annotations

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from agents.base import ids
from agents.base.access import Actor
from agents.base.api.error_bodies import speaks_anthropic
from agents.base.api.views import ApiView, Awaited, answer, no_content, page_bounds
from agents.base.errors import InvalidRequest, NotFound
from agents.base.reading import read
from agents.loop import agent_names, model_names
from agents.loop.current_service import service
from agents.loop.inference.base import Model
from agents.loop.schemas.models import MessagesModel, MessagesModelPage, ModelObject, ModelPage, RegisterModel
from agents.loop.schemas.turns import DecideStep
from agents.loop.store.registered_models import registered_models
from agents.record.store import decisions, turns


def _model_object(model: Model) -> ModelObject:
    return ModelObject(
        id=model.id,
        created=model.created,
        owned_by=model.provider,
        identifier=model.id,
        provider_id=model.provider,
        provider_resource_id=model.resource_id,
        model_type=model.kind,
        metadata=model.metadata,
        custom_metadata={
            **model.metadata,
            "model_type": model.kind,
            "provider_id": model.provider,
            "provider_resource_id": model.resource_id,
        },
    )


def _messages_model(model: Model) -> MessagesModel:
    return MessagesModel(id=model.id, display_name=model.id, created_at=model.created * 1_000_000)


def _messages_page(models: list[Model], request: HttpRequest) -> MessagesModelPage:
    """Return the page of language models that one of Anthropic's clients asks for: behind ``after_id``, or before
    ``before_id``. Raises InvalidRequest."""
    llms = [model for model in models if model.kind == "llm"]
    _, limit = page_bounds(request)
    after, before = (_position(llms, request.GET.get(name, ""), name) for name in ("after_id", "before_id"))
    if before is not None:
        page, has_more = llms[max(before - limit, 0) : before], before > limit
    else:
        start = 0 if after is None else after + 1
        page, has_more = llms[start : start + limit], start + limit < len(llms)
    return MessagesModelPage(
        data=[_messages_model(model) for model in page],
        has_more=has_more,
        first_id=page[0].id if page else None,
        last_id=page[-1].id if page else None,
    )


def _position(models: list[Model], model_id: str, name: str) -> int | None:
    if not model_id:
        return None
    for position, model in enumerate(models):
        if model.id == model_id:
            return position
    raise InvalidRequest(f"{name}: there is no model '{model_id[:200]}'.", param=name)


async def _all_models(actor: Actor) -> list[Model]:
    """List every model that the actor may use, and every agent."""
    providers = service().providers
    offered = (await providers.endpoints.all_models()).models
    registered, agents = await read(model_names.listing, actor), await read(agent_names.models, providers, actor)
    return [*offered, *model_names.built_in_embeddings(providers), *registered, *agents]


class StepDecision(ApiView):
    """Ours: what became of a call whose process was lost before its result was stored."""

    actions = {"post": "run"}

    @extend_schema(operation_id="decide_step", request=DecideStep, responses={204: None})
    def post(self, request: Request, turn_id: str, step_id: str) -> HttpResponseBase:
        body: DecideStep = self.body(DecideStep)
        step = ids.parse(ids.Kind.STEP, step_id)
        if step is None:
            raise NotFound(f"Step '{step_id[:80]}' not found.")
        decided = [decisions.Decision(step, body.outcome, body.content)]
        decisions.decide(self.actor, turns.key_of(turn_id), decided)
        return no_content()


class ModelList(ApiView):
    """The models of all endpoints, the names registered for them, and the agents. A client that sends
    ``anthropic-version`` gets Anthropic's list of them, by pages."""

    actions = {"get": "read", "post": "manage"}

    @extend_schema(operation_id="list_models", responses=ModelPage)
    def get(self, request: Request) -> HttpResponseBase:
        async def work() -> HttpResponseBase:
            models = await _all_models(self.actor)
            if speaks_anthropic(request._request):
                return answer(_messages_page(models, request._request))
            return answer(ModelPage(data=[_model_object(model) for model in models]))

        return Awaited(work)

    @extend_schema(operation_id="register_model", request=RegisterModel, responses=ModelObject)
    def post(self, request: Request) -> HttpResponseBase:
        body: RegisterModel = self.body(RegisterModel)
        providers = service().providers
        return answer(
            _model_object(model_names.register(providers, self.actor, model_names.registration(providers, body)))
        )


class ModelDetail(ApiView):
    actions = {"get": "read", "delete": "manage"}

    @extend_schema(operation_id="get_model", responses=ModelObject)
    def get(self, request: Request, model_id: str) -> HttpResponseBase:
        async def work() -> HttpResponseBase:
            for model in await _all_models(self.actor):
                if model.id == model_id:
                    is_anthropic = speaks_anthropic(request._request)
                    return answer(_messages_model(model) if is_anthropic else _model_object(model))
            message = f"Model '{model_id[:200]}' not found. Use 'client.models.list()' to list available Models."
            raise NotFound(message, code="model_not_found")

        return Awaited(work)

    @extend_schema(operation_id="unregister_model", responses={204: None})
    def delete(self, request: Request, model_id: str) -> HttpResponseBase:
        registered_models.delete(self.actor, model_id)
        return no_content()
