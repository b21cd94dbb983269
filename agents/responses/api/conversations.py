"""OpenAI's Conversations API. A conversation is a session; its items are the session's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from agents.base.access import Actor
from agents.base.api.cursors import CURSOR_PARAMETERS, cursor
from agents.base.api.lists import list_json
from agents.base.api.negotiation import json_response
from agents.base.api.views import ApiView, Awaited, answer, as_json
from agents.base.reading import read
from agents.loop.current_service import service
from agents.record.schemas.turns import ItemSnapshot
from agents.record.store import items, sessions
from agents.record.store.history import NewItem
from agents.responses.api.item_lists import find_item, item_page
from agents.responses.runner import files, references
from agents.responses.runner.input import row_of
from agents.responses.schemas.objects import (
    AddItems,
    ConversationList,
    ConversationObject,
    CreateConversation,
    Deleted,
    ItemList,
    ItemObject,
    UpdateConversation,
)
from agents.responses.store import conversations
from agents.responses.store.conversations import ConversationRecord
from agents.responses.wire.items import items_json, without_item
from agents.responses.wire.responses import encode


def _conversation_object(record: ConversationRecord) -> ConversationObject:
    metadata = dict(record.metadata)
    return ConversationObject(id=record.public_id, created_at=record.created_at // 1_000_000, metadata=metadata)


def _answer_with_rows(
    actor: Actor, input_items: Sequence[Any], answer_rows: Callable[[Sequence[NewItem]], HttpResponseBase]
) -> HttpResponseBase:
    """Build the rows of items and answer with them; files in the items are read first."""
    input_items = references.resolved(actor, input_items, "items")
    if not files.need_reading(input_items):
        return answer_rows([row_of(item) for item in input_items])

    async def work() -> HttpResponseBase:
        readable = await files.readable(service().providers, actor, input_items)
        return await read(answer_rows, [row_of(*pair) for pair in zip(input_items, readable, strict=True)])

    return Awaited(work)


class ConversationCreate(ApiView):
    """Conversations. The list is an addition of this server: OpenAI has none."""

    actions = {"get": "read", "post": "run"}

    @extend_schema(operation_id="create_conversation", request=CreateConversation, responses=ConversationObject)
    def post(self, request: Request) -> HttpResponseBase:
        body = self.body(CreateConversation)
        return _answer_with_rows(self.actor, body.items, partial(self._create, body))

    def _create(self, body: CreateConversation, rows: Sequence[NewItem]) -> HttpResponseBase:
        key = conversations.create(self.actor, rows, body.metadata)
        return answer(_conversation_object(conversations.of_key(self.actor, key, "run")))

    @extend_schema(operation_id="list_conversations", parameters=CURSOR_PARAMETERS, responses=ConversationList)
    def get(self, request: Request) -> HttpResponseBase:
        records, more = conversations.listing(self.actor, cursor(request._request))
        bodies = ((as_json(_conversation_object(record)),) for record in records)
        return list_json(bodies, [record.public_id for record in records], has_more=more)


class ConversationDetail(ApiView):
    actions = {"get": "read", "post": "run", "delete": "run"}

    @extend_schema(operation_id="get_conversation", responses=ConversationObject)
    def get(self, request: Request, conversation_id: str) -> HttpResponseBase:
        return answer(_conversation_object(conversations.get(self.actor, conversation_id)))

    @extend_schema(operation_id="update_conversation", request=UpdateConversation, responses=ConversationObject)
    def post(self, request: Request, conversation_id: str) -> HttpResponseBase:
        body = self.body(UpdateConversation)
        record = conversations.get(self.actor, conversation_id, "run")
        conversations.update(record, body.metadata)
        return answer(_conversation_object(conversations.get(self.actor, conversation_id, "run")))

    @extend_schema(operation_id="delete_conversation", responses=Deleted)
    def delete(self, request: Request, conversation_id: str) -> HttpResponseBase:
        record = conversations.get(self.actor, conversation_id, "run")
        sessions.delete(self.actor, record.key)
        return answer(Deleted(id=conversation_id, object="conversation.deleted"))


LLAMA_STACK_HEADER = "X-LlamaStack-Client-Version"
"""Sent by the clients of Llama Stack, which expect of a deleted item what it was, not its conversation."""


class ConversationItems(ApiView):
    actions = {"get": "read", "post": "run"}

    @extend_schema(operation_id="list_conversation_items", parameters=CURSOR_PARAMETERS, responses=ItemList)
    def get(self, request: Request, conversation_id: str) -> HttpResponseBase:
        record = conversations.get(self.actor, conversation_id)
        return item_page(request._request, items.of_session(record.key))

    @extend_schema(operation_id="add_conversation_items", request=AddItems, responses=ItemList)
    def post(self, request: Request, conversation_id: str) -> HttpResponseBase:
        body = self.body(AddItems)
        record = conversations.get(self.actor, conversation_id, "run")
        return _answer_with_rows(self.actor, body.items, partial(_add_items, record))


def _add_items(record: ConversationRecord, rows: Sequence[NewItem]) -> HttpResponseBase:
    conversations.add(record, rows)
    added = items_json(ItemSnapshot(row.key, row.body, row.wire) for row in rows)
    return list_json(((encode(item),) for item in added), [item["id"] for item in added], has_more=False)


class ConversationItem(ApiView):
    actions = {"get": "read", "delete": "run"}

    @extend_schema(operation_id="get_conversation_item", responses=ItemObject)
    def get(self, request: Request, conversation_id: str, item_id: str) -> HttpResponseBase:
        record = conversations.get(self.actor, conversation_id)
        _, item = find_item(items.of_session(record.key), item_id)
        return json_response(encode(item))

    @extend_schema(operation_id="delete_conversation_item", responses=ConversationObject)
    def delete(self, request: Request, conversation_id: str, item_id: str) -> HttpResponseBase:
        record = conversations.get(self.actor, conversation_id, "run")
        row, _ = find_item(items.of_session(record.key), item_id)
        remaining = without_item(row, item_id)
        conversations.remove(record, row.key, (remaining.body, remaining.wire) if remaining else None)
        if LLAMA_STACK_HEADER in request._request.headers:
            return answer(Deleted(id=item_id, object="conversation.item.deleted"))
        return answer(_conversation_object(conversations.get(self.actor, conversation_id, "run")))
