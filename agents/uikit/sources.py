"""Labels of the sources of records."""

from __future__ import annotations

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

LOCAL = {
    "native": gettext_noop("this server"),
    "demo": gettext_noop("demo"),
}
EXTERNAL = {
    "otlp": gettext_noop("OpenTelemetry"),
    "import": gettext_noop("imported file"),
    "openai_agents": gettext_noop("OpenAI Agents SDK"),
    "langsmith": gettext_noop("LangSmith"),
}
SOURCES = LOCAL | EXTERNAL
EXTERNAL_QUERY = f"source:({' OR '.join(EXTERNAL)})"
"""A query for the turns of external agents."""


def is_external(source: str) -> bool:
    """Whether records of this source are reported by agents that run elsewhere."""
    return source in EXTERNAL


def source_label(source: str) -> str:
    """A source in the reader's language."""
    return _(SOURCES[source]) if source in SOURCES else source
