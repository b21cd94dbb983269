"""The pages of automations, and their admin: making, changing, pausing, running and deleting them; what was begun."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.test import Client

from agents.automations.models import Automation, AutomationRun
from agents.automations.store import runs
from agents.base import ids
from agents.base.access import Actor
from agents.base.models.people import GroupAttributes, User
from agents.base.store import keys
from agents.record.models.turns import Turn
from tests.automations.conftest import RunDue, periodic, target
from tests.conftest import Clock
from tests.fixtures.admin import Browser
from tests.support.builders import make_agent
from tests.support.pages.markup import unsafe, words

pytestmark = pytest.mark.usefixtures("serving")


@pytest.fixture
def browser(owner: Actor) -> Client:
    client = Client()
    client.force_login(User.objects.get(username=owner.name))
    return client


def shown(answer: Any, status: int = 200) -> str:
    assert answer.status_code == status, answer.headers
    text: str = answer.content.decode()
    assert unsafe(text) == []
    return text


def form(owner: Actor, **more: Any) -> dict[str, Any]:
    agent = make_agent(owner, name="desk").public_id
    said = {"input": "!script\nsay Good <b>morning</b>.", "agent_id": agent}
    return {"name": "Report", "expression": "*/15 * * * *", "timezone": "Europe/Berlin", **said, **more}


def made(browser: Client, owner: Actor, **more: Any) -> str:
    """The path of an automation that was made by the form."""
    answer = browser.post("/automations/", form(owner, **more))
    assert answer.status_code == 302, shown(answer, 400)
    return str(answer.headers["Location"])


def test_an_automation_is_made_and_what_it_has_begun_shown(
    browser: Client, owner: Actor, clock: Clock, run_due: RunDue
) -> None:
    assert "None yet." in shown(browser.get("/automations/"))
    path = made(browser, owner)
    text = shown(browser.get(path))
    assert "It has not run yet." in text
    assert "say Good &lt;b&gt;morning&lt;/b&gt;." in text
    assert "Report" in shown(browser.get("/automations/"))
    clock.pass_s(900)
    run_due()
    [turn] = Turn.objects.unscoped("test")
    text = shown(browser.get(path))
    assert f'href="/turns/{ids.public(ids.Kind.TURN, turn.pk)}/"' in text
    assert f'href="/sessions/{ids.public(ids.Kind.SESSION, turn.session_id)}/"' in text
    assert {"begun", "active"} <= set(words(text).split())


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"name": ""}, "A name of at most 200 characters is required."),
        ({"expression": ""}, "Five fields are required: minute, hour, day of the month, month, day of the week."),
        ({"expression": "61 * * * *"}, "expression: the minute is from 0 to 59, not '61'."),
        ({"timezone": ""}, "A time zone is required, such as Europe/Berlin or UTC."),
        ({"timezone": "Mars"}, "timezone: there is no time zone 'Mars'."),
        ({"input": ""}, "An agent and a message are required."),
        ({"agent_id": ""}, "An agent and a message are required."),
    ],
)
def test_what_is_wrong_is_said_at_the_form(wrong: dict[str, Any], said: str, browser: Client, owner: Actor) -> None:
    assert said in words(shown(browser.post("/automations/", form(owner, **wrong)), 400))
    assert not Automation.objects.unscoped("test").exists()
    if {"input", "agent_id"} & set(wrong):
        return
    path = made(browser, owner)
    assert said in words(shown(browser.post(f"{path}change/", form(owner, **wrong)), 400))


def test_an_agent_that_there_is_not(browser: Client, owner: Actor) -> None:
    assert "not found" in shown(browser.post("/automations/", form(owner, agent_id="nobody")), 404)


def test_it_is_changed_paused_run_and_deleted(browser: Client, owner: Actor, clock: Clock, run_due: RunDue) -> None:
    path = made(browser, owner)
    row = Automation.objects.unscoped("test")
    assert browser.post(f"{path}change/", form(owner, name="Other", expression="0 * * * *")).status_code == 302
    assert (row.get().name, row.get().expression) == ("Other", "0 * * * *")
    browser.post(f"{path}change/", {"enabled": "false"})
    assert "Resume" in shown(browser.get(path))
    assert row.get().next_at is None
    browser.post(f"{path}change/", {"enabled": "true"})
    assert "Pause it" in shown(browser.get(path))
    browser.post(f"{path}run/")
    assert "It runs now." in shown(browser.get(path))
    run_due()
    assert "by hand" in shown(browser.get(path))
    for _ in range(runs.MAX_QUEUED + 1):
        browser.post(f"{path}run/")
    assert "10 runs of this automation wait to begin: no more now." in words(shown(browser.get(path)))
    assert browser.post(f"{path}delete/").headers["Location"] == "/automations/"
    assert not row.exists()


def test_why_nothing_was_begun_is_said(browser: Client, owner: Actor, run_due: RunDue) -> None:
    path = made(browser, owner)
    browser.post(f"{path}run/")
    AutomationRun.objects.update(state=3, error="<b>no</b>", error_code="x")
    text = shown(browser.get(path))
    assert "&lt;b&gt;no&lt;/b&gt;" in text
    assert "failed" in words(text)


def test_older_runs_are_a_page_away(browser: Client, owner: Actor) -> None:
    path = made(browser, owner)
    [row] = Automation.objects.unscoped("test")
    now = row.created_at
    AutomationRun.objects.bulk_create(
        AutomationRun(automation=row, session=1, state=4, due_at=now, created_at=now) for _ in range(51)
    )
    first = shown(browser.get(path))
    assert first.count(">by hand<") == 50
    last = AutomationRun.objects.order_by("-pk")[49].pk
    link = f"?after={ids.openai(ids.Kind.AUTOMATION_RUN, last)}"
    assert f'href="{link}"' in first
    assert shown(browser.get(f"{path}{link}")).count(">by hand<") == 1


def test_who_may_only_look_gets_no_forms(browser: Client, owner: Actor) -> None:
    path = made(browser, owner)
    group = Group.objects.create(name="readers")
    GroupAttributes.objects.create(group=group, attributes={"roles": ["reader"]})
    User.objects.get(username=owner.name).groups.add(group)
    keys.forget()
    for where in ("/automations/", path):
        assert f'action="{where}' not in shown(browser.get(where))
    assert browser.post(f"{path}run/").status_code == 403


@pytest.mark.parametrize(("language", "heading"), [("de", "Automationen"), ("fr", "Automatisations")])
def test_it_speaks_the_readers_language(language: str, heading: str, browser: Client, owner: Actor) -> None:
    path = made(browser, owner)
    for where in ("/automations/", path):
        text = words(shown(browser.get(where, headers={"Accept-Language": language})))
        assert heading in text
        assert "Next run" not in text


def test_the_admin_lists_pauses_and_deletes(
    boss: Browser, browser: Client, owner: Actor, ask_as: Callable[[Actor], Any], run_due: RunDue, clock: Clock
) -> None:
    path = made(browser, owner)
    once = {"type": "once", "name": "Once", "run_at": clock.now_us // 1_000_000 + 60, "target": target()}
    ask_as(owner)("post", "", once)
    ask_as(owner)("post", "", periodic(name="Third"))
    clock.pass_s(60)
    run_due()
    browser.post(f"{path}run/")
    row = Automation.objects.unscoped("test").get(name="Report")
    listed = boss.read("/admin/agents/automation/")
    assert {"Report", "Once", "Third", "olga"} <= set(words(listed).split())
    assert "Third" not in boss.read("/admin/agents/automation/?q=repor")
    assert "Europe/Berlin" in boss.read(f"/admin/agents/automation/{ids.public(ids.Kind.AUTOMATION, row.pk)}/change/")
    assert "Report" in boss.read("/admin/agents/automationrun/")
    boss.act("/admin/agents/automation/", "pause", row.pk)
    assert Automation.objects.unscoped("test").get(pk=row.pk).next_at is None
    boss.act("/admin/agents/automation/", "resume", row.pk, Automation.objects.unscoped("test").get(name="Once").pk)
    assert Automation.objects.unscoped("test").get(pk=row.pk).next_at is not None
    boss.act("/admin/agents/automation/", "delete_selected", row.pk, post="yes")
    assert not AutomationRun.objects.filter(automation_id=row.pk).exists()
