"""The log of chat completions in the admin: read as text, found, deleted; never changed."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from agents.base import ids
from agents.base.access import Actor, system
from agents.base.ids import Kind
from agents.record.schemas.content import Usage
from agents.relay import store as completions
from agents.relay.models import ChatCompletion, CompletionStatus
from agents.relay.store import CompletionRecord
from tests.fixtures.admin import Browser
from tests.support.pages.markup import words

pytestmark = pytest.mark.django_db

LIST = "/admin/agents/chatcompletion/"
SERVER = system("the tests")
HOSTILE = "</script><img src=x onerror=alert(1)>"
CALLS = [{"id": "c", "type": "function", "function": {"name": "look_up", "arguments": "{}"}}]


def logged(actor: Actor = SERVER, model: str = "lab/chat", asked: Any = "Where is it?", **body: Any) -> int:
    key = ids.new_key()
    whole = {
        "input_messages": asked if isinstance(asked, list) else [{"role": "user", "content": asked}],
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "Here."}, "finish_reason": "stop"}],
        "metadata": {"team": "red"},
        **body,
    }
    status = CompletionStatus.FAILED if body.get("error") else CompletionStatus.COMPLETED
    completions.add(
        actor, CompletionRecord(key, model, status, Usage(input_tokens=7, output_tokens=2), json.dumps(whole).encode())
    )
    return key


def url(key: int, page: str = "change") -> str:
    return f"{LIST}{ids.public(Kind.COMPLETION, key)}/{page}/"


def listed(browser: Browser, **params: str) -> list[int]:
    return [row.pk for row in browser.get(LIST, params).context["cl"].result_list]


def test_a_message_of_anthropics_api_reads_as_well(boss: Browser) -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "iVBORw0K" * 1000}}
    message = {"role": "assistant", "content": "Here.", "reasoning_content": "Let me see."}
    key = logged(
        asked=[{"role": "user", "content": [image]}],
        choices=[{"index": 0, "message": message, "finish_reason": "stop"}],
        api="messages",
        left_out_tools=["web_search_20250305"],
    )
    text = words(boss.read(url(key)))
    for shown in ("assistant (reasoning)", "Let me see.", "Here.", "API: messages", "web_search_20250305"):
        assert shown in text
    assert "iVBORw0K" * 5 in text
    assert "iVBORw0K" * 50 not in text.partition("As logged")[0]
    for spelled in (ids.openai(Kind.COMPLETION, key), ids.part("msg", Kind.COMPLETION, key)):
        assert listed(boss, q=spelled) == [key]


def test_it_is_read_as_text(boss: Browser) -> None:
    asked = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "Where is it?"}, {"type": "image_url", "image_url": 1}]},
        {"role": "assistant", "content": None, "tool_calls": CALLS},
        {"role": "tool", "tool_call_id": "c", "content": "in the kitchen"},
    ]
    key = logged(asked=asked)
    read = words(boss.read(url(key)))
    said = ["system Be brief.", "user Where is it?", "image_url", "assistant", "look_up", "tool in the kitchen"]
    assert [read.find(each) for each in said] == sorted(read.find(each) for each in said)
    assert read.find("system Be brief.") > 0
    for each in ("Here.", "lab/chat", "completed", ids.openai(Kind.COMPLETION, key), '"team": "red"'):
        assert each in read
    assert "7 2" in words(boss.read(LIST))


def test_what_failed_says_why(boss: Browser) -> None:
    key = logged(choices=[], error={"message": "too hot", "code": "x"})
    assert "too hot" in words(boss.read(url(key)))
    assert "failed" in words(boss.read(LIST))


@pytest.mark.parametrize("asked", [[], ["text"], [{"role": 5, "content": {"a": [1]}}], [{"content": [None, 3]}], {}])
def test_strange_bodies_are_shown_all_the_same(boss: Browser, asked: Any) -> None:
    boss.read(url(logged(asked=asked, choices={"no": "list"}, input_messages=asked)))


def test_hostile_text_stays_text(boss: Browser) -> None:
    key = logged(model=HOSTILE, asked=HOSTILE, choices=[{"message": {"role": HOSTILE, "content": HOSTILE}}])
    for path in (LIST, url(key), url(key, "delete")):
        assert HOSTILE not in boss.read(path)
    assert "onerror=alert(1)" in words(boss.read(url(key)))


def test_long_talks_are_cut(boss: Browser) -> None:
    long = [{"role": "user", "content": f"word{number} " + "x" * 400} for number in range(1000)]
    read = boss.read(url(logged(asked=long)))
    assert "word999 " in read
    assert len(read) < 1_000_000


def test_it_is_found(boss: Browser) -> None:
    first, second = logged(), logged(model="scripted/fast")
    failed = logged(choices=[], error={"message": "x"}, model="lab/other")
    public = ids.openai(Kind.COMPLETION, first)
    for text in (public, ids.public(Kind.COMPLETION, first)):
        assert listed(boss, q=text) == [first]
    assert listed(boss, q="scripted/fast") == [second]
    assert listed(boss, q="lab") == [failed, first]
    assert listed(boss, q="nothing") == []
    assert listed(boss, status="failed") == [failed]


def test_a_list_reads_no_bodies_and_costs_the_same_for_any_number(boss: Browser) -> None:
    def asked() -> list[str]:
        with CaptureQueriesContext(connection) as captured:
            boss.get(LIST)
        return [query["sql"] for query in captured.captured_queries if "agents_" in query["sql"]]

    logged()
    few = asked()
    for _ in range(3):
        logged()
    assert len(asked()) <= len(few)
    assert '"agents_chatcompletion"."body"' not in " ".join(few)


def test_it_is_deleted_and_never_changed(boss: Browser) -> None:
    first, second, kept = logged(), logged(), logged()
    assert boss.get(f"{LIST}add/").status_code == 403
    assert boss.post(url(kept), {"model": "x"}).status_code == 403
    assert boss.post(url(first, "delete"), {"post": "yes"}).headers["Location"] == LIST
    boss.act(LIST, "delete_selected", second, post="yes")
    assert list(ChatCompletion.objects.unscoped("a test's").values_list("pk", "model")) == [(kept, "lab/chat")]


def test_staff_see_and_delete_what_their_actor_may(
    staff: Callable[..., Browser], make_user: Callable[..., Actor]
) -> None:
    mine = logged(make_user("friend", teams=["red"]))
    theirs = logged(make_user("stranger", teams=["blue"]))
    rights = ("view_chatcompletion", "delete_chatcompletion")
    rita = staff("rita", *rights, teams=["red"])
    assert listed(rita) == [mine]
    assert rita.get(url(theirs)).status_code == 302
    rita.act(LIST, "delete_selected", theirs, post="yes")
    reader = staff("reader", *rights, teams=["red"], roles=["reader"])
    assert reader.post(url(mine, "delete"), {"post": "yes"}).status_code == 403
    assert ChatCompletion.objects.unscoped("a test's").count() == 2
    rita.post(url(mine, "delete"), {"post": "yes"})
    assert [row.pk for row in ChatCompletion.objects.unscoped("a test's")] == [theirs]
