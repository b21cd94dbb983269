"""The form of an agent: it makes one, changes one, copies one, brings back an earlier revision, and lets its reader
talk to the draft before it is saved."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from agents.base.access import Actor
from agents.base.errors import AgentsError, Conflict, InvalidRequest, NotAllowed, NotFound
from agents.pages import agent_choices, agent_fields, turn_actions
from agents.pages.agent_fields import ConfigFields, Draft, ToolFields
from agents.pages.revisions import changes
from agents.record.schemas.agents import AgentConfig
from agents.record.store import agents, sessions
from agents.record.store.agents import AgentRecord
from agents.uikit.access import PageRequest, page
from agents.uikit.http_responses import turn_reply, wants_json
from agents.uikit.links import url_for

EMPTY = AgentConfig(model=agent_choices.BUILT_IN, instructions="")


@dataclass(frozen=True, slots=True)
class Editor:
    """What is edited: ``base`` is the configuration of which the form keeps what it does not show, ``opened`` the
    number of the revision that the reader began with; None of them for a new agent."""

    base: AgentConfig
    record: AgentRecord | None = None
    opened: int | None = None
    source: str = ""
    """The agent that is copied, or the revision that is brought back, as the address names it."""


@dataclass(frozen=True, slots=True)
class TriedDraft:
    """What was said to the draft: ``text`` where it could not be sent, else the public ids of its turn and session."""

    text: str = ""
    turn: str = ""
    session: str = ""
    error: str = ""


@dataclass(frozen=True, slots=True)
class Shown:
    """What is said in the form besides its fields."""

    errors: dict[str, str] = field(default_factory=dict)
    conflict: list[Any] | None = None
    spare_tools: int = 0
    tried: TriedDraft | None = None
    status: int = 200


@page("manage")
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def create_agent(request: PageRequest) -> HttpResponse:
    """Render the form of a new agent; ``from`` names one to copy. A POST makes it."""
    source = _given(request, "from")
    base = EMPTY
    if source:
        base = agents.get(request.actor, agents.key_of(source), "manage").config
    editor = Editor(base, source=source)
    if request.method != "POST":
        fields = agent_fields.of_config(base)
        if source:
            fields.texts["name"] = (_("Copy of %(name)s") % {"name": base.name or base.model})[: agent_fields.MAX_NAME]
        return _form(request, editor, fields)
    return _posted(request, editor)


@page("manage")
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def edit_agent(request: PageRequest, agent_id: str) -> HttpResponse:
    """Render the form of an agent; ``from`` is the number of a revision to bring back. A POST saves it as the next
    revision."""
    record = agents.get(request.actor, agents.key_of(agent_id), "manage")
    agents.check_here(record)
    source = _given(request, "from")
    base = _revision_config(request.actor, record, source) if source else record.config
    opened = _given(request, "revision")
    number = int(opened) if opened.isdecimal() and len(opened) < 10 else record.revision_number
    editor = Editor(base, record, number, source)
    return (
        _posted(request, editor) if request.method == "POST" else _form(request, editor, agent_fields.of_config(base))
    )


def _given(request: PageRequest, name: str) -> str:
    return (request.POST if request.method == "POST" else request.GET).get(name, "")[:100]


def _revision_config(actor: Actor, record: AgentRecord, number: str) -> AgentConfig:
    for revision in agents.revisions(actor, record.key):
        if str(revision.number) == number:
            return revision.config
    raise NotFound(f"There is no revision '{number[:20]}' of this agent.")


def _posted(request: PageRequest, editor: Editor) -> HttpResponse:
    before = agent_fields.of_config(editor.base)
    if editor.record is None:
        before.texts["model"] = ""  # a form that names none is not meant to have the one that is offered first
    fields = agent_fields.of_post(request.POST, before)
    if request.POST.get("action") == "add-tool":
        return _form(request, editor, fields, Shown(spare_tools=1))
    result = _checked(request.actor, fields, editor.base)
    if request.POST.get("action") == "try":
        return _tried(request, editor, fields, result)
    if result.config is None:
        return _form(request, editor, fields, Shown(result.errors, status=400))
    return _saved(request, editor, fields, result.config)


def _checked(actor: Actor, fields: ConfigFields, base: AgentConfig) -> Draft:
    result = agent_fields.draft(fields, base)
    if result.config is not None:
        wrong = agent_choices.wrong_names(actor, result.config, base)
        return Draft(None, wrong) if wrong else result
    return result


def _tried(request: PageRequest, editor: Editor, fields: ConfigFields, draft: Draft) -> HttpResponse:
    """Send a message to the draft. A script gets the ids of its turn and session, a browser without one the form as
    it was, with a link to the turn."""
    text, session = request.POST.get("text", ""), request.POST.get("session", "")[:100]
    if draft.config is None:
        if wants_json(request):
            name, reason = next(iter(draft.errors.items()))
            raise InvalidRequest(f"{name.replace('_', ' ')}: {reason}", param=name)
        return _form(request, editor, fields, Shown(draft.errors, tried=TriedDraft(text, session=session), status=400))
    if "run" not in request.actor.actions:
        raise NotAllowed("Your account can view turns, but not run them.")
    try:
        key = sessions.key_of(session) if session else None
        agent = editor.record.key if editor.record else None
        turn, session = turn_actions.try_draft(request.actor, agent, draft.config, text, key)
    except AgentsError as error:
        if wants_json(request):
            raise
        tried = TriedDraft(text, session=session, error=error.message)
        return _form(request, editor, fields, Shown(tried=tried, status=error.status))
    if wants_json(request):
        return turn_reply(request, turn, session_id=session)
    return _form(request, editor, fields, Shown(tried=TriedDraft(turn=turn, session=session)))


def _saved(request: PageRequest, editor: Editor, fields: ConfigFields, config: AgentConfig) -> HttpResponse:
    record = editor.record
    if record is None:
        key = agents.create(request.actor, config)
        return redirect("agent", agents.get(request.actor, key, "manage").public_id)
    try:
        agents.revise(request.actor, record.key, config, expected=editor.opened)
    except Conflict:
        return _changed_meanwhile(request, editor, fields)
    if agents.get(request.actor, record.key).revision_number == record.revision_number:
        messages.info(request, _("Nothing was changed."))
        return redirect("agent", record.public_id)
    messages.success(request, _("Saved as a new revision; earlier turns keep theirs. This is what changed:"))
    return redirect("agent-revisions", record.public_id)


def _changed_meanwhile(request: PageRequest, editor: Editor, fields: ConfigFields) -> HttpResponse:
    """Render the form again with what its reader wrote, what the other one changed, and the newer revision, so that
    it can be saved on top of that."""
    key = editor.record.key if editor.record else 0
    record = agents.get(request.actor, key, "manage")
    revisions = {revision.number: revision for revision in agents.revisions(request.actor, key)}
    before = revisions.get(editor.opened or 0)
    differences = list(changes(before.config, record.config)) if before else []
    newer = Editor(editor.base, record, record.revision_number, editor.source)
    return _form(request, newer, fields, Shown(conflict=differences, status=409))


def _form(request: PageRequest, editor: Editor, fields: ConfigFields, shown: Shown | None = None) -> HttpResponse:
    shown, record = shown or Shown(), editor.record
    context = {
        "agent": record,
        "title": (record.name or record.model) if record else _("New agent"),
        "back_url": url_for("agent", record.public_id) if record else url_for("agents"),
        "form_url": url_for("agent-edit", record.public_id) if record else url_for("agent-new"),
        "texts": fields.texts,
        "persists": fields.persists,
        "tools": [*fields.tools, *(ToolFields() for _spare in range(shown.spare_tools))],
        "adds_tool": bool(shown.spare_tools),
        "choices": agent_choices.choices(request.actor, fields),
        "has_grammar": editor.base.response_format is not None and editor.base.response_format.type == "grammar",
        "errors": shown.errors,
        "conflict": shown.conflict,
        "opened": editor.opened,
        "source": editor.source,
        "can_run": "run" in request.actor.actions,
        "tried": shown.tried or TriedDraft(session=_given(request, "session")),
    }
    return render(request, "pages/agent_editor.html", context, status=shown.status)
