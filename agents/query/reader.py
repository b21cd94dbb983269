"""The grammar, read by recursive descent in one pass.

::

    query   = or ;                        or  = and { "OR" and } ;
    unary   = { "NOT" | "-" } primary ;   and = unary { [ "AND" ] unary } ;
    primary = "(" query ")" | scope | term | text ;
    scope   = level "(" query ")" | which "(" level ")" "(" query ")"
            | "count" "(" level [ ":" query ] ")" comparison number ;
    which   = "any" | "all" | "no" | "first" | "last" ;
    term    = field ":" ( value | "(" value { ( "OR" | "AND" ) value } ")" ) ;
    field   = name { "." ( name | quoted | "[" ( int | "*" ) "]" ) } ;
    value   = [ "=" | "!=" | ">" | ">=" | "<" | "<=" ] scalar | scalar ".." scalar | "*" ;
    text    = [ "*" ] ( word | quoted ) [ "*" ] ;

Behind ``has:`` stands the name of a field. What a value may be is settled in `values`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import cast

from agents.base.errors import QuerySyntax
from agents.query.fields import FIELDS, PRESENCE, Field, find, nearest
from agents.query.scanner import Scalar, Scanner, error, shown, unquoted
from agents.query.times import Now
from agents.query.tree import (
    EVERY,
    MAX_DEPTH,
    MAX_TERMS,
    And,
    Comparison,
    Count,
    Level,
    Node,
    Op,
    Quantifier,
    Scope,
    Term,
    Text,
    all_of,
    any_of,
    negation,
)
from agents.query.values import presence, read_term, read_words

_OPEN, _CLOSE = re.compile(r"\("), re.compile(r"\)")
_MINUS = re.compile(r"-(?=[^\s)])")
_KEYWORD = re.compile(r'(AND|OR|NOT)(?=[\s()"]|$)')
_LEVEL = "agent|session|turn|response|step"
_SCOPE = re.compile(rf"(?:({_LEVEL})|(any|all|no|first|last)\(({_LEVEL})\))\(", re.IGNORECASE | re.ASCII)
_COUNT = re.compile(rf"count\(\s*({_LEVEL})\s*(?=[:)])", re.IGNORECASE | re.ASCII)
_COLON = re.compile(r"\s*:")
_CLOSING = re.compile(r"\s*\)")
_COMPARED = re.compile(r"\s*(!=|>=|<=|=|>|<)\s*([0-9]{1,9})(?=[\s)]|$)")
_FUNCTION = re.compile(r"(any|all|no|first|last|count)\(", re.IGNORECASE | re.ASCII)
_STEP = r'\.(?:[\w-]+|"(?:[^"\\]|\\.)*"|\[[^\]\s]*\])|\[[^\]\s]*\]'
_FIELD = re.compile(rf"[A-Za-z_][\w-]*(?:{_STEP})*", re.DOTALL)
_FIELD_COLON = re.compile(rf"({_FIELD.pattern}):", re.DOTALL)
_SEGMENT = re.compile(r'\.?(?:"((?:[^"\\]|\\.)*)"|\[([^\]]*)\]|([\w-]+))', re.DOTALL)
_WORD = re.compile(r'[^\s()"]+')
_BREAK = re.compile(r"[\s)]|$")
_PLACE = re.compile(r"[0-9]{1,9}|\*")
_OP = re.compile(r"!=|>=|<=|=|>|<")


@dataclass(slots=True)
class Reader:
    """One method per rule, each beginning at what it reads and leaving ``scan`` behind it."""

    scan: Scanner
    now: Now
    depth: int = 0
    terms: int = 0

    def whole(self) -> Node:
        """Read all of the text. Raises QuerySyntax, and nothing else."""
        self.scan.blanks()
        if not self.scan.next:
            return And(nodes=())
        node = self._alternatives()
        if self.scan.next:
            raise self.scan.wrong("This ) closes nothing", better=self.scan.text[self.scan.at + 1 :])
        return node

    def _alternatives(self) -> Node:
        nodes = [self._conditions()]
        while self._keyword("OR"):
            nodes.append(self._conditions())
        return any_of(nodes)

    def _conditions(self) -> Node:
        nodes = [self._condition()]
        while not self._ended():
            self._keyword("AND")
            nodes.append(self._condition())
        return all_of(nodes)

    def _condition(self) -> Node:
        negative = False
        while self._keyword("NOT") or self.scan.take(_MINUS):
            negative = not negative
        node = self._primary()
        return negation(node) if negative else node

    def _primary(self) -> Node:
        self._refuse_nothing()
        start = self.scan.at
        if self.scan.take(_OPEN):
            return self._group(start)
        return self._scope() or self._term() or self._text()

    # --------------------------------------------------------------------------------- keywords

    def _peek(self) -> re.Match[str] | None:
        self.scan.blanks()
        return _KEYWORD.match(self.scan.text, self.scan.at)

    def _keyword(self, word: str) -> bool:
        """Read this keyword if it is next."""
        found = self._peek()
        if found is None or found[1] != word:
            return False
        self.scan.at = found.end()
        return True

    def _ended(self) -> bool:
        """Whether no further condition follows here."""
        found = self._peek()
        return self.scan.next in ("", ")") or (found is not None and found[1] == "OR")

    def _refuse_nothing(self) -> None:
        found = self._peek()
        if found:
            word = found[1]
            message = f'{word} needs a condition on its left. To search for the word, write "{word}"'
            raise error(self.scan.text, message, found.start(), end=found.end(), better=f'"{word}"')
        if self.scan.next in ("", ")"):
            last = self.scan.text[: self.scan.at].rstrip()[-3:].split()
            message = f"A condition is missing after {last[-1]}" if last else "A condition is missing"
            raise self.scan.wrong(f"{message}: a word, or a term such as status:failed")

    # ------------------------------------------------------------------------- groups and scopes

    def _group(self, start: int) -> Node:
        """Read to the end of a parenthesis that has been opened at ``start``."""
        with self._deeper(start):
            node = self._alternatives()
            self._close(start)
        return node

    @contextmanager
    def _deeper(self, start: int) -> Iterator[None]:
        if self.depth == MAX_DEPTH:
            raise self.scan.wrong(f"Parentheses may stand {MAX_DEPTH} deep, not deeper", start)
        self.depth += 1
        yield
        self.depth -= 1

    def _close(self, start: int) -> None:
        self.scan.blanks()
        if not self.scan.take(_CLOSE):
            raise self.scan.wrong("This ( is never closed", start, better=f"{self.scan.text[start:]})")

    def _scope(self) -> Node | None:
        found = self.scan.take(_SCOPE)
        if found is None:
            return self._count()
        quantifier, level = (found[2] or "any").lower(), (found[1] or found[3]).lower()
        node = self._group(found.end() - 1)
        return Scope(quantifier=cast(Quantifier, quantifier), level=cast(Level, level), node=node)

    def _count(self) -> Node | None:
        start = self.scan.at
        found = self.scan.take(_COUNT)
        if found is None:
            self._refuse_function()
            return None
        node: Node = And(nodes=())
        if self.scan.take(_COLON):
            node = self._group(start + len("count"))
        else:
            self.scan.take(_CLOSING)
        compared = self.scan.take(_COMPARED)
        if compared is None:
            raise self.scan.wrong("Behind count(…) stands a comparison with a number: count(turn)>5")
        level, op = cast(Level, found[1].lower()), cast(Comparison, compared[1])
        return self._counted(Count(level=level, node=node, op=op, value=int(compared[2])), start)

    def _refuse_function(self) -> None:
        """``any(`` and its like mean something, so what follows must be right."""
        found = _FUNCTION.match(self.scan.text, self.scan.at)
        if found is None:
            return
        name = found[1].lower()
        if name == "count":
            raise self.scan.wrong("count(…) needs a level, and may have a condition: count(step: tool:web_search)>3")
        raise self.scan.wrong(f"{name}(…) needs a level and then a condition: {name}(step)(tool:web_search)")

    # ------------------------------------------------------------------------------ text and terms

    def _text(self) -> Node:
        start, scalar = self.scan.at, self._scalar()
        assert scalar is not None, "_primary has seen that something is there"
        if scalar.bare and scalar.value.startswith(":"):
            raise scalar.wrong("There is no field before this colon", better=scalar.value[1:])
        return self._counted(Text(words=read_words(scalar)), start)

    def _scalar(self) -> Scalar | None:
        return self.scan.quoted() if self.scan.at_quote else self.scan.bare()

    def _counted(self, node: Term | Text | Count, start: int) -> Node:
        self.terms += 1
        if self.terms > MAX_TERMS:
            raise self.scan.wrong(f"A query has at most {MAX_TERMS} conditions", start)
        return node

    def _term(self) -> Node | None:
        start = self.scan.at
        found = self.scan.take(_FIELD_COLON)
        if found is None:
            return None
        if found[1].lower() == "has":
            return self._values(self._presence)
        field, path = self._field(found[1], start)
        return self._values(lambda: self._value(field, path))

    def _values(self, read: Callable[[], Node]) -> Node:
        """What stands behind the colon: a value, or several in parentheses with OR and AND."""
        start = self.scan.at
        if not self.scan.take(_OPEN):
            return read()
        with self._deeper(start):
            alternatives = [[self._listed(read)]]
            while not self._list_ended():
                if self._keyword("OR"):
                    alternatives.append([])
                elif not self._keyword("AND"):
                    rest = self.scan.text[self.scan.at :]
                    raise self.scan.wrong("Between values in parentheses stands OR or AND", better=f"OR {rest}")
                alternatives[-1].append(self._listed(read))
            self._close(start)
        return any_of(all_of(each) for each in alternatives)

    def _listed(self, read: Callable[[], Node]) -> Node:
        self._refuse_nothing()
        return read()

    def _list_ended(self) -> bool:
        self.scan.blanks()
        return self.scan.next in ("", ")")

    def _value(self, field: Field, path: tuple[str | int, ...]) -> Node:
        start = self.scan.at
        op = self.scan.take(_OP)
        scalar = self._scalar()
        if scalar is None:
            raise self._no_value(field)
        term = read_term(field, path, cast(Op, op[0]) if op else None, scalar, self.now)
        self._refuse_glued()
        return self._counted(term, start)

    def _no_value(self, field: Field) -> QuerySyntax:
        if self.scan.next == "(":
            return self.scan.wrong(f"A comparison goes inside the parentheses: {field.name}:(>1 OR <2)")
        rest = self.scan.text[self.scan.at :].lstrip()
        better = rest if rest and not rest.startswith(")") else None
        return self.scan.wrong(f"A value is missing here: {field.sample}", better=better)

    def _presence(self) -> Node:
        start = self.scan.at
        found = self.scan.take(_FIELD)
        if found is None:
            raise self.scan.wrong("The name of a field is missing here: has:error")
        name = PRESENCE.get(found[0].lower(), found[0])
        term = presence(*self._field(name, start), Scalar(self.scan.text, start, self.scan.at, (found[0],)))
        self._refuse_glued()
        return self._counted(term, start)

    def _refuse_glued(self) -> None:
        """``tool:f(x)`` would otherwise be read as two conditions."""
        if not _BREAK.match(self.scan.text, self.scan.at):
            raise self.scan.wrong("After a value comes a blank. If this belongs to it, put all of it in quotes")

    # -------------------------------------------------------------------------------- field names

    def _field(self, name: str, start: int) -> tuple[Field, tuple[str | int, ...]]:
        found = find(self._segments(name, start))
        if found is None:
            raise self._unknown(name, start)
        if found[0].keyed and not found[1]:
            raise self.scan.wrong(f"{found[0].name} needs a key: {found[0].sample}", start)
        return found

    def _segments(self, name: str, start: int) -> list[str | int]:
        """The parts of a dotted name: ``meta."first name".[0]`` → meta, first name, 0."""
        segments: list[str | int] = []
        for found in _SEGMENT.finditer(name):
            quoted, index, plain = found.groups()
            if index is not None and not _PLACE.fullmatch(index):
                message = f"{found[0]} is no place in a list: [0] is its first, [*] means all of it"
                raise self.scan.wrong(message, start + found.start())
            place = None if index is None else EVERY if index == "*" else int(index)
            segments.append(plain or unquoted(quoted) if place is None else place)
        return segments

    def _unknown(self, name: str, start: int) -> QuerySyntax:
        better = nearest(name, (*FIELDS, "has"))
        if better:
            message = f"Unknown field {shown(name)}. Did you mean {better}?"
            return error(self.scan.text, message, start, end=start + len(name), better=better)
        word = _WORD.match(self.scan.text, start)
        message = f"Unknown field {shown(name)}. To search for the words themselves, put them in quotes"
        return error(self.scan.text, message, start, end=word and word.end(), better=word and f'"{word[0]}"')
