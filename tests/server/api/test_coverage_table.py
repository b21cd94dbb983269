"""The documentation's table of what is spoken, held against the schemas, OpenAI's types, and the server's word."""

from __future__ import annotations

import re
import typing
from pathlib import Path
from typing import Any

import openai
import pytest
from openai.types.responses import Response, ResponseOutputItem, ResponseStreamEvent
from openai.types.responses.response_create_params import ResponseCreateParamsBase
from openai.types.responses.tool import Tool
from pydantic import TypeAdapter, ValidationError

from agents.llama_stack.schemas import Payload
from agents.loop.schemas.turns import CreateTurn
from agents.record.schemas.agents import AgentConfig
from agents.responses import wire as responses_wire
from agents.responses.schemas.requests import UNSUPPORTED_FIELDS, CreateResponse
from agents.responses.schemas.tools import VENDOR_TOOLS, OtherTool, ResponseTool
from tests import ROOT

TABLES = ROOT / "docs" / "coverage.md"
WORD = re.compile(r"`([^`]+)`")


TOOL = {"name": "x", "vector_store_ids": ["x"], "server_label": "x", "server_url": "http://x", "tools": []}
"""What some tool or other requires."""


def row(name: str) -> list[set[str]]:
    """The columns of a row: yes, refused, not yet."""
    [line] = [line for line in TABLES.read_text().splitlines() if line.startswith(f"| {name} |")]
    return [set(WORD.findall(column)) for column in line.split("|")[2:-1]]


def words_of(union: Any) -> set[str]:
    """The words that tell the members of a union apart."""
    members = typing.get_args(typing.get_args(union)[0])
    return {word for one in members for word in typing.get_args(one.model_fields["type"].annotation)}


def test_a_request_has_these_fields() -> None:
    yes, refused, _ = row("fields of a response's request")
    assert yes == set(CreateResponse.model_fields) - refused
    assert refused == set(UNSUPPORTED_FIELDS)
    assert set(ResponseCreateParamsBase.__annotations__) <= yes | refused


@pytest.mark.parametrize("name", UNSUPPORTED_FIELDS)
def test_what_is_refused_is_refused_by_its_name(name: str) -> None:
    with pytest.raises(ValidationError, match=name):
        CreateResponse.model_validate({"model": "scripted/fast", "input": "Hello", name: {"id": "x"}})


def test_a_response_has_these_fields() -> None:
    yes = row("fields of a response")[0]
    required = {name for name, field in Response.model_fields.items() if field.is_required()}
    assert required <= yes


def test_a_stream_has_these_events() -> None:
    yes, _, later = row("events of a response's stream")
    theirs = {word.removeprefix("response.") for word in words_of(ResponseStreamEvent)}
    assert yes | later == theirs
    assert not yes & later
    source = "".join(path.read_text() for path in Path(responses_wire.__path__[0]).glob("*.py"))
    # names are written whole, or made of a tool's name and a phase
    assert all(name in source or name.split(".")[0] in source for name in yes)


def test_there_are_these_tools_and_items() -> None:
    yes, left_out, _ = row("tools of a response")
    assert left_out == set(VENDOR_TOOLS)
    dated = {"web_search_preview_2025_03_11", "web_search_2025_08_26"}
    assert yes | left_out == words_of(Tool) - dated
    ours = TypeAdapter[Any](ResponseTool)
    assert not [word for word in yes if isinstance(ours.validate_python({**TOOL, "type": word}), OtherTool)]
    assert row("output items")[0] <= words_of(ResponseOutputItem)


def test_the_agents_api_has_these_fields() -> None:
    assert row("fields of an agent")[0] == set(AgentConfig.model_fields)
    assert row("fields of a turn's request")[0] == set(CreateTurn.model_fields)
    members = typing.get_args(typing.get_args(Payload)[0])
    assert row("events of a turn's stream")[0] == {one.model_fields["event_type"].default for one in members}


def test_the_client_has_these_methods() -> None:
    line = next(line for line in TABLES.read_text().splitlines() if line.startswith("| methods of"))
    client = openai.OpenAI(api_key="none")
    for part in line.split(" | ")[1].split("; "):
        before, _, after = part.partition(": ")
        for resource in WORD.findall(before):
            for name in WORD.findall(after):
                found: Any = client
                for step in f"{resource}.{name.removesuffix('.*')}".split("."):
                    found = getattr(found, step)
