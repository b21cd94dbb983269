"""Everything that a query accepts as a file: lines of JSON, a table, whole turns; what is refused."""

from __future__ import annotations

import csv
import io
import json
import sys
from datetime import datetime
from typing import Any

import pytest
from django.test import Client
from pyarrow import parquet

from agents.base.access import Actor
from agents.base.store import keys
from agents.logs.store import export
from agents.logs.wire import parquet as parquet_wire
from agents.logs.wire.export import cell, columns
from tests.loop.test_loop import tool
from tests.support.builders import make_agent, make_response, make_session, make_turn
from tests.support.inprocess import body_of, json_of

pytestmark = pytest.mark.usefixtures("_served", "_quiet")

HOSTILE = '=HYPERLINK("http://evil.example","x"),\r\n"; DROP'


@pytest.fixture
def me(_served: None) -> Actor:
    return keys.local()


def ask(path: str, expected: int = 200, **query: str) -> Any:
    answer = Client().get(f"/v1/logs/{path}/export", query)
    assert answer.status_code == expected, body_of(answer)
    return answer


def lines(path: str, **query: str) -> list[Any]:
    return [json.loads(line) for line in body_of(ask(path, 200, **query)).splitlines()]


def table(path: str, **query: str) -> list[dict[str, str]]:
    text = body_of(ask(path, 200, format="csv", **query)).decode()
    return list(csv.DictReader(io.StringIO(text, newline="")))


def listed(path: str) -> list[Any]:
    rows: list[Any] = Client().get(f"/v1/logs/{path}", {"limit": "1000"}).json()["data"]
    return rows


