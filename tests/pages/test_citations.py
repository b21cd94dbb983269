"""What tools of OpenAI's found: results, sources, citations; whatever was stored of them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from agents.base import ids
from agents.pages import citations, step_details, step_values
from agents.pages.step_details import StoredOther, StoredToolRun
from agents.record.schemas.turns import StepSnapshot
from agents.responses.wire.citations import remove_marks

FILE = "file-0123"


def step(detail: Any, kind: Any = "tool_execution") -> StepSnapshot:
    return StepSnapshot(
        key=ids.new_key(),
        number=0,
        round=0,
        type=kind,
        name="lab",
        status="completed",
        server_side=True,
        started_at=0,
        completed_at=1,
        detail=msgspec.json.encode(detail),
    )


def searched(kind: str, **metadata: Any) -> StepSnapshot:
    answer = {"call_id": "c", "tool_name": "t", "content": "raw", "metadata": metadata}
    return step({"tool_calls": [], "tool_responses": [answer], "kind": kind})


def tool(value: StepSnapshot) -> StoredToolRun:
    found = step_details.read_detail(value, StoredToolRun)
    assert found is not None
    return found


RESULT = {"file_id": FILE, "filename": "a<b>.txt", "score": 0.8123, "text": "The <blue> kettle."}


def test_results_have_their_file_and_score_and_can_be_read_whole() -> None:
    value = searched("file_search", results=[RESULT, {"text": "bare"}, "none"])
    first, second = citations.result_blocks(tool(value))
    assert (first.label, second.label) == ("a<b>.txt, 0.81", "")
    assert "&lt;blue&gt;" in first.html
    assert {one.name: one.text for one in step_values.step_texts(value)}["found-0"] == "The <blue> kettle."


def test_marks_become_numbers_and_the_files_these_stand_for() -> None:
    told = searched("file_search", results=[RESULT])
    words, sources = citations.number_citations(f"It is blue <|{FILE}|>, and old <|file-9|>. Blue! <|{FILE}|>", [told])
    assert words == "It is blue [1], and old [2]. Blue! [1]"
    assert [(one.mark, str(one.name)) for one in sources] == [("[1]", "a&lt;b&gt;.txt"), ("[2]", "file-9")]
    assert remove_marks(f"Blue <|{FILE}|>.") == "Blue."
    assert citations.number_citations("No <|mark|> here", [told]) == ("No <|mark|> here", ())


@pytest.mark.parametrize("url", ["javascript:alert(1)", "data:text/html,x", "", "//x"])
def test_only_addresses_of_the_web_are_links(url: str) -> None:
    pages = [{"url": "https://example.org/?a=<b>"}, {"url": url, "title": "t\u202e"}]
    good, other = citations.web_sources(tool(searched("web_search", sources=pages)))
    assert good.url == "https://example.org/?a=<b>"
    assert "&lt;b&gt;" in good.name
    assert (other.url, "\u202e" in other.name) == ("", False)


@pytest.mark.parametrize("metadata", [{"results": 5}, {"results": [5]}, {}, {"results": [{"score": "odd"}]}])
def test_what_cannot_be_read_is_left_out(metadata: dict[str, Any]) -> None:
    value = searched("file_search", **metadata)
    assert len(citations.result_blocks(tool(value))) == (1 if metadata == {"results": [{"score": "odd"}]} else 0)
    assert citations.web_sources(tool(value)) == ()


def test_the_tools_of_a_server_are_named_with_what_they_are_for() -> None:
    tools = [{"name": "boil", "description": "Boils <it>"}, {"name": None}, 7]
    value = step({"kind": "mcp_list_tools", "data": {"server_label": "lab", "tools": tools}}, "other")
    found = step_details.read_detail(value, StoredOther)
    assert found is not None
    assert [(one.label, "&lt;it&gt;" in one.html) for one in citations.tool_list_blocks(found)] == [
        ("boil", True),
        ("?", False),
    ]
    assert {one.name: one.text for one in step_values.step_texts(value)}["tool-0"] == "Boils <it>"
    nothing = step_details.read_detail(step({"kind": "mcp_list_tools", "data": []}, "other"), StoredOther)
    assert nothing is not None
    assert citations.tool_list_blocks(nothing) == ()
