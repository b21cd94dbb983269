"""Columns that several tables share, as mixins of their admin classes."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.utils.translation import gettext_lazy as _

from agents.uikit import elements, format
from agents.uikit.admin import cell_html


class TimestampColumns:
    """Times of creation, change and expiry."""

    @admin.display(description=_("created"))
    def created(self, record: Any) -> str:
        return cell_html.timestamp(record.created_at)

    @admin.display(description=_("updated"))
    def updated(self, record: Any) -> str:
        return cell_html.timestamp(record.updated_at)

    @admin.display(description=_("expires"))
    def expires(self, record: Any) -> str:
        return cell_html.timestamp(record.expires_at)


class DurationColumns:
    """Start, end and duration."""

    @admin.display(description=_("started"))
    def started(self, record: Any) -> str:
        return cell_html.timestamp(record.started_at)

    @admin.display(description=_("ended"))
    def ended(self, record: Any) -> str:
        return cell_html.timestamp(record.completed_at)

    @admin.display(description=_("duration"))
    def took(self, record: Any) -> str:
        return cell_html.duration(record.duration_us)

    @admin.display(description=_("first token after"))
    def first_token(self, record: Any) -> str:
        return cell_html.duration(record.ttft_us)


class UsageColumns:
    """Tokens and cost."""

    @admin.display(description=_("tokens"))
    def tokens(self, record: Any) -> str:
        return format.count(record.input_tokens + record.output_tokens)

    @admin.display(description=_("tokens"))
    def token_sums(self, record: Any) -> str:
        return cell_html.tokens(record)

    @admin.display(description=_("cost"))
    def cost(self, record: Any) -> str:
        return cell_html.money(record.cost_nano)


class StatusColumns:
    """Status, API and source."""

    @admin.display(description=_("status"))
    def state(self, record: Any) -> str:
        return elements.status(record.get_status_display())

    @admin.display(description=_("API"))
    def by_api(self, record: Any) -> str:
        return str(record.get_api_display())

    @admin.display(description=_("source"))
    def from_source(self, record: Any) -> str:
        return str(record.get_source_display())


class OwnershipColumns:
    """Owner and scope."""

    @admin.display(description=_("owner"))
    def owned_by(self, record: Any) -> str:
        return str(record.owner or cell_html.NOTHING)

    @admin.display(description=_("scope"))
    def scope_label(self, record: Any) -> str:
        return str(record.scope)
