"""What stands for a turn's input in lists: what a user asked, not what a program tells a model beside it."""

from __future__ import annotations

import pytest

from agents.record.schemas.content import UserMessage
from agents.record.schemas.turn_body import TurnBodyDraft, body_columns

OF_PROGRAM = [
    "<environment_context>\n<cwd>/src</cwd>\n</environment_context>",
    "# AGENTS.md instructions for /src\n\n<INSTRUCTIONS>\nBe brief.\n</INSTRUCTIONS>\n",
    "\n  <time>noon</time>  \n",
]
OF_USER = ["<b>Hello</b>, you", "# A heading\nand words", "<", "<>", "a < b > c", "</a>", "<a>", "# <a>", "<1></1>", ""]
HOSTILE = [
    "# " + "<a>" * 1_000_000,
    "<a>" * 1_000_000 + "x",
    "<" + "a" * 3_000_000,
    "<a>" + "</a " * 1_000_000,
    "#\n" * 10**6,
]


def preview(*texts: str) -> str:
    return str(body_columns(TurnBodyDraft([UserMessage(content=text) for text in texts], "{}", {}))[0])


@pytest.mark.parametrize("text", OF_PROGRAM)
def test_what_a_program_says_is_left_out(text: str) -> None:
    assert preview(text, "What is it?") == "What is it?"
    assert preview("What is it?", text) == "What is it?"
    assert preview(text) == " ".join(text.split())  # there is nothing else


@pytest.mark.parametrize("text", OF_USER)
def test_what_a_user_says_stays(text: str) -> None:
    assert preview(text, "What is it?") == " ".join(f"{text}\nWhat is it?".split())


@pytest.mark.timeout(20)
@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_a_long_text_is_not_read_again_and_again(text: str) -> None:
    """An expression over the whole of it took time in the square of its length."""
    assert preview(text, "What is it?")
