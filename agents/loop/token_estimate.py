"""Estimates how many tokens a request has, where nobody can count them: four bytes of JSON are one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from agents.record.schemas.content import ToolDef
from agents.record.schemas.items import tool_definition

BYTES_PER_TOKEN = 4
IMAGE_TOKENS = 1_000
"""Tokens of an image, whatever its size: models scale it."""
_IMAGE = b'"image_url":'


def estimated_tokens(messages: Sequence[bytes], tools: Sequence[ToolDef] = ()) -> int:
    """Estimate the tokens of encoded messages and of the tools offered with them."""
    offered = sum(len(msgspec.json.encode(tool_definition(tool))) for tool in tools)
    return sum(map(_message_tokens, messages)) + offered // BYTES_PER_TOKEN


def _message_tokens(message: bytes) -> int:
    content: Any = msgspec.json.decode(message).get("content") if _IMAGE in message else None
    if not isinstance(content, list):
        return len(message) // BYTES_PER_TOKEN
    images = [part for part in content if part.get("type") == "image_url"]
    others = [part for part in content if part.get("type") != "image_url"]
    return len(images) * IMAGE_TOKENS + len(msgspec.json.encode(others)) // BYTES_PER_TOKEN
