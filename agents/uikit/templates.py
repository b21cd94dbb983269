"""The template environment: all pages and fragments are Jinja2, but Django's admin.

A template may use what is registered here, the variables of its caller and, where it renders a request,
``request``, ``csrf_input``, ``csrf_token`` and ``messages``. An unknown name is an error.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, cast

from django.conf import settings
from django.template import engines
from django.template.backends.jinja2 import Jinja2
from django.template.defaultfilters import truncatechars
from django.template.loader import get_template
from django.templatetags.static import static
from django.utils.safestring import SafeString
from django.utils.translation import get_language, get_language_info, gettext, ngettext, npgettext, pgettext
from jinja2 import BaseLoader, Environment, StrictUndefined, Template
from markupsafe import Markup

from agents.base.subjects import is_installed
from agents.uikit import elements, format, sources
from agents.uikit.links import url_for
from agents.uikit.navigation import navigation, optional_url, waiting_badge
from turnlog import __version__


def environment(**options: Any) -> Environment:
    """The environment; Django's Jinja2 backend calls this once."""
    options["undefined"] = StrictUndefined  # the backend has put a lenient one there
    jinja = Environment(  # noqa: S701 - the backend turns autoescape on
        **options, trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.i18n"]
    )
    # a translation is HTML of ours; what is put into its %(placeholders)s is escaped
    jinja.install_gettext_callables(  # type: ignore[attr-defined]  # of the extension
        gettext, ngettext, newstyle=True, pgettext=pgettext, npgettext=npgettext
    )
    jinja.globals["_"] = _translate  # the extension's own looks up the same hundreds of times for a page
    jinja.filters |= _FILTERS
    jinja.globals |= _GLOBALS
    return jinja


def _translate(message: str, **values: Any) -> Markup:
    """Translate a message; values for its placeholders are escaped."""
    return Markup(elements.translation(get_language(), message)) % values  # noqa: S704 - the text is of our catalogues, % escapes the values


def languages() -> list[dict[str, Any]]:
    """The languages of the pages, each with its own name for itself."""
    return [get_language_info(code) for code, _name in settings.LANGUAGES]


def svg_number(number: float) -> str:
    """A number in a drawing: the same in every language."""
    return f"{number:g}"


_FILTERS = {
    function.__name__: function
    for function in (
        format.duration,
        format.count,
        format.cost,
        format.percent,
        format.iso,
        format.clock,
        format.day,
        format.date_time,
        format.readable_name,
        svg_number,
        truncatechars,
    )
}
_GLOBALS = {
    "static": static,
    "root": settings.URL_PREFIX,
    "version": __version__,
    "url_for": url_for,
    "optional_url": optional_url,
    "navigation": navigation,
    "waiting_badge": waiting_badge,
    "language": get_language,
    "languages": languages,
    "translate": gettext,
    "is_installed": is_installed,
    "icon": elements.icon,
    "status": elements.status,
    "time": elements.time,
    "type_label": elements.type_label,
    "source_label": sources.source_label,
}


def fragment(template: str, **values: Any) -> SafeString:
    """Render a template without a request; the result is HTML that pages insert as it is."""
    return SafeString(_compiled(template).render(values))


def fragment_with_variables(template: str, **values: Any) -> tuple[SafeString, dict[str, Any]]:
    """Render a template without a request; return its HTML and the variables that it sets."""
    compiled = _compiled(template)
    context = compiled.new_context(values)
    html = "".join(compiled.root_render_func(context))  # sets the variables
    return SafeString(html), context.get_exported()


def macro(template: str, name: str) -> Callable[..., str]:
    """Return a macro of a template. What the template does outside of its macros, it does once."""
    function: Callable[..., str] = getattr(_compiled(template).module, name)
    return function


@cache
def pages_of(folder: str) -> tuple[str, ...]:
    """Return the templates in a folder, without those that are parts of others."""
    loader = cast(BaseLoader, cast(Jinja2, engines["jinja2"]).env.loader)
    return tuple(name for name in loader.list_templates() if name.startswith(f"{folder}/") and "/_" not in name)


@cache
def _compiled(template: str) -> Template:
    """The template without Django's wrapper: rows of a list are rendered by the hundred."""
    compiled: Template = get_template(template, using="jinja2").template  # type: ignore[attr-defined]  # of this backend
    return compiled
