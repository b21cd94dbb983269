"""Terms of turns."""

from __future__ import annotations

from django.db.models import F, Q

from agents.base import ids
from agents.base.models.people import ApiKey
from agents.base.models.terms import Term, TermKind
from agents.base.tokenizer import tokens
from agents.logs.store.conditions import EVERYTHING, among, amount, chosen, contains, fits, interned, keys_named, moment
from agents.logs.store.levels.relations import Sight
from agents.logs.store.levels.shared_terms import (
    TermOf,
    Terms,
    by_mask,
    feedback_terms,
    folded,
    judged,
    meta_start,
    named,
    plain,
    tagged,
    word,
)
from agents.query import fields
from agents.query.fields import TRUNCATING
from agents.query.tree import ExactValue, Period, SearchPhrase
from agents.query.tree import FieldTerm as TermNode
from agents.record.models.agents import Agent, Session
from agents.record.models.choices import LIVE, Api, Source, TurnStatus
from agents.record.models.tags import TurnTag
from agents.record.models.turns import Step, Turn
from agents.record.store import search

_PART = {"input": "input", "output": "output", "error_message": "problem", "metadata_text": "metadata"}
"""Parts of a turn's document, by what they are called in its record."""


def agent(node: TermNode, sight: Sight) -> Q:
    """By name or id; names are few and compared in Python."""
    rows = Agent.objects.unscoped("names only; the turns are visible").values_list("pk", "name", "model")
    found = [key for key, name, model in rows if fits(node.value, name or model)]
    return among("agent_id", [*found, *keys_named(ids.Kind.AGENT, node.value)], node)


def session(node: TermNode, sight: Sight) -> Q:
    """By name or id."""
    sessions = Session.objects.unscoped("names only; the turns are visible")
    if node.op == "has":
        return Q(session_id__isnull=False)
    same = Q(session_id__in=sessions.filter(folded("folded", node.value)).values("pk"))
    same |= Q(session_id__in=keys_named(ids.Kind.SESSION, node.value))
    return ~same if node.op == "!=" else same


def _is(node: TermNode, sight: Sight) -> Q:
    wanted = node.value.text if isinstance(node.value, ExactValue) else ""
    known = {
        "live": Q(status__in=LIVE),
        "waiting": Q(status=TurnStatus.AWAITING_INPUT),
        "truncated": Q(stop_reason__in=TRUNCATING),
        "sanitized": Q(body__sanitized=True),
    }
    return known[wanted] if wanted in known else _any_of(known, node)


def _any_of(known: dict[str, Q], node: TermNode) -> Q:
    found = Q(pk__in=())
    for name, condition in known.items():
        found |= condition if fits(node.value, name) else Q(pk__in=())
    return found


def _error(node: TermNode, sight: Sight) -> Q:
    """The type, interned, or the message."""
    failed = Q(error_type__isnull=False)
    if not isinstance(node.value, SearchPhrase):
        return failed
    rows = Term.objects.filter(kind=int(TermKind.ERROR)).values_list("pk", "value")
    if node.op == "contains":
        types = [key for key, text in rows if contains(tokens(text), node.value)]
        said = Q(pk__in=search.containing("turn", node.value, ["problem"], sight.documents("turn")))
    else:
        types = [key for key, text in rows if tokens(text) == tokens(node.value.text)]
        said = Q(pk__in=search.equal("turn", node.value.text, ["problem"]))
    same = failed & (Q(error_type__in=types) | said)
    return same if node.op != "!=" else failed & ~same


def _part(column: str) -> TermOf:
    def term(node: TermNode, sight: Sight) -> Q:
        there = Q(pk__in=search.filled("turn", [_PART[column]]))
        if not isinstance(node.value, SearchPhrase):
            return there
        if node.op == "contains":
            return Q(pk__in=search.containing("turn", node.value, [_PART[column]], sight.documents("turn")))
        same = Q(pk__in=search.equal("turn", node.value.text, [_PART[column]]))
        return same if node.op == "=" else ~same & there

    return term


