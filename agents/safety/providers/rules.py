"""Rules: keywords and patterns that must not be said, by the side that says them.

Patterns are RE2's, which runs in time linear to the text whatever the pattern: no text and no
pattern can hang the server. Letters are compared after compatibility folding, and without what
cannot be seen.
"""

from __future__ import annotations

import asyncio
import time
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from agents.base.schemas.wire import Wire
from agents.loop.protocols.shields import ShieldInput, Touchpoint, checked_texts
from agents.record.schemas.content import SafetyViolation

MAX_RULES, MAX_KEYWORDS, MAX_PATTERN = 100, 1000, 2000
PATTERN_MEMORY = 8 << 20
"""Bytes RE2 may use for one pattern, and keep while it is remembered."""
REMEMBERED = 64
"""Patterns that are kept ready."""
SHORT = 10_000
"""Characters up to which looking takes less than handing it to a thread."""
LONGEST_S = 30.0
USER_MESSAGE = "I can't answer that. Can I help with something else?"

_ORDER = {"info": 0, "warn": 1, "error": 2}


class Rule(Wire):
    """A rule as it is written: ``keywords`` are whole words or phrases in any case, ``pattern`` is a
    regular expression in RE2's syntax; one of them is needed."""

    name: str = Field(default="", max_length=100)
    keywords: list[str] = Field(default=[], max_length=MAX_KEYWORDS)
    pattern: str | None = Field(default=None, min_length=1, max_length=MAX_PATTERN)
    touchpoints: list[Touchpoint] = ["user-input", "assistant-output"]
    level: Literal["info", "warn", "error"] = "error"
    message: str = Field(default=USER_MESSAGE, max_length=2000)

    @field_validator("keywords")
    @classmethod
    def _words(cls, value: list[str]) -> list[str]:
        if not all(0 < len(folded(word).strip()) <= 200 for word in value):
            raise ValueError("a keyword has 1 to 200 characters")
        return value

    @field_validator("pattern")
    @classmethod
    def _compiles(cls, value: str | None) -> str | None:
        if value is not None:
            compiled(value)
        return value

    @model_validator(mode="after")
    def _looks_for_something(self) -> Rule:
        if not self.keywords and self.pattern is None:
            raise ValueError("a rule needs keywords or a pattern")
        return self


class RuleParams(Wire):
    """The parameters of a shield of rules."""

    rules: list[Rule] = Field(min_length=1, max_length=MAX_RULES)


@lru_cache(maxsize=REMEMBERED)
def compiled(pattern: str) -> Any:
    """The pattern, ready to search. Raises ValueError."""
    import re2  # only servers with such rules need its library

    options = re2.Options()
    options.log_errors, options.max_mem = False, PATTERN_MEMORY
    try:
        return re2.compile(pattern, options)
    except (re2.error, UnicodeEncodeError) as error:
        told = error.args[0] if error.args else error
        words = told.decode(errors="replace") if isinstance(told, bytes) else str(told)
        raise ValueError(f"not a pattern of RE2: {words[:200]}") from None


def folded(text: str) -> str:
    """Text as rules see it: letters in their plain forms, nothing invisible between them."""
    plain = unicodedata.normalize("NFKC", text)
    if plain.isascii():
        return plain
    return plain.translate({ord(one): None for one in set(plain) if unicodedata.category(one) in ("Cf", "Cs")})


@lru_cache(maxsize=REMEMBERED)
def _keywords(words: tuple[str, ...]) -> str:
    """A pattern for any of these words, none of them as a part of a longer one."""
    import re2

    some = "|".join(re2.escape(folded(word).strip()) for word in words)
    return rf"(?i)(?:^|[^\pL\pN_])(?:{some})(?:$|[^\pL\pN_])"


def _patterns(rule: Rule) -> list[Any]:
    """What finds a rule's words, ready to search. Raises ValueError."""
    texts = [_keywords(tuple(rule.keywords))] if rule.keywords else []
    return [compiled(text) for text in (*texts, *([rule.pattern] if rule.pattern else []))]


class RuleShield:
    """The shield ``name``. Of what is found the gravest counts; only the rule's name is told, never the
    words it found. Raises ValueError for rules too large to search with."""

    def __init__(self, name: str, params: RuleParams) -> None:
        self.name = name
        self._rules = [(rule, _patterns(rule)) for rule in params.rules]

    async def check(self, said: Sequence[ShieldInput], touchpoint: Touchpoint) -> SafetyViolation | None:
        texts = checked_texts(said, touchpoint)
        if sum(map(len, texts)) <= SHORT:
            return self._look(texts, touchpoint)
        return await asyncio.to_thread(self._look, texts, touchpoint)

    def _look(self, texts: Sequence[str], touchpoint: Touchpoint) -> SafetyViolation | None:
        plain, until = [folded(text) for text in texts], time.monotonic() + LONGEST_S
        found = []
        for number, (rule, patterns) in enumerate(self._rules):
            if time.monotonic() > until:
                raise TimeoutError  # nobody waits any more: the thread is not to go on
            if touchpoint in rule.touchpoints and any(one.search(text) for one in patterns for text in plain):
                found.append((number, rule))
        if not found:
            return None
        number, rule = max(found, key=lambda one: _ORDER[one[1].level])
        name = rule.name or f"rule {number}"
        return SafetyViolation(
            violation_level=rule.level, user_message=rule.message, metadata={"violation_type": name, "rule": name}
        )
