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
MAX_PATTERN_BYTES = 8 << 20
"""Bytes RE2 may use for one pattern, and keep while it is remembered."""
MAX_CACHED_PATTERNS = 64
"""Patterns that are kept ready."""
MAX_INLINE_CHARS = 10_000
"""Characters up to which looking takes less than handing it to a thread."""
MAX_CHECK_S = 30.0
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
    def _check_keywords(cls, value: list[str]) -> list[str]:
        if not all(0 < len(folded(word).strip()) <= 200 for word in value):
            raise ValueError("a keyword has 1 to 200 characters")
        return value

    @field_validator("pattern")
    @classmethod
    def _check_pattern(cls, value: str | None) -> str | None:
        if value is not None:
            compiled(value)
        return value

    @model_validator(mode="after")
    def _check_not_empty(self) -> Rule:
        if not self.keywords and self.pattern is None:
            raise ValueError("a rule needs keywords or a pattern")
        return self


class RuleParams(Wire):
    """The parameters of a shield of rules."""

    rules: list[Rule] = Field(min_length=1, max_length=MAX_RULES)


@lru_cache(maxsize=MAX_CACHED_PATTERNS)
def compiled(pattern: str) -> Any:
    """The pattern, ready to search. Raises ValueError."""
    import re2  # only servers with such rules need its library

    options = re2.Options()
    options.log_errors, options.max_mem = False, MAX_PATTERN_BYTES
    try:
        return re2.compile(pattern, options)
    except (re2.error, UnicodeEncodeError) as error:
        detail = error.args[0] if error.args else error
        message = detail.decode(errors="replace") if isinstance(detail, bytes) else str(detail)
        raise ValueError(f"not a pattern of RE2: {message[:200]}") from None


def folded(text: str) -> str:
    """Text as rules see it: letters in their plain forms, nothing invisible between them."""
    plain = unicodedata.normalize("NFKC", text)
    if plain.isascii():
        return plain
    return plain.translate(
        {ord(character): None for character in set(plain) if unicodedata.category(character) in ("Cf", "Cs")}
    )


@lru_cache(maxsize=MAX_CACHED_PATTERNS)
def _keyword_pattern(keywords: tuple[str, ...]) -> str:
    """A pattern for any of these words, none of them as a part of a longer one."""
    import re2

    alternatives = "|".join(re2.escape(folded(word).strip()) for word in keywords)
    return rf"(?i)(?:^|[^\pL\pN_])(?:{alternatives})(?:$|[^\pL\pN_])"


def _patterns(rule: Rule) -> list[Any]:
    """What finds a rule's words, ready to search. Raises ValueError."""
    texts = [_keyword_pattern(tuple(rule.keywords))] if rule.keywords else []
    return [compiled(text) for text in (*texts, *([rule.pattern] if rule.pattern else []))]


class RuleShield:
    """The shield ``name``. Of what is found the gravest counts; only the rule's name is told, never the
    words it found. Raises ValueError for rules too large to search with."""

    def __init__(self, name: str, params: RuleParams) -> None:
        self.name = name
        self._rules = [(rule, _patterns(rule)) for rule in params.rules]

    async def check(self, messages: Sequence[ShieldInput], touchpoint: Touchpoint) -> SafetyViolation | None:
        texts = checked_texts(messages, touchpoint)
        if sum(map(len, texts)) <= MAX_INLINE_CHARS:
            return self._look(texts, touchpoint)
        return await asyncio.to_thread(self._look, texts, touchpoint)

    def _look(self, texts: Sequence[str], touchpoint: Touchpoint) -> SafetyViolation | None:
        plain, until = [folded(text) for text in texts], time.monotonic() + MAX_CHECK_S
        matches = []
        for number, (rule, patterns) in enumerate(self._rules):
            if time.monotonic() > until:
                raise TimeoutError  # nobody waits any more: the thread is not to go on
            if touchpoint in rule.touchpoints and any(pattern.search(text) for pattern in patterns for text in plain):
                matches.append((number, rule))
        if not matches:
            return None
        number, rule = max(matches, key=lambda numbered: _ORDER[numbered[1].level])
        name = rule.name or f"rule {number}"
        return SafetyViolation(
            violation_level=rule.level, user_message=rule.message, metadata={"violation_type": name, "rule": name}
        )
