"""Vector databases and their documents: read here, and deleted by the store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.db.models import Q
from django.forms import BaseInlineFormSet
from django.http import HttpRequest
from django.template.defaultfilters import filesizeformat
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from agents.base.access import Actor
from agents.base.errors import Unavailable
from agents.base.ids import Kind
from agents.knowledge.models.vector_dbs import Chunk, VectorDB, VectorDocument
from agents.knowledge.runner.knowledge_base import Library
from agents.knowledge.store import vector_dbs
from agents.loop.current_service import service
from agents.pages.admin.filters import SinceFilter, VectorDBFilter
from agents.uikit import elements, format
from agents.uikit.admin import cell_html
from agents.uikit.admin.base import RecordAdmin, StoreAdmin
from agents.uikit.admin.column_mixins import OwnershipColumns, TimestampColumns
from agents.uikit.admin.current_actor import actor_of
from agents.uikit.admin.row_limits import count_label, newest_rows

if TYPE_CHECKING:
    _FormSet = BaseInlineFormSet[VectorDocument, VectorDB, Any]
    _Inline = admin.TabularInline[VectorDocument, VectorDB]
else:  # generic in the stubs only
    _FormSet, _Inline = BaseInlineFormSet, admin.TabularInline

MAX_INLINE_DOCUMENTS = 20
"""Documents beside a database, the newest."""
PREVIEW_CHUNKS = 3
"""Chunks beside a document, the first."""


class DocumentCells:
    """What is known of a document."""

    @admin.display(description=_("document"))
    def title(self, document: VectorDocument) -> str:
        return cell_html.link(Kind.VECTOR_DOCUMENT, document.pk, document.name or document.document_id)

    @admin.display(description=_("status"))
    def state(self, document: VectorDocument) -> str:
        return elements.status(document.status)

    @admin.display(description=_("type"))
    def mime(self, document: VectorDocument) -> str:
        return cell_html.text_cell(document.mime_type)

    @admin.display(description=_("size"))
    def its_size(self, document: VectorDocument) -> str:
        """That of a file is in bytes."""
        if document.file_id is not None:
            return filesizeformat(document.size)
        size = document.size
        return ngettext("%(size)s character", "%(size)s characters", size) % {"size": format.integer(size)}

    @admin.display(description=_("chunks"))
    def chunks(self, document: VectorDocument) -> str:
        return format.integer(document.chunk_count)

    @admin.display(description=_("created"))
    def created(self, document: VectorDocument) -> str:
        return cell_html.timestamp(document.created_at)


class _Newest(_FormSet):
    """The newest documents; the list of documents has all."""

    def get_queryset(self) -> Any:
        if not hasattr(self, "_newest"):
            self._newest = list(super().get_queryset()[:MAX_INLINE_DOCUMENTS])
        return self._newest


class DocumentInline(DocumentCells, _Inline):
    model = VectorDocument
    formset = _Newest
    verbose_name_plural = _("documents, the newest")
    fields = readonly_fields = ("title", "state", "mime", "its_size", "chunks", "created")
    ordering = ("-pk",)
    extra = 0
    can_delete = False

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return True  # of a database that may be seen


@admin.register(VectorDB)
class VectorDBAdmin(TimestampColumns, OwnershipColumns, StoreAdmin):
    kind = Kind.VECTOR_DB
    id_columns = {Kind.VECTOR_DB: "pk", Kind.SESSION: "session_id"}
    delete_action = "manage"
    prefetched = ("owner",)
    inlines = (DocumentInline,)
    list_display = ("title", "its_model", "its_documents", "of_session", "owned_by", "created")
    list_filter = (SinceFilter,)
    search_help_text = _("The public id of a database or a session, or a part of the name or the model.")
    fieldsets = (
        (
            None,
            {"fields": ("public_id", "title", "its_model", "dimension", "how", "its_documents", "of_session", "kept")},
        ),
        (_("Access"), {"fields": ("provider", "owned_by", "scope_label", "created", "metadata_text")}),
    )

    def search(self, request: HttpRequest, rows: Any, text: str) -> Any:
        matches = Q(identifier__icontains=text) | Q(name__icontains=text) | Q(embedding_model__icontains=text)
        return newest_rows(rows).filter(matches)

    def get_inlines(self, request: HttpRequest, obj: Any) -> Any:
        return self.inlines if obj else ()

    def delete_record(self, actor: Actor, key: int) -> None:
        vector_dbs.delete_key(actor, key)

    def dependent_counts(self, keys: list[int]) -> dict[str, str]:
        documents = VectorDocument.objects.filter(vector_db_id__in=keys)
        chunks = Chunk.objects.filter(vector_db_id__in=keys)
        return {
            str(self.opts.verbose_name_plural): str(len(keys)),
            "documents": count_label(documents),
            "chunks": count_label(chunks),
        }

    @admin.display(description=_("name"))
    def title(self, db: VectorDB) -> str:
        return cell_html.text_cell(db.name or db.identifier)

    @admin.display(description=_("embedding model"))
    def its_model(self, db: VectorDB) -> str:
        return cell_html.text_cell(db.embedding_model)

    @admin.display(description=_("dimension"))
    def dimension(self, db: VectorDB) -> str:
        return format.integer(db.embedding_dimension) if db.embedding_dimension else cell_html.NOTHING

    @admin.display(description=_("searched"))
    def how(self, db: VectorDB) -> str:
        """As the API words it; known only where the server runs."""
        record = vector_dbs.VectorDBRecord(
            db.pk, db.identifier, db.embedding_model, db.embedding_dimension, db.provider_id, db.version
        )
        try:
            described = service().providers.part(Library).search_description(record)
        except Unavailable:
            return cell_html.NOTHING
        return ", ".join(
            [described["search"], *(described[name] for name in ("served_by", "note") if name in described)]
        )

    @admin.display(description=_("documents"))
    def its_documents(self, db: VectorDB) -> str:
        return cell_html.list_link(Kind.VECTOR_DOCUMENT, str(_("documents")), db=self.public_id(db))

    @admin.display(description=_("session"))
    def of_session(self, db: VectorDB) -> str:
        return cell_html.link(Kind.SESSION, db.session_id, str(_("its session")))

    @admin.display(description=_("kept"))
    def kept(self, db: VectorDB) -> str:
        if db.expires_days is None:
            return _now("until it is deleted")
        text = ngettext("%(days)d day after its last use", "%(days)d days after its last use", db.expires_days)
        return f"{text % {'days': db.expires_days}}, {cell_html.timestamp(db.last_active_at)}"

    @admin.display(description=_("provider"))
    def provider(self, db: VectorDB) -> str:
        return cell_html.text_cell(db.provider_id)

    @admin.display(description=_("metadata"))
    def metadata_text(self, db: VectorDB) -> str:
        return cell_html.json_body(db.metadata)


@admin.register(VectorDocument)
class VectorDocumentAdmin(DocumentCells, RecordAdmin):
    """As visible as its database."""

    kind = Kind.VECTOR_DOCUMENT
    id_columns = {Kind.VECTOR_DOCUMENT: "pk", Kind.VECTOR_DB: "vector_db_id"}
    prefetched = ("vector_db",)
    deferred = ("metadata",)
    list_display = ("named", "in_db", "state", "its_size", "chunks", "created")
    list_filter = (VectorDBFilter,)
    search_help_text = _(
        "The public id of a document or a database, or a part of the document's name among the newest 200,000."
    )
    fieldsets = (
        (None, {"fields": ("public_id", "named", "own_id", "in_db", "state", "error_text")}),
        (_("Content"), {"fields": ("mime", "its_size", "chunks", "beginning")}),
        (_("More"), {"fields": ("created", "metadata_text")}),
    )

    def get_queryset(self, request: HttpRequest) -> Any:
        rows, actor = super().get_queryset(request), actor_of(request)
        if actor.is_admin and "read" in actor.actions:
            return rows
        return rows.filter(vector_db__in=VectorDB.objects.visible_to(actor))

    def get_list_display(self, request: HttpRequest) -> Any:
        """Without the database where one was chosen."""
        chosen = VectorDBFilter.parameter_name in request.GET
        return [name for name in self.list_display if name != "in_db" or not chosen]

    def search(self, request: HttpRequest, rows: Any, text: str) -> Any:
        return newest_rows(rows).filter(Q(document_id__icontains=text) | Q(name__icontains=text))

    @admin.display(description=_("document"))
    def named(self, document: VectorDocument) -> str:
        return cell_html.text_cell(document.name or document.document_id)

    @admin.display(description=_("its own id"))
    def own_id(self, document: VectorDocument) -> str:
        return cell_html.text_cell(document.document_id)

    @admin.display(description=_("vector database"))
    def in_db(self, document: VectorDocument) -> str:
        return cell_html.link(Kind.VECTOR_DB, document.vector_db_id, str(document.vector_db))

    @admin.display(description=_("error"))
    def error_text(self, document: VectorDocument) -> str:
        return cell_html.code(document.error)

    @admin.display(description=_("beginning"))
    def beginning(self, document: VectorDocument) -> str:
        texts = Chunk.objects.filter(document_id=document.pk).order_by("position").values_list("text", flat=True)
        return cell_html.code("\n\n".join(texts[:PREVIEW_CHUNKS]))

    @admin.display(description=_("metadata"))
    def metadata_text(self, document: VectorDocument) -> str:
        return cell_html.json_body(document.metadata)
