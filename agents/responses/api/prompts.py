"""``/v1/prompts``, as clients of Llama Stack call it: made, listed, read, given new versions, deleted."""

from __future__ import annotations

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from agents.base.api.cursors import CURSOR_PARAMETERS, cursor
from agents.base.api.parameters import number
from agents.base.api.views import ApiView, answer
from agents.base.errors import InvalidRequest
from agents.responses.schemas.prompts import (
    MAX_VERSION,
    CreatePrompt,
    PromptList,
    PromptObject,
    PromptVersionList,
    SetDefaultVersion,
    UpdatePrompt,
)
from agents.responses.store import prompts
from agents.responses.store.prompts import PromptRecord


def _object(record: PromptRecord) -> PromptObject:
    return PromptObject(
        prompt_id=record.public_id,
        version=record.version,
        prompt=record.text,
        variables=list(record.variables),
        is_default=record.is_default,
    )


class PromptCollection(ApiView):
    """The prompts that the caller sees, each in its default version, and a new one."""

    actions = {"get": "read", "post": "manage"}

    @extend_schema(operation_id="list_prompts", parameters=CURSOR_PARAMETERS, responses=PromptList)
    def get(self, request: Request) -> HttpResponseBase:
        records, has_more = prompts.page(self.actor, cursor(request._request, default_limit=100))
        return answer(PromptList(data=list(map(_object, records)), has_more=has_more))

    @extend_schema(operation_id="create_prompt", request=CreatePrompt, responses=PromptObject)
    def post(self, request: Request) -> HttpResponseBase:
        body: CreatePrompt = self.body(CreatePrompt)
        return answer(_object(prompts.create(self.actor, body.prompt, body.names)))


class PromptDetail(ApiView):
    actions = {"get": "read", "post": "manage", "put": "manage", "delete": "manage"}

    @extend_schema(operation_id="get_prompt", parameters=[number("version", MAX_VERSION)], responses=PromptObject)
    def get(self, request: Request, prompt_id: str) -> HttpResponseBase:
        return answer(_object(prompts.get(self.actor, prompt_id, _version(request._request.GET.get("version", "")))))

    @extend_schema(operation_id="update_prompt", request=UpdatePrompt, responses=PromptObject)
    def post(self, request: Request, prompt_id: str) -> HttpResponseBase:
        body: UpdatePrompt = self.body(UpdatePrompt)
        record = prompts.add_version(
            self.actor,
            prompt_id,
            after=body.version,
            text=body.prompt,
            variables=body.names,
            is_default=body.set_as_default,
        )
        return answer(_object(record))

    @extend_schema(operation_id="replace_prompt", request=UpdatePrompt, responses=PromptObject)
    def put(self, request: Request, prompt_id: str) -> HttpResponseBase:
        return self.post(request, prompt_id)

    @extend_schema(operation_id="delete_prompt", request=None, responses={204: None})
    def delete(self, request: Request, prompt_id: str) -> HttpResponseBase:
        prompts.delete(self.actor, prompt_id)
        return HttpResponse(status=204)


class PromptVersions(ApiView):
    actions = {"get": "read"}

    @extend_schema(operation_id="list_prompt_versions", responses=PromptVersionList)
    def get(self, request: Request, prompt_id: str) -> HttpResponseBase:
        return answer(PromptVersionList(data=[_object(one) for one in prompts.versions(self.actor, prompt_id)]))


class PromptDefaultVersion(ApiView):
    actions = {"post": "manage", "put": "manage"}

    @extend_schema(operation_id="set_default_prompt_version", request=SetDefaultVersion, responses=PromptObject)
    def post(self, request: Request, prompt_id: str) -> HttpResponseBase:
        body: SetDefaultVersion = self.body(SetDefaultVersion)
        return answer(_object(prompts.set_default(self.actor, prompt_id, body.version)))

    @extend_schema(operation_id="put_default_prompt_version", request=SetDefaultVersion, responses=PromptObject)
    def put(self, request: Request, prompt_id: str) -> HttpResponseBase:
        return self.post(request, prompt_id)


def _version(text: str) -> int | None:
    """Parse a version in the query. Raises InvalidRequest."""
    if not text:
        return None
    if not (text.isascii() and text.isdecimal() and 1 <= int(text[:9]) <= MAX_VERSION):
        raise InvalidRequest(f"version: a number from 1 to {MAX_VERSION}.", param="version")
    return int(text)
