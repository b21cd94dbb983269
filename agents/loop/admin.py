"""Models under other names."""

from __future__ import annotations

from django.contrib import admin
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _

from agents.base.ids import Kind
from agents.loop.admin_forms import RegisteredModelForm
from agents.loop.models import RegisteredModel
from agents.loop.store.registered_models import registered_models
from agents.uikit.admin import cell_html
from agents.uikit.admin.registered import ACCESS, RegisteredAdmin


@admin.register(RegisteredModel)
class RegisteredModelAdmin(RegisteredAdmin):
    """Other names for the models of endpoints; what the endpoints offer themselves is not listed."""

    kind = Kind.MODEL
    id_columns = {Kind.MODEL: "pk"}
    registry = registered_models
    form = RegisteredModelForm
    list_display = ("title", "endpoint", "called_there", "its_type", "owned_by", "created")
    fieldsets = ((None, {"fields": ("identifier", "provider", "resource", "model_type", "metadata")}),)
    read_fieldsets = (
        (None, {"fields": ("title", "endpoint", "called_there", "its_type", "metadata_text")}),
        ACCESS,
    )

    @admin.display(description=_("endpoint"))
    def endpoint(self, record: RegisteredModel) -> str:
        return cell_html.text_cell(record.provider)

    @admin.display(description=_("kind"))
    def its_type(self, record: RegisteredModel) -> str:
        return _now("embeddings") if record.params.get("model_type") == "embedding" else _now("language model")

    @admin.display(description=_("metadata"))
    def metadata_text(self, record: RegisteredModel) -> str:
        return cell_html.json_body(record.params.get("metadata"))
