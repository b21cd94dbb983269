"""Terms of turns."""

from __future__ import annotations

from django.db.models import Exists, OuterRef, Q, QuerySet

from agents.base import ids
from agents.base.models.people import ApiKey
from agents.base.models.terms import Term, TermKind
from agents.base.store.sql import Among, Select
from agents.base.tokenizer import tokens
from agents.logs.store.conditions import (
    EVERYTHING,
    keys_of_id,
    one_of,
    timestamp,
    value_matches,
    words_match,
)
from agents.logs.store.levels.relations import QueryContext
from agents.logs.store.levels.shared_terms import (
    TermFunction,
    Terms,
    folded_equals,
    mask_term,
    metadata_prefix,
    tag_term,
)
from agents.logs.store.levels.stored_terms import stored_terms
from agents.query import fields
from agents.query.tree import ExactValue, FieldTerm, Period, SearchPhrase
from agents.record.models.agent_calls import AgentCall
from agents.record.models.agents import Agent, Session
from agents.record.models.choices import LIVE, TRUNCATING, TurnStatus
from agents.record.models.tags import TurnTag
from agents.record.models.turns import Step, Turn
from agents.record.store import search

_PART = {"input": "input", "output": "output", "error_message": "problem", "metadata_text": "metadata"}
"""Parts of a turn's document, by their columns in the table of fields."""


def agent(node: FieldTerm, context: QueryContext) -> Q:
    """By name or id; names are few and compared in Python."""
    rows = _AGENTS.all() if context.only is None else _AGENTS_OF.all(context.only)
    matching = {key for key, name, model in rows if value_matches(node.value, name or model)}
    return one_of("agent_id", sorted({*matching, *keys_of_id(ids.Kind.AGENT, node.value)}), node)


_AGENTS = Select(Agent, "id name model", "TRUE")
_AGENTS_OF = Among(
    "SELECT id, name, model FROM agents_agent WHERE id IN (SELECT agent_id FROM agents_turn WHERE id IN ({values}))"
)


def session(node: FieldTerm, context: QueryContext) -> Q:
    """By name or id."""
    sessions = Session.objects.unscoped("names only; the turns are visible")
    if node.op == "has":
        return Q(session_id__isnull=False)
    same = Q(session_id__in=sessions.filter(folded_equals("folded", node.value)).values("pk"))
    same |= Q(session_id__in=keys_of_id(ids.Kind.SESSION, node.value))
    return ~same if node.op == "!=" else same


def _is(node: FieldTerm, context: QueryContext) -> Q:
    name = node.value.text if isinstance(node.value, ExactValue) else ""
    marks = {
        "live": Q(status__in=LIVE),
        "waiting": Q(status=TurnStatus.AWAITING_INPUT),
        "undecided": Q(doubt_at__isnull=False),
        "truncated": Q(stop_reason__in=TRUNCATING),
        "sanitized": Q(body__sanitized=True),
        "subagent": Q(Exists(_calls().filter(pk=OuterRef("pk")))),
    }
    return marks[name] if name in marks else _mark_condition(marks, node)


def _calls() -> QuerySet[AgentCall]:
    rows: QuerySet[AgentCall] = AgentCall.objects.unscoped("its turn is visible")
    return rows


def _caller(node: FieldTerm, context: QueryContext) -> Q:
    """By the id of the turn that called; ``!=`` leaves out what nobody called."""
    called = _calls().filter(pk=OuterRef("pk"))
    by_this = called.filter(parent_id__in=keys_of_id(ids.Kind.TURN, node.value))
    if node.op != "!=":
        return Q(pk__in=_calls().filter(parent_id__in=keys_of_id(ids.Kind.TURN, node.value)).values("pk"))
    return Q(Exists(called)) & ~Q(Exists(by_this))


def _mark_condition(marks: dict[str, Q], node: FieldTerm) -> Q:
    matching = Q(pk__in=())
    for name, condition in marks.items():
        matching |= condition if value_matches(node.value, name) else Q(pk__in=())
    return matching


