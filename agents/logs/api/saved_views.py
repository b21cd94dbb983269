"""``/v1/logs/views``: create, list, change and delete saved views."""

from __future__ import annotations

from typing import Any, cast

from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from agents.base.api.views import ApiView, answer, no_content
from agents.logs.schemas.saved_views import CreateView, UpdateView, View, ViewList
from agents.logs.store import saved_views


class ViewAll(ApiView):
    """The views that the caller sees: the built-in ones, its own, and those that others share with it."""

    actions = {"get": "read", "post": "run"}

    @extend_schema(operation_id="list_views", responses=ViewList)
    def get(self, request: Request) -> HttpResponseBase:
        return answer(
            ViewList(data=[_view_object(view) for view in (*saved_views.BUILT_IN, *saved_views.listing(self.actor))])
        )

    @extend_schema(operation_id="create_view", request=CreateView, responses={201: View})
    def post(self, request: Request) -> HttpResponseBase:
        body: CreateView = self.body(CreateView)
        view = saved_views.StoredView("", body.name, body.q, body.level, tuple(body.columns), body.shared)
        return answer(_view_object(saved_views.create(self.actor, view)), 201)


class ViewOne(ApiView):
    """A view. Only its maker, and an admin, may change or delete it."""

    actions = {"get": "read", "patch": "run", "delete": "run"}

    @extend_schema(operation_id="get_view", responses=View)
    def get(self, request: Request, view_id: str) -> HttpResponseBase:
        built_in = next((view for view in saved_views.BUILT_IN if view.public_id == view_id), None)
        return answer(_view_object(built_in or saved_views.get(self.actor, view_id)))

    @extend_schema(operation_id="update_view", request=UpdateView, responses=View)
    def patch(self, request: Request, view_id: str) -> HttpResponseBase:
        changes = self.body(UpdateView).model_dump(exclude_none=True)
        if "q" in changes:
            changes["query"] = changes.pop("q")
        if "columns" in changes:
            changes["columns"] = tuple(changes["columns"])
        return answer(_view_object(saved_views.update(self.actor, view_id, changes)))

    @extend_schema(operation_id="delete_view", responses={204: None})
    def delete(self, request: Request, view_id: str) -> HttpResponseBase:
        saved_views.delete(self.actor, view_id)
        return no_content()


def _view_object(view: saved_views.StoredView) -> View:
    return View(
        id=view.public_id,
        name=view.name,
        q=view.query,
        level=cast(Any, view.level),
        columns=list(view.columns),
        shared=view.shared,
        owner=view.owner,
        mine=view.mine,
        built_in=view.built_in,
        created_at=view.created_at,
        updated_at=view.updated_at,
    )


ROUTES: list[tuple[str, type[ApiView]]] = [("logs/views", ViewAll), ("logs/views/<str:view_id>", ViewOne)]
