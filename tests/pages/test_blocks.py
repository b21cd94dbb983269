"""Images of a conversation: what came along is shown, what lies elsewhere is only named."""

from __future__ import annotations

from typing import Any

import pytest

from agents.pages import blocks

PNG, SVG = "iVBORw0KGgoAAAANSUhEUg==", "PHN2ZyBvbmxvYWQ9YWxlcnQoMSk+"


def shown(image: dict[str, Any]) -> tuple[str, str]:
    """(style, what it points to)."""
    [block] = blocks.content_pictures([{"type": "text", "text": "x"}, {"type": "image", "image": image}])
    return block.style, block.source


@pytest.mark.parametrize(
    ("image", "style", "source"),
    [
        ({"data": PNG}, "picture", f"data:image/png;base64,{PNG}"),
        ({"url": {"uri": f"data:image/png;base64,{PNG}"}}, "picture", f"data:image/png;base64,{PNG}"),
        ({"url": {"uri": f"data:text/html;base64,{PNG}"}}, "picture", f"data:image/png;base64,{PNG}"),
        ({"url": {"uri": f"data:image/svg+xml;base64,{SVG}"}}, "link", ""),
        ({"url": {"uri": "https://example.org/x.png"}}, "link", "https://example.org/x.png"),
        ({"url": {"uri": "javascript:alert(1)"}}, "link", ""),
        ({"data": SVG}, "text", ""),
        ({"data": PNG.rstrip("=") + "\n" * 1_000_000 + "!"}, "text", ""),  # hours, where each line is tried as the last
    ],
)
def test_only_what_browsers_merely_draw_is_shown(image: dict[str, Any], style: str, source: str) -> None:
    assert shown(image) == (style, source)
