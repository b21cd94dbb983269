"""Two turns side by side on a page."""

from __future__ import annotations

import pytest
from django.test import Client

from agents.base import ids
from agents.base.store import keys
from tests.loop.test_loop import tool
from tests.support.builders import make_response, make_turn
from tests.support.pages.markup import elements

pytestmark = pytest.mark.django_db

ONE = 'call lookup {"query": "a"}\nthen\nsay Done.'
MORE = 'call lookup {"query": "a"}\ncall other {"query": "new"}\nthen\nsay Done.'


def turn(script: str) -> str:
    tools = {**tool("lookup"), **tool("other")}
    return make_turn(keys.local(), script, server_tools=tools).public_id


def page(url: str, status: int = 200) -> str:
    answer = Client().get(url)
    assert answer.status_code == status
    return answer.content.decode()


def kinds(text: str) -> list[str]:
    return [one["data-kind"] for one in elements(text, "li") if "data-kind" in one]


def test_one_inserted_call_is_one_insertion() -> None:
    text = page(f"/turns/{turn(ONE)}/compare/{turn(MORE)}/")
    assert kinds(text).count("inserted") == 1
    assert "1 inserted, 0 deleted" in " ".join(text.split())
    assert "only in the second" in text
    assert "<ins>" in text


def test_what_is_the_same_is_folded_and_left_out_where_only_differences_are_wanted() -> None:
    one, other = turn(ONE), turn(ONE)
    text = page(f"/turns/{one}/compare/{other}/")
    assert kinds(text) == ["same"]
    assert "All steps are the same." in text
    only = page(f"/turns/{one}/compare/{other}/?only=differences")
    assert kinds(only) == []
    assert "No step differs." in only


def test_numbers_say_how_they_differ() -> None:
    text = page(f"/turns/{turn('say One.')}/compare/{turn('say One and two and three.')}/")
    assert "time to first token" in text
    assert "+" in text
    assert "<del>" in text


def test_a_long_comparison_is_paged() -> None:
    long = "\nthen\n".join(f'call lookup {{"query": "{number}"}}' for number in range(70)) + "\nthen\nsay Done."
    tools = {**tool("lookup")}
    one = make_turn(keys.local(), long, server_tools=tools, max_infer_iters=200).public_id
    other = make_turn(keys.local(), long.replace('"query"', '"what"'), server_tools=tools, max_infer_iters=200)
    text = page(f"/turns/{one}/compare/{other.public_id}/")
    assert len(kinds(text)) == 100
    assert "?from=100" in text
    assert len(kinds(page(f"/turns/{one}/compare/{other.public_id}/?from=100"))) == 41


def test_two_chosen_turns_lead_to_their_comparison() -> None:
    one, other = turn("say One."), turn("say Two.")
    answer = Client().get("/turns/compare/", {"a": one, "b": f"http://testserver/turns/{other}/?view=raw"})
    assert answer.headers["Location"] == f"/turns/{one}/compare/{other}/"
    assert 'name="b"' in page(f"/turns/compare/?a={one}")
    assert 'role="alert"' in page(f"/turns/compare/?a={one}&b=nothing", 400)
    assert "/turns/compare/" in page(f"/turns/{one}/")


def test_a_response_and_a_turn_are_compared() -> None:
    other = ids.public(ids.Kind.TURN, make_response(keys.local(), "say One.").turn)
    assert kinds(page(f"/turns/{turn('say One.')}/compare/{other}/")) == ["same"]


@pytest.mark.parametrize("other", ["no-id", "00000000-0000-4000-8000-000000000000"])
def test_what_is_not_there_is_404(other: str) -> None:
    one = turn("say One.")
    page(f"/turns/{one}/compare/{other}/", 404)
    page(f"/turns/{other}/compare/{one}/", 404)


def test_a_page_needs_a_bounded_number_of_queries(django_assert_max_num_queries: object) -> None:
    one, other = turn(ONE), turn(MORE)
    with django_assert_max_num_queries(40):  # type: ignore[operator]  # a fixture
        page(f"/turns/{one}/compare/{other}/")
