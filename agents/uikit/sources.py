"""Where a record came from, in the words of pages."""

from __future__ import annotations

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

HERE = {
    "native": gettext_noop("this server"),
    "demo": gettext_noop("demo"),
}
ELSEWHERE = {
    "otlp": gettext_noop("OpenTelemetry"),
    "import": gettext_noop("imported file"),
    "openai_agents": gettext_noop("OpenAI Agents SDK"),
    "langsmith": gettext_noop("LangSmith"),
}
SOURCES = HERE | ELSEWHERE
QUERY = f"source:({' OR '.join(ELSEWHERE)})"
"""The turns of agents that run elsewhere."""


def is_elsewhere(source: str) -> bool:
    """Whether a record of this source was made by an agent that runs elsewhere."""
    return source in ELSEWHERE


def source_word(source: str) -> str:
    """Where something came from, in the reader's language."""
    return _(SOURCES[source]) if source in SOURCES else source
