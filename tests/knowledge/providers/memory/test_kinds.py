"""What a file is read as."""

from __future__ import annotations

import pytest

from agents.knowledge.providers.memory import kinds

OCTETS = "application/octet-stream"


@pytest.mark.parametrize(
    ("name", "said", "head", "kind"),
    [
        ("a.txt", "text/plain", b"x", "text/plain"),
        ("a.html", "text/plain; charset=latin-1", b"<p>", "text/plain; charset=latin-1"),
        ("a.md", OCTETS, b"# x", "text/markdown"),
        ("A.PDF", OCTETS, b"no pdf", "application/pdf"),
        ("a.bin", OCTETS, b"%PDF-1.7", "application/pdf"),
        ("a.ts", "video/mp2t", b"let x = 1", "text/plain"),
        ("noending", "", b"words", "text/plain"),
        ("noending", "", "wö".encode()[:-1], "text/plain"),
        ("a.zip", "application/zip", b"PK\x03\x04\0", "application/zip"),
        ("a.png", "image/png", b"only words", "image/png"),
        ("a", "", b"\xff\xfe\xff\xff\xff\xff", OCTETS),
        ("a", "", b"", "text/plain"),
    ],
)
def test_a_file_is_what_it_says_or_looks_like(name: str, said: str, head: bytes, kind: str) -> None:
    assert kinds.of_file(name, said, head) == kind
