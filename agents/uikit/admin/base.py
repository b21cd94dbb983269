"""Base classes of the admin's pages: they show the records that the reader's actor may see, under public
ids, and change records through the store."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar, cast

from django.contrib import admin, messages
from django.contrib.admin import actions
from django.contrib.admin.utils import flatten_fieldsets
from django.contrib.admin.views.main import ChangeList
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from agents.base import ids
from agents.base.access import Action, Actor
from agents.base.errors import AgentsError, Conflict
from agents.base.ids import Kind
from agents.base.models.scoped import ScopedQuerySet
from agents.uikit import format
from agents.uikit.admin.cell_html import record_url
from agents.uikit.admin.current_actor import actor_of
from agents.uikit.admin.row_limits import CappedPaginator

if TYPE_CHECKING:
    ModelAdmin = admin.ModelAdmin[Any]
else:  # generic in the stubs only
    ModelAdmin = admin.ModelAdmin

MAX_ACTION_RECORDS = 1000
"""Records that one action handles."""


class TitledChangeList(ChangeList):
    """A list whose title is the name of its records."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.title = capfirst(str(self.opts.verbose_name_plural))


class ReadAdmin(ModelAdmin):
    """A read-only table, newest first, with only those orders and counts that indexes serve."""

    prefetched: tuple[Any, ...] = ()
    """Relations read after the page's rows, one query each: a join could make the database sort the
    whole table."""
    deferred: tuple[str, ...] = ()
    """Large columns that lists do not read."""

    paginator = CappedPaginator
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER
    list_per_page = 50
    list_select_related = False
    ordering: ClassVar[Any] = ("-pk",)
    sortable_by = ()

    def get_queryset(self, request: HttpRequest) -> Any:
        rows: Any = self.model._default_manager.all()
        if isinstance(rows, ScopedQuerySet):
            rows = rows.visible_to(actor_of(request))
        return rows.order_by(*self.ordering).prefetch_related(*self.prefetched).defer(*self.deferred)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return TitledChangeList


class PublicIdChangeList(TitledChangeList):
    """A list whose links hold public ids."""

    model_admin: RecordAdmin

    def url_for_result(self, result: Any) -> str:
        return record_url(self.model_admin.kind, result.pk)


class RecordAdmin(ReadAdmin):
    """A table with time-ordered keys, addressed by public ids."""

    kind: Kind
    id_columns: dict[Kind, str] = {}
    """By kind of public id, the column to search for its key."""

    search_fields = ("pk",)
    search_help_text = gettext_lazy("A public id.")

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return PublicIdChangeList

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        """Get a record by public id, or by key where Django made the link."""
        key = ids.parse(self.kind, object_id)
        return super().get_object(request, object_id if key is None else str(key), from_field)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """Show a record; redirect Django's own links, which hold the key, to the public id."""
        if request.method == "GET" and object_id.isdecimal() and len(object_id) < 20:
            return redirect(record_url(self.kind, int(object_id)))
        return super().change_view(request, object_id, form_url, extra_context)

    def get_search_results(self, request: HttpRequest, queryset: Any, search_term: str) -> tuple[Any, bool]:
        text = search_term.strip()
        if not text:
            return queryset, False
        for kind, column in self.id_columns.items():
            key = ids.parse(kind, text)
            if key is not None:
                return queryset.filter(**{column: key}), False
        return self.search(request, queryset, text), False

    def search(self, request: HttpRequest, rows: Any, text: str) -> Any:
        """The rows that match a text other than a public id."""
        return rows.none()

    @admin.display(description=gettext_lazy("id"))
    def public_id(self, record: Any) -> str:
        return ids.public(self.kind, record.pk)


