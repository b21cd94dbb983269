"""Parts of a conversation: images that came along are shown, others only named; what was asked at length is folded."""

from __future__ import annotations

from typing import Any

import pytest

from agents.pages import blocks
from agents.pages.blocks import NamedText

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


LINES = "\n".join(f"line {number}" for number in range(30))


@pytest.mark.parametrize(
    ("text", "shown_end"),
    [
        ("one\ntwo", ""),
        (LINES, "line 19"),
        ("\n".join(LINES.split("\n")[:23]), ""),  # a few lines more are not worth a click
        ("word " * 600, "word"),
        ("x" * 3000, "x"),
    ],
)
def test_what_was_asked_at_length_is_folded(text: str, shown_end: str) -> None:
    block = blocks.asked_block(NamedText("input-0", text))
    assert (block.html + (block.rest or "")).replace("\n", "") == text.replace("\n", "")
    assert bool(block.rest) == bool(block.rest_size) == bool(shown_end)
    assert block.html.endswith(shown_end)
    assert not block.rest or len(block.html) <= blocks.FOLDED_CHARS


def test_of_a_large_text_as_much_is_shown_as_of_a_long_one() -> None:
    block = blocks.asked_block(NamedText("input-0", "word " * 10_000))
    assert (len(block.html) <= blocks.FOLDED_CHARS, block.rest, block.cut) == (True, None, "50 KB")
