"""The status of gRPC for each error, as senders read it."""

from __future__ import annotations

import grpc
import pytest
from google.rpc import error_details_pb2, status_pb2

from agents.base.errors import (
    AgentsError,
    InvalidRequest,
    NotAllowed,
    NotAuthenticated,
    RateLimited,
    TooLarge,
    Unavailable,
)
from agents.telemetry.api.otlp_grpc import MAX_MESSAGE_BYTES, status_of

LIMITED = RateLimited("Later.", headers={"Retry-After": "300"})


@pytest.mark.parametrize(
    ("error", "code", "retry_after_s"),
    [
        (InvalidRequest("No."), grpc.StatusCode.INVALID_ARGUMENT, None),
        (NotAuthenticated("No.", headers={"WWW-Authenticate": "Bearer"}), grpc.StatusCode.UNAUTHENTICATED, None),
        (NotAllowed("No."), grpc.StatusCode.PERMISSION_DENIED, None),
        (TooLarge("No."), grpc.StatusCode.RESOURCE_EXHAUSTED, None),
        (LIMITED, grpc.StatusCode.RESOURCE_EXHAUSTED, 300),
        (Unavailable("No.", retry_after_s=2), grpc.StatusCode.UNAVAILABLE, 2),
        (AgentsError("No."), grpc.StatusCode.INTERNAL, None),
    ],
)
def test_each_error_has_its_code(error: AgentsError, code: grpc.StatusCode, retry_after_s: int | None) -> None:
    status = status_of(error)
    assert (status.code, status.message) == (code.value[0], error.message)
    assert bool(status.details) is (retry_after_s is not None)
    if retry_after_s is not None:
        decoded = status_pb2.Status.FromString(status.details)
        assert (decoded.code, decoded.message) == (status.code, status.message)
        retry_info = error_details_pb2.RetryInfo()
        assert decoded.details[0].Unpack(retry_info)
        assert retry_info.retry_delay.seconds == retry_after_s


@pytest.mark.parametrize("text", ["x" * 5000, "ü" * 5000, "\U0001f600" * 2000, "\ud800 is half a character"])
def test_a_message_fits_into_the_headers(text: str) -> None:
    encoded = status_of(InvalidRequest(text)).message.encode()
    assert 0 < len(encoded) <= MAX_MESSAGE_BYTES