def text(node: TermNode, sight: Sight) -> Q:
    """What the turn or one of its steps holds. A turn's document has its steps from its end on; of those
    still running, or too long for one, the steps are asked."""
    if not isinstance(node.value, SearchPhrase):
        return EVERYTHING
    if node.op == "contains":
        return Q(pk__in=search.containing("turn", node.value, (), sight.documents("turn"))) | Q(
            pk__in=asked_by_step(node.value, sight)
        )
    own = Q(pk__in=search.equal("turn", node.value.text, list(_PART.values())))
    steps = Step.objects.unscoped("its turn is visible").filter(
        pk__in=search.equal("step", node.value.text, search.STEP)
    )
    same = own | Q(pk__in=steps.values("turn_id"))
    return ~same if node.op == "!=" else same


def asked_by_step(value: SearchPhrase, sight: Sight) -> list[int]:
    """Turns whose steps are not in their document, and one of whose steps holds the words."""
    turns = Turn.objects.unscoped("narrowed by what is asked for")
    keys = {*turns.filter(status__in=LIVE).values_list("pk", flat=True), *search.overflowing()}
    asked = keys if sight.only is None else keys & set(sight.only)
    if not asked:
        return []
    found = Step.objects.unscoped("narrowed by what is asked for").filter(
        turn_id__in=asked, pk__in=search.containing("step", value, (), (min(asked), None))
    )
    return list(found.values_list("turn_id", flat=True).distinct())


def _key(node: TermNode, sight: Sight) -> Q:
    rows = ApiKey.objects.values_list("pk", "name") if node.op != "has" else ()
    return among("actor_key", (key for key, name in rows if fits(node.value, name)), node)


def started(node: TermNode, sight: Sight) -> Q:
    """The key is the time, so a period is a range of keys; the column settles the millisecond."""
    found = moment("started_at")(node)
    if isinstance(node.value, Period):
        if node.value.low_us is not None:
            found &= Q(pk__gte=ids.first_key(node.value.low_us))
        if node.value.high_us is not None:
            found &= Q(pk__lt=ids.first_key(node.value.high_us + 1000))
    return found


_COUNTED: Terms = {
    "duration": plain(amount(F("duration_us"), "duration_us")),
    "tokens": plain(amount(F("input_tokens") + F("output_tokens"))),
    "tokens.in": plain(amount(F("input_tokens"))),
    "tokens.out": plain(amount(F("output_tokens"))),
    "tokens.cached": plain(amount(F("cached_tokens"))),
    "tokens.reasoning": plain(amount(F("reasoning_tokens"))),
    "cost": plain(amount(F("cost_nano"), "cost_nano")),
    "ttft": plain(amount(F("ttft_us"), "ttft_us")),
    "ended": plain(moment("completed_at")),
    "model": plain(interned(TermKind.MODEL, "model_id")),
}
TERMS: Terms = {
    **_COUNTED,
    "id": named(ids.Kind.TURN),
    "turn": named(ids.Kind.TURN),
    "agent": agent,
    "session": session,
    "user": plain(interned(TermKind.END_USER, "end_user_id")),
    "provider": plain(interned(TermKind.PROVIDER, "provider_id")),
    "tag": tagged(TurnTag, "turn_id", TermKind.TAG, lambda node: ""),
    "env": tagged(TurnTag, "turn_id", TermKind.META, lambda node: "env="),
    "meta": tagged(TurnTag, "turn_id", TermKind.META, meta_start),
    "key": _key,
    "api": plain(chosen("api", [Api.AGENTS, Api.RESPONSES])),
    "source": plain(chosen("source", Source)),
    "attachment": by_mask("body__attachments", {"image": 1, "document": 2}),
    "status": plain(chosen("status", TurnStatus)),
    "is": _is,
    "error": _error,
    "finish": word("stop_reason"),
    "started": started,
    "in": _part("input"),
    "out": _part("output"),
    fields.FREE_TEXT: text,
    **feedback_terms(judged("turn_id"), "turn_id"),
}
COUNTED = _COUNTED
