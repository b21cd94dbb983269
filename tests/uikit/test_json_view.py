"""Values as people read them: laid out, true to the letter, and never more than a page can bear."""

from __future__ import annotations

import pytest

from agents.uikit.json_view import MAX_CHARS, byte_size, render_value
from tests.support.pages.markup import elements, unsafe, words


def text_of(value: str) -> str:
    """What is read, line breaks kept."""
    html = render_value(value).html
    assert unsafe(html) == []
    out = str(html)
    for tag in ("</span>", '<span class="j-key">', '<span class="j-str">', '<span class="j-num">'):
        out = out.replace(tag, "")
    return out


def test_it_writes_a_short_value_on_one_line() -> None:
    assert text_of('{"order":8836,"ok":true}') == '{"order": 8836, "ok": true}'


def test_it_lays_a_long_value_out() -> None:
    lines = text_of('{"a":"%s","b":[1,2]}' % ("x" * 90)).splitlines()
    assert lines[0] == "{"
    assert lines[2:4] == ['  "b": [', "    1,"]


def test_it_keeps_numbers_as_they_were_written() -> None:
    assert text_of('{"a":129.0,"b":1e400,"c":-0,"d":12345678901234567890}') == (
        '{"a": 129.0, "b": 1e400, "c": -0, "d": 12345678901234567890}'
    )


def test_it_tells_keys_from_strings() -> None:
    classes = [span["class"] for span in elements(render_value('{"a": "a"}').html, "span")]
    assert classes == ["j-key", "j-str"]


@pytest.mark.parametrize("text", ["plain words", "", "{not json", "[1, 2", "12", '"quoted"', "[" * 5_000])
def test_it_shows_what_is_no_object_or_list_as_it_is(text: str) -> None:
    value = render_value(text)
    assert not value.is_json
    assert words(value.html) == text


def test_it_escapes_what_is_in_values() -> None:
    assert text_of('{"<b>":"<script>&amp;\\""}') == '{"&lt;b&gt;": "&lt;script&gt;&amp;amp;\\""}'


def test_it_shows_the_beginning_of_a_large_value_and_says_how_large_it_is() -> None:
    value = render_value('{"rows": [' + ", ".join(["12345678"] * 40_000) + "]}")
    assert value.cut == "400 KB"
    assert len(words(value.html)) <= MAX_CHARS
    assert unsafe(value.html) == []


def test_it_says_nothing_of_size_where_all_is_shown() -> None:
    assert render_value('{"a": 1}').cut == ""


def test_it_makes_visible_what_would_hide_or_turn_text() -> None:
    assert words(render_value("safe\u202eexe.txt\x1b[31m").html) == "safe U+202E exe.txt U+001B [31m"
    assert words(render_value('{"a": "\u2066b"}').html) == '{ "a" : " U+2066 b" }'


@pytest.mark.parametrize(
    ("octets", "said"), [(0, "0 B"), (999, "999 B"), (1_000, "1 KB"), (312_400, "312 KB"), (1_440_000, "1.4 MB")]
)
def test_it_says_sizes(octets: int, said: str) -> None:
    assert byte_size(octets) == said


@pytest.mark.parametrize("key", ["s", "ss"])
def test_a_string_cut_between_an_escape_and_what_it_escapes_is_one_string(key: str) -> None:
    """Read from each of its quotes to its end, a page of one would take seconds."""
    spans = elements(render_value(f'{{"{key}": "' + '\\"' * MAX_CHARS + '"}').html, "span")
    assert [span["class"] for span in spans] == ["j-key", "j-str"]
