"""Terms of steps."""

from __future__ import annotations

from django.db.models import Q

from agents.base import ids
from agents.base.models.terms import Term, TermKind
from agents.base.tokenizer import tokens
from agents.logs.store.conditions import chosen, contains, fits, interned
from agents.logs.store.levels import json_values, turns
from agents.logs.store.levels.relations import Sight
from agents.logs.store.levels.shared_terms import TermOf, Terms, feedback_terms, judged, named, plain, tagged
from agents.query import fields
from agents.query.fields import TRUNCATING
from agents.query.tree import FieldTerm as TermNode
from agents.query.tree import Flag, SearchPhrase
from agents.record.models.choices import StepStatus, StepType
from agents.record.models.tags import StepTag
from agents.record.store import search


def _is(node: TermNode, sight: Sight) -> Q:
    known = {
        "live": Q(status=StepStatus.IN_PROGRESS),
        "waiting": Q(status=StepStatus.AWAITING_INPUT),
        "truncated": Q(finish__in=Term.objects.filter(kind=int(TermKind.FINISH), value__in=TRUNCATING)),
    }
    found = Q(pk__in=())
    for name, condition in known.items():
        found |= condition if fits(node.value, name) else Q(pk__in=())
    return found


def _status(node: TermNode, sight: Sight) -> Q:
    """The rare ones have an index, which is used where the query says that they are."""
    found = chosen("status", StepStatus)(node)
    is_rare = node.op == "=" and not fits(node.value, StepStatus.COMPLETED.label)
    return found & ~Q(status=StepStatus.COMPLETED) if is_rare else found


def _server_side(node: TermNode, sight: Sight) -> Q:
    tools = Q(type=StepType.TOOL_EXECUTION)
    return tools & Q(server_side=node.value.value) if isinstance(node.value, Flag) else tools


def _problem(there: Q, *, typed: bool) -> TermOf:
    """What went wrong: an error, its type interned, or a shield's objection."""

    def term(node: TermNode, sight: Sight) -> Q:
        value = node.value
        if not isinstance(value, SearchPhrase):
            return there
        exact = node.op != "contains"
        said = (
            search.equal("step", value.text, ["problem"])
            if exact
            else search.containing("step", value, ["problem"], sight.documents("step"))
        )
        same = Q(pk__in=said)
        if typed:
            rows = Term.objects.filter(kind=int(TermKind.ERROR)).values_list("pk", "value")
            same |= Q(error_type__in=[key for key, text in rows if _fits(tokens(text), value, exact)])
        return there & ~same if node.op == "!=" else there & same

    return term


def _fits(found: list[str], value: SearchPhrase, exact: bool) -> bool:
    return found == tokens(value.text) if exact else contains(found, value)


def _text(node: TermNode, sight: Sight) -> Q:
    value = node.value
    if not isinstance(value, SearchPhrase):
        return Q(pk__in=search.filled("step"))
    if node.op == "contains":
        return Q(pk__in=search.containing("step", value, (), sight.documents("step")))
    same = Q(pk__in=search.equal("step", value.text, search.STEP))
    return same if node.op == "=" else ~same & Q(pk__in=search.filled("step"))


TERMS: Terms = {
    **turns.COUNTED,
    "id": named(ids.Kind.STEP),
    "started": turns.started,
    "status": _status,
    "is": _is,
    "type": plain(chosen("type", StepType)),
    "kind": plain(interned(TermKind.STEP_KIND, "kind_id")),
    "tool": plain(interned(TermKind.TOOL, "tool_id")),
    "finish": plain(interned(TermKind.FINISH, "finish_id")),
    "server_side": _server_side,
    "violation": _problem(Q(violation=True), typed=False),
    "error": _problem(Q(error_type__isnull=False), typed=True),
    "args": json_values.inside("args"),
    "result": json_values.inside("result"),
    "tag": tagged(StepTag, "step_id", TermKind.TAG, lambda node: ""),
    fields.FREE_TEXT: _text,
    **feedback_terms(judged("step_id"), "step_id"),
}
