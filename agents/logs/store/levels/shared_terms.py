"""Terms that several levels share: names, ids, tags, metadata, and what people said."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from django.db import connection
from django.db.models import Exists, F, OuterRef, Q

from agents.base import ids
from agents.base.models.terms import Term, TermKind
from agents.base.store.terms import MAX_LENGTH
from agents.base.tokenizer import fold, index_text, tokens
from agents.feedback.models import Feedback, Rating
from agents.logs.store.conditions import EVERYTHING, NOTHING, amount, fits, keys_named
from agents.logs.store.levels.relations import Sight
from agents.query.tree import EVERY_ITEM, ExactValue, Pattern, SearchPhrase
from agents.query.tree import FieldTerm as TermNode

TermOf = Callable[[TermNode, Sight], Q]
Terms = dict[str, TermOf]


def plain(term: Callable[[TermNode], Q]) -> TermOf:
    """A term that is the same for all who ask."""
    return lambda node, sight: term(node)


def named(kind: ids.Kind) -> TermOf:
    """The id of the row itself."""

    def term(node: TermNode, sight: Sight) -> Q:
        same = Q(pk__in=keys_named(kind, node.value))
        return ~same if node.op == "!=" else same

    return term


def tagged(tags: Any, column: str, kind: TermKind, start: Callable[[TermNode], str]) -> TermOf:
    """A tag, or a pair of the metadata, by a table of tags of these rows. ``start`` is the beginning
    that all values in question have."""

    def having(numbers: Any) -> Q:
        return Q(Exists(tags.objects.filter(**{column: OuterRef("pk"), "term_id__in": numbers})))

    def term(node: TermNode, sight: Sight) -> Q:
        prefix = start(node)
        there = having(Term.objects.filter(_under(kind, prefix)).values("pk"))
        if node.op == "has":
            return there
        found = having(numbers(kind, prefix, node))
        return found if node.op != "!=" else there & ~found

    return term


def _under(kind: TermKind, prefix: str) -> Q:
    """The interned texts that are values at a path, or of something inside it."""
    return _from(kind, prefix) | _from(kind, f"{prefix[:-1]}.") if prefix else Q(kind=int(kind))


def _from(kind: TermKind, prefix: str) -> Q:
    """The interned texts that begin so."""
    if not prefix:
        return Q(kind=int(kind))
    if connection.vendor == "sqlite":  # LIKE would read them all: its case counts for nothing
        return Q(kind=int(kind), value__gte=prefix, value__lt=prefix[:-1] + chr(ord(prefix[-1]) + 1))
    return Q(kind=int(kind), value__startswith=prefix)


def numbers(kind: TermKind, prefix: str, node: TermNode) -> list[int]:
    """The interned texts that a term asks for, among those that begin so."""
    value = node.value
    if isinstance(value, ExactValue):
        wanted = (prefix + value.text)[:MAX_LENGTH]
        rows = Term.objects.filter(kind=int(kind), folded=fold(wanted)[:1000])
        return [key for key, text in rows.values_list("pk", "value") if text.startswith(prefix)]
    rows = Term.objects.filter(_from(kind, prefix))
    return [key for key, text in rows.values_list("pk", "value") if fits(value, text[len(prefix) :])]


def meta_start(node: TermNode) -> str:
    """The beginning of the pairs at a path of the metadata: as `agents.record.store.tags` writes them."""
    return ".".join(_step(step) for step in node.path) + "="


def _step(step: str | int) -> str:
    return step if isinstance(step, str) else "[*]" if step == EVERY_ITEM else f"[{step}]"


def feedback_terms(of: Callable[[], Any], column: str) -> Terms:
    """What people said of these rows: ``of`` are the judgements of this level, ``column`` names its row."""

    def having(condition: Q) -> Q:
        return Q(pk__in=of().filter(condition).values(column))

    def rating(node: TermNode, sight: Sight) -> Q:
        known = having(Q(rating__isnull=False))
        found = having(Q(rating__in=[each.value for each in Rating if fits(node.value, each.label)]))
        return known if node.op == "has" else known & ~found if node.op == "!=" else found

    def score(node: TermNode, sight: Sight) -> Q:
        called = Q(name__kind=int(TermKind.SCORE), name__value=str(node.path[0]) if len(node.path) == 1 else "")
        if node.op == "!=":
            return having(called) & ~having(called & amount(F("value"))(node.model_copy(update={"op": "="})))
        return having(called & amount(F("value"))(node))

    def comment(node: TermNode, sight: Sight) -> Q:
        known = having(~Q(comment=""))
        if not isinstance(node.value, SearchPhrase):
            return known
        found = having(~Q(comment="") & _said(node.value, exact=node.op != "contains"))
        return known & ~found if node.op == "!=" else found

    return {"rating": rating, "score": score, "comment": comment}


def _said(value: SearchPhrase, *, exact: bool) -> Q:
    text = index_text(value.text)
    if exact:
        return Q(words=f" {text} ")
    if not tokens(value.text):
        return NOTHING
    return Q(words__contains=text if value.inside else f" {text}{'' if value.prefix else ' '}")


def judged(column: str) -> Callable[[], Any]:
    """The judgements of sessions, turns or steps themselves, and not of what is below them."""
    below = {"session_id": Q(turn=None), "turn_id": Q(turn__isnull=False, step=None), "step_id": Q(step__isnull=False)}
    return lambda: Feedback.objects.filter(below[column])


def has(column: str) -> Q:
    return Q(**{f"{column}__isnull": False})


def by_mask(column: str, choices: dict[str, int]) -> TermOf:
    """Some of a few, kept as bits of a number."""

    def with_bits(names: list[str]) -> Q:
        numbers = [n for n in range(1 << len(choices)) if any(n & choices[name] for name in names)]
        return Q(**{f"{column}__in": numbers})

    def term(node: TermNode, sight: Sight) -> Q:
        found = with_bits([name for name in choices if fits(node.value, name)])
        return found if node.op != "!=" else ~found & with_bits(list(choices))

    return term


def folded(column: str, value: Any) -> Q:
    """A column of folded texts, compared as a whole."""
    match value:
        case ExactValue(text=text):
            return Q(**{column: fold(text)})
        case Pattern(parts=parts):
            return Q(**{f"{column}__regex": f"(?s)^{'.*'.join(re.escape(fold(part)) for part in parts)}$"})
        case _:
            return ~Q(**{column: ""})


def word(column: str) -> TermOf:
    """A column of words of ours, in small ASCII letters."""

    def term(node: TermNode, sight: Sight) -> Q:
        there, same = ~Q(**{column: ""}), folded(column, node.value)
        return there & ~same if node.op == "!=" else there & same

    return term


def everything(node: TermNode, sight: Sight) -> Q:
    return EVERYTHING
