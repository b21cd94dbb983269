"""The revisions of an agent, with their authors, and a comparison of two of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext, gettext_noop, ngettext

from agents.base.errors import NotFound
from agents.record.schemas.agents import AgentConfig
from agents.record.store import agents
from agents.record.store.agents import Revision
from agents.uikit import format, text_diff
from agents.uikit.access import PageRequest, page
from agents.uikit.text_diff import DiffPart

MAX_EDGE_CHARS, MAX_UNCUT_CHARS = 200, 600
"""Characters kept at either end of an unchanged text, and the length up to which it is not cut."""

NAMES = {
    "name": gettext_noop("name"),
    "model": gettext_noop("model"),
    "instructions": gettext_noop("instructions"),
    "sampling_params": gettext_noop("sampling"),
    "toolgroups": gettext_noop("tools of the server"),
    "client_tools": gettext_noop("tools of the client"),
    "tool_config": gettext_noop("tool choice"),
    "input_shields": gettext_noop("shields of the input"),
    "output_shields": gettext_noop("shields of the output"),
    "response_format": gettext_noop("response format"),
    "max_infer_iters": gettext_noop("max iterations"),
    "enable_session_persistence": gettext_noop("sessions are kept"),
    "resume_runs": gettext_noop("turns go on when their process is lost"),
}


@dataclass(frozen=True, slots=True)
class DiffRun:
    """A part of one side of a comparison; ``op`` is ``same``, ``deleted`` or ``inserted``; ``left`` stands for
    omitted text."""

    op: str
    text: str


@dataclass(frozen=True, slots=True)
class ChangedSetting:
    """A setting that differs, in the form of the templates for comparisons."""

    name: str
    first: tuple[DiffRun, ...]
    second: tuple[DiffRun, ...]
    same: bool = False
    cut: bool = False


@page("read")
def agent_revisions(request: PageRequest, agent_id: str) -> HttpResponse:
    """The revisions, and the changes between two of them: by default the last change."""
    record = agents.get(request.actor, agents.key_of(agent_id))
    revisions = agents.revisions(request.actor, record.key)
    second = _chosen(request, "b", revisions, revisions[0])
    first = _chosen(
        request, "a", revisions, next((revision for revision in revisions if revision.number < second.number), second)
    )
    context = {
        "agent": record,
        "title": record.name or record.model,
        "rows": [
            (revision, _summary(revision, before))
            for revision, before in zip(revisions, [*revisions[1:], None], strict=True)
        ],
        "first": first,
        "second": second,
        "changes": list(changes(first.config, second.config)),
        "one_of_many": len(revisions) > 1,
        "can_edit": "manage" in request.actor.actions and not record.is_external,
    }
    return render(request, "pages/agent_revisions.html", context)


def _chosen(request: HttpRequest, name: str, revisions: Sequence[Revision], default: Revision) -> Revision:
    number = request.GET.get(name)
    if number is None:
        return default
    chosen = next((revision for revision in revisions if str(revision.number) == number), None)
    if chosen is None:
        raise NotFound(f"There is no revision '{number[:20]}' of this agent.")
    return chosen


def _summary(revision: Revision, before: Revision | None) -> str:
    """The names of the settings that a revision changed."""
    if before is None:
        return gettext("as created") if revision.number == 1 else ""
    names = [
        gettext(NAMES.get(name, format.readable_name(name))) for name in _differing(before.config, revision.config)
    ]
    return ", ".join(names) or gettext("nothing")


def changes(first: AgentConfig, second: AgentConfig) -> Iterator[ChangedSetting]:
    """The settings that differ between two configurations."""
    old_settings, new_settings = _settings(first), _settings(second)
    for name in _differing(first, second):
        label = gettext(NAMES.get(name, format.readable_name(name)))
        parts = text_diff.diff(_as_text(old_settings.get(name)), _as_text(new_settings.get(name)))
        yield ChangedSetting(label, tuple(_runs(parts, "inserted")), tuple(_runs(parts, "deleted")))


def _differing(first: AgentConfig, second: AgentConfig) -> list[str]:
    old_settings, new_settings = _settings(first), _settings(second)
    return [name for name in {**old_settings, **new_settings} if old_settings.get(name) != new_settings.get(name)]


def _settings(config: AgentConfig) -> dict[str, Any]:
    """The settings of a configuration by name, in the order of display."""
    settings = config.model_dump(mode="json", exclude_none=True)
    return {name: settings[name] for name in (*NAMES, *settings) if name in settings}


def _as_text(value: Any) -> str:
    if isinstance(value, str) or value is None:
        return value or ""
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()


def _runs(parts: Sequence[DiffPart], without: str) -> Iterator[DiffRun]:
    """The parts of one side of a comparison; ``without`` is the op of parts that only the other side has."""
    for part in parts:
        if part.op == "same" and len(part.text) > MAX_UNCUT_CHARS:
            omitted = len(part.text) - 2 * MAX_EDGE_CHARS
            yield DiffRun("same", part.text[:MAX_EDGE_CHARS])
            yield DiffRun(
                "left", ngettext("%(n)s character, the same", "%(n)s characters, the same", omitted) % {"n": omitted}
            )
            yield DiffRun("same", part.text[-MAX_EDGE_CHARS:])
        elif part.op != without:
            yield DiffRun(part.op, part.text)
