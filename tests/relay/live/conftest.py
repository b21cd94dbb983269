"""What is asked of a model, and what the log says of that."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from tests.support.live.caller import Caller
from tests.support.live.process import eventually


@pytest.fixture
def question() -> str:
    return f"question {uuid.uuid4()}"


def logged(caller: Caller, question: str) -> dict[str, Any]:
    """The call with this question, once it is in the log."""

    def look() -> dict[str, Any]:
        rows = caller.get("/v1/chat/completions?limit=100").json["data"]
        return next((row for row in rows if question in str(row["input_messages"])), {})

    return eventually(look)
