"""Where a span says to whom it belongs: the conversation, the user, tags, and facts worth finding it by.

The order is that of how much each name is meant: ``gen_ai.conversation.id`` is a conversation, the resource's
``session.id`` may be a browser tab.
"""

from __future__ import annotations

from typing import Any

from agents.telemetry.reading.coerce import json_of, mapping, sequence, text, text_or_json
from agents.telemetry.reading.spans import Span

MAX_METADATA_ITEMS = 64
MAX_METADATA_CHARS = 512
_LONGEST_ID = 300

_SESSIONS = (
    "gen_ai.conversation.id",
    "session.id",
    "langfuse.session.id",
    "conversation.id",
    "conversation_id",
    "traceloop.association.properties.session_id",
    "traceloop.association.properties.conversation_id",
    "traceloop.association.properties.thread_id",
    "langsmith.metadata.session_id",
    "langsmith.metadata.conversation_id",
    "langsmith.metadata.thread_id",
    "langsmith.trace.session_id",
)
_IN_METADATA = ("session_id", "conversation_id", "thread_id")
_LATER = (
    "ai.telemetry.metadata.sessionId",
    "ai.settings.context.sessionId",
    "mlflow.trace.session",
    "group_id",
    "session_id",
)
_USERS = (
    "user.id",
    "enduser.id",
    "langfuse.user.id",
    "traceloop.association.properties.user_id",
    "langsmith.metadata.user_id",
    "ai.telemetry.metadata.userId",
    "ai.settings.context.userId",
    "mlflow.trace.user",
    "user_id",
)
_TAGS = ("tag.tags", "langfuse.trace.tags", "ai.telemetry.metadata.tags", "langsmith.span.tags", "tags")
_PREFIXES = (
    "langfuse.trace.metadata.",
    "traceloop.association.properties.",
    "langsmith.metadata.",
    "ai.telemetry.metadata.",
    "ai.settings.context.",
)
_RESOURCE = {
    "service.name": "service",
    "service.version": "release",
    "deployment.environment.name": "environment",
    "deployment.environment": "environment",
    "langfuse.environment": "environment",
    "langfuse.release": "release",
}
_FILES = ("claude_code", "codex", "gemini_cli")
_IN_FILES = ("cwd", "git_branch", "version", "permission_mode", "entrypoint")
_NOISE = ("langgraph_", "ls_", "lc_", "LANGSMITH_", "checkpoint_", "__")
"""Beginnings of keys that libraries add to their users' metadata."""


def session_of(span: Span) -> str:
    """The conversation that a span says it is of, '' if it says none."""
    if span.format == "langsmith":
        return _among(_metadata_of(span))
    attributes = span.attributes
    if span.format in _FILES:
        return _id(attributes.get("session"))
    for name in _SESSIONS:
        if name in attributes and (found := _id(attributes[name])):
            return found
    if "metadata" in attributes and (found := _among(mapping(attributes["metadata"]))):
        return found
    for name in _LATER:
        if name in attributes and (found := _id(attributes[name])):
            return found
    return ""


def _among(metadata: dict[str, Any]) -> str:
    return next((found for name in _IN_METADATA if name in metadata and (found := _id(metadata[name]))), "")


def _metadata_of(span: Span) -> dict[str, Any]:
    """What its user said about a span, in JSON. Of LangSmith's runs that is ``extra.metadata``; their own
    ``session_id`` is a project."""
    if span.format == "langsmith":
        return mapping(mapping(span.attributes.get("extra")).get("metadata"))
    return mapping(span.attributes.get("metadata"))


def session_of_resource(span: Span) -> str:
    return _id(span.resource.get("session.id"))


def _id(value: Any) -> str:
    """An id, also one that MLflow has put into quotes once more."""
    found = text(json_of(value) if isinstance(value, str) and value[:1] == '"' else value)
    return found.strip()[:_LONGEST_ID]


def user_of(span: Span) -> str:
    attributes = _metadata_of(span) if span.format == "langsmith" else span.attributes
    for name in _USERS:
        if name in attributes and (found := _id(attributes[name])):
            return found
    return ""


def tags_of(span: Span) -> list[str]:
    for name in _TAGS:
        if name in span.attributes:
            value = span.attributes[name]
            found = sequence(value) or [value]
            return [tag[:100] for one in found if isinstance(one, str) and (tag := one.strip())]
    return []


def add_metadata(span: Span, found: dict[str, str]) -> None:
    """Facts for people: what ran, where, and what its user said about it. Those found first stay."""
    for name, ours in _RESOURCE.items():
        for source in (span.attributes, span.resource):
            if name in source:
                _add(found, ours, source[name])
    for key, one in _metadata_of(span).items():
        _add(found, key, one)
    if span.format in _FILES:
        for key in _IN_FILES:
            _add(found, "release" if key == "version" else key, span.attributes.get(key))
    if span.format == "langsmith":
        _add(found, "project", span.attributes.get("session_name"))
    for name, value in span.attributes.items():
        if name.startswith(_PREFIXES):
            prefix = next(one for one in _PREFIXES if name.startswith(one))
            _add(found, name.removeprefix(prefix), json_of(value))


def _add(found: dict[str, str], key: str, value: Any) -> None:
    if len(found) < MAX_METADATA_ITEMS and key not in found and not key.startswith(_NOISE) and value not in (None, ""):
        words = text_or_json(value)
        if words:
            found[key[:100]] = words[:MAX_METADATA_CHARS]
