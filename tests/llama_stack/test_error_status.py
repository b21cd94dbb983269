"""The status of a turn that failed, where nobody streams: whose fault it was."""

from __future__ import annotations

import pytest

from agents.llama_stack.stream import error_status
from agents.record.schemas.events import ErrorInfo


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (ErrorInfo(type="cut", message="x", provider="lab"), 502),
        (ErrorInfo(type="output_too_large", message="x", provider="lab"), 502),
        (ErrorInfo(type="provider_error", message="x", provider="lab", upstream_status=200), 502),
        (ErrorInfo(type="timeout", message="x", provider="lab"), 504),
        (ErrorInfo(type="context_length_exceeded", message="x", provider="lab", upstream_status=400), 400),
        (ErrorInfo(type="model_not_found", message="x", provider="lab", upstream_status=404), 404),
        (ErrorInfo(type="storage_error", message="x"), 503),
        (ErrorInfo(type="server_error", message="x"), 500),
        (None, 500),
    ],
)
def test_it_is_by_whose_fault_it_was(error: ErrorInfo | None, status: int) -> None:
    assert error_status(error) == status