def _error(node: FieldTerm, context: QueryContext) -> Q:
    """The type, interned, or the message."""
    failed = Q(error_type__isnull=False)
    if not isinstance(node.value, SearchPhrase):
        return failed
    rows = Term.objects.filter(kind=int(TermKind.ERROR)).values_list("pk", "value")
    if node.op == "contains":
        types = [key for key, text in rows if words_match(tokens(text), node.value)]
        by_message = Q(pk__in=search.containing("turn", node.value, ["problem"], context.documents("turn")))
    else:
        types = [key for key, text in rows if tokens(text) == tokens(node.value.text)]
        by_message = Q(pk__in=search.equal("turn", node.value.text, ["problem"]))
    same = failed & (Q(error_type__in=types) | by_message)
    return same if node.op != "!=" else failed & ~same


def _part(column: str) -> TermFunction:
    def term(node: FieldTerm, context: QueryContext) -> Q:
        present = Q(pk__in=search.filled("turn", [_PART[column]]))
        if not isinstance(node.value, SearchPhrase):
            return present
        if node.op == "contains":
            return Q(pk__in=search.containing("turn", node.value, [_PART[column]], context.documents("turn")))
        same = Q(pk__in=search.equal("turn", node.value.text, [_PART[column]]))
        return same if node.op == "=" else ~same & present

    return term


def text(node: FieldTerm, context: QueryContext) -> Q:
    """Search the texts of the turn and its steps. A turn's document includes its steps once it has ended; of
    turns that still run, or are too long for a document, the steps are searched too."""
    if not isinstance(node.value, SearchPhrase):
        return EVERYTHING
    if node.op == "contains":
        return Q(pk__in=search.containing("turn", node.value, (), context.documents("turn"))) | Q(
            pk__in=found_in_steps(node.value, context)
        )
    own = Q(pk__in=search.equal("turn", node.value.text, list(_PART.values())))
    steps = Step.objects.unscoped("its turn is visible").filter(
        pk__in=search.equal("step", node.value.text, search.STEP)
    )
    same = own | Q(pk__in=steps.values("turn_id"))
    return ~same if node.op == "!=" else same


def found_in_steps(value: SearchPhrase, context: QueryContext) -> list[int]:
    """Return turns whose steps are not in their document, and one of whose steps holds the phrase."""
    turns = Turn.objects.unscoped("narrowed by what is asked for")
    keys = {*turns.filter(status__in=LIVE).values_list("pk", flat=True), *search.overflowing()}
    candidates = keys if context.only is None else keys & set(context.only)
    if not candidates:
        return []
    steps = Step.objects.unscoped("narrowed by what is asked for").filter(
        turn_id__in=candidates, pk__in=search.containing("step", value, (), (min(candidates), None))
    )
    return list(steps.values_list("turn_id", flat=True).distinct())


def _key(node: FieldTerm, context: QueryContext) -> Q:
    rows = ApiKey.objects.values_list("pk", "name") if node.op != "has" else ()
    return one_of("actor_key", (key for key, name in rows if value_matches(node.value, name)), node)


def started(node: FieldTerm, context: QueryContext) -> Q:
    """A key contains its time, so a period is a range of keys; the column decides within the millisecond."""
    condition = timestamp("started_at")(node)
    if isinstance(node.value, Period):
        if node.value.low_us is not None:
            condition &= Q(pk__gte=ids.first_key(node.value.low_us))
        if node.value.high_us is not None:
            condition &= Q(pk__lt=ids.first_key(node.value.high_us + 1000))
    return condition


TERMS: Terms = {
    **stored_terms("turn"),
    "agent": agent,
    "session": session,
    "tag": tag_term(TurnTag, "turn_id", TermKind.TAG, lambda node: ""),
    "env": tag_term(TurnTag, "turn_id", TermKind.META, lambda node: "env="),
    "meta": tag_term(TurnTag, "turn_id", TermKind.META, metadata_prefix),
    "prompt": tag_term(TurnTag, "turn_id", TermKind.PROMPT, lambda node: ""),
    "key": _key,
    "attachment": mask_term("body__attachments", {"image": 1, "document": 2}),
    "caller": _caller,
    "is": _is,
    "error": _error,
    "started": started,
    "in": _part("input"),
    "out": _part("output"),
    fields.FREE_TEXT: text,
}
