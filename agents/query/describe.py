"""Describe a query as a sentence, for people and screen readers.

"turns that failed, of agent support, in the last 24 hours". The wording of each field is in the
table of fields. Values are hostile text: the sentence is plain text, to be escaped where it is shown. It is in
English unless a language is given, which says each of its parts in other words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from gettext import NullTranslations
from typing import Protocol, assert_never

from agents.query.fields import FIELDS, FREE_TEXT, QueryField, level_of
from agents.query.numbers import number_text
from agents.query.scanner import one_line
from agents.query.times import period_text
from agents.query.tree import (
    LEVELS,
    And,
    Count,
    ExactValue,
    FieldTerm,
    Flag,
    FreeText,
    Level,
    LevelScope,
    Node,
    Not,
    Number,
    NumberRange,
    Op,
    Or,
    Pattern,
    Period,
    Quantifier,
    Query,
    SearchPhrase,
    conjuncts,
)
from agents.query.writer import field_text


class Language(Protocol):
    """What says a message of English in another language, as Django's ``translation`` does."""

    def gettext(self, message: str, /) -> str: ...

    def ngettext(self, singular: str, plural: str, number: int, /) -> str: ...


def gettext_noop(message: str) -> str:
    """Mark a message that is said later."""
    return message


ENGLISH: Language = NullTranslations()

_MAX_QUOTED = 80
_ROWS: dict[Level, str] = {
    "agent": gettext_noop("agents"),
    "session": gettext_noop("sessions"),
    "turn": gettext_noop("turns"),
    "response": gettext_noop("responses"),
    "step": gettext_noop("steps"),
}
_STATUS = {
    "queued": gettext_noop("are queued"),
    "in_progress": gettext_noop("are in progress"),
    "awaiting_input": gettext_noop("are awaiting input"),
    "completed": gettext_noop("completed"),
    "incomplete": gettext_noop("are incomplete"),
    "failed": gettext_noop("failed"),
    "cancelled": gettext_noop("were cancelled"),
    "interrupted": gettext_noop("were interrupted"),
}
_COMPARISONS: dict[Op, str] = {
    "=": gettext_noop("exactly %(value)s"),
    "!=": gettext_noop("other than %(value)s"),
    ">": gettext_noop("more than %(value)s"),
    ">=": gettext_noop("at least %(value)s"),
    "<": gettext_noop("less than %(value)s"),
    "<=": gettext_noop("at most %(value)s"),
}
_TIME_BOUNDS: dict[Op, str] = {
    ">": gettext_noop("after %(value)s"),
    ">=": gettext_noop("since %(value)s"),
    "<": gettext_noop("before %(value)s"),
    "<=": gettext_noop("until %(value)s"),
}
_SCOPES: dict[tuple[Quantifier, Level], str] = {
    ("any", "agent"): gettext_noop("with an agent %(condition)s"),
    ("any", "session"): gettext_noop("with a session %(condition)s"),
    ("any", "turn"): gettext_noop("with a turn %(condition)s"),
    ("any", "response"): gettext_noop("with a response %(condition)s"),
    ("any", "step"): gettext_noop("with a step %(condition)s"),
    ("all", "session"): gettext_noop("with only sessions %(condition)s"),
    ("all", "turn"): gettext_noop("with only turns %(condition)s"),
    ("all", "response"): gettext_noop("with only responses %(condition)s"),
    ("all", "step"): gettext_noop("with only steps %(condition)s"),
    ("no", "session"): gettext_noop("without a session %(condition)s"),
    ("no", "turn"): gettext_noop("without a turn %(condition)s"),
    ("no", "response"): gettext_noop("without a response %(condition)s"),
    ("no", "step"): gettext_noop("without a step %(condition)s"),
    ("first", "session"): gettext_noop("whose first session is one %(condition)s"),
    ("first", "turn"): gettext_noop("whose first turn is one %(condition)s"),
    ("first", "response"): gettext_noop("whose first response is one %(condition)s"),
    ("first", "step"): gettext_noop("whose first step is one %(condition)s"),
    ("last", "session"): gettext_noop("whose last session is one %(condition)s"),
    ("last", "turn"): gettext_noop("whose last turn is one %(condition)s"),
    ("last", "response"): gettext_noop("whose last response is one %(condition)s"),
    ("last", "step"): gettext_noop("whose last step is one %(condition)s"),
}
"""Of narrower levels."""
_WITHIN: dict[Level, str] = {
    "agent": gettext_noop("in an agent %(condition)s"),
    "session": gettext_noop("in a session %(condition)s"),
    "turn": gettext_noop("in a turn %(condition)s"),
    "response": gettext_noop("in a response %(condition)s"),
}
_RELATIVE = re.compile(r"-(\d+)([smhdw])")
_SECOND_PARTS = re.compile(r"(?<=:\d\d)\.\d+")


