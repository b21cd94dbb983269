"""JSON as a tree, a branch at a time."""

from __future__ import annotations

import json

import pytest

from agents.uikit import json_tree
from agents.uikit.json_tree import PAGE_SIZE, branch, read_path, value_at

VALUE = {
    "a": {"b/c": [1, {"~d": "<x>"}]},
    "n": 12345678901234567890,
    "empty": {},
    "long": "é" * 5_000,
}
BODY = json.dumps(VALUE).encode()


def test_it_reads_the_members_of_the_whole() -> None:
    found = branch(BODY, ())
    assert found is not None
    assert [(one.name, one.kind, one.path) for one in found.members] == [
        ("a", "branch", "0"),
        ("n", "leaf", ""),
        ("empty", "leaf", ""),
        ("long", "leaf", ""),
    ]
    assert "12345678901234567890" in found.members[1].html
    assert found.members[3].cut == "30 KB"


def test_it_goes_down_a_path() -> None:
    found = branch(BODY, (0, 0, 1))
    assert found is not None
    assert [(one.name, one.pointer) for one in found.members] == [("~d", "/a/b~1c/1/~0d")]
    assert found.members[0].html == '<span class="j-str">"&lt;x&gt;"</span>'
    assert found.trail == (("a", "0"), ("b/c", "0.0"), ("1", "0.0.1"))
    assert value_at(BODY, (0, 0, 1)) == b'{"~d": "<x>"}'


@pytest.mark.parametrize("path", [(9,), (1, 0), (0, 0, 7)])
def test_a_path_that_leads_nowhere(path: tuple[int, ...]) -> None:
    assert branch(BODY, path) is None


def test_many_members_come_in_pages() -> None:
    body = json.dumps(list(range(450))).encode()
    pages = [branch(body, (), first) for first in (0, PAGE_SIZE, 2 * PAGE_SIZE)]
    assert [(page.members[0].name, page.last, page.next_first) for page in pages if page] == [
        ("0", 200, 200),
        ("200", 400, 400),
        ("400", 450, 0),
    ]


@pytest.mark.parametrize("body", [b"", b"no", b'{"a": ', b"[" * 100_000, b'"text"', b"\xff{"])
def test_what_is_no_tree_is_none(body: bytes) -> None:
    assert branch(body, ()) is None


@pytest.mark.parametrize("text", ["x", "1..2", "-1", "1." * 300, "9" * 30])
def test_what_is_no_path_is_none(text: str) -> None:
    assert read_path(text) is None


def test_ten_megabytes_open_member_by_member() -> None:
    body = json.dumps([{"order": n, "lines": [{"sku": f"K-{n}"}] * 8} for n in range(40_000)]).encode()
    found = branch(body, (39_999, 1))
    assert found is not None
    assert found.total == 8
    assert json_tree.looks_like_json(body[:10])
