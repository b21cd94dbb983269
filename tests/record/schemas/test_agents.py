"""What is accepted once is what is stored and read again, for ever."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from agents.record.schemas.agents import AgentConfig

CHOICES = st.sampled_from([None, "", "auto", "none", "required", "lookup"]) | st.text(max_size=3)
FORMATS = st.sampled_from([None, "json", "function_tag", "python_list"])
TOOL_CONFIG = {"tool_choice": CHOICES, "tool_prompt_format": FORMATS, "system_message_behavior": st.just("replace")}
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
TOOL = {"name": st.text(min_size=1, max_size=9), "description": st.text() | st.none()}
MORE = {"input_schema": st.dictionaries(st.text(), VALUES), "metadata": st.dictionaries(st.text(), VALUES) | st.none()}
NAMES = st.lists(st.text(max_size=9), max_size=2) | st.none()
GROUP = st.fixed_dictionaries({"name": st.text(), "args": st.dictionaries(st.text(), VALUES)})
ANY_CONFIG = st.fixed_dictionaries(
    {"model": st.text(min_size=1, max_size=9), "instructions": st.text()},
    optional={
        "name": st.text(max_size=9) | st.none(),
        "enable_session_persistence": st.booleans() | st.none(),
        "resume_runs": st.booleans() | st.none(),
        "response_format": st.none() | st.fixed_dictionaries({"type": st.just("json_schema"), "json_schema": VALUES}),
        "sampling_params": st.none() | st.fixed_dictionaries({}, optional={"stop": NAMES, "max_tokens": st.integers()}),
        "input_shields": NAMES,
        "output_shields": NAMES,
        "toolgroups": st.lists(st.text() | GROUP, max_size=2) | st.none(),
        "client_tools": st.lists(st.fixed_dictionaries(TOOL, optional=MORE), max_size=2) | st.none(),
        "tool_choice": CHOICES,
        "tool_prompt_format": FORMATS,
        "tool_config": st.none() | st.fixed_dictionaries({}, optional=TOOL_CONFIG),
        "max_infer_iters": st.integers() | st.none(),
    },
)


@given(raw=ANY_CONFIG)
@settings(max_examples=300, deadline=None)
def test_a_stored_config_reads_back_as_itself(raw: Any) -> None:
    try:
        config = AgentConfig.model_validate(raw)
    except ValidationError:
        assume(False)
    for left_out in (True, False):
        assert AgentConfig.model_validate_json(config.model_dump_json(exclude_none=left_out)) == config


@pytest.mark.parametrize("tool_config", [{}, {"tool_choice": None}, {"tool_prompt_format": "json"}, None])
def test_a_deprecated_field_fills_the_config_that_leaves_it_open(tool_config: Any) -> None:
    raw = {"model": "m", "instructions": "", "tool_choice": "required", "tool_config": tool_config}
    config = AgentConfig.model_validate(raw)
    assert config.tool_config is not None
    assert config.tool_config.tool_choice == "required"
    assert AgentConfig.model_validate_json(config.model_dump_json()) == config


def test_two_opinions_are_refused() -> None:
    raw = {"model": "m", "instructions": "", "tool_choice": "none", "tool_config": {"tool_choice": "auto"}}
    with pytest.raises(ValidationError, match="tool_choice is deprecated"):
        AgentConfig.model_validate(raw)