def describe(query: Query, level: Level | None = None, language: Language = ENGLISH) -> str:
    """Return the sentence, about rows of ``level`` (by default the query's own)."""
    at = level or query.level
    return _Describer(language).sentence(conjuncts(query.tree), at)


def phrase(node: Node, at: Level, language: Language = ENGLISH) -> str:
    """Return the part of the sentence for a condition: it follows the noun, as in "turns *that failed*"."""
    return _Describer(language).phrase(node, at)


class _Describer:
    def __init__(self, language: Language) -> None:
        self._language = language

    def _said(self, message: str, **values: object) -> str:
        """Say a message of one of the tables above."""
        text = self._language.gettext(message)
        return text % values if values else text

    def sentence(self, conditions: Iterable[Node], at: Level) -> str:
        rows, phrases = self._said(_ROWS[at]), ", ".join(self.phrase(node, at) for node in conditions)
        if not phrases:
            return self._language.gettext("all %(rows)s") % {"rows": rows}
        return self._language.gettext("%(rows)s %(conditions)s") % {"rows": rows, "conditions": phrases}

    def phrase(self, node: Node, at: Level) -> str:
        match node:
            case FieldTerm():
                return self._with_level(FIELDS[node.field], at, self._term([node]))
            case FreeText():
                field = FIELDS[FREE_TEXT]
                return self._with_level(field, at, self._field(field, self._words(node.words, "contains")))
            case Not():
                return self._except(self.phrase(node.node, at))
            case And():
                return self._and(self.phrase(inner, at) for inner in node.nodes)
            case Or():
                return self._either(node, at)
            case LevelScope():
                return self._scope(node, at)
            case Count():
                return self._count(node)
            case _:
                assert_never(node)

    def _except(self, condition: str) -> str:
        return self._language.gettext("except those %(condition)s") % {"condition": condition}

    def _with_level(self, field: QueryField, at: Level, text: str) -> str:
        level = level_of(field, at)
        return self._said(_SCOPES["any", level], condition=text) if LEVELS.index(level) > LEVELS.index(at) else text

    def _either(self, node: Or, at: Level) -> str:
        """Values of one field share its wording: "of agent a or b"."""
        terms = [term for term in node.nodes if isinstance(term, FieldTerm) and term.op in ("=", "contains")]
        if len(terms) == len(node.nodes) and len({field_text(term) for term in terms}) == 1:
            return self._with_level(FIELDS[terms[0].field], at, self._term(terms))
        alternatives = self._or(self.phrase(inner, at) for inner in node.nodes)
        return self._language.gettext("either %(alternatives)s") % {"alternatives": alternatives}

    def _scope(self, scope: LevelScope, at: Level) -> str:
        inner = self.phrase(scope.node, scope.level)
        if scope.level == at:
            return self._except(inner) if scope.quantifier == "no" else inner
        if LEVELS.index(scope.level) > LEVELS.index(at):
            return self._said(_SCOPES[scope.quantifier, scope.level], condition=inner)
        within = self._said(_WITHIN[scope.level], condition=inner)
        return (
            self._language.gettext("not %(condition)s") % {"condition": within} if scope.quantifier == "no" else within
        )

    def _count(self, count: Count) -> str:
        amount, number = self._said(_COMPARISONS[count.op], value=count.value), count.value
        ngettext = self._language.ngettext
        message = {
            "agent": ngettext("with %(amount)s agent", "with %(amount)s agents", number),
            "session": ngettext("with %(amount)s session", "with %(amount)s sessions", number),
            "turn": ngettext("with %(amount)s turn", "with %(amount)s turns", number),
            "response": ngettext("with %(amount)s response", "with %(amount)s responses", number),
            "step": ngettext("with %(amount)s step", "with %(amount)s steps", number),
        }[count.level]
        return " ".join(
            [message % {"amount": amount}, *(self.phrase(node, count.level) for node in conjuncts(count.node))]
        )

    def _term(self, terms: list[FieldTerm]) -> str:
        """Describe one term, or several on one field of which any may hold."""
        first, field = terms[0], FIELDS[terms[0].field]
        if first.op == "has":
            return self._language.gettext("with any %(field)s") % {"field": field_text(first)}
        exact = [term.value.text for term in terms if term.op == "=" and isinstance(term.value, ExactValue)]
        if field.name == "status" and len(exact) == len(terms):
            status = self._or(self._said(_STATUS[status]) for status in exact)
            return self._language.gettext("that %(status)s") % {"status": status}
        value = self._or(self._value(term, field) for term in terms)
        if field.kind == "flag":
            return value
        return self._field(field, f"{field_text(first)} {value}" if field.keyed else value)

    def _field(self, field: QueryField, value: str) -> str:
        return self._said(field.phrase).format(value)

    def _value(self, term: FieldTerm, field: QueryField) -> str:
        match term.value:
            case SearchPhrase() as value:
                return self._words(value, term.op)
            case ExactValue(text=text):
                return self._said(_COMPARISONS["!="], value=_quoted(text)) if term.op == "!=" else _quoted(text)
            case Pattern(parts=parts):
                pattern = {"pattern": _quoted("*".join(parts))}
                gettext = self._language.gettext
                return (gettext("not like %(pattern)s") if term.op == "!=" else gettext("like %(pattern)s")) % pattern
            case Number(value=number, unit=unit):
                return self._said(_COMPARISONS[term.op], value=number_text(number, unit))
            case NumberRange(low=low, high=high, unit=unit):
                ends = [None if end is None else number_text(end, unit) for end in (low, high)]
                return self._between(ends[0], ends[1], (_COMPARISONS[">="], _COMPARISONS["<="]))
            case Period() as period:
                return self._period(period, term.op)
            case Flag(value=flag):
                return self._said(field.phrase.split("|")[0 if flag else 1])
            case None:
                raise AssertionError("only 'has' has no value")
            case _:
                assert_never(term.value)

    def _words(self, value: SearchPhrase, op: Op) -> str:
        quoted = f"“{'…' if value.inside else ''}{_truncate(value.text)}{'…' if value.prefix or value.inside else ''}”"
        if op == "!=":
            return self._language.gettext("anything but exactly %(text)s") % {"text": quoted}
        return self._said(_COMPARISONS["="], value=quoted) if op == "=" else quoted

    def _period(self, period: Period, op: Op) -> str:
        if not period.text:
            return _SECOND_PARTS.sub("", period_text(period))
        bounds = _TIME_BOUNDS[">="], _TIME_BOUNDS["<="]
        if op == "..":
            low, _, high = period.text.partition("..")
            return self._between(low and self._time(low), high and self._time(high), bounds)
        since = _RELATIVE.fullmatch(period.text)
        if since and op in ("<", "<="):
            return self._said(_TIME_BOUNDS["<"], value=self._time(period.text))
        if since:
            return self._last(int(since[1]), since[2])
        if op != "=":
            return self._said(_TIME_BOUNDS[op], value=self._time(period.text))
        if period.text in ("today", "yesterday"):
            return self._time(period.text)
        return self._language.gettext("on %(day)s") % {"day": self._time(period.text)}

    def _time(self, text: str) -> str:
        """``-24h`` → 24 hours ago; a ``T`` between day and clock becomes a blank, and parts of seconds are left out."""
        if ago := _RELATIVE.fullmatch(text):
            return self._ago(int(ago[1]), ago[2])
        if text in ("today", "yesterday"):
            return self._language.gettext("today") if text == "today" else self._language.gettext("yesterday")
        return _SECOND_PARTS.sub("", text).replace("T", " ", 1)

    def _last(self, number: int, unit: str) -> str:
        ngettext = self._language.ngettext
        message = {
            "s": ngettext("in the last second", "in the last %(n)s seconds", number),
            "m": ngettext("in the last minute", "in the last %(n)s minutes", number),
            "h": ngettext("in the last hour", "in the last %(n)s hours", number),
            "d": ngettext("in the last day", "in the last %(n)s days", number),
            "w": ngettext("in the last week", "in the last %(n)s weeks", number),
        }[unit]
        return message % {"n": number}

    def _ago(self, number: int, unit: str) -> str:
        ngettext = self._language.ngettext
        message = {
            "s": ngettext("%(n)s second ago", "%(n)s seconds ago", number),
            "m": ngettext("%(n)s minute ago", "%(n)s minutes ago", number),
            "h": ngettext("%(n)s hour ago", "%(n)s hours ago", number),
            "d": ngettext("%(n)s day ago", "%(n)s days ago", number),
            "w": ngettext("%(n)s week ago", "%(n)s weeks ago", number),
        }[unit]
        return message % {"n": number}

    def _between(self, low: str | None, high: str | None, bounds: tuple[str, str]) -> str:
        if low and high:
            return self._language.gettext("between %(low)s and %(high)s") % {"low": low, "high": high}
        return self._said(bounds[0], value=low) if low else self._said(bounds[1], value=high)

    def _and(self, phrases: Iterable[str]) -> str:
        return _join(phrases, self._language.gettext("%(first)s and %(last)s"))

    def _or(self, phrases: Iterable[str]) -> str:
        return _join(phrases, self._language.gettext("%(first)s or %(last)s"))


def _join(phrases: Iterable[str], message: str) -> str:
    """a, b or c."""
    *first, last = phrases
    return message % {"first": ", ".join(first), "last": last} if first else last


def _quoted(text: str) -> str:
    return text if re.fullmatch(r"[\w.@/*+-]{1,80}", text) else f"“{_truncate(text)}”"


def _truncate(text: str) -> str:
    return one_line(text if len(text) <= _MAX_QUOTED else f"{text[:_MAX_QUOTED]}…")
