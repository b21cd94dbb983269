"""The Jinja2 environment for fragments that a page has by the hundred: rows of lists, steps of a turn.

Six times faster than Django's templates; the same file renders the first load, a filter's result
and a live update.
"""

from __future__ import annotations

from typing import Any

from django.template.loader import get_template
from django.templatetags.static import static
from django.utils.translation import gettext, ngettext
from jinja2 import Environment, StrictUndefined

from agents.uikit import elements, format, sources


def environment(**options: Any) -> Environment:
    """The environment; Django's Jinja2 backend calls this once."""
    options.setdefault("undefined", StrictUndefined)
    jinja = Environment(  # noqa: S701 - the backend turns autoescape on
        **options, trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.i18n"]
    )
    jinja.install_gettext_callables(gettext, ngettext, newstyle=True)  # type: ignore[attr-defined]  # of the extension
    jinja.filters |= {
        function.__name__: function
        for function in (
            format.duration,
            format.count,
            format.cost,
            format.iso,
            format.clock,
            format.day,
            format.readable_name,
        )
    }
    jinja.globals |= {
        "static": static,
        "icon": elements.icon,
        "status": elements.status,
        "time": elements.time,
        "type_label": elements.type_label,
        "source_label": sources.source_label,
    }
    return jinja


def fragment(template: str, **values: Any) -> str:
    """Render one of these templates."""
    return get_template(template, using="rows").render(values)