@pytest.fixture
def played(me: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    """Seven turns and a response, exported in pieces of three."""
    monkeypatch.setattr(export, "BATCH_ROWS", 3)
    agent = make_agent(me, name="support")
    session = make_session(me, agent, HOSTILE)
    for number in range(6):
        make_turn(me, f"say {number}", agent=agent, session=session)
    make_turn(me, "fail 504 upstream timed out", agent=agent, session=session)
    make_response(me)


@pytest.mark.parametrize("path", ["turns", "sessions", "steps", "responses"])
def test_lines_are_the_rows_of_the_list(path: str, played: None) -> None:
    answer = ask(path)
    assert answer.headers["Content-Type"] == "application/x-ndjson"
    assert f"{path[:-1]}s-" in answer.headers["Content-Disposition"]
    assert lines(path) == listed(path)


@pytest.mark.parametrize("path", ["turns", "sessions", "steps", "responses"])
def test_a_table_has_a_column_for_each_value(path: str, played: None) -> None:
    exported = table(path)
    assert [row["id"] for row in exported] == [row["id"] for row in listed(path)]
    assert list(exported[0]) == columns(path[:-1])
    assert exported[0]["usage.total_tokens"] == str(listed(path)[0]["usage"]["total_tokens"])


def test_a_query_chooses_and_fields_too(played: None) -> None:
    [row] = lines("turns", q="status:failed", fields="id,error,status")
    assert set(row) == {"id", "error", "status"}
    [cells] = table("turns", q="status:failed", fields="status,error.message,id")
    assert list(cells) == ["status", "error.message", "id"]
    assert cells["error.message"].startswith("upstream timed out") or "504" in cells["error.message"]
    assert body_of(ask("turns", q="status:cancelled")) == b""
    assert len(body_of(ask("turns", q="status:cancelled", format="csv")).splitlines()) == 1


@pytest.fixture
def called(me: Actor) -> None:
    """A turn with metadata whose tool was called with nested arguments, and one without either."""
    arguments = {"city": "=Berne", "at": {"zip": 3011, "known": True}, "days": [{"n": 1}, {"n": 2}]}
    script = f"call search {json.dumps(arguments)}\nthen\nsay Sunny."
    metadata = {"plan": "gold", "customer": {"tier": 2}, "service.name": "shop"}
    make_turn(me, script, server_tools=tool("search"), metadata=metadata)
    make_turn(me, "say Hello.")


DATA = "args.city,name,args.at.zip,args.at.known,args.days[*].n,args.days,args.none,meta.plan"


def test_values_of_arguments_results_and_metadata_are_columns(called: None) -> None:
    [row] = table("steps", q="type:tool", fields=DATA)
    assert list(row) == DATA.split(",")
    assert list(row.values()) == ["'=Berne", "search", "3011", "true", "1; 2", '{"n":1}; {"n":2}', "", "gold"]
    assert {row["args.city"] for row in table("steps", q="-type:tool", fields=DATA)} == {""}
    turns = table("turns", fields="status,meta.plan,meta.customer.tier,meta.service.name", sort="started")
    assert [list(row.values()) for row in turns] == [["completed", "gold", "2", "shop"], ["completed", "", "", ""]]
    [step] = lines("steps", q="type:tool", fields="args.at,name,args.none")
    assert step == {"name": "search", "args.at": {"zip": 3011, "known": True}, "args.none": None}
    assert lines("turns", q="has:meta.plan", fields="meta.plan") == [{"meta.plan": "gold"}]


def test_such_values_are_texts_in_parquet(called: None) -> None:
    file = parquet.ParquetFile(io.BytesIO(body_of(ask("steps", format="parquet", fields=DATA, q="type:tool"))))
    [row] = file.read().to_pylist()
    assert list(row.values()) == ["=Berne", "search", "3011", "true", "[1,2]", '[{"n":1},{"n":2}]', None, "gold"]


def test_a_formula_is_a_text(played: None) -> None:
    names = {row["session_name"] for row in table("turns", q="has:agent")}
    assert names == {f"'{HOSTILE}"}
    assert [cell(one) for one in ("-1", "@x", "\tx", "+1", -1, 0.5, None, True, ["=a", "b"], "a=b")] == [
        "'-1", "'@x", "'\tx", "'+1", -1, 0.5, "", "true", "'=a; b", "a=b",
    ]  # fmt: skip


SIGNS = ["=", "+", "-", "@", "＝", "＋", "－", "＠", "﹦", "﹢", "﹣", "﹫", "⁺", "₌"]
BLANKS = [
    "",
    " ",
    "   ",
    "\xa0",
    "\u3000",
    "\u200b",
    "\ufeff",
    "\u2028",
    "\x0b",
    "\x00",
    "\u115f",
    "\ufe0f",
    " \u200b\u3000",
]


@pytest.mark.parametrize("blank", BLANKS, ids=ascii)
def test_a_formula_in_other_letters_is_a_text(blank: str) -> None:
    """Spreadsheets take full-width signs for the narrow ones, and some skip what cannot be seen."""
    for sign in SIGNS:
        assert cell(f"{blank}{sign}1+1") == f"'{blank}{sign}1+1"
    for text in ("1+1", "a=b", "“=1”", "–1", "¯", "日本", "ｱ=1", "", "/x", "#1"):
        assert cell(blank + text) == blank + text


@pytest.mark.parametrize("text", ["\tx", "\rx", "\nx", " \t x", "\u200b\nx"])
def test_a_text_that_begins_with_another_cell_or_line_is_one(text: str) -> None:
    assert cell(text) == f"'{text}"


def test_a_byte_order_mark_is_there_when_asked_for(played: None) -> None:
    assert body_of(ask("turns", format="csv", bom="true")).startswith(b"\xef\xbb\xbfid,")
    assert body_of(ask("turns", format="csv")).startswith(b"id,")


def test_whole_turns_are_as_the_agents_api_gives_them(played: None) -> None:
    exported = lines("turns", whole="true", q="has:agent")
    assert len(exported) == 7
    for row in exported:
        path = f"/v1/agents/{row['agent_id']}/session/{row['session_id']}/turn/{row['id']}"
        assert row["turn"] == Client().get(path).json()
        assert row["turn"]["steps"]


@pytest.mark.parametrize("path", ["turns", "sessions", "steps", "responses"])
def test_parquet_holds_the_table(path: str, played: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export, "BATCH_ROWS", 3)
    monkeypatch.setattr(parquet_wire, "GROUP_ROWS", 2)
    answer = ask(path, format="parquet")
    file = parquet.ParquetFile(io.BytesIO(body_of(answer)))
    exported, expected = file.read().to_pylist(), table(path)
    assert [row["id"] for row in exported] == [row["id"] for row in expected]
    assert set(exported[0]) == set(expected[0])
    for row, same in zip(exported, expected, strict=True):
        assert {name for name, value in row.items() if value is not None} >= {name for name in same if same[name]}
    moments = [name for name in exported[0] if name.endswith("_at")]
    assert isinstance(exported[0][moments[0]], datetime)
    assert file.num_row_groups == -(-len(exported) // 2)


def test_parquet_holds_whole_turns(played: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_wire, "GROUP_CHARS", 1)
    file = parquet.ParquetFile(io.BytesIO(body_of(ask("turns", format="parquet", whole="true"))))
    exported, expected = file.read().to_pylist(), lines("turns", whole="true")
    assert [json.loads(row["turn"]) for row in exported] == [row["turn"] for row in expected]
    assert [json.loads(row["record"]) for row in exported] == [row["record"] for row in expected]
    assert list(exported[0]) == [*columns("turn"), "turn", "record"]
    assert file.num_row_groups == len(exported)


def test_parquet_without_its_library_is_refused(monkeypatch: pytest.MonkeyPatch, me: Actor) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    error = json_of(ask("turns", 400, format="parquet"))["error"]
    assert (error["param"], error["code"]) == ("format", "parquet_not_installed")


@pytest.mark.parametrize(
    ("path", "query", "param"),
    [
        ("turns", {"format": "xls"}, "format"),
        ("turns", {"fields": "id,nope"}, "fields"),
        ("turns", {"format": "csv", "fields": "steps"}, "fields"),
        ("turns", {"fields": "args.city"}, "fields"),
        ("steps", {"fields": "args"}, "fields"),
        ("steps", {"fields": "args.city has:args.b"}, "fields"),
        ("steps", {"fields": ",".join(f"args.a{n}" for n in range(101))}, "fields"),
        ("turns", {"q": "nope:1"}, "q"),
        ("turns", {"q": "status:failed", "tz": "Mars/Base"}, "tz"),
        ("turns", {"whole": "perhaps"}, "whole"),
        ("turns", {"whole": "true", "format": "csv"}, "whole"),
        ("steps", {"whole": "true"}, "whole"),
        ("steps", {"whole": "true", "format": "parquet"}, "whole"),
        ("turns", {"whole": "true", "format": "parquet", "fields": "id"}, "whole"),
    ],
)
def test_what_is_wrong_is_said_before_the_stream(path: str, query: dict[str, str], param: str, me: Actor) -> None:
    assert json_of(ask(path, 400, **query))["error"]["param"] == param


def test_a_page_has_the_same_file(played: None) -> None:
    answer = Client().get("/logs/export/", {"q": "api:responses", "level": "turns", "format": "csv"})
    assert (answer.status_code, len(body_of(answer).splitlines())) == (200, 2)
    assert Client().get("/logs/export/", {"level": "agents"}).status_code == 400
    assert Client().get("/logs/export/", {"q": "nope:"}).status_code == 400


def test_a_page_exports_to_a_browser_whose_zone_nobody_knows(db: None) -> None:
    client = Client()
    client.cookies["tz"] = "Atlantis/Poseidonis"
    assert client.get("/logs/export/").status_code == 200
