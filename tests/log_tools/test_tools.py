"""What a model is told of the tools, and what the guide tells people."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from agents.log_tools.runner.tools import TOOLS, LogTool
from tests import ROOT

MAX_CHARS = 14_000
"""Characters of all descriptions and schemas: a client puts them before every conversation."""


def test_the_guide_lists_the_tools_with_their_rights() -> None:
    rows = re.findall(r"^\| `(\w+)` \|.*\| (read|run) \|$", (ROOT / "docs/mcp.md").read_text(), re.M)
    assert rows == [(tool.name, tool.action) for tool in TOOLS.values()]


@pytest.mark.parametrize("tool", TOOLS.values(), ids=lambda tool: tool.name)
def test_a_schema_says_all_of_its_arguments(tool: LogTool) -> None:
    """In plain words, without references that clients would have to follow."""
    schema = tool.input_schema
    assert schema["type"] == "object"
    assert schema["additionalProperties"] is False
    assert not {"$ref", "$defs", "title"} & set(keys_of(schema))
    assert all("description" in argument for argument in schema["properties"].values())
    assert {"max_chars"} <= set(schema["properties"])


def test_what_a_model_reads_of_the_tools_is_short() -> None:
    read = sum(len(tool.description) + len(json.dumps(tool.input_schema)) for tool in TOOLS.values())
    assert read < MAX_CHARS


def keys_of(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [*value, *(key for inner in value.values() for key in keys_of(inner))]
    return [key for inner in value for key in keys_of(inner)] if isinstance(value, list) else []
