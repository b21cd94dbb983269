"""Parse the query grammar by recursive descent, in one pass.

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

Behind ``has:`` comes the name of a field. `values` decides which values a field accepts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import cast

from agents.base.errors import QuerySyntax
from agents.query.fields import FIELDS, PRESENCE, QueryField, closest_name, find_field
from agents.query.scanner import Scalar, Scanner, excerpt, syntax_error, unescape
from agents.query.times import Now
from agents.query.tree import (
    EVERY_ITEM,
    MAX_DEPTH,
    MAX_TERMS,
    And,
    Comparison,
    Count,
    FieldTerm,
    FreeText,
    Level,
    LevelScope,
    Node,
    Op,
    Quantifier,
    all_of,
    any_of,
    negation,
)
from agents.query.values import presence, read_phrase, read_term

_OPEN, _CLOSE = re.compile(r"\("), re.compile(r"\)")
_MINUS = re.compile(r"-(?=[^\s)])")
_KEYWORD = re.compile(r'(AND|OR|NOT)(?=[\s()"]|$)')
_LEVEL = "agent|session|turn|response|step"
_SCOPE = re.compile(rf"(?:({_LEVEL})|(any|all|no|first|last)\(({_LEVEL})\))\(", re.IGNORECASE | re.ASCII)
_COUNT = re.compile(rf"count\(\s*({_LEVEL})\s*(?=[:)])", re.IGNORECASE | re.ASCII)
_COLON = re.compile(r"\s*:")
_CLOSING = re.compile(r"\s*\)")
_COMPARISON = re.compile(r"\s*(!=|>=|<=|=|>|<)\s*([0-9]{1,9})(?=[\s)]|$)")
_FUNCTION = re.compile(r"(any|all|no|first|last|count)\(", re.IGNORECASE | re.ASCII)
_STEP = r'\.(?:[\w-]+|"(?:[^"\\]|\\.)*"|\[[^\]\s]*\])|\[[^\]\s]*\]'
_FIELD = re.compile(rf"[A-Za-z_][\w-]*(?:{_STEP})*", re.DOTALL)
_FIELD_COLON = re.compile(rf"({_FIELD.pattern}):", re.DOTALL)
_SEGMENT = re.compile(r'\.?(?:"((?:[^"\\]|\\.)*)"|\[([^\]]*)\]|([\w-]+))', re.DOTALL)
_WORD = re.compile(r'[^\s()"]+')
_END_OF_VALUE = re.compile(r"[\s)]|$")
_INDEX = re.compile(r"[0-9]{1,9}|\*")
_OP = re.compile(r"!=|>=|<=|=|>|<")


@dataclass(slots=True)
class QueryReader:
    """A parser with one method per grammar rule, each of which moves ``scanner`` past what it reads."""

    scanner: Scanner
    now: Now
    depth: int = 0
    terms: int = 0

    def read_query(self) -> Node:
        """Parse the whole text. Raises QuerySyntax, and nothing else."""
        self.scanner.skip_blanks()
        if not self.scanner.next:
            return And(nodes=())
        node = self._alternatives()
        if self.scanner.next:
            raise self.scanner.error("This ) closes nothing", better=self.scanner.text[self.scanner.position + 1 :])
        return node

    def read_value(self, field: QueryField, path: tuple[str | int, ...]) -> FieldTerm:
        """Parse the text behind a field's colon: one value. Raises QuerySyntax."""
        term = self._value(field, path)
        self.scanner.skip_blanks()
        if self.scanner.next:
            raise self.scanner.error(f"{field.name} takes one value here")
        return term

    def _alternatives(self) -> Node:
        nodes = [self._conditions()]
        while self._take_keyword("OR"):
            nodes.append(self._conditions())
        return any_of(nodes)

    def _conditions(self) -> Node:
        nodes = [self._condition()]
        while not self._at_end():
            self._take_keyword("AND")
            nodes.append(self._condition())
        return all_of(nodes)

    def _condition(self) -> Node:
        negative = False
        while self._take_keyword("NOT") or self.scanner.take(_MINUS):
            negative = not negative
        node = self._primary()
        return negation(node) if negative else node

    def _primary(self) -> Node:
        self._require_condition()
        start = self.scanner.position
        if self.scanner.take(_OPEN):
            return self._group(start)
        return self._scope() or self._term() or self._text()

    # --------------------------------------------------------------------------------- keywords

    def _next_keyword(self) -> re.Match[str] | None:
        self.scanner.skip_blanks()
        return _KEYWORD.match(self.scanner.text, self.scanner.position)

    def _take_keyword(self, word: str) -> bool:
        """Read this keyword if it is next."""
        match = self._next_keyword()
        if match is None or match[1] != word:
            return False
        self.scanner.position = match.end()
        return True

    def _at_end(self) -> bool:
        """Whether no further condition follows."""
        match = self._next_keyword()
        return self.scanner.next in ("", ")") or (match is not None and match[1] == "OR")

    def _require_condition(self) -> None:
        match = self._next_keyword()
        if match:
            word = match[1]
            message = f'{word} needs a condition on its left. To search for the word, write "{word}"'
            raise syntax_error(self.scanner.text, message, match.start(), end=match.end(), better=f'"{word}"')
        if self.scanner.next in ("", ")"):
            previous = self.scanner.text[: self.scanner.position].rstrip()[-3:].split()
            message = f"A condition is missing after {previous[-1]}" if previous else "A condition is missing"
            raise self.scanner.error(f"{message}: a word, or a term such as status:failed")

    # ------------------------------------------------------------------------- groups and scopes

    def _group(self, start: int) -> Node:
        """Read to the end of the parenthesis that was opened at ``start``."""
        with self._nested(start):
            node = self._alternatives()
            self._close(start)
        return node

    @contextmanager
    def _nested(self, start: int) -> Iterator[None]:
        if self.depth == MAX_DEPTH:
            raise self.scanner.error(f"Parentheses may stand {MAX_DEPTH} deep, not deeper", start)
        self.depth += 1
        yield
        self.depth -= 1

    def _close(self, start: int) -> None:
        self.scanner.skip_blanks()
        if not self.scanner.take(_CLOSE):
            raise self.scanner.error("This ( is never closed", start, better=f"{self.scanner.text[start:]})")

    def _scope(self) -> Node | None:
        match = self.scanner.take(_SCOPE)
        if match is None:
            return self._count()
        quantifier, level = (match[2] or "any").lower(), (match[1] or match[3]).lower()
        node = self._group(match.end() - 1)
        return LevelScope(quantifier=cast(Quantifier, quantifier), level=cast(Level, level), node=node)

    def _count(self) -> Node | None:
        start = self.scanner.position
        match = self.scanner.take(_COUNT)
        if match is None:
            self._refuse_function()
            return None
        node: Node = And(nodes=())
        if self.scanner.take(_COLON):
            node = self._group(start + len("count"))
        else:
            self.scanner.take(_CLOSING)
        comparison = self.scanner.take(_COMPARISON)
        if comparison is None:
            raise self.scanner.error("Behind count(…) stands a comparison with a number: count(turn)>5")
        level, op = cast(Level, match[1].lower()), cast(Comparison, comparison[1])
        return self._count_condition(Count(level=level, node=node, op=op, value=int(comparison[2])), start)

    def _refuse_function(self) -> None:
        """Refuse ``any(``, ``count(`` and the like without their arguments: they are never searched for as words."""
        match = _FUNCTION.match(self.scanner.text, self.scanner.position)
        if match is None:
            return
        name = match[1].lower()
        if name == "count":
            raise self.scanner.error("count(…) needs a level, and may have a condition: count(step: tool:web_search)>3")
        raise self.scanner.error(f"{name}(…) needs a level and then a condition: {name}(step)(tool:web_search)")

    # ------------------------------------------------------------------------------ text and terms

    def _text(self) -> Node:
        start, scalar = self.scanner.position, self._scalar()
        assert scalar is not None, "_primary has seen that something is there"
        if scalar.bare and scalar.value.startswith(":"):
            raise scalar.error("There is no field before this colon", better=scalar.value[1:])
        return self._count_condition(FreeText(words=read_phrase(scalar)), start)

    def _scalar(self) -> Scalar | None:
        return self.scanner.read_quoted() if self.scanner.at_quote else self.scanner.read_bare()

    def _count_condition(self, node: FieldTerm | FreeText | Count, start: int) -> Node:
        self.terms += 1
        if self.terms > MAX_TERMS:
            raise self.scanner.error(f"A query has at most {MAX_TERMS} conditions", start)
        return node

    def _term(self) -> Node | None:
        start = self.scanner.position
        match = self.scanner.take(_FIELD_COLON)
        if match is None:
            return None
        if match[1].lower() == "has":
            return self._values(self._presence)
        field, path = self._field(match[1], start)
        return self._values(lambda: self._value(field, path))

    def _values(self, read: Callable[[], Node]) -> Node:
        """Read what follows the colon: a value, or several in parentheses with OR and AND."""
        start = self.scanner.position
        if not self.scanner.take(_OPEN):
            return read()
        with self._nested(start):
            alternatives = [[self._list_item(read)]]
            while not self._at_list_end():
                if self._take_keyword("OR"):
                    alternatives.append([])
                elif not self._take_keyword("AND"):
                    remaining = self.scanner.text[self.scanner.position :]
                    raise self.scanner.error("Between values in parentheses stands OR or AND", better=f"OR {remaining}")
                alternatives[-1].append(self._list_item(read))
            self._close(start)
        return any_of(all_of(values) for values in alternatives)

    def _list_item(self, read: Callable[[], Node]) -> Node:
        self._require_condition()
        return read()

    def _at_list_end(self) -> bool:
        self.scanner.skip_blanks()
        return self.scanner.next in ("", ")")

    def _value(self, field: QueryField, path: tuple[str | int, ...]) -> FieldTerm:
        start = self.scanner.position
        op = self.scanner.take(_OP)
        scalar = self._scalar()
        if scalar is None:
            raise self._missing_value(field)
        term = read_term(field, path, cast(Op, op[0]) if op else None, scalar, self.now)
        self._require_blank()
        self._count_condition(term, start)
        return term

    def _missing_value(self, field: QueryField) -> QuerySyntax:
        if self.scanner.next == "(":
            return self.scanner.error(f"A comparison goes inside the parentheses: {field.name}:(>1 OR <2)")
        remaining = self.scanner.text[self.scanner.position :].lstrip()
        better = remaining if remaining and not remaining.startswith(")") else None
        return self.scanner.error(f"A value is missing here: {field.sample}", better=better)

    def _presence(self) -> Node:
        start = self.scanner.position
        match = self.scanner.take(_FIELD)
        if match is None:
            raise self.scanner.error("The name of a field is missing here: has:error")
        name = PRESENCE.get(match[0].lower(), match[0])
        term = presence(*self._field(name, start), Scalar(self.scanner.text, start, self.scanner.position, (match[0],)))
        self._require_blank()
        return self._count_condition(term, start)

    def _require_blank(self) -> None:
        """Require a blank or an end after a value: ``tool:f(x)`` would otherwise be read as two conditions."""
        if not _END_OF_VALUE.match(self.scanner.text, self.scanner.position):
            raise self.scanner.error("After a value comes a blank. If this belongs to it, put all of it in quotes")

    # -------------------------------------------------------------------------------- field names

    def _field(self, name: str, start: int) -> tuple[QueryField, tuple[str | int, ...]]:
        resolved = find_field(self._segments(name, start))
        if resolved is None:
            raise self._unknown_field(name, start)
        field, path = resolved
        if field.keyed and not path:
            raise self.scanner.error(f"{field.name} needs a key: {field.sample}", start)
        return field, path

    def _segments(self, name: str, start: int) -> list[str | int]:
        """Split a dotted name: ``meta."first name".[0]`` → meta, first name, 0."""
        segments: list[str | int] = []
        for match in _SEGMENT.finditer(name):
            quoted, index, plain = match.groups()
            if index is not None and not _INDEX.fullmatch(index):
                message = f"{match[0]} is no place in a list: [0] is its first, [*] means all of it"
                raise self.scanner.error(message, start + match.start())
            position = None if index is None else EVERY_ITEM if index == "*" else int(index)
            segments.append(plain or unescape(quoted) if position is None else position)
        return segments

    def _unknown_field(self, name: str, start: int) -> QuerySyntax:
        better = closest_name(name, (*FIELDS, "has"))
        if better:
            message = f"Unknown field {excerpt(name)}. Did you mean {better}?"
            return syntax_error(self.scanner.text, message, start, end=start + len(name), better=better)
        word = _WORD.match(self.scanner.text, start)
        message = f"Unknown field {excerpt(name)}. To search for the words themselves, put them in quotes"
        return syntax_error(self.scanner.text, message, start, end=word and word.end(), better=word and f'"{word[0]}"')
