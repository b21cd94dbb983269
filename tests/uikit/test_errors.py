"""Errors as pages: the right status, the words of the error, a way on, and no database."""

from __future__ import annotations

import pytest
from django.test import RequestFactory
from markupsafe import escape

from agents.base.errors import AgentsError, InvalidRequest, NotAllowed, NotFound, Unavailable
from agents.uikit.errors import error_page


@pytest.mark.parametrize(
    ("error", "head"),
    [
        (InvalidRequest("That is <no> number."), "Bad request"),
        (NotAllowed("You may not run."), "Not allowed"),
        (NotFound("Turn 'x' not found."), "Not found"),
        (Unavailable("The database is busy."), "Something went wrong on our side"),
    ],
)
def test_it_says_what_is_wrong_and_where_to_go(error: AgentsError, head: str) -> None:
    answer = error_page(RequestFactory().get("/turns/x/"), error)
    page = answer.content.decode()
    assert answer.status_code == error.status
    assert f"<h1>{head}</h1>" in page
    assert str(escape(error.message)) in page
    assert 'href="/logs/"' in page


def test_it_asks_nobody_who_is_reading_when_the_mistake_is_ours() -> None:
    request = RequestFactory().get("/logs/?q=refund")

    class Fails:
        def __getattr__(self, name: str) -> object:
            raise AssertionError("the database may be what failed")

    request.user = Fails()  # type: ignore[assignment]  # anything that may not be asked
    page = error_page(request, Unavailable("The database is busy.")).content.decode()
    assert 'href="/logs/?q=refund"' in page
