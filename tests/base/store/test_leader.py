"""One process of a database leads, and another when that has ended."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.db import connection

from agents.base.store.leader import Leader
from tests.base.store.test_claims import end_other_connections

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def two() -> Iterator[tuple[Leader, Leader]]:
    both = Leader(), Leader()
    yield both
    for each in both:
        each.resign()


def test_one_leads_until_it_resigns(two: tuple[Leader, Leader]) -> None:
    one, other = two
    assert not one.leads
    assert [one.renew(), other.renew(), one.renew()] == [True, False, True]
    assert (one.leads, other.leads) == (True, False)
    one.resign()
    assert not one.leads
    assert [other.renew(), one.renew()] == [True, False]


def test_who_loses_its_connection_may_lose_the_lead(two: tuple[Leader, Leader]) -> None:
    if connection.vendor != "postgresql":
        pytest.skip("a file is not lost")
    one, other = two
    one.renew()
    end_other_connections()
    assert [other.renew(), one.renew()] == [True, False]
