"""The SQL face of the query language: a tree becomes a condition on turns.

Names (agents, models, tools, …) are compared in Python, folded as everywhere, over the small
tables they are interned in; the database only sees numbers. Words go to the search index. What a
term means is the table of fields' business (`agents.query.fields`) and `agents.query.matches` is
the oracle this module has to agree with.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from operator import and_, or_
from typing import Any

from django.db.models import Exists, F, OuterRef, Q

from agents import ids
from agents.errors import QuerySyntax
from agents.models import Agent, Api, ApiKey, Source, Step, StepStatus, StepType, Term, TurnStatus, TurnTag
from agents.models.choices import LIVE, TermKind
from agents.query import fields
from agents.query.tokens import words
from agents.query.tree import (
    And,
    Flag,
    Node,
    Not,
    Or,
    Pattern,
    Period,
    Query,
    Scope,
    Text,
    Whole,
    Words,
)
from agents.query.tree import Term as TermNode
from agents.store import search
from agents.store.conditions import (
    EVERYTHING,
    NOTHING,
    among,
    amount,
    chosen,
    contains,
    fits,
    interned,
    keys_named,
    moment,
)


def condition(query: Query) -> Q:
    """The condition of a query on turns."""
    return _turn(query.tree)


# --------------------------------------------------------------------------------------------- nodes


def _turn(node: Node) -> Q:
    match node:
        case And():
            return reduce(and_, map(_turn, node.nodes), EVERYTHING)
        case Or():
            return reduce(or_, map(_turn, node.nodes))
        case Not():
            return ~_turn(node.node)
        case Text():
            return _words(node.words, None)
        case Scope():
            return _scope(node)
        case TermNode():
            field = fields.FIELDS[node.field]
            if fields.level_of(field, "turn") == "step":
                return _some_step(_step_term(node))
            return _turn_term(node)


def _scope(node: Scope) -> Q:
    if node.level != "step":
        raise QuerySyntax(f"{node.level}(…) is not supported yet", position=0)
    inner = _step(node.node)
    match node.quantifier:
        case "any":
            return _some_step(inner)
        case "no":
            return ~_some_step(inner)
        case "all":
            return ~_some_step(~inner)


def _some_step(inner: Q) -> Q:
    return Q(Exists(Step.objects.unscoped("its turn is visible").filter(inner, turn=OuterRef("pk"))))


def _step(node: Node) -> Q:
    match node:
        case And():
            return reduce(and_, map(_step, node.nodes), EVERYTHING)
        case Or():
            return reduce(or_, map(_step, node.nodes))
        case Not():
            return ~_step(node.node)
        case Text():
            return Q(pk__in=search.step_condition(node.words.text, prefix=node.words.prefix))
        case Scope():
            raise QuerySyntax("a scope within step(…) is not supported yet", position=0)
        case TermNode():
            field = fields.FIELDS[node.field]
            if fields.level_of(field, "step") == "step":
                return _step_term(node)
            raise QuerySyntax(f"{node.field}: belongs outside step(…)", position=0)


# ----------------------------------------------------------------------------------- terms of a turn


def _turn_term(node: TermNode) -> Q:
    return _TURN[node.field](node)


def _words(value: Words, side: Any) -> Q:
    if not words(value.text):
        return NOTHING
    return Q(pk__in=search.turn_condition(value.text, prefix=value.prefix, side=side))


def _said(side: Any) -> Callable[[TermNode], Q]:
    def term(node: TermNode) -> Q:
        value = node.value
        if not isinstance(value, Words):
            return ~Q(**{f"body__{side}_preview": ""})
        if node.op == "contains":
            return _words(value, side)
        same = Q(pk__in=search.turn_equality(value.text, side))
        return same if node.op == "=" else ~same & ~Q(**{f"body__{side}_preview": ""})

    return term


def _any_said(node: TermNode) -> Q:
    return _said("input")(node) | _said("output")(node)


def _agent(node: TermNode) -> Q:
    rows = Agent.objects.unscoped("names only; the turns are visible").values_list("pk", "name", "model")
    found = [key for key, name, model in rows if fits(node.value, name or model)]
    found += keys_named(ids.Kind.AGENT, node.value)
    return among("agent_id", found, node)


def _session(node: TermNode) -> Q:
    keys = keys_named(ids.Kind.SESSION, node.value)
    if keys or node.op == "has":
        return among("session_id", keys, node)
    match node.value:
        case Whole():
            same = Q(session__name__iexact=node.value.text)
        case Pattern():
            first, *_, last = node.value.parts
            same = Q(session__name__istartswith=first, session__name__iendswith=last)
        case _:
            same = NOTHING
    return ~same if node.op == "!=" else same


def _id(node: TermNode) -> Q:
    same = Q(pk__in=keys_named(ids.Kind.TURN, node.value))
    return ~same if node.op == "!=" else same


def _is(node: TermNode) -> Q:
    waiting = isinstance(node.value, Whole) and node.value.text == "waiting"
    return Q(status=TurnStatus.AWAITING_INPUT) if waiting else Q(status__in=LIVE)


def _finish(node: TermNode) -> Q:
    if node.op == "has":
        return ~Q(stop_reason="")
    known = ("end_of_turn", "end_of_message", "out_of_tokens", "violation", "max_infer_iters", "input_timeout")
    found = [reason for reason in known if fits(node.value, reason)]
    if isinstance(node.value, Whole):
        found.append(node.value.text)
    same = Q(stop_reason__in=found)
    return same if node.op == "=" else ~same & ~Q(stop_reason="")


def _error(node: TermNode) -> Q:
    """The type, interned; or the message, which is the last thing a failed turn says."""
    if node.op == "has":
        return Q(error_type__isnull=False)
    value = node.value
    assert isinstance(value, Words)  # the field is a text
    rows = Term.objects.filter(kind=int(TermKind.ERROR)).values_list("pk", "value")
    if node.op == "contains":
        types = [key for key, text in rows if contains(words(text), value)]
        said = _words(value, "output")
    else:
        types = [key for key, text in rows if words(text) == words(value.text)]
        said = Q(pk__in=search.turn_equality(value.text, "output"))
    same = Q(error_type__in=types) | (said & Q(error_type__isnull=False))
    return same if node.op != "!=" else ~same & Q(error_type__isnull=False)


def _tagged(kind: TermKind, prefix: Callable[[TermNode], str]) -> Callable[[TermNode], Q]:
    def term(node: TermNode) -> Q:
        start = prefix(node)
        rows = Term.objects.filter(kind=int(kind), value__startswith=start).values_list("pk", "value")
        found = [key for key, text in rows if node.op == "has" or fits(node.value, text[len(start) :])]
        tagged = Q(Exists(TurnTag.objects.filter(turn_id=OuterRef("pk"), term_id__in=found)))
        if node.op != "!=":
            return tagged
        every = Term.objects.filter(kind=int(kind), value__startswith=start).values("pk")
        return ~tagged & Q(Exists(TurnTag.objects.filter(turn_id=OuterRef("pk"), term_id__in=every)))

    return term


def _key(node: TermNode) -> Q:
    rows = ApiKey.objects.values_list("pk", "name") if node.op != "has" else ()
    return among("actor_key", (key for key, name in rows if fits(node.value, name)), node)


def _started(node: TermNode) -> Q:
    """The key is the time, so a period is a range of keys; the column settles the millisecond."""
    found = moment("started_at")(node)
    if isinstance(node.value, Period):
        if node.value.low_us is not None:
            found &= Q(pk__gte=ids.first_key(node.value.low_us))
        if node.value.high_us is not None:
            found &= Q(pk__lt=ids.first_key(node.value.high_us + 1000))
    return found


def _meta_path(node: TermNode) -> str:
    return ".".join(str(part) for part in node.path) + "="


_TOTAL = F("input_tokens") + F("output_tokens")
_BOTH: dict[str, Callable[[TermNode], Q]] = {
    "model": interned(TermKind.MODEL, "model_id"),
    "duration": amount(F("duration_us"), "duration_us"),
    "ttft": amount(F("ttft_us"), "ttft_us"),
    "cost": amount(F("cost_nano"), "cost_nano"),
    "tokens": amount(_TOTAL),
    "tokens.in": amount(F("input_tokens")),
    "tokens.out": amount(F("output_tokens")),
    "tokens.cached": amount(F("cached_tokens")),
    "tokens.reasoning": amount(F("reasoning_tokens")),
    "ended": moment("completed_at"),
}
_TURN: dict[str, Callable[[TermNode], Q]] = {
    **_BOTH,
    "id": _id,
    "turn": _id,
    "agent": _agent,
    "session": _session,
    "user": interned(TermKind.END_USER, "end_user_id"),
    "tag": _tagged(TermKind.TAG, lambda node: ""),
    "env": _tagged(TermKind.META, lambda node: "env="),
    "meta": _tagged(TermKind.META, _meta_path),
    "key": _key,
    "api": chosen("api", Api),
    "source": chosen("source", Source),
    "status": chosen("status", TurnStatus),
    "is": _is,
    "error": _error,
    "finish": _finish,
    "started": _started,
    "in": _said("input"),
    "out": _said("output"),
    "text": _any_said,
}


# ----------------------------------------------------------------------------------- terms of a step


def _step_term(node: TermNode) -> Q:
    return _STEP[node.field](node)


def _step_words(node: TermNode) -> Q:
    value = node.value
    if not isinstance(value, Words):
        return EVERYTHING
    return Q(pk__in=search.step_condition(value.text, prefix=value.prefix)) if words(value.text) else NOTHING


def _violation(node: TermNode) -> Q:
    return Q(violation=True) & _step_words(node)


def _step_error(node: TermNode) -> Q:
    if node.op == "has":
        return Q(error_type__isnull=False)
    return Q(error_type__isnull=False) & _step_words(node)


def _server_side(node: TermNode) -> Q:
    tools = Q(type=StepType.TOOL_EXECUTION)
    return tools & Q(server_side=node.value.value) if isinstance(node.value, Flag) else tools


def _step_is(node: TermNode) -> Q:
    waiting = isinstance(node.value, Whole) and node.value.text == "waiting"
    return Q(status=StepStatus.AWAITING_INPUT if waiting else StepStatus.IN_PROGRESS)


def _step_id(node: TermNode) -> Q:
    same = Q(pk__in=keys_named(ids.Kind.STEP, node.value))
    return ~same if node.op == "!=" else same


_STEP: dict[str, Callable[[TermNode], Q]] = {
    **_BOTH,
    "id": _step_id,
    "started": moment("started_at"),
    "status": chosen("status", StepStatus),
    "is": _step_is,
    "type": chosen("type", StepType),
    "kind": interned(TermKind.STEP_KIND, "kind_id"),
    "tool": interned(TermKind.TOOL, "tool_id"),
    "provider": interned(TermKind.PROVIDER, "turn__provider_id"),
    "server_side": _server_side,
    "violation": _violation,
    "error": _step_error,
    "finish": _step_words,
    "text": _step_words,
}
