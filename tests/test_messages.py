"""The catalogues: complete, compiled, and true to the English in all that is not words."""

from __future__ import annotations

import gettext
import re
from collections.abc import Iterator

import pytest
from babel.messages.catalog import Catalog, Message

from tests import messages

languages = pytest.mark.parametrize("language", messages.LANGUAGES)
PLACEHOLDER = re.compile(r"%%s|%%|%\(\w+\)[sd]|%s")
TAG = re.compile(r"</?\w+[^>]*>")


@pytest.fixture(scope="module")
def template() -> Catalog:
    return messages.template()


@pytest.fixture(scope="module")
def catalogues() -> dict[str, Catalog]:
    return {language: messages.read(language) for language in messages.LANGUAGES}


def pairs(message: Message) -> Iterator[tuple[str, str]]:
    """Each form of a message with the English that it says."""
    if isinstance(message.string, tuple):
        for number, form in enumerate(message.string):
            yield message.id[min(number, 1)], form
    else:
        assert isinstance(message.string, str)
        yield str(message.id), message.string


def key(message: Message) -> tuple[str | None, object]:
    return message.context, message.id


def test_all_kinds_of_words_are_found(template: Catalog) -> None:
    """One of each: Python, a table of it, Django's templates, with a number, with a context, the rows, the fields."""
    found = {(message.context, message.id) for message in template}
    for words in (
        (None, "Your account may not do this."),
        (None, "in progress"),
        (None, "Skip to the content"),
        (None, ("%(n)s step before", "%(n)s steps before")),
        ("keyboard", "Keys"),
        (None, ("%(num)s step", "%(num)s steps")),
        (None, "why it failed"),
    ):
        assert words in found


@languages
def test_every_message_is_translated(language: str, template: Catalog, catalogues: dict[str, Catalog]) -> None:
    """`make messages` brings a catalogue up to the code; what it then prints is to be translated."""
    there = catalogues[language]
    wanted = {key(message) for message in template if message.id}
    assert wanted - {key(message) for message in there} == set(), "run make messages"
    assert {key(message) for message in there if message.id} - wanted == set(), "run make messages"
    assert [message.id for message in there if message.id and not all(form for _id, form in pairs(message))] == []
    assert [message.id for message in there if message.fuzzy and message.id] == []


@languages
def test_what_is_compiled_is_what_is_written(language: str, catalogues: dict[str, Catalog]) -> None:
    path = messages.po(language)
    assert path.with_suffix(".mo").read_bytes() == messages.compiled(catalogues[language]), "run make messages"
    assert path.read_bytes() == messages.written(catalogues[language]), "run make messages"


@languages
def test_a_translation_keeps_placeholders_and_tags(language: str, catalogues: dict[str, Catalog]) -> None:
    for message in catalogues[language]:
        if not message.id:
            continue
        for english, form in pairs(message):
            assert sorted(PLACEHOLDER.findall(form)) == sorted(PLACEHOLDER.findall(english)), message.id
            assert sorted(TAG.findall(form)) == sorted(TAG.findall(english)), message.id
            assert form.count("<") == english.count("<"), message.id
            assert form == form.strip(), message.id
            assert "{{" not in form, message.id


@languages
def test_a_translation_can_be_filled_in(language: str, catalogues: dict[str, Catalog]) -> None:
    """A percent sign of its own is doubled, also where a language sets it differently."""
    for message in catalogues[language]:
        if message.id and "python-format" in message.flags:
            for _english, form in pairs(message):
                names = re.findall(r"%\((\w+)\)", form)
                assert form % {**dict.fromkeys(names, 1)}


@languages
def test_numbers_choose_their_form(language: str) -> None:
    with messages.po(language).with_suffix(".mo").open("rb") as file:
        words = gettext.GNUTranslations(file)
    one, many = (words.ngettext("%(n)s hour", "%(n)s hours", number) for number in (1, 2))
    assert one != many
    assert (words.ngettext("%(n)s hour", "%(n)s hours", 0) == one) == (language == "fr")


RETIRED = (
    "What is going on|Dearest|beside as much time|Who and what|How it is doing|Its turns|Given and got|Steps to scale|"
    "Make the agent|Make the key|It may$|It expires after|Choose rows|all that match|^Go on$|piece by piece|"
    "Tells the model that it may|Send the answer|Answer as the client|Fix the times|drawn short|cannot be read yet|"
    "There is no word in that|it only speaks|Price those|nobody knows|as the files say|told by each file|"
    "Traces without a turn|tells of no agent|Put this query in|Keep to myself|Share with those|Tokens at most|"
    "answered by the client|for good|at present|what is said|What was told"
)
"""Words that pages once had and nobody else uses."""


def test_pages_have_none_of_the_words_that_nobody_uses(template: Catalog) -> None:
    texts = [text for message in template for text in ([message.id] if isinstance(message.id, str) else message.id)]
    assert [text for text in texts if re.search(RETIRED, text, re.IGNORECASE)] == []
