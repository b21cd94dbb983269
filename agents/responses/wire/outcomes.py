"""OpenAI's words for what a response came to: its status, and why it is incomplete."""

from __future__ import annotations

from collections.abc import Sequence

STEERED = "steered"
"""Why a response is incomplete whose client said more before the model had answered."""


def was_steered(calls: Sequence[bool] | None) -> bool:
    """Tell whether a response that another follows ended because its client said more: before its first inference
    (None), or after its ``calls`` since the last one, all of which the server ran. Else its model had answered, or the
    client was to."""
    return calls is None or (bool(calls) and all(calls))


def incomplete_reason(reason: str | None, finish: str | None) -> str | None:
    """Return why an ended response is incomplete; None if it is complete."""
    if reason == "max_infer_iters":
        return "max_iterations_exceeded"
    return {"length": "max_output_tokens", "content_filter": "content_filter"}.get(finish or "")


def incomplete_details(incomplete: str | None) -> dict[str, str] | None:
    """Return why a response is incomplete in OpenAI's words, which have none for the bound of rounds: it is a bound of
    what the response may spend."""
    if incomplete is None:
        return None
    return {"reason": "max_output_tokens" if incomplete == "max_iterations_exceeded" else incomplete}


def status_of(turn_status: str, incomplete: str | None) -> str:
    """Return OpenAI's status for a response."""
    match turn_status:
        case "queued" | "in_progress" | "failed" | "cancelled":
            return turn_status
        case "interrupted":
            return "failed"
        case _:
            return "incomplete" if incomplete else "completed"
