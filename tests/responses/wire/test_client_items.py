"""Answers that somebody gave as a text, as OpenAI's types read them: the pages know no other."""

from __future__ import annotations

from typing import Any

import pytest
from openai.types import responses as types

from agents.responses.schemas.client_calls import FORMS

OUTPUTS: dict[str, Any] = {
    "custom": types.ResponseCustomToolCallOutput,
    "shell": types.ResponseFunctionShellToolCallOutput,
    "apply_patch": types.ResponseApplyPatchToolCallOutput,
    "tool_search": types.ResponseToolSearchOutputItem,
}


@pytest.mark.parametrize("kind", OUTPUTS)
def test_a_text_becomes_an_answer_of_the_kind(kind: Any) -> None:
    form = FORMS[kind]
    head = {"id": "x", "call_id": "c", "status": "completed", "type": form.output_type}
    OUTPUTS[kind].model_validate({**head, **form.answer("It is done.")}, strict=True)
    if kind != "tool_search":  # which answers with tools
        assert form.result(form.answer("It is done.")) == "It is done."
