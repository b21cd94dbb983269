"""Prices in the admin: added in dollars per million tokens, never changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from agents.base.access import Actor
from agents.base.timestamps import to_us
from agents.record.models.prices import Price
from agents.record.schemas.content import Usage
from agents.record.store import costs
from tests.fixtures.admin import Browser
from tests.support.builders import make_turn
from tests.support.pages.markup import words

pytestmark = pytest.mark.django_db

LIST, ADD = "/admin/agents/price/", "/admin/agents/price/add/"
FIRST_US = 1_767_225_600_000_000
"""2026-01-01 00:00 UTC."""


def given(**more: str) -> dict[str, str]:
    fields = {"model": "own-mini", "starts_0": "2026-01-01", "starts_1": "00:00:00", "input_price": "0.40"}
    return {**fields, "cached_price": "0.1", "output_price": "1.6", **more}


def test_dollars_per_million_become_billionths_per_token(boss: Browser) -> None:
    assert boss.post(ADD, given()).status_code == 302
    price = Price.objects.get()
    assert (price.model, to_us(price.starts_at)) == ("own-mini", FIRST_US)
    assert (price.input_nano, price.cached_nano, price.output_nano) == (400, 100, 1600)
    assert "$0.400 $0.100 $1.600" in words(boss.read(LIST))


def test_a_step_is_charged_with_it_at_once(boss: Browser, django_capture_on_commit_callbacks: Any) -> None:
    usage = Usage(input_tokens=1_000_000, output_tokens=1_000_000)
    assert costs.cost("own-mini", usage, FIRST_US) == (None, None)
    with django_capture_on_commit_callbacks(execute=True):
        boss.post(ADD, given())
    assert costs.cost("own-mini", usage, FIRST_US)[0] == 2_000_000_000


def test_the_price_of_cached_input_may_be_left_out(boss: Browser) -> None:
    boss.post(ADD, given(cached_price=""))
    assert Price.objects.get().cached_nano is None


WRONG: list[tuple[dict[str, str], str]] = [
    ({"model": ""}, "model"),
    ({"input_price": ""}, "input_price"),
    ({"input_price": "-1"}, "input_price"),
    ({"input_price": "NaN"}, "input_price"),
    ({"input_price": "1e400"}, "input_price"),
    ({"output_price": "0.0001"}, "output_price"),
    ({"starts_0": "soon"}, "starts"),
    ({"starts_0": ""}, "starts"),
]


@pytest.mark.parametrize(("fields", "wrong"), WRONG)
def test_what_is_no_price_is_refused(boss: Browser, fields: dict[str, str], wrong: str) -> None:
    answer = boss.post(ADD, given(**fields))
    assert answer.status_code == 200
    assert list(answer.context["adminform"].form.errors) == [wrong]
    assert not Price.objects.exists()


def test_a_second_price_from_the_same_moment_is_refused(boss: Browser) -> None:
    boss.post(ADD, given())
    answer = boss.post(ADD, given(input_price="9"))
    assert "prices never change, so take a later one" in words(answer.content.decode())
    boss.post(ADD, given(input_price="9", starts_1="00:00:01"))
    assert list(Price.objects.order_by("starts_at").values_list("input_nano", flat=True)) == [400, 9000]


def test_a_price_is_never_changed_or_deleted(boss: Browser) -> None:
    boss.post(ADD, given())
    price = Price.objects.get()
    boss.read(f"{LIST}{price.pk}/change/")
    assert boss.post(f"{LIST}{price.pk}/change/", given(input_price="9")).status_code == 403
    assert boss.post(f"{LIST}{price.pk}/delete/", {"post": "yes"}).status_code == 403
    boss.act(LIST, "delete_selected", price.pk, post="yes")
    assert Price.objects.get().input_nano == 400


def test_an_end_has_no_amounts(boss: Browser) -> None:
    boss.post(ADD, given())
    wrong = boss.post(ADD, given(closes="on", starts_0="2026-02-01"))
    assert set(wrong.context["adminform"].form.errors) == {"input_price", "cached_price", "output_price"}
    nothing = {"input_price": "", "cached_price": "", "output_price": "", "starts_0": "2026-02-01"}
    assert boss.post(ADD, given(closes="on", **nothing)).status_code == 302
    assert list(Price.objects.order_by("starts_at").values_list("closes", flat=True)) == [False, True]


def test_reasoning_may_have_a_price_of_its_own(boss: Browser) -> None:
    boss.post(ADD, given(reasoning_price="2.5"))
    assert Price.objects.get().reasoning_nano == 2500


def test_the_list_says_which_price_is_in_force(boss: Browser) -> None:
    boss.post(ADD, given())
    boss.post(ADD, given(starts_0="2026-02-01"))
    boss.post(ADD, given(starts_0="2199-02-01"))
    read = words(boss.read(LIST))
    assert read.count("current") == 1
    assert read.index("2199") < read.index("current") < read.index("1 Jan 2026")


def test_a_list_is_imported_as_text_or_file(boss: Browser) -> None:
    boss.read(f"{LIST}import/")
    text = '[{"model": "a", "input": 1, "output": 2}, {"model": "b", "input": "0.1", "output": 2, "cached": 0}]'
    answer = boss.post(f"{LIST}import/", {"text": text}, follow=True)
    assert "2 prices added, 0 were already known." in words(answer.content.decode())
    file = SimpleUploadedFile("prices.json", text.encode(), "application/json")
    answer = boss.post(f"{LIST}import/", {"file": file}, follow=True)
    assert "0 prices added, 2 were already known." in words(answer.content.decode())
    assert Price.objects.get(model="b").cached_nano == 0


@pytest.mark.parametrize(
    "text", ["", "{", "[{}]", '[{"model": "a"}]', '[{"model": "a\\u0000", "input": 1, "output": 1}]']
)
def test_a_list_that_is_none_is_refused(boss: Browser, text: str) -> None:
    answer = boss.post(f"{LIST}import/", {"text": text})
    assert answer.status_code == 200
    assert answer.context["form"].errors
    assert not Price.objects.exists()


def test_what_was_used_before_gets_its_price(boss: Browser, admin: Actor) -> None:
    make_turn(admin)
    boss.post(f"{LIST}import/", {"text": '[{"model": "scripted/*", "input": 1, "output": 2}]'})
    answer = boss.post(f"{LIST}apply/", follow=True)
    assert "1 steps priced; 0 have no price." in words(answer.content.decode())
    assert boss.get(f"{LIST}apply/").status_code == 405


def test_only_who_may_add_prices_imports_and_applies_them(staff: Callable[..., Browser]) -> None:
    reader = staff("ana", "view_price")
    for path in ("import/", "apply/"):
        assert reader.post(LIST + path, {"text": "[]"}).status_code == 403
    assert "Import prices" not in words(reader.read(LIST))
