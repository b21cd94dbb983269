"""Terms of steps."""

from __future__ import annotations

from django.db.models import Q

from agents.base.models.terms import Term, TermKind
from agents.base.tokenizer import tokens
from agents.logs.store.conditions import chosen, interned_name, value_matches, words_match
from agents.logs.store.levels import json_values, turns
from agents.logs.store.levels.relations import QueryContext
from agents.logs.store.levels.shared_terms import TermFunction, Terms, tag_term, without_context
from agents.logs.store.levels.stored_terms import stored_terms
from agents.query import fields
from agents.query.tree import FieldTerm, Flag, SearchPhrase
from agents.record.models.choices import TRUNCATING, StepStatus, StepType
from agents.record.models.tags import StepTag
from agents.record.models.turns import Turn
from agents.record.store import search


def _is(node: FieldTerm, context: QueryContext) -> Q:
    marks = {
        "live": Q(status=StepStatus.IN_PROGRESS),
        "waiting": Q(status=StepStatus.AWAITING_INPUT),
        "undecided": _undecided(),
        "truncated": Q(finish__in=Term.objects.filter(kind=int(TermKind.FINISH), value__in=TRUNCATING)),
    }
    matching = Q(pk__in=())
    for name, condition in marks.items():
        matching |= condition if value_matches(node.value, name) else Q(pk__in=())
    return matching


def _undecided() -> Q:
    """Calls that were not stored to their end, of turns that wait for a decision: few turns, which have an index."""
    turns_in_doubt = Turn.objects.unscoped("their steps are narrowed").filter(doubt_at__isnull=False)
    open_calls = Q(type=StepType.TOOL_EXECUTION, status=StepStatus.IN_PROGRESS)
    return open_calls & Q(turn_id__in=turns_in_doubt.values("pk"))


def _status(node: FieldTerm, context: QueryContext) -> Q:
    """Rare statuses have a partial index, which the database uses only where the query excludes completed steps."""
    matching = chosen("status", StepStatus.choices)(node)
    is_rare = node.op == "=" and not value_matches(node.value, StepStatus.COMPLETED.label)
    return matching & ~Q(status=StepStatus.COMPLETED) if is_rare else matching


def _server_side(node: FieldTerm, context: QueryContext) -> Q:
    tools = Q(type=StepType.TOOL_EXECUTION)
    return tools & Q(server_side=node.value.value) if isinstance(node.value, Flag) else tools


def _problem(present: Q, *, typed: bool) -> TermFunction:
    """Build the term on a problem: an error, whose type is interned, or a shield's objection."""

    def term(node: FieldTerm, context: QueryContext) -> Q:
        value = node.value
        if not isinstance(value, SearchPhrase):
            return present
        exact = node.op != "contains"
        by_text = (
            search.equal("step", value.text, ["problem"])
            if exact
            else search.containing("step", value, ["problem"], context.documents("step"))
        )
        same = Q(pk__in=by_text)
        if typed:
            rows = Term.objects.filter(kind=int(TermKind.ERROR)).values_list("pk", "value")
            same |= Q(error_type__in=[key for key, text in rows if _fits(tokens(text), value, exact)])
        return present & ~same if node.op == "!=" else present & same

    return term


def _fits(text_words: list[str], value: SearchPhrase, exact: bool) -> bool:
    return text_words == tokens(value.text) if exact else words_match(text_words, value)


def _text(node: FieldTerm, context: QueryContext) -> Q:
    value = node.value
    if not isinstance(value, SearchPhrase):
        return Q(pk__in=search.filled("step"))
    if node.op == "contains":
        return Q(pk__in=search.containing("step", value, (), context.documents("step")))
    same = Q(pk__in=search.equal("step", value.text, search.STEP))
    return same if node.op == "=" else ~same & Q(pk__in=search.filled("step"))


TERMS: Terms = {
    **stored_terms("step"),
    "started": turns.started,
    "status": _status,
    "is": _is,
    "server_side": _server_side,
    "violation": _problem(Q(violation=True), typed=False),
    "error": _problem(Q(error_type__isnull=False), typed=True),
    "args": json_values.json_term("args"),
    "result": json_values.json_term("result"),
    "answered_by": without_context(interned_name(TermKind.ANSWERER, "answered_by")),
    "tag": tag_term(StepTag, "step_id", TermKind.TAG, lambda node: ""),
    fields.FREE_TEXT: _text,
}
