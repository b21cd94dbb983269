"""The text of documents of all kinds, and those that have none."""

from __future__ import annotations

import asyncio
import base64
import encodings
import time
import zlib

import pytest

from agents.base.errors import InvalidRequest
from agents.knowledge.providers.memory import pdf, texts
from agents.knowledge.providers.memory.texts import MAX_BYTES, Raw
from tests.support.pdf import HELLO, make_pdf


def text_of(data: bytes, mime_type: str, charset: str = "utf-8") -> str:
    return asyncio.run(texts.text_of(Raw(data, mime_type, charset), "documents.0"))


def refusal(data: bytes, mime_type: str, charset: str = "utf-8") -> InvalidRequest:
    with pytest.raises(InvalidRequest) as raised:
        text_of(data, mime_type, charset)
    assert raised.value.message.startswith("documents.0: ")
    return raised.value


@pytest.mark.parametrize(
    ("data", "mime_type", "words"),
    [
        ("Straße".encode(), "text/plain", "Straße"),
        ("Straße".encode("latin-1"), "text/plain; charset=latin-1", "Straße"),
        ("\ufeffKettle".encode(), "text/markdown", "Kettle"),
        ("Kettle".encode("utf-16"), "text/plain", "Kettle"),
        (b'{"a": 1}', "application/json", '{"a": 1}'),
        (b"a: 1", "application/yaml", "a: 1"),
        (b"name,colour\nkettle,blue\n\ncup,\n", "text/csv", "name: kettle; colour: blue\nname: cup"),
        (b"just one line", "text/csv", "just one line"),
        (
            b"<p>One<br>two &amp; <b>three</b><script>x</script><!-- no --><li>four",
            "text/html",
            "One\ntwo & three\nfour",
        ),
        (b"<style>p{}</style><table><tr><td>a</td><td>b</td></tr></table>", "text/html", "a\nb"),
    ],
)
def test_words_are_read(data: bytes, mime_type: str, words: str) -> None:
    main, charset = texts.kind(mime_type)

    assert text_of(data, main, charset) == words


def test_what_is_no_text_is_refused() -> None:
    assert refusal(b"PK\x03\x04", "application/zip").code == "document_type"
    assert refusal(b"\x7fELF\0\0", "text/plain").code == "document_type"
    assert refusal(b"\xff\xfe\xfd", "text/plain").code == "document_type"
    for charset in ("klingon", "utf-7", "punycode", "unicode_escape", "zlib", "x" * 10_000_000, "../os", "a\0b"):
        assert "charset" in refusal(b"x", "text/plain", charset).message
    assert refusal(b"\0" * (MAX_BYTES + 1), "text/plain").code == "document_too_large"


def test_names_of_charsets_are_not_remembered() -> None:
    """Python would keep every one that it was ever asked for, however long."""
    for number in range(20):
        refusal(b"x", "text/plain", f"klingon {number}")
    assert not [name for name in encodings._cache if "klingon" in name]  # its own memory


@pytest.mark.parametrize(
    "charset", ["UTF-8", "utf8", "ascii", "iso-8859-15", "windows-1252", "koi8-r", "shift_jis", "gb18030"]
)
def test_charsets_of_documents_are_known(charset: str) -> None:
    assert text_of(b"kettle", "text/plain", charset) == "kettle"


def test_a_table_does_not_grow_without_end() -> None:
    """The names of its columns stand in each of its rows."""
    assert refusal(b"n" * 100_000 + b",b\n" + b"1,2\n" * 1_000_000, "text/csv").code == "document_too_large"


def test_a_row_that_nobody_means_is_no_table() -> None:
    text = "a,b\n" + '"x\n",' * 100_000
    assert texts.plain_text(text, "text/csv", "x") == text


def test_hostile_html_costs_little() -> None:
    began = time.process_time()
    for piece in ("<!--", "<a ", "<div><", "&", "<svg>"):
        texts.plain_text(piece * 100_000, "text/html", "x")
    assert time.process_time() - began < 5


@pytest.mark.parametrize(
    ("url", "data", "mime_type"),
    [
        ("data:,hi%20there", b"hi there", "text/plain"),
        ("data:text/html;charset=utf-8,<p>x", b"<p>x", "text/html"),
        ("data:image/png;base64,aGk=", b"hi", "image/png"),
    ],
)
def test_data_urls(url: str, data: bytes, mime_type: str) -> None:
    raw = texts.from_data_url(url, "documents.0")

    assert (raw.data, raw.mime_type) == (data, mime_type)


@pytest.mark.parametrize("url", ["data:text/plain", "data:;base64,a", "data:;base64,????"])
def test_data_urls_that_are_none(url: str) -> None:
    with pytest.raises(InvalidRequest, match=r"documents\.0"):
        texts.from_data_url(url, "documents.0")


# -------------------------------------------------------------------------------------------------- PDF


def test_a_pdf_is_read() -> None:
    assert text_of(make_pdf(HELLO), "application/pdf") == "Hello from a PDF"
    assert text_of(make_pdf(zlib.compress(HELLO), b"/Filter /FlateDecode", 2), "application/pdf").count("Hello") == 2


def test_a_pdf_that_is_none() -> None:
    assert "it is no PDF" in refusal(b"<html>", "application/pdf").message
    assert refusal(b"%PDF-1.4\nnothing", "application/pdf").code == "document_unreadable"
    assert refusal(make_pdf(b""), "application/pdf").code == "document_unreadable"


def test_a_pdf_that_grows_is_stopped() -> None:
    """A gigabyte of blanks, squeezed twice."""
    bomb = zlib.compress(zlib.compress(b" " * 2**26, 1) * 16, 1)

    assert (
        refusal(make_pdf(bomb, b"/Filter [/FlateDecode /FlateDecode]"), "application/pdf").code == "document_unreadable"
    )


def test_a_pdf_that_never_ends_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pdf, "TIMEOUT_S", 0)

    assert "took longer than 0 s" in refusal(make_pdf(HELLO), "application/pdf").message


def test_a_document_becomes_a_data_url() -> None:
    assert texts.data_url(Raw(b"hi", "image/png")) == f"data:image/png;base64,{base64.b64encode(b'hi').decode()}"
