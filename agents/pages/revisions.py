"""What an agent was: its revisions, who made them, and two of them side by side."""

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

KEPT, LONGEST = 200, 600
"""Characters shown at either end of a text that is the same, and from how many on it is cut."""

NAMES = {
    "name": gettext_noop("name"),
    "model": gettext_noop("model"),
    "instructions": gettext_noop("instructions"),
    "sampling_params": gettext_noop("sampling"),
    "toolgroups": gettext_noop("tools of the server"),
    "client_tools": gettext_noop("tools of the client"),
    "tool_config": gettext_noop("use of tools"),
    "input_shields": gettext_noop("shields of the input"),
    "output_shields": gettext_noop("shields of the output"),
    "response_format": gettext_noop("form of the answer"),
    "max_infer_iters": gettext_noop("rounds at most"),
    "enable_session_persistence": gettext_noop("sessions are kept"),
}


@dataclass(frozen=True, slots=True)
class Run:
    """A piece of one side: ``same``, ``deleted``, ``inserted``, or what was ``left`` out between."""

    op: str
    text: str


@dataclass(frozen=True, slots=True)
class Changed:
    """A value that differs, as the templates of comparisons show it."""

    name: str
    first: tuple[Run, ...]
    second: tuple[Run, ...]
    same: bool = False
    cut: bool = False


@page("read")
def agent_revisions(request: PageRequest, agent_id: str) -> HttpResponse:
    """The revisions, and what changed between two of them: by default with the last."""
    record = agents.get(request.actor, agents.key_of(agent_id))
    found = agents.revisions(request.actor, record.key)
    second = _chosen(request, "b", found, found[0])
    first = _chosen(request, "a", found, next((each for each in found if each.number < second.number), second))
    context = {
        "agent": record,
        "title": record.name or record.model,
        "rows": [(each, _summary(each, before)) for each, before in zip(found, [*found[1:], None], strict=True)],
        "first": first,
        "second": second,
        "changes": list(changes(first.config, second.config)),
        "one_of_many": len(found) > 1,
    }
    return render(request, "pages/agent_revisions.html", context)


def _chosen(request: HttpRequest, name: str, found: Sequence[Revision], usual: Revision) -> Revision:
    number = request.GET.get(name)
    if number is None:
        return usual
    chosen = next((each for each in found if str(each.number) == number), None)
    if chosen is None:
        raise NotFound(f"There is no revision '{number[:20]}' of this agent.")
    return chosen


def _summary(revision: Revision, before: Revision | None) -> str:
    """What a revision changed, by name."""
    if before is None:
        return gettext("as it was made") if revision.number == 1 else ""
    names = [
        gettext(NAMES.get(name, format.readable_name(name))) for name in _differing(before.config, revision.config)
    ]
    return ", ".join(names) or gettext("nothing")


def changes(first: AgentConfig, second: AgentConfig) -> Iterator[Changed]:
    """The values of two configurations that differ."""
    one, two = _told(first), _told(second)
    for name in _differing(first, second):
        words = gettext(NAMES.get(name, format.readable_name(name)))
        pieces = text_diff.diff(_laid_out(one.get(name)), _laid_out(two.get(name)))
        yield Changed(words, tuple(_runs(pieces, "inserted")), tuple(_runs(pieces, "deleted")))


def _differing(first: AgentConfig, second: AgentConfig) -> list[str]:
    one, two = _told(first), _told(second)
    return [name for name in {**one, **two} if one.get(name) != two.get(name)]


def _told(config: AgentConfig) -> dict[str, Any]:
    """A configuration by name, in the order in which it is read."""
    told = config.model_dump(mode="json", exclude_none=True)
    return {name: told[name] for name in (*NAMES, *told) if name in told}


def _laid_out(value: Any) -> str:
    if isinstance(value, str) or value is None:
        return value or ""
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()


def _runs(pieces: Sequence[DiffPart], without: str) -> Iterator[Run]:
    """One side of a comparison: all but what is only in the other."""
    for piece in pieces:
        if piece.op == "same" and len(piece.text) > LONGEST:
            left = len(piece.text) - 2 * KEPT
            yield Run("same", piece.text[:KEPT])
            yield Run("left", ngettext("%(n)s character, the same", "%(n)s characters, the same", left) % {"n": left})
            yield Run("same", piece.text[-KEPT:])
        elif piece.op != without:
            yield Run(piece.op, piece.text)
