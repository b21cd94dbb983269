"""The oracle: what each field, operator and combination accepts, over a few records."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from agents.query.tree import Query
from tests.query.oracle import matches
from tests.query.records import Row, StepRecord

HOUR_US = 3_600_000_000


@pytest.fixture(scope="module")
def turns(turn: Callable[..., Row], step: Callable[..., StepRecord], noon: int) -> list[Row]:
    """Three turns: a plain one that completed, a failed one with tools, a bare one that waits."""
    plain = turn(
        step(id="a1", model="llama-3.3-70B", finish="stop", said="Hello Ana", ttft_us=300_000),
        id="0193a2b4-0000-8000-8000-00000000000a",
        agent="Support",
        provider="vllm",
        agent_id="0193a2b4-0000-8000-8000-0000000000aa",
        session="Order 17",
        model="llama-3.3-70B",
        user="ana",
        tags=("vip", "Urgent"),
        env="prod",
        api="agents",
        source="native",
        started_us=noon - 2 * HOUR_US,
        ended_us=noon - HOUR_US,
        duration_us=1_500_000,
        tokens_total=1_000,
        tokens_in=900,
        tokens_out=100,
        tokens_cached=0,
        cost_nano=50_000_000,
        stop_reason="end_turn",
        input="What is your Refund-Policy?",
        output="Thirty days. 退款政策。",
        metadata={"customer": {"tier": "Gold", "seats": 5, "trial": False, "left": None}, "n": [1, {"x": "y"}], "": ""},
    )
    failed = turn(
        step(
            id="b1", type="tool_execution", tool="web_search", status="failed", server_side=True, duration_us=12_000_000
        ),
        step(
            id="b2",
            type="tool_execution",
            tool="calc",
            status="completed",
            server_side=False,
            answered_by="maria (ci)",
            result_text="2+2 = 4",
        ),
        step(id="b3", type="shield_call", violation="error: medical advice"),
        step(id="b4", type="other", kind="handoff", status="completed"),
        id="b",
        agent="research",
        env="dev",
        api="responses",
        status="failed",
        error_type="provider_error",
        error_message="upstream timed out",
        started_us=noon - 30 * HOUR_US,
        tokens_total=7_000,
        input="what is the policy on a refund",
    )
    bare = turn(id="c", status="awaiting_input", started_us=noon)
    return [plain, failed, bare]


def found(query: Query, turns: list[Row]) -> str:
    return "".join(name for name, turn in zip("abc", turns, strict=True) if matches(query, turn))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "abc"),
        # choices: whole values, folded, with wildcards
        ("status:failed", "b"),
        ("status:(failed OR completed)", "ab"),
        ("status:*ed", "ab"),
        ("status:!=failed", "ac"),
        ("agent:SUPPORT", "a"),
        ("agent:support*", "a"),
        ("agent:sup", ""),
        ("agent:s*p*t", "a"),
        ("agent:*research*", "b"),
        ("agent:researc*ch", ""),
        ("model:LLAMA-3.3-70b", "a"),
        ("session:order*", "a"),
        ("tag:urgent", "a"),
        ("tag:(vip AND urgent)", "a"),
        ("tag:!=vip", ""),
        ("finish:end_turn", "a"),
        ("is:live", ""),
        ("is:waiting", "c"),
        # ids in any spelling
        ("agent:0193A2B40000800080000000000000aa", "a"),
        ("agent:0193*", ""),
        ("id:resp_0193a2b400008000800000000000000a", "a"),
        ("turn:b", "b"),
        ("id:!=b", "ac"),
        ("session:s1", "abc"),
        # absent values: a negation returns them, != does not
        ("-env:dev", "ac"),
        ("env:!=dev", "a"),
        ("has:env", "ab"),
        ("env:* -env:dev", "a"),
        ("-has:error", "ac"),
        ("has:tools", "b"),
        ("has:violation", "b"),
        ("has:user", "a"),
        # numbers
        ("duration:>1s", "a"),
        ("duration:1.5s", "a"),
        ("duration:>=1500ms duration:<=1500ms", "a"),
        ("duration:<1500ms", ""),
        ("-duration:>1s", "bc"),
        ("tokens:1k..7k", "ab"),
        ("tokens:..1k", "a"),
        ("tokens:1001..", "b"),
        ("tokens:!=1k", "b"),
        ("tokens.cached:0", "a"),
        ("has:tokens.cached", "a"),
        ("cost:$0.05", "a"),
        ("cost:>$0.05", ""),
        # times
        ("started:>-24h", "ac"),
        ("started:today", "ac"),
        ("started:yesterday", "b"),
        ("started:<today", "b"),
        ("started:2026-11-20T10:00", "a"),
        ("started:2026-11-20T10:00..12:00", "ac"),
        ("started:>2026-11-20T10:00", "c"),
        ("has:ended", "a"),
        ("-ended:<today", "abc"),
        # text: words, phrases, prefixes, exact
        ("refund policy", "ab"),
        ('"refund policy"', "a"),
        ("refund-policy", "a"),
        ("REFUND", "ab"),
        ("refun", ""),
        ("refun*", "ab"),
        ('"what is y"*', "a"),
        ("退款", "a"),
        ("款退", ""),
        ("in:days", ""),
        ("out:days", "a"),
        ("text:days", "a"),
        ('in:="what is your refund policy"', "a"),
        ('in:="what is your refund"', ""),
        ('in:!="what is your refund policy"', "b"),
        ("error:timed", "b"),
        ("error:provider_error", "b"),
        ("error:provider", ""),
        ('"policy thirty"', ""),
        # the metadata
        ("meta.customer.tier:gold", "a"),
        ("meta.customer.tier:g*", "a"),
        ("meta.customer.seats:5", "a"),
        ("meta.customer.trial:FALSE", "a"),
        ("has:meta.customer.left", ""),
        ("has:meta.customer", "a"),
        ("meta.customer:gold", ""),
        ("meta.Customer.tier:gold", ""),
        ("meta.n.[0]:1", "a"),
        ("meta.n.[1].x:y", "a"),
        ("meta.n.[7]:1", ""),
        ('has:meta.""', "a"),
        ("meta.customer.tier:!=silver", "a"),
        # steps below a turn: some of them
        ("tool:web_search", "b"),
        ("tool:*c*", "b"),
        ("type:tool", "b"),
        ("kind:handoff", "b"),
        ("provider:vllm", "a"),
        ("server_side:false", "b"),
        ("answered_by:maria*", "b"),
        ("answered_by:maria", ""),
        ("violation:medical", "b"),
        ("violation:error", "b"),
        ("tool:(web_search AND calc)", "b"),
        ("-tool:calc", "ac"),
        ("tool:!=calc", "b"),
        # one and the same step, or different ones
        ("tool:calc type:shield", "b"),
        ("step(tool:calc type:shield)", ""),
        ("step(tool:web_search status:failed duration:>10s)", "b"),
        ("step(tool:calc status:failed)", ""),
        ("tool:calc status:failed", "b"),
        ("step(-tool:web_search)", "ab"),
        ("-step(tool:web_search)", "ac"),
        ("no(step)(tool:web_search)", "ac"),
        ("all(step)(status:completed)", "ac"),
        ("all(step)(status:completed) has:type", "a"),
        ("step(has:tool -server_side:true)", "b"),
        ("step(agent:research tool:calc)", "b"),
        ("step(4)", "b"),
        ("4", "b"),
        ("turn(status:failed)", "b"),
        ("no(turn)(status:failed)", "ac"),
        ("step(turn(status:failed) tool:calc)", "b"),
        # combinations
        ("status:failed OR user:ana", "ab"),
        ("-(status:failed OR user:ana)", "c"),
        ("(agent:support OR agent:research) -tool:calc", "a"),
    ],
)
def test_it_accepts_the_turns(read: Callable[..., Query], turns: list[Row], text: str, expected: str) -> None:
    assert found(read(text), turns) == expected


def test_a_negation_accepts_all_the_others(read: Callable[..., Query], turns: list[Row]) -> None:
    for text in ("env:dev", "tool:calc", "refund", "duration:>1s", "env:!=dev", "step(tool:calc)", "a OR b", "has:env"):
        assert sorted(found(read(text), turns) + found(read(f"-({text})"), turns)) == ["a", "b", "c"], text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("today", [False, True, True, False]),
        (">=today", [False, True, True, True]),
        (">today", [False, False, False, True]),
        ("<today", [True, False, False, False]),
        ("<=today", [True, True, True, False]),
        ("yesterday..today", [True, True, True, False]),
        ("<=2026-11-20T00:00Z", [True, True, False, False]),
        (">2026-11-20T00:00Z", [False, False, True, True]),
    ],
)
def test_a_day_ends_where_the_next_begins(
    read: Callable[..., Query], turn: Callable[..., Row], noon: int, text: str, expected: list[bool]
) -> None:
    midnight, tomorrow = noon - 12 * HOUR_US, noon + 12 * HOUR_US
    turns = [turn(started_us=at) for at in (midnight - 1, midnight, tomorrow - 1, tomorrow)]
    assert [matches(read(f"started:{text}"), each) for each in turns] == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("status:failed", ["b1"]),
        ("agent:research", ["b1", "b2", "b3", "b4"]),
        ("turn(status:failed) type:tool", ["b1", "b2"]),
        ("turn:b tool:calc", ["b2"]),
        ("id:b2", ["b2"]),
        ("4", ["b2"]),
        ("in:refund server_side:true", ["b1"]),
        ("step(tool:calc)", ["b2"]),
        ("turn(step(tool:calc)) type:other", ["b4"]),
        ("-has:tool", ["a1", "b3", "b4"]),
    ],
)
def test_it_accepts_single_steps(read: Callable[..., Query], turns: list[Row], text: str, expected: list[str]) -> None:
    query = read(text, level="step")
    assert [row.step.id for turn in turns for row in turn.at("step") if row.step and matches(query, row)] == expected


def test_it_needs_a_record_of_the_level(read: Callable[..., Query], turns: list[Row]) -> None:
    with pytest.raises(ValueError, match="needs a step"):
        matches(read("a", level="step"), turns[0])
    with pytest.raises(ValueError, match="needs a turn"):
        matches(read("a"), turns[0].at("step")[0])
