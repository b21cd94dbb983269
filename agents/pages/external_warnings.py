"""Translate the warnings of `agents.telemetry.reading` about reported turns.

Ingest knows no languages: it stores its warnings in English. The sentences below are translated; any other is
shown as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop, ngettext

ADVICE = frozenset(
    (
        gettext_noop(
            "The sender did not capture the words. OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=span_only (with "
            "older packages: true) makes OpenTelemetry's instrumentations send them."
        ),
        gettext_noop(
            "Claude Code's spans carry no answers of its models. Its session file has them; with "
            "OTEL_LOG_USER_PROMPTS=1, OTEL_LOG_TOOL_DETAILS=1 and OTEL_LOG_TOOL_CONTENT=1 its records have prompts and "
            "tools."
        ),
        gettext_noop("Codex sends no answers of its models. Its session files have them."),
        gettext_noop(
            'Gemini CLI did not send the words. "traces": true in the settings of its telemetry makes it send them.'
        ),
        gettext_noop(
            "The Agents SDK does not send the words of the Responses API. Its Chat Completions model does, and so do "
            "OpenTelemetry's and OpenInference's instrumentations."
        ),
        gettext_noop(
            "The sender hides the words. Unset OPENINFERENCE_HIDE_INPUTS and OPENINFERENCE_HIDE_OUTPUTS where the "
            "agent runs."
        ),
    )
)
"""Warnings that say how to capture hidden text."""

SENTENCES = ADVICE | {
    gettext_noop("The root span of this turn has not arrived."),
    gettext_noop("The parent span of a step never arrived."),
    gettext_noop("No model call was reported: the tokens are the total of the turn's own span."),
    gettext_noop("The sender named no session: the calls were put together by what their messages repeat."),
    gettext_noop("Clocks differ: a step is more than a second outside its parent."),
    gettext_noop("Clocks differ: the times of another service were moved to those of its caller."),
}


def _above(count: int) -> str:
    text = ngettext(
        "The parent span of %(count)s step never arrived.", "The parent spans of %(count)s steps never arrived.", count
    )
    return text % {"count": count}


def _cut(count: int) -> str:
    text = ngettext(
        "The sender cut %(count)s attribute, so that words may be missing. OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT=10000 "
        "where the agent runs keeps them.",
        "The sender cut %(count)s attributes, so that words may be missing. OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT=10000 "
        "where the agent runs keeps them.",
        count,
    )
    return text % {"count": count}


def _only_first(count: int) -> str:
    text = ngettext(
        "The trace is longer: only its first %(count)s span became a step.",
        "The trace is longer: only its first %(count)s spans became steps.",
        count,
    )
    return text % {"count": count}


_COUNTED: tuple[tuple[re.Pattern[str], Callable[[int], str]], ...] = (
    (re.compile(r"The parent spans of (\d{1,9}) steps never arrived\."), _above),
    (re.compile(r"The trace is longer: only its first (\d{1,9}) spans became steps\."), _only_first),
    (re.compile(r"The sender cut (\d{1,9}) attributes?, so that words may be missing\. .*"), _cut),
)


def translate_warning(sentence: str) -> str:
    """A warning in the reader's language; an unknown one as it is."""
    if sentence in SENTENCES:
        return _(sentence)
    for pattern, translate in _COUNTED:
        if match := pattern.fullmatch(sentence):
            return translate(int(match[1]))
    return sentence
