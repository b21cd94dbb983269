"""The grammar: what a text means (by its normal form and its tree), and what a bad one is told."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from agents.base.errors import QuerySyntax
from agents.query.scanner import caret
from agents.query.tree import And, ExactValue, FieldTerm, FreeText, LevelScope, Not, Or, Query, SearchPhrase, leaves


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("", ""),
        ("  \n ", ""),
        ("  status:failed\u3000 AND\tagent:support ", "status:failed agent:support"),
        ("STATUS:Failed Meta.Key:x", "status:failed meta.Key:x"),
        ("a OR b AND c", "a OR b c"),
        ("(a OR b) c", "(a OR b) c"),
        ("((a)) (b c) (d)", "a b c d"),
        ("a OR (b OR c)", "a OR b OR c"),
        ("a a b", "a b"),
        ("NOT a -b -(c d)", "-a -b -(c d)"),
        ("NOT -a", "a"),
        ("--verbose", "verbose"),
        ("-(-(a))", "a"),
        ("and or not", "and or not"),
        ('"AND" user:"OR"', '"AND" user:"OR"'),
        ('"refund" "refund policy"', 'refund "refund policy"'),
        ('refund* "refund pol"*', 'refund* "refund pol"*'),
        ('in:a.b out:="Sorry, no." text:x*', 'in:a.b out:="Sorry, no." text:x*'),
        ('"say \\"hi\\" \\\\ back"', '"say \\"hi\\" \\\\ back"'),
        ("status:failed OR status:done", "status:(failed OR completed)"),
        ("tool:(a OR b AND c)", "tool:a OR tool:b tool:c"),
        ("-tag:(a AND b)", "-(tag:a tag:b)"),
        ("duration:(<1s OR >1m)", "duration:(<1s OR >1m)"),
        ("tokens:1000..5000 ttft:..2000ms", "tokens:1k..5k ttft:..2s"),
        (
            'type:tool status:"in progress" status:awaiting-input',
            "type:tool_execution status:in_progress status:awaiting_input",
        ),
        ("status:*ed tool:web_* tool:*", "status:*ed tool:web_* has:tool"),
        ('tool:="a*b" tool:"a\\*b" tool:"a *"', 'tool:"a\\*b" tool:"a *"'),
        ('tool:"*" tool:"\\**"', 'tool:"*" tool:"\\**"'),
        ("model:!=gpt-4.1 server_side:YES cost:0.05", "model:!=gpt-4.1 server_side:true cost:$0.05"),
        ("has:(error OR tools) has:meta.a", "(has:error OR has:tool) has:meta.a"),
        ("user:(* OR bob)", "user:(* OR bob)"),
        ('meta."first name".[0]:x meta.a[1]."b\\"c":y', 'meta."first name".[0]:x meta.a.[1]."b\\"c":y'),
        ("step(tool:x) any(step)(a) all(step)(done) no(STEP)(b)", "step(tool:x) step(a) all(step)(done) no(step)(b)"),
        ("step (a)", "step a"),
        ("session(a) last(turn)(b) first(response)(c)", "session(a) last(turn)(b) first(response)(c)"),
        ("count(STEP : tool:x )>=3 COUNT(turn) != 1", "count(step: tool:x)>=3 count(turn)!=1"),
        ('*fund *fund* *"late f"', '*fund *"late f"'),
        ("args.path:/etc/* args.a[*].b:x", "args.path:/etc/* args.a.[*].b:x"),
        ("args.n:>=-1.5 result.q:a..b", "args.n:>=-1.5 result.q:a..b"),
        ('args.n:1..2k args.x:=whole score."how good":<-0.5', 'args.n:1..2k args.x:=whole score."how good":<-0.5'),
        ("started:TODAY ended:<2026-11-20t10:00z", "started:today ended:<2026-11-20T10:00Z"),
        ("退款 C++ 10:30 a/b@c", '退款 C++ "10:30" a/b@c'),
    ],
)
def test_it_reads_a_text_into_its_normal_form(read: Callable[..., Query], text: str, normal: str) -> None:
    query = read(text)
    assert query.text == normal
    assert read(normal).tree == query.tree


def test_it_builds_the_typed_tree(read: Callable[..., Query]) -> None:
    failed = FieldTerm(field="status", op="=", value=ExactValue(text="failed"))
    refund = FreeText(words=SearchPhrase(text="refund", prefix=True))
    said = FieldTerm(field="in", op="contains", value=SearchPhrase(text="late fee"))
    tool = FieldTerm(field="tool", op="has")
    assert read('status:error refund* OR -in:"late fee" OR no(step)(has:tool)').tree == Or(
        nodes=(And(nodes=(failed, refund)), Not(node=said), LevelScope(quantifier="no", level="step", node=tool))
    )


@pytest.mark.parametrize(
    ("text", "position", "message", "suggestion"),
    [
        ("a statusx:failed", 2, 'Unknown field "statusx". Did you mean status?', "a status:failed"),
        ("tokens.inn:5 b", 0, "Did you mean tokens.in?", "tokens.in:5 b"),
        ("see http://x.y now", 4, "put them in quotes", 'see "http://x.y" now'),
        ("rating:5", 7, "one of up, down", None),
        ("args:x", 0, "args needs a key: args.path:/etc/*", None),
        ("score.helpful:good", 14, "is not a number", None),
        ("has:erorx", 4, "Did you mean error?", "has:error"),
        ("has:", 4, "name of a field is missing", None),
        ("has:id", 4, "never absent", None),
        ("status:failedd", 7, "Did you mean failed? It is one of queued, in_progress", "status:failed"),
        ("status:x*", 7, "No status is like", None),
        ("status:>failed", 8, "cannot be compared with >", None),
        ("agent:>5", 7, "it takes =, !=, such as agent:support", None),
        ("status: failed", 7, "value is missing", "status:failed"),
        ("(status:)", 8, "value is missing", None),
        ("duration:>2", 10, "Did you mean 2s?", "duration:>2s"),
        ("duration:5s..1s", 9, "below its start", "duration:1s..5s"),
        ("duration:>(1s OR 2s)", 10, "inside the parentheses", None),
        ("user:!=*", 7, "write -has:user", None),
        ("server_side:maybe", 12, "true or false", None),
        ("is:(live waiting)", 9, "OR or AND", "is:(live OR waiting)"),
        ("is:gone", 3, "one of live, waiting", None),
        ("tool:(a OR)", 10, "missing after OR", None),
        ("tool:a(b)", 6, "put all of it in quotes", None),
        ('tool:"a"b', 8, "put all of it in quotes", None),
        ('tool:""', 5, "nothing between these quotes", None),
        ("meta:x", 0, "meta.customer.tier:gold", None),
        ("meta.a[-1]:x", 6, "[0] is its first, [*] means all of it", None),
        ("count(step)", 11, "comparison with a number", None),
        ("count(step)>many", 11, "comparison with a number", None),
        ("count(steps)>3", 0, "count(…) needs a level", None),
        ("a last(turns)(b)", 2, "last(step)(tool:web_search)", None),
        ("any(steps)(a)", 0, "any(step)(tool:web_search)", None),
        ("OR a", 0, 'write "OR"', '"OR" a'),
        ("a OR", 4, "missing after OR", None),
        ("a NOT", 5, "missing after NOT", None),
        ("()", 1, "missing after (", None),
        ("(a", 0, "never closed", "(a)"),
        ("a) b", 1, "closes nothing", "a b"),
        ('a "b', 2, "never closed", 'a "b"'),
        ("a*b", 0, "at the end of a word", None),
        ("!!!", 0, "nothing to search for", None),
        ("- a", 0, "nothing to search for", None),
        (":a", 0, "no field before this colon", "a"),
        ("a\x00b", 1, "cannot be searched for", "a b"),
        ("a\ud800b", 1, "cannot be searched for", "a b"),
    ],
)
def test_it_says_what_is_wrong_and_where(
    read: Callable[..., Query], text: str, position: int, message: str, suggestion: str | None
) -> None:
    with pytest.raises(QuerySyntax) as caught:
        read(text)
    assert (caught.value.position, caught.value.suggestion) == (position, suggestion)
    assert message in caught.value.message
    body = caught.value.body()["error"]
    assert (body["code"], body["param"], body["position"]) == ("query_syntax", "q", position)


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("statusx:failedd", "status:failed"),
        ("http://a", '"http://a"'),
        ("(a (b", "(a (b))"),
        ("a))", "a"),
        ("duration:>2", "duration:>2s"),
        ("is:(live waiting live)", "is:(live OR waiting OR live)"),
    ],
)
def test_following_its_suggestions_leads_to_a_query(read: Callable[..., Query], text: str, right: str) -> None:
    def suggestion() -> str | None:
        try:
            read(text)
        except QuerySyntax as wrong:
            return wrong.suggestion
        return None

    while better := suggestion():
        text = better
    assert text == right
    assert read(text).text


def test_it_has_limits(read: Callable[..., Query]) -> None:
    assert len(list(leaves(read(" ".join(f"w{n}" for n in range(50))).tree))) == 50
    with pytest.raises(QuerySyntax, match="at most 50") as caught:
        read(" ".join(f"w{n}" for n in range(51)))
    assert caught.value.position == len(" ".join(f"w{n}" for n in range(50))) + 1
    assert read("(" * 8 + "a" + ")" * 8).text == "a"
    with pytest.raises(QuerySyntax, match="8 deep") as caught:
        read("(" * 9 + "a" + ")" * 9)
    assert caught.value.position == 8
    assert read("x" * 2_000).text == "x" * 2_000
    for letter in "x ":
        with pytest.raises(QuerySyntax, match="at most 2,000"):
            read(letter * 2_001)


def test_a_normal_form_keeps_to_the_limit_too(read: Callable[..., Query]) -> None:
    text = "x" * 1_900 + " type:tool" * 9
    assert len(text) < 2_000
    assert len(read(text).text) < len(text), "repeated terms count once"
    with pytest.raises(QuerySyntax, match="at most 2,000"):
        read("x" * 1_960 + " type:(tool OR memory)")


def test_a_caret_stands_under_the_place() -> None:
    assert caret("a statusx:failed", 2) == "a statusx:failed\n  ^"
    first, second = caret("x" * 100 + "\n!" + "y" * 100, 101).splitlines()
    assert first[second.index("^")] == "!"
