"""Session, user, tags and metadata of a span, under the names that senders use.

Names are tried by how specific they are: ``gen_ai.conversation.id`` is a conversation, the resource's
``session.id`` may be a browser tab.
"""

from __future__ import annotations

import re
from typing import Any

from agents.telemetry.reading.coerce import json_of, mapping, sequence, text, text_or_json
from agents.telemetry.reading.spans import Span

MAX_METADATA_ITEMS = 64
MAX_METADATA_CHARS = 512
_MAX_ID_CHARS = 300

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
_FALLBACK_SESSIONS = (
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
_LANGCHAINS_OWN = re.compile(r"(graph|seq):step:|map:key:|langsmith:")
"""Tags by which LangChain marks the place of a run in its graph."""
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
_FILES = ("claude_code", "codex", "gemini_cli", "openai_chat", "atif")
_IN_FILES = ("cwd", "git_branch", "version", "permission_mode", "entrypoint")
_NOISE = ("langgraph_", "ls_", "lc_", "LANGSMITH_", "checkpoint_", "__")
"""Prefixes of keys that libraries add to their users' metadata."""


def session_of(span: Span) -> str:
    """Return the conversation that a span names, '' if it names none."""
    if span.format == "langsmith":
        return _session_in(_metadata_of(span))
    attributes = span.attributes
    if span.format in _FILES:
        return _id(attributes.get("session"))
    for name in _SESSIONS:
        if name in attributes and (session := _id(attributes[name])):
            return session
    if "metadata" in attributes and (session := _session_in(mapping(attributes["metadata"]))):
        return session
    for name in _FALLBACK_SESSIONS:
        if name in attributes and (session := _id(attributes[name])):
            return session
    return ""


def _session_in(metadata: dict[str, Any]) -> str:
    return next((session for name in _IN_METADATA if name in metadata and (session := _id(metadata[name]))), "")


def _metadata_of(span: Span) -> dict[str, Any]:
    """Return the metadata that its user gave a span. Of LangSmith's runs that is ``extra.metadata``; their own
    ``session_id`` is a project."""
    if span.format == "langsmith":
        return mapping(mapping(span.attributes.get("extra")).get("metadata"))
    return mapping(span.attributes.get("metadata"))


def session_of_resource(span: Span) -> str:
    """Return the session of a span's resource, the least specific place."""
    return _id(span.resource.get("session.id"))


def _id(value: Any) -> str:
    """Return an id, also one that MLflow has quoted once more."""
    id_text = text(json_of(value) if isinstance(value, str) and value[:1] == '"' else value)
    return id_text.strip()[:_MAX_ID_CHARS]


def user_of(span: Span) -> str:
    """Return the user that a span names, '' if it names none."""
    attributes = _metadata_of(span) if span.format == "langsmith" else span.attributes
    for name in _USERS:
        if name in attributes and (user := _id(attributes[name])):
            return user
    return ""


def tags_of(span: Span) -> list[str]:
    """Return the tags of a span: the first list among the names that senders use."""
    for name in _TAGS:
        if name in span.attributes:
            value = span.attributes[name]
            values = sequence(value) or [value]
            texts = (item.strip() for item in values if isinstance(item, str))
            return [tag[:100] for tag in texts if tag and not _LANGCHAINS_OWN.match(tag)]
    return []


def add_metadata(span: Span, metadata: dict[str, str]) -> None:
    """Add the readable facts of a span: what ran, where, and the user's own metadata. Those that are there stay."""
    for name, target in _RESOURCE.items():
        for source in (span.attributes, span.resource):
            if name in source:
                _add(metadata, target, source[name])
    for key, value in _metadata_of(span).items():
        _add(metadata, key, value)
    if span.format in _FILES:
        for key in _IN_FILES:
            _add(metadata, "release" if key == "version" else key, span.attributes.get(key))
    if span.format == "langsmith":
        _add(metadata, "project", span.attributes.get("session_name"))
    for name, value in span.attributes.items():
        if name.startswith(_PREFIXES):
            prefix = next(prefix for prefix in _PREFIXES if name.startswith(prefix))
            _add(metadata, name.removeprefix(prefix), json_of(value))


def _add(metadata: dict[str, str], key: str, value: Any) -> None:
    if (
        len(metadata) < MAX_METADATA_ITEMS
        and key not in metadata
        and not key.startswith(_NOISE)
        and value not in (None, "")
    ):
        content = text_or_json(value)
        if content:
            metadata[key[:100]] = content[:MAX_METADATA_CHARS]
