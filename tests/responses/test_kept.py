"""Whether the log keeps a response that is not to be stored: as its key says, else as the server does."""

from __future__ import annotations

from typing import Any

import pytest

from agents.base.access import Actor
from agents.responses.runner.requests import ResponseRequest
from agents.responses.schemas.requests import CreateResponse


@pytest.mark.parametrize(
    ("setting", "key", "kept"),
    [(False, None, False), (True, None, True), (False, True, True), (True, False, False), (True, True, True)],
)
def test_a_key_has_the_last_word(settings: Any, setting: bool, key: bool | None, kept: bool) -> None:
    settings.KEEP_UNSTORED = setting
    for store in (True, False):
        body = CreateResponse(model="scripted/fast", input="Hello", store=store)
        request = ResponseRequest(Actor("ana", keeps_unstored=key), body, b"", None, {})
        assert request.is_kept is (kept and not store)
        assert request.is_recorded is (kept or store)
