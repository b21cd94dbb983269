"""``/v1/agents/automations``: whose an automation is, how many there may be, how they are listed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from agents.automations.store import automations
from agents.automations.store.automations import MAX_AUTOMATIONS
from agents.base.access import Actor
from tests.automations.conftest import Ask, RunDue, periodic, runs_of, target

pytestmark = pytest.mark.usefixtures("serving")
MAKES_SOME = {"model": "scripted/fast", "tools": [{"type": "automations"}]}
METHODS = [
    ("get", ""),
    ("post", ""),
    ("delete", ""),
    ("post", "/pause"),
    ("post", "/resume"),
    ("get", "/invocations"),
    ("post", "/invocations"),
]


@pytest.mark.parametrize(("method", "path"), METHODS)
@pytest.mark.parametrize("attributes", [{"teams": ["red"]}, {"teams": ["blue"]}])
def test_others_do_not_see_it_and_admins_do(
    method: str,
    path: str,
    attributes: dict[str, list[str]],
    ask: Ask,
    ask_as: Callable[[Actor], Ask],
    make_user: Callable[..., Actor],
    admin: Actor,
) -> None:
    automation = ask("post", "", periodic()).json()["id"]
    other = make_user("oscar", **attributes)
    body: Any = {} if method == "post" else None
    assert ask_as(other)("get").json()["data"] == []
    assert ask_as(other)(method, f"/{automation}{path}", body).status_code == 404
    assert ask_as(admin)(method, f"/{automation}{path}", body).status_code == 200


def test_there_are_so_many_and_no_more(ask: Ask, owner: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    assert MAX_AUTOMATIONS == 100
    monkeypatch.setattr(automations, "MAX_AUTOMATIONS", 2)
    made = [ask("post", "", periodic(name=name)) for name in ("one", "two", "three")]
    assert [answer.status_code for answer in made] == [200, 200, 400]
    assert made[2].json()["error"]["code"] == "too_many_automations"


def test_pages_visit_each_once(ask: Ask, run_due: RunDue) -> None:
    made = [ask("post", "", periodic(name=name)).json()["id"] for name in ("one", "two", "three")]
    for order, expected in (("asc", made), ("desc", made[::-1])):
        first = ask("get", f"?limit=2&order={order}").json()
        assert (first["has_more"], first["last_id"]) == (True, expected[1])
        rest = ask("get", f"?limit=2&order={order}&after={first['last_id']}").json()
        assert [one["id"] for one in (*first["data"], *rest["data"])] == expected
    begun = [ask("post", f"/{made[0]}/invocations").json()["id"] for _ in range(3)]
    first = ask("get", f"/{made[0]}/invocations?limit=2").json()
    assert [run["id"] for run in first["data"]] == begun[:0:-1]
    run_due()
    assert {run["status"] for run in runs_of(made[0], ask)} == {"completed"}
    assert ask("get", "?after=auto_1").status_code == 400
    assert ask("get", f"/{made[0]}/invocations/{begun[0]}").status_code == 200
    assert ask("get", f"/{made[1]}/invocations/{begun[0]}").status_code == 404


def test_so_many_runs_wait_and_no_more(ask: Ask) -> None:
    automation = ask("post", "", periodic()).json()["id"]
    answers = [ask("post", f"/{automation}/invocations").status_code for _ in range(11)]
    assert answers == [200] * 10 + [429]


@pytest.mark.parametrize(
    ("more", "param"),
    [
        ({"type": "hourly"}, "type"),
        ({"expression": None}, "expression"),
        ({"timezone": None}, "timezone"),
        ({"type": "once", "expression": None, "timezone": None}, "run_at"),
        ({"type": "once", "expression": None, "timezone": None, "run_at": 1}, "run_at"),
        ({"type": "once", "expression": None, "timezone": None, "run_at": 10**15}, "run_at"),
        ({"type": "once", "run_at": 4_000_000_000}, "expression"),
        ({"name": "x" * 201}, "name"),
        ({"metadata": {"k": 1}}, "metadata.k"),
        ({"target": {"type": "somebody"}}, "target"),
        ({"target": target(agent_id="agent_nobodys")}, None),
        ({"target": {"type": "existing_session", "session_id": "sess_1", "instructions": "x"}}, None),
        ({"target": {"type": "existing_session", "session_id": "sess_1", "instructions": ""}}, "target.instructions"),
        ({"target": target(agent=MAKES_SOME)}, "target.agent.tools[0].type"),
    ],
)
def test_what_is_wrong_is_said(more: dict[str, Any], param: str | None, ask: Ask) -> None:
    answer = ask("post", "", periodic(**more))
    assert answer.status_code == (404 if param is None else 400)
    assert answer.json()["error"]["param"] == param
    assert ask("get").json()["data"] == []
