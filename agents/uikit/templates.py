"""The Jinja2 environment of what is rendered by the hundred: rows of lists, steps of a turn.

Six times faster than Django's templates; the same file serves the first load, a filter's result
and a live arrival.
"""

from __future__ import annotations

from typing import Any

from django.template.loader import get_template
from django.templatetags.static import static
from django.utils.translation import gettext, ngettext
from jinja2 import Environment, StrictUndefined

from agents.uikit import elements, format, highlight, sources


def environment(**options: Any) -> Environment:
    """Made once by Django's Jinja2 backend."""
    options.setdefault("undefined", StrictUndefined)
    made = Environment(  # noqa: S701 - the backend turns autoescape on
        **options, trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.i18n"]
    )
    made.install_gettext_callables(gettext, ngettext, newstyle=True)  # type: ignore[attr-defined]  # of the extension
    made.filters |= {
        each.__name__: each
        for each in (format.duration, format.count, format.cost, format.iso, format.clock, format.day, format.words)
    }
    made.globals |= {
        "static": static,
        "icon": elements.icon,
        "status": elements.status,
        "time": elements.time,
        "type_word": elements.type_word,
        "source_word": sources.source_word,
        "pieces": highlight.pieces,
    }
    return made


def fragment(template: str, **values: Any) -> str:
    """One of these templates, filled in."""
    return get_template(template, using="rows").render(values)
