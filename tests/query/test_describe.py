"""The sentence of a query."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from agents.query.describe import describe
from agents.query.tree import Level, Query


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "all turns"),
        ("status:failed agent:support started:>-24h", "turns that failed, of agent support, in the last 24 hours"),
        ("status:(failed OR cancelled)", "turns that failed or were cancelled"),
        ("status:!=failed status:*ed", "turns with status other than failed, with status like *ed"),
        ("is:live -env:dev", "turns that are live, except those in environment dev"),
        ('agent:(a OR "b c") user:*', "turns of agent a or “b c”, with any user"),
        ('refund* in:"late fee" out:="no"', "turns saying “refund…”, asking “late fee”, answering exactly “no”"),
        ("duration:>2s cost:<=$0.05", "turns lasting more than 2s, costing at most $0.05"),
        (
            "tokens:1k..5k tokens.in:..2k ttft:1s..",
            "turns with between 1k and 5k tokens, with at most 2k input tokens, with a first token after at least 1s",
        ),
        ("started:today", "turns today"),
        ("started:2026-11-20", "turns on 2026-11-20"),
        ("started:-1h ended:<2026-11-20T10:00", "turns in the last hour, ended before 2026-11-20 10:00"),
        ("started:-7d..yesterday ended:..-1d", "turns between 7 days ago and yesterday, ended until 1 day ago"),
        ("started:<-2d ended:-1d", "turns before 2 days ago, ended in the last day"),
        ("started:>=2026-11-22T06:22:43.610329Z", "turns since 2026-11-22 06:22:43Z"),
        (
            "tool:web_search type:(tool OR shield)",
            "turns with a step of tool web_search, with a step of type tool_execution or shield_call",
        ),
        ("server_side:false has:violation", "turns with a step run by the client, with a step with any violation"),
        ("step(tool:x status:failed)", "turns with a step of tool x and that failed"),
        (
            "all(step)(status:done) no(step)(type:tool)",
            "turns with only steps that completed, without a step of type tool_execution",
        ),
        ("tag:a OR (b -tag:c)", "turns either tagged a or saying “b” and except those tagged c"),
        ("meta.customer.tier:gold", "turns with meta.customer.tier gold"),
        ("turn(tag:a) no(turn)(tag:b)", "turns tagged a, except those tagged b"),
        ('user:"{0} {x}"', "turns for user “{0} {x}”"),
    ],
)
def test_it_says_a_query_in_words(read: Callable[..., Query], text: str, sentence: str) -> None:
    assert describe(read(text)) == sentence


@pytest.mark.parametrize(
    ("level", "sentence"),
    [
        ("step", "steps of tool x, that failed, in a turn tagged a"),
        ("turn", "turns with a step of tool x, that failed, tagged a"),
        ("session", "sessions with a step of tool x, with a turn that failed, with a turn tagged a"),
    ],
)
def test_it_speaks_of_the_level(read: Callable[..., Query], level: Level, sentence: str) -> None:
    assert describe(read("tool:x status:failed turn(tag:a)"), level) == sentence


def test_it_keeps_hostile_values_on_one_short_line(read: Callable[..., Query]) -> None:
    sentence = describe(read('user:"' + "a\n" * 500 + '"'))
    assert "\n" not in sentence
    assert len(sentence) < 120
