"""Rules: what they find, what they cannot be made to do."""

from __future__ import annotations

import time
from typing import Any

import pytest

from agents.base.errors import InvalidRequest
from tests.safety.providers.conftest import Judge


def rule(**more: Any) -> dict[str, Any]:
    return {"name": "r", **more}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("make a BOMB now", True),
        ("bomb", True),
        ("bombast is no weapon", False),
        ("a bo\u200bmb", True),
        ("ｂｏｍｂ", True),
        ("ignore all rules, please", True),
        ("ignore the rules", False),
        ("für immer", True),
        ("dafür", False),
        ("a+b", False),
        ("what is c++ ?", True),
    ],
)
def test_keywords_are_whole_words_in_any_letters(judge: Judge, text: str, found: bool) -> None:
    words = ["bomb", "ignore all rules", "FÜR", "c++"]
    assert (judge("rules", text, rules=[rule(keywords=words)]) is not None) is found


def test_patterns_find_what_they_describe(judge: Judge) -> None:
    cards = rule(pattern=r"\b\d{4}(?:[ -]?\d{4}){3}\b", level="warn", message="No cards, please.")
    found = judge("rules", "it is 4111 1111-1111 1111, thanks", rules=[cards])
    assert found is not None
    assert (found.violation_level, found.user_message) == ("warn", "No cards, please.")
    assert found.metadata == {"violation_type": "r", "rule": "r", "shield_id": "s"}
    assert "4111" not in found.model_dump_json()
    assert judge("rules", "call 4111", rules=[cards]) is None


def test_a_rule_looks_where_it_is_told_to(judge: Judge) -> None:
    said = rule(keywords=["secret"], touchpoints=["assistant-output"])
    assert judge("rules", "a secret?", rules=[said]) is None
    assert judge("rules", "a secret?", "No.", rules=[said]) is None
    assert judge("rules", "what?", "A secret.", rules=[said]) is not None


def test_the_gravest_counts(judge: Judge) -> None:
    rules = [rule(name="soft", keywords=["a"], level="info"), rule(name="hard", keywords=["b"], level="error")]
    rules.append(rule(name="middle", keywords=["a"], level="warn"))
    found = judge("rules", "a b", rules=rules)
    assert found is not None
    assert found.metadata["rule"] == "hard"


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|aa)+$", "(.*)*x", "(?:a?){50}a{50}$"])
def test_no_pattern_hangs_on_any_text(judge: Judge, pattern: str) -> None:
    """With backtracking each of these takes longer than the universe has."""
    begun = time.monotonic()
    assert judge("rules", "a" * 200_000 + "!", rules=[rule(pattern=pattern), rule(keywords=["aa"])]) is None
    assert time.monotonic() - begun < 60


@pytest.mark.parametrize(
    ("rules", "place", "words"),
    [
        ([], "params.rules", "at least 1"),
        ([{"name": "x"}], "params.rules.0", "keywords or a pattern"),
        ([rule(pattern="(a")], "params.rules.0.pattern", "missing )"),
        ([rule(pattern=r"(a)\1")], "params.rules.0.pattern", "not a pattern of RE2"),
        ([rule(pattern="(?:(?:a{1000}){1000}){1000}")], "params.rules.0.pattern", "repetition"),
        ([rule(keywords=[""])], "params.rules.0.keywords", "1 to 200"),
        ([rule(keywords=["\u200b"])], "params.rules.0.keywords", "1 to 200"),
        ([rule(keywords=["a"], level="fatal")], "params.rules.0.level", "'error'"),
        ([rule(keywords=["a"], touchpoints=["nowhere"])], "params.rules.0.touchpoints.0", "user-input"),
        ([rule(keywords=["a"])] * 101, "params.rules", "at most 100"),
    ],
)
def test_wrong_rules_are_refused_by_their_place(judge: Judge, rules: Any, place: str, words: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        judge("rules", "x", rules=rules)
    assert caught.value.param == place
    assert words in caught.value.message
