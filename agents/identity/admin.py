"""The admin of access: users, groups with the attributes of their members, API keys, scopes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import admin, messages
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.forms import AdminUserCreationForm
from django.contrib.auth.models import Group
from django.db import transaction
from django.db.models import Q
from django.http import HttpRequest
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from agents.base import ids
from agents.base.ids import Kind
from agents.base.models.people import ApiKey, GroupAttributes, User
from agents.base.models.scopes import Scope
from agents.base.store import keys
from agents.base.timestamps import to_us
from agents.identity.admin_forms import AttributesForm
from agents.uikit.admin import cell_html
from agents.uikit.admin.base import ModelAdmin, ReadAdmin, RecordAdmin
from agents.uikit.admin.current_actor import actor_of

if TYPE_CHECKING:
    _Inline = admin.StackedInline[GroupAttributes, Group]
    _CreationForm = AdminUserCreationForm[User]
    _UserAdmin = UserAdmin[User]
else:  # generic in the stubs only
    _Inline, _CreationForm, _UserAdmin = admin.StackedInline, AdminUserCreationForm, UserAdmin


class _NewUserForm(_CreationForm):
    def clean_username(self) -> str:
        name = str(super().clean_username())
        if name == keys.LOCAL:
            raise forms.ValidationError(_now("This name is the built-in user's."))
        return name


@admin.register(User)
class PeopleAdmin(_UserAdmin):
    """Users are deactivated, never deleted: the record names them. Only superusers may change superusers, or the rights
    of staff."""

    add_form = _NewUserForm
    list_display = ("username", "first_name", "last_name", "is_active", "is_staff", "is_superuser", "seen")
    list_filter = ("is_active", "is_staff", "is_superuser", "groups")
    rights = ("is_staff", "is_superuser", "groups", "user_permissions")
    fieldsets = (
        (None, {"fields": ("username", "password")}),
        (_("Person"), {"fields": ("first_name", "last_name", "email", "seen", "joined")}),
        (_("Rights"), {"fields": ("is_active", *rights)}),
    )

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        ours = obj is None or request.user.is_superuser or not obj.is_superuser
        return bool(ours and super().has_change_permission(request, obj))

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return ("seen", "joined") if request.user.is_superuser else ("seen", "joined", *self.rights)

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        super().save_related(request, form, formsets, change)
        transaction.on_commit(keys.forget)

    @admin.display(description=_("last login"))
    def seen(self, user: User) -> str:
        return cell_html.timestamp(user.last_login)

    @admin.display(description=_("joined"))
    def joined(self, user: User) -> str:
        return cell_html.timestamp(user.date_joined)


class AttributesInline(_Inline):
    model = GroupAttributes
    form = AttributesForm
    verbose_name = verbose_name_plural = _("what it gives its members")
    max_num = 1
    extra = 1
    can_delete = False


admin.site.unregister(Group)


@admin.register(Group)
class GroupsAdmin(GroupAdmin):
    """A group gives its members attributes (in the product) and permissions (in this admin)."""

    inlines = (AttributesInline,)
    list_display = ("name", "attribute_list")

    def get_queryset(self, request: HttpRequest) -> Any:
        return super().get_queryset(request).prefetch_related("attributes")

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return () if request.user.is_superuser else ("permissions",)

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        super().save_related(request, form, formsets, change)
        transaction.on_commit(keys.forget)

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        super().delete_model(request, obj)
        transaction.on_commit(keys.forget)

    def delete_queryset(self, request: HttpRequest, queryset: Any) -> None:
        super().delete_queryset(request, queryset)
        transaction.on_commit(keys.forget)

    @admin.display(description=_("attributes"))
    def attribute_list(self, group: Group) -> str:
        group_attributes = getattr(group, "attributes", None)
        return cell_html.attributes(group_attributes.attributes if group_attributes else {})


@admin.register(ApiKey)
class ApiKeyAdmin(RecordAdmin):
    """Keys are created on the product's page, which shows the secret once; here they are listed and revoked."""

    kind = Kind.KEY
    id_columns = {Kind.KEY: "pk"}
    prefetched = ("user",)
    actions = ("revoke",)
    list_display = ("name", "ending", "of_user", "may", "state", "created", "used", "expires")
    list_filter = ("user",)
    search_help_text = _("A public id, or a part of the name or of the user's.")
    fieldsets = ((None, {"fields": ("public_id", *list_display)}),)

    def get_queryset(self, request: HttpRequest) -> Any:
        rows, actor = super().get_queryset(request), actor_of(request)
        return rows if actor.is_admin else rows.filter(user_id=actor.user_id)

    def search(self, request: HttpRequest, rows: Any, text: str) -> Any:
        return rows.filter(Q(name__icontains=text) | Q(user__username__icontains=text))

    def has_revoke_permission(self, request: HttpRequest) -> bool:
        return ModelAdmin.has_change_permission(self, request)

    @admin.action(permissions=["revoke"], description=_("Revoke selected keys: this cannot be undone"))
    def revoke(self, request: HttpRequest, queryset: Any) -> None:
        chosen = list(queryset.filter(revoked_at=None)[:1000])
        for key in chosen:
            keys.revoke(actor_of(request), ids.public(Kind.KEY, key.pk))
            self.log_change(request, key, "Revoked.")
        message = ngettext("%(count)d key revoked.", "%(count)d keys revoked.", len(chosen))
        self.message_user(request, message % {"count": len(chosen)}, messages.SUCCESS)

    @admin.display(description=_("ends in"))
    def ending(self, key: ApiKey) -> str:
        return f"…{key.last4}"

    @admin.display(description=_("user"))
    def of_user(self, key: ApiKey) -> str:
        return str(key.user)

    @admin.display(description=_("permissions"))
    def may(self, key: ApiKey) -> str:
        return ", ".join(key.actions)

    @admin.display(description=_("state"))
    def state(self, key: ApiKey) -> str:
        if key.revoked_at:
            return cell_html.state("cancelled", _now("revoked"))
        if key.expires_at and to_us(key.expires_at) <= ids.now_us():
            return cell_html.state("awaiting_input", _now("expired"))
        return cell_html.state("completed", _now("active"))

    @admin.display(description=_("created"))
    def created(self, key: ApiKey) -> str:
        return cell_html.timestamp(key.created_at)

    @admin.display(description=_("last used"))
    def used(self, key: ApiKey) -> str:
        return cell_html.timestamp(key.last_used_at)

    @admin.display(description=_("expires"))
    def expires(self, key: ApiKey) -> str:
        return cell_html.timestamp(key.expires_at)


@admin.register(Scope)
class ScopeAdmin(ReadAdmin):
    """The distinct sets of attributes that records have; the store creates them."""

    list_display = ("attribute_list",)
    fields = ("attribute_list", "digest")

    @admin.display(description=_("attributes"))
    def attribute_list(self, scope: Scope) -> str:
        return cell_html.attributes(scope.attributes)