class StoreAdmin(RecordAdmin):
    """A table that is changed through the store. The store has its own transactions, on the writer's
    connection; Django's transaction around the view would lock them out on SQLite."""

    delete_action: Action
    """The action an actor needs to be allowed to delete."""
    actions: tuple[str, ...] = ("delete_selected",)

    def delete_record(self, actor: Actor, key: int) -> None:
        """Delete through the store."""
        raise NotImplementedError  # abstract: each kind says its own; the admin's metaclass leaves no room for ABC

    def dependent_counts(self, keys: list[int]) -> dict[str, str]:
        """Count the records that a deletion removes, by type: these, and those that depend on them."""
        return {str(self.opts.verbose_name_plural): str(len(keys))}

    def changeform_view(
        self, request: HttpRequest, object_id: str | None = None, form_url: str = "", extra_context: Any = None
    ) -> Any:
        try:
            return self._changeform_view(request, object_id, form_url, extra_context)  # type: ignore[attr-defined]  # Django's own, undeclared
        except AgentsError as error:
            return self._refuse(request, error)

    def delete_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> Any:
        try:
            return self._delete_view(request, object_id, extra_context)  # type: ignore[attr-defined]  # Django's own, undeclared
        except AgentsError as error:
            return self._refuse(request, error)

    def response_delete(self, request: HttpRequest, obj_display: str, obj_id: Any) -> HttpResponse:
        """Redirect to the list, also for users who may delete but not change."""
        super().response_delete(request, obj_display, obj_id)
        return self._to_list()

    def _to_list(self) -> HttpResponse:
        return redirect(f"admin:{self.opts.app_label}_{self.opts.model_name}_changelist")

    def _refuse(self, request: HttpRequest, error: AgentsError) -> HttpResponse:
        self.message_user(request, error.message, messages.ERROR)
        return self._to_list()

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        allowed = ModelAdmin.has_delete_permission(self, request, obj)
        return allowed and self.delete_action in actor_of(request).actions

    @admin.action(permissions=["delete"], description=gettext_lazy("Delete selected %(verbose_name_plural)s"))
    def delete_selected(self, request: HttpRequest, queryset: Any) -> HttpResponse | None:
        if self.too_many(request, queryset):
            return None
        try:
            return actions.delete_selected(self, request, queryset)
        except AgentsError as error:
            self.message_user(request, error.message, messages.ERROR)
            return None

    def too_many(self, request: HttpRequest, rows: Any) -> bool:
        """Whether more records are selected than one action handles; tells the user if so."""
        many = bool(rows.order_by()[: MAX_ACTION_RECORDS + 1].count() > MAX_ACTION_RECORDS)
        if many:
            message = _("At most %(count)s at once: choose fewer.") % {"count": format.integer(MAX_ACTION_RECORDS)}
            self.message_user(request, message, messages.ERROR)
        return many

    def get_deleted_objects(self, objs: Iterable[Any], request: HttpRequest) -> Any:
        """Names and counts; Django's own would load every dependent row."""
        records = list(objs)
        names = [f"{self.opts.verbose_name}: {record}" for record in records]
        return names, self.dependent_counts([record.pk for record in records]), set(), []

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        self.delete_record(actor_of(request), obj.pk)
        super().log_deletions(request, cast(Any, [obj]))

    def delete_queryset(self, request: HttpRequest, queryset: Any) -> None:
        for done, record in enumerate(list(queryset)):
            try:
                self.delete_model(request, record)
            except AgentsError as error:
                message = _("%(count)s deleted, then it stopped: %(error)s") % {"count": done, "error": error.message}
                raise Conflict(message) from error

    def log_deletions(self, request: HttpRequest, queryset: Any) -> Any:
        """Do nothing: Django logs before a deletion, which may be refused; `delete_model` logs after it."""
        return []


class ManagedAdmin(StoreAdmin):
    """A table whose records are also created and changed here, by users who may manage. Its form has the
    ``actor``."""

    delete_action = "manage"
    more_fieldsets: tuple[Any, ...] = ()
    """Read-only fieldsets below the form of an existing record."""
    read_fieldsets: tuple[Any, ...] = ()
    """The fieldsets for users who may only view."""
    fixed: tuple[str, ...] = ()
    """Fields of the form that cannot change once the record exists."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return ModelAdmin.has_add_permission(self, request) and "manage" in actor_of(request).actions

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return ModelAdmin.has_change_permission(self, request, obj) and "manage" in actor_of(request).actions

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        if obj is None:
            may = self.has_add_permission(request)
            return super().get_fieldsets(request, obj) if may else self.read_fieldsets
        may = self.has_change_permission(request, obj)
        return (*super().get_fieldsets(request, obj), *self.more_fieldsets) if may else self.read_fieldsets

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return (*self.fixed, *flatten_fieldsets(self.more_fieldsets)) if obj else ()

    def get_form(self, request: HttpRequest, *args: Any, **options: Any) -> Any:
        form: Any = super().get_form(request, *args, **options)
        form.actor = actor_of(request)  # Django makes a new class for each request
        return form
