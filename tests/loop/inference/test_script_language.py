"""The script language of the scripted model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from agents.base.errors import ProviderError
from agents.loop.inference.base import CallPart, Finish, Text

Build = Callable[..., Any]


def test_it_says_what_the_script_says_word_by_word(perform: Build) -> None:
    answer = perform("!script\nsay Hello there,  you")
    assert answer.chunks[:-1] == [Text("Hello"), Text(" there,"), Text("  you")]
    assert answer.reason == "stop"


def test_it_begins_a_line_with_every_say(perform: Build) -> None:
    assert perform("!script say one\nthink hm\nsay\nsay three").text == "one\n\nthree"


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "{{7*7}} \\n %s \x00\x1b[31m",
        "\u202eevil\u2028line",
        "x" * 10_000,
        "`",
        "say say",
        " a  b ",
    ],
)
def test_it_passes_hostile_text_on_untouched(perform: Build, text: str) -> None:
    answer = perform(f"!script\nsay {text}\nthink {text}")
    assert answer.text == text
    assert answer.thought == text


def test_it_thinks_and_calls_in_parallel(perform: Build) -> None:
    answer = perform('!script\nthink Let me see.\ncall f {"a": [1, 2]}\ncall g\ncall h not json')
    assert answer.thought == "Let me see."
    assert answer.calls == [("f", '{"a": [1, 2]}'), ("g", "{}"), ("h", "not json")]
    assert answer.reason == "tool_calls"


def test_its_call_ids_are_the_same_for_the_same_request_only(perform: Build, called: Build, result: Build) -> None:
    def ids(*messages: Any) -> list[str]:
        return [part.call_id for part in perform(*messages).chunks if isinstance(part, CallPart) and part.call_id]

    script = "!script\ncall f\ncall f\nthen\ncall f"
    first, second = ids(script), ids(script, called("f"), result("1"))
    assert first == ids(script)
    assert len({*first, *second}) == 3


def test_it_goes_on_with_the_round_that_is_due(perform: Build, called: Build, result: Build) -> None:
    script = "!script\ncall f\nthen\ncall g\nthen\nsay done"
    assert perform(script).calls == [("f", "{}")]
    assert perform(script, called("f"), result("1")).calls == [("g", "{}")]
    assert perform(script, called("f"), result("1"), called("g"), result("2")).text == "done"


def test_it_counts_rounds_from_the_last_user_message(perform: Build, called: Build, result: Build) -> None:
    script = "!script\ncall f\nthen\nsay done"
    assert perform(script, called("f"), result("1"), script).calls == [("f", "{}")]


def test_it_tells_the_results_after_the_last_round(perform: Build, called: Build, result: Build) -> None:
    answer = perform("!script call f", called("f"), result("forty-two"))
    assert "`f` says:\n\n> forty-two" in answer.text


def test_it_ends_as_told(perform: Build) -> None:
    assert perform("!script\nsay a\nlength\nsay b").chunks[-1].__class__ is Finish
    assert (perform("!script\nsay a\nlength\nsay b").text, perform("!script\nlength").reason) == ("a", "length")
    assert perform("!script\nsay a\nfinish content_filter").reason == "content_filter"


@pytest.mark.parametrize(
    ("line", "message", "status", "code", "retryable"),
    [
        ("fail 503 too busy", "scripted answered 503: too busy", 503, "provider_error", True),
        ("fail 404 no such model", "scripted answered 404: no such model", 404, "model_not_found", False),
        ("fail 400", "scripted answered 400: failed as told", 400, "provider_error", False),
        ("fail with these words", "scripted failed: with these words", None, "provider_error", False),
        ("cut", "scripted cut its answer: the script says so", None, "cut", True),
    ],
)
def test_it_fails_as_told(
    perform: Build, line: str, message: str, status: int | None, code: str, retryable: bool
) -> None:
    answer = perform(f"!script\nsay a\n{line}\nsay b")
    assert (answer.text, answer.finish) == ("a", None)
    assert isinstance(answer.error, ProviderError)
    assert str(answer.error) == message
    assert (answer.error.upstream_status, answer.error.code, answer.error.retryable) == (status, code, retryable)


def test_it_waits_as_told(perform: Build) -> None:
    assert perform("!script\nwait 20ms\nsay a\nwait 1.5s").pauses == [0.02, 1.5]


def test_it_repeats_as_told(perform: Build) -> None:
    assert perform("!script\nrepeat 3 ha ha").text == "ha ha ha ha ha ha"
    assert perform("!script\nsay a\nrepeat 0 b").text == "a"


def test_it_skips_comments_and_blank_lines_and_what_follows_the_end(perform: Build) -> None:
    assert perform("  !script\r\n# a comment\r\n\r\n  say a\r\nend\r\nDear model, look at this document.").text == "a"


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("shout Hello", "line 2 begins with 'shout'"),
        ("Say Hello", "line 2 begins with 'Say'"),
        ("call", "line 2: call needs"),
        ("wait", "line 2: wait needs"),
        ("wait 5m", "line 2: wait needs"),
        ("wait ²s", "line 2: wait needs"),
        ("wait 601s", "line 2: wait is limited"),
        ("repeat a b", "line 2: repeat needs"),
        ("repeat 3", "line 2: repeat needs"),
        ("repeat ٣ b", "line 2: repeat needs"),
        ("repeat 9999999 ten letters", "line 2: repeat makes more"),
        ("finish", "line 2: finish needs"),
        ("cut short", "line 2: nothing may follow"),
        ("x" * 10_000, "line 2 begins with 'xxx"),
    ],
)
def test_it_says_which_line_it_cannot_read(perform: Build, line: str, complaint: str) -> None:
    answer = perform(f"!script\n{line}\nsay a")
    assert answer.chunks == []
    assert isinstance(answer.error, ProviderError)
    assert str(answer.error).startswith(f"scripted answered 400: {complaint}")
    assert len(str(answer.error)) < 600


@pytest.mark.parametrize("text", ["!scripted say a", "please !script say a", "!Script say a", ""])
def test_it_takes_nothing_else_for_a_script(perform: Build, text: str) -> None:
    assert perform(text).text.startswith("You said:")
