"""What models say, as HTML: formatted where it is harmless, harmless always."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.uikit.markdown import plain, to_html
from tests.support.pages.markup import elements, unsafe, words

HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "[click](javascript:alert(1))",
    "[click](  JaVaScRiPt:alert(1))",
    "[click](data:text/html;base64,PHNjcmlwdD4=)",
    "![x](javascript:alert(1))",
    "![x](https://elsewhere.example/pixel.gif)",
    '![" onerror="alert(1)](https://x.example/"onerror=alert(1))',
    "![x](data:image/svg+xml;base64,PHN2Zz4=)",
    '<https://x.example/" onmouseover=alert(1)>',
    "```html\n<script>alert(1)</script>\n```",
    '```"><script>alert(1)</script>\nx\n```',
    "| <b>a</b> |\n|-|\n| <i onclick=x>b</i> |",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "<svg/onload=alert(1)>\n\n<style>*{}</style>",
    "[a]: javascript:alert(1)\n\n[a]",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_it_lets_nothing_hostile_through(text: str) -> None:
    assert unsafe(to_html(text)) == []


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="<>[]()!*_`|&\"'#-=:/\\ \nabj\u202e0", max_size=80))
def test_it_is_harmless_whatever_the_text(text: str) -> None:
    assert unsafe(to_html(text)) == []


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from(HOSTILE), min_size=1, max_size=4), st.sampled_from(["", "\n", "\n\n", " ", "> ", "- "]))
def test_it_is_harmless_however_hostile_texts_are_put_together(texts: list[str], between: str) -> None:
    assert unsafe(to_html(between.join(texts))) == []


def test_it_formats_what_models_write() -> None:
    html = to_html("# Title\n\nIt is **so**, see:\n\n- one\n- `two`\n\n| a |\n|-|\n| 1 |")
    assert [tag for tag in ("h3", "strong", "ul", "code", "table") if not elements(html, tag)] == []


def test_it_keeps_headings_below_those_of_the_page() -> None:
    assert "<h1" not in to_html("# a")
    assert "<h2" not in to_html("# a")
    assert re.findall(r"<h\d", to_html("\n".join(f"{'#' * level} a" for level in range(1, 7)))) == [
        *("<h3", "<h4", "<h5"),
        *["<h6"] * 3,
    ]


@pytest.mark.parametrize(
    ("text", "levels"),
    [
        ("## First\n### Under it\n## Second", [3, 4, 3]),
        ("### Deep first\n# Higher\n#### Far below\n## Between", [3, 3, 4, 4]),
        ("# One\n\n> ### Quoted\n\n- ## In a list", [3, 4, 4]),
        ("Setext\n---\n\n###### Last", [3, 4]),
    ],
)
def test_its_headings_leave_out_no_level(text: str, levels: list[int]) -> None:
    assert [int(level) for level in re.findall(r"<h(\d)>", to_html(text))] == levels


def test_it_keeps_single_line_breaks() -> None:
    assert to_html("one\ntwo") == "<p>one<br>two</p>"
    assert "<br>" in to_html("**one**\ntwo")


def test_it_says_where_a_link_leads() -> None:
    html = to_html("[your bank](https://evil.example/login)")
    assert "evil.example" in words(html)
    assert elements(html, "a") == [{"href": "https://evil.example/login", "rel": "noopener nofollow noreferrer"}]


def test_it_says_so_too_where_the_words_look_like_another_address() -> None:
    assert "evil.example" in words(to_html("[https://bank.example](https://evil.example)"))


def test_it_does_not_repeat_an_address_that_is_shown() -> None:
    assert words(to_html("<https://ok.example/a>")) == "https://ok.example/a"


def test_it_makes_no_links_into_the_product_itself() -> None:
    html = to_html("[free money](/keys/) and [more](//evil.example/x)")
    assert [link.get("href") for link in elements(html, "a")] == [None, None]


def test_it_turns_an_image_from_outside_into_a_link() -> None:
    html = to_html("![a cat](https://cats.example/1.png)")
    assert elements(html, "img") == []
    assert elements(html, "a")[0]["href"] == "https://cats.example/1.png"
    assert words(html) == "a cat cats.example"


def test_it_shows_an_image_that_came_along() -> None:
    assert elements(to_html("![dot](data:image/png;base64,iVBORw0KGgo=)"), "img") == [
        {"src": "data:image/png;base64,iVBORw0KGgo=", "alt": "dot"}
    ]


def test_it_highlights_code_of_known_languages_only() -> None:
    assert elements(to_html("```python\ndef f(): pass\n```"), "span")
    assert not elements(to_html("```brainfuck\n+++\n```"), "span")


@pytest.mark.parametrize(
    "text",
    [">" * 200 + "\n" + "words\n" * 500, "- " * 40 + "words", "\n".join("  " * n + "- words" for n in range(40))],
    ids=["quotes", "lists in a line", "lists by indentation"],
)
def test_it_loses_no_words_however_deep_they_are_nested(text: str) -> None:
    assert words(to_html(text)).count("words") == text.count("words")


@pytest.mark.parametrize(
    "text",
    [
        "|a" * 300 + "\n" + "|-" * 300 + "\n" + "|\n" * 9000,
        "[" * 20_000,
        "![" * 10_000,
        "*a **b " * 2_800,
        "```java\n" + "(" * 19_000 + "\n```",
        "\n" * 19_000 + "x",
    ],
    ids=["wide table", "brackets", "images", "emphasis", "code", "blank lines"],
)
def test_it_is_not_slow_or_large_for_text_made_to_be_so(text: str) -> None:
    before = time.process_time()
    html = to_html(text)
    assert time.process_time() - before < 3, "seconds of CPU; about 0.5 where this was written"
    assert len(html) < 40 * len(text)


def test_it_writes_plain_text_as_paragraphs_and_lines() -> None:
    assert plain("a <b>\nc\n\n\nd") == "<p>a &lt;b&gt;<br>c</p><p>d</p>"
    assert to_html("") == ""
