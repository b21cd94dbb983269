"""In a copy of the project: the added page of senders."""

from __future__ import annotations

import pytest
from django.test import Client

from tests.support.pages.markup import words


@pytest.mark.django_db
def test_the_page_is_there(client: Client) -> None:
    answer = client.get("/senders/")
    assert answer.status_code == 200
    assert "Senders the one" in words(answer.content.decode())
