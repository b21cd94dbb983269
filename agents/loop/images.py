"""Checks the images in messages to a model."""

from __future__ import annotations

from collections.abc import Sequence

from agents.base.errors import InvalidRequest
from agents.record.schemas.content import ImageItem, TurnMessage, UserMessage


def check_images(messages: Sequence[TurnMessage]) -> None:
    """Raise InvalidRequest for an image whose URL is none of http, https and data: the endpoint might read
    its own files."""
    for number, message in enumerate(messages):
        content = message.content if isinstance(message, UserMessage) else ""
        for item in content if isinstance(content, list) else [content]:
            url = item.image.url.uri if isinstance(item, ImageItem) and item.image.url else "https:"
            if not url.lower().startswith(("http:", "https:", "data:image/")):
                message_text = f"messages.{number}.content: an image's URL begins with http:, https: or data:image/."
                raise InvalidRequest(message_text, param=f"messages.{number}.content", code="url_refused")
