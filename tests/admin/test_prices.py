"""Prices in the admin: added in dollars per million tokens, never changed."""

from __future__ import annotations

from typing import Any

import pytest

from agents.models import Price
from agents.models.fields import to_us
from agents.schemas.content import Usage
from agents.store import prices
from tests.admin.conftest import Browser
from tests.ui.markup import words

pytestmark = pytest.mark.django_db

LIST, ADD = "/admin/agents/price/", "/admin/agents/price/add/"
FIRST_US = 1_767_225_600_000_000
"""2026-01-01 00:00 UTC."""


def given(**more: str) -> dict[str, str]:
    fields = {"model": "gpt-4.1-mini", "starts_0": "2026-01-01", "starts_1": "00:00:00", "input_price": "0.40"}
    return {**fields, "cached_price": "0.1", "output_price": "1.6", **more}


def test_dollars_per_million_become_billionths_per_token(boss: Browser) -> None:
    assert boss.post(ADD, given()).status_code == 302
    price = Price.objects.get()
    assert (price.model, to_us(price.starts_at)) == ("gpt-4.1-mini", FIRST_US)
    assert (price.input_nano, price.cached_nano, price.output_nano) == (400, 100, 1600)
    assert "$0.400 $0.100 $1.600" in words(boss.read(LIST))


def test_a_step_is_charged_with_it_at_once(boss: Browser, django_capture_on_commit_callbacks: Any) -> None:
    usage = Usage(input_tokens=1_000_000, output_tokens=1_000_000)
    assert prices.cost("gpt-4.1-mini", usage, FIRST_US) == (None, None)
    with django_capture_on_commit_callbacks(execute=True):
        boss.post(ADD, given())
    assert prices.cost("gpt-4.1-mini", usage, FIRST_US)[0] == 2_000_000_000


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
