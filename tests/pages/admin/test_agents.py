"""Agents in the admin: made, revised, switched and deleted through the store."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.db import connection

from agents.base import ids
from agents.base.access import Actor, system
from agents.base.errors import NotFound
from agents.base.ids import Kind
from agents.base.store import changes
from agents.pages.admin.forms import AgentForm
from agents.record.models.agents import Agent, AgentRevision
from agents.record.schemas.agents import AgentConfig
from agents.record.store import agents
from agents.record.store.agents import AgentRecord
from tests.fixtures.admin import Browser
from tests.support.builders import make_agent, make_session, make_turn
from tests.support.inprocess import idle_service
from tests.support.pages.markup import elements, words

pytestmark = pytest.mark.django_db

LIST, ADD = "/admin/agents/agent/", "/admin/agents/agent/add/"
SERVER = system("the tests")
TOOL = {"name": "approve", "description": "Ask", "input_schema": {"type": "object"}}
NO_INLINE = {"revisions-TOTAL_FORMS": "0", "revisions-INITIAL_FORMS": "0"}


def change_url(agent: AgentRecord) -> str:
    return f"{LIST}{agent.public_id}/change/"


def given(**fields: Any) -> dict[str, Any]:
    shown = {name: value if isinstance(value, str) else json.dumps(value) for name, value in fields.items()}
    return {"model": "scripted/fast", "instructions": "Be brief.", **NO_INLINE, **shown}


def made() -> AgentRecord:
    return agents.get(SERVER, Agent.objects.unscoped("a test's").get().pk)


def errors(answer: Any) -> str:
    return " ".join(str(each) for each in answer.context["errors"])


# ---------------------------------------------------------------------------------------------- add


def test_it_makes_an_agent_through_the_store(boss: Browser) -> None:
    before = changes.latest()
    assert boss.post(ADD, given(name="support", client_tools=[TOOL])).status_code == 302
    agent = made()
    assert (agent.name, agent.model, agent.revision_number) == ("support", "scripted/fast", 1)
    assert [tool.name for tool in agent.config.client_tools or ()] == ["approve"]
    assert changes.latest() > before
    revision = AgentRevision.objects.get()
    assert str(revision.author) == "boss"


def test_what_is_left_empty_is_the_default(boss: Browser) -> None:
    boss.post(ADD, given(instructions=""))
    assert made().config == AgentConfig(model="scripted/fast", instructions="", tool_config=made().config.tool_config)


def test_everything_of_a_configuration_can_be_given(boss: Browser) -> None:
    """A field the form does not know would be lost at the next change. Two are deprecated spellings
    of ``tool_config``, which it knows."""
    deprecated = {"tool_choice", "tool_prompt_format"}
    assert set(AgentForm.base_fields) == set(AgentConfig.model_fields) - deprecated


def test_it_keeps_every_field(boss: Browser) -> None:
    config = {
        "name": "all",
        "max_infer_iters": "3",
        "enable_session_persistence": "on",
        "resume_runs": "false",
        "toolgroups": ["demo", {"name": "other", "args": {"a": 1}}],
        "client_tools": [TOOL],
        "tool_config": {"tool_choice": "approve"},
        "input_shields": "one\ntwo",
        "output_shields": "three",
        "sampling_params": {"strategy": {"type": "top_p", "temperature": 0.5}, "max_tokens": 64},
        "response_format": {"type": "json_schema", "json_schema": {"type": "object"}},
        "openai": {"effort": "low", "tools": [{"type": "web_search"}]},
    }
    assert boss.post(ADD, given(**config)).status_code == 302
    kept = made().config.model_dump(mode="json", exclude_none=True)
    assert kept["max_infer_iters"] == 3
    assert (kept["openai"]["effort"], kept["openai"]["tools"][0]["type"]) == ("low", "web_search")
    assert (kept["enable_session_persistence"], kept["resume_runs"]) == (True, False)
    assert (kept["input_shields"], kept["output_shields"]) == (["one", "two"], ["three"])
    assert kept["toolgroups"] == config["toolgroups"]
    assert kept["tool_config"]["tool_choice"] == "approve"
    assert kept["sampling_params"]["strategy"]["temperature"] == 0.5
    assert kept["response_format"]["type"] == "json_schema"


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"model": ""}, "This field is required."),
    ({"model": "x" * 301}, "at most 300 characters"),
    ({"max_infer_iters": "0"}, "greater than or equal to 1"),
    ({"max_infer_iters": "many"}, "Enter a whole number."),
    ({"client_tools": [{"nme": "x"}]}, "0.name: Field required"),
    ({"client_tools": "[1"}, "This is not JSON"),
    ({"client_tools": "[NaN]"}, "This is not JSON"),
    ({"client_tools": '{"name": "x"}'}, "Input should be a valid list"),
    ({"client_tools": '[{"name": "\\ud800"}]'}, "This is not JSON"),
    ({"client_tools": '[{"name": "a\\u0000b"}]'}, "NUL characters cannot be stored."),
    ({"client_tools": "[" * 70 + "]" * 70}, "Nested deeper than 64 levels."),
    ({"client_tools": "[" * 100_000}, "This is not JSON"),
    ({"instructions": "a\0b"}, "Null characters are not allowed."),
    ({"sampling_params": {"strategy": {"type": "top_p", "temperature": -1}}}, "greater than 0"),
    ({"sampling_params": '{"strategy": {"type": "top_p", "temperature": 1e400}}'}, "JSON"),
    ({"response_format": {"type": "xml"}}, "does not match any of the expected tags"),
    ({"tool_config": {"system_message_behavior": "shout"}}, "Input should be"),
]


@pytest.mark.parametrize(("fields", "said"), WRONG)
def test_it_says_what_is_wrong_where(boss: Browser, fields: dict[str, Any], said: str) -> None:
    answer = boss.post(ADD, given(**fields))
    assert answer.status_code == 200
    form = answer.context["adminform"].form
    assert list(form.errors) == list(fields)
    assert said in errors(answer)
    assert not Agent.objects.unscoped("a test's").exists()


@pytest.mark.django_db(transaction=True)
def test_names_are_checked_where_the_server_runs(boss: Browser) -> None:
    with idle_service():
        for field, value in (
            ("toolgroups", ["nope"]),
            ("input_shields", "nope"),
            ("tool_config", {"tool_choice": "no"}),
        ):
            answer = boss.post(ADD, given(**{field: value}))
            assert list(answer.context["adminform"].form.errors) == [field]


# ------------------------------------------------------------------------------------------- change


def test_a_change_is_a_new_revision(boss: Browser) -> None:
    agent = make_agent(SERVER, name="support")
    answer = boss.post(change_url(agent), given(name="support", instructions="Be kind."))
    assert answer.status_code == 302
    changed = agents.get(SERVER, agent.key)
    assert (changed.revision_number, changed.config.instructions) == (2, "Be kind.")
    assert AgentRevision.objects.get(number=1).config != AgentRevision.objects.get(number=2).config


def test_saving_without_a_change_makes_no_revision(boss: Browser) -> None:
    boss.post(ADD, given(name="support"))
    agent = made()
    boss.post(change_url(agent), given(name="support"))
    assert made().revision_number == 1


def test_the_form_shows_what_is_kept(boss: Browser) -> None:
    agent = make_agent(SERVER, name="support", client_tools=[TOOL], max_infer_iters=4)
    text = boss.read(change_url(agent))
    fields = {each["name"]: each.get("value", "") for each in elements(text, "input") if "name" in each}
    assert (fields["name"], fields["model"], fields["max_infer_iters"]) == ("support", "scripted/fast", "4")
    assert "&quot;name&quot;: &quot;approve&quot;" in text


def test_saving_what_the_form_shows_changes_nothing(boss: Browser) -> None:
    agent = make_agent(SERVER, name="support", client_tools=[TOOL], input_shields=["a", "b"], max_infer_iters=4)
    form = boss.get(change_url(agent)).context["adminform"].form
    shown = {name: form[name].value() for name in form.fields}
    boss.post(
        change_url(agent), {**NO_INLINE, **{name: value for name, value in shown.items() if value not in (None, False)}}
    )
    assert agents.get(SERVER, agent.key).config == agent.config


def test_revisions_are_shown_and_cannot_be_changed(boss: Browser) -> None:
    agent = make_agent(SERVER, name="support")
    revision = AgentRevision.objects.get()
    forged = {
        "revisions-TOTAL_FORMS": "1",
        "revisions-INITIAL_FORMS": "1",
        "revisions-0-id": str(revision.pk),
        "revisions-0-agent": str(agent.key),
        "revisions-0-number": "99",
        "revisions-0-config": "{}",
    }
    boss.post(change_url(agent), {**given(name="support"), **forged})
    assert list(AgentRevision.objects.values_list("number", flat=True)) == [1]
    assert "Be brief." in boss.read(change_url(agent))


def test_only_the_newest_revisions_are_shown(boss: Browser) -> None:
    agent = make_agent(SERVER)
    for number in range(30):
        agents.revise(SERVER, agent.key, AgentConfig(model="demo", instructions=f"version {number}"))
    numbers = [each for each in boss.read(change_url(agent)).split('class="field-number"')[1:]]
    assert len(numbers) == 20


@pytest.mark.django_db(transaction=True)
def test_the_store_writes_in_a_transaction_of_its_own(boss: Browser) -> None:
    """On a running server another connection writes: one around the view would lock it out."""
    agent = make_agent(SERVER)
    inside: list[bool] = []
    deaf = changes.listen(lambda _changed: inside.append(connection.in_atomic_block))
    boss.post(ADD, given(name="new"))
    boss.post(change_url(agent), given(name="changed"))
    boss.act(LIST, "disable", agent.key)
    boss.post(f"{LIST}{agent.public_id}/delete/", {"post": "yes"})
    deaf()
    assert inside == [False] * 5


# -------------------------------------------------------------------------------------------- switch


def test_it_switches_agents_off_and_on(boss: Browser) -> None:
    agent = make_agent(SERVER)
    assert "1 agent changed." in words(boss.act(LIST, "disable", agent.key).content.decode())
    assert agents.get(SERVER, agent.key).disabled
    assert "disabled" in words(boss.read(LIST))
    boss.act(LIST, "enable", agent.key)
    assert not agents.get(SERVER, agent.key).disabled
    assert [entry.get_change_message() for entry in LogEntry.objects.order_by("pk")] == ["Disabled.", "Enabled."]


# -------------------------------------------------------------------------------------------- delete


def test_it_deletes_an_agent_with_all_below(boss: Browser) -> None:
    turn = make_turn(SERVER)
    url = f"{LIST}{turn.agent.public_id}/delete/"
    asked = words(boss.read(url))
    assert "Agents: 1 Sessions: 1 Turns: 1" in asked
    assert boss.post(url, {"post": "yes"}).headers["Location"] == LIST
    with pytest.raises(NotFound):
        agents.get(SERVER, turn.agent.key)
    assert LogEntry.objects.get().is_deletion()


def test_the_bulk_action_deletes_through_the_store(boss: Browser) -> None:
    first, second = make_agent(SERVER), make_agent(SERVER)
    make_session(SERVER, first)
    before = changes.latest()
    answer = boss.act(LIST, "delete_selected", first.key, second.key, post="yes")
    assert "Successfully deleted 2 agents." in words(answer.content.decode())
    assert not Agent.objects.unscoped("a test's").exists()
    assert changes.latest() >= before + 3


def test_an_agent_that_runs_is_not_deleted(boss: Browser) -> None:
    free, busy = make_agent(SERVER), make_turn(SERVER, upto=2)
    answer = boss.act(LIST, "delete_selected", free.key, busy.agent.key, post="yes")
    said = words(answer.content.decode())
    assert "0 deleted, then it stopped" in said
    assert "has a turn in progress" in said
    assert agents.get(SERVER, busy.agent.key).key == busy.agent.key
    answer = boss.post(f"{LIST}{busy.agent.public_id}/delete/", {"post": "yes"}, follow=True)
    assert "has a turn in progress" in words(answer.content.decode())
    assert not LogEntry.objects.filter(object_id=str(busy.agent.key)).exists()


def test_an_action_takes_on_only_so_many(boss: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agents.uikit.admin.base.MAX_ACTION_RECORDS", 1)
    first, second = make_agent(SERVER), make_agent(SERVER)
    for action in ("disable", "delete_selected"):
        answer = boss.act(LIST, action, first.key, second.key, post="yes")
        assert "At most 1 at once" in words(answer.content.decode())
    assert not agents.get(SERVER, first.key).disabled


# ---------------------------------------------------------------------------------------------- list


def test_it_finds_agents(boss: Browser) -> None:
    support, coder = make_agent(SERVER, name="support"), make_agent(SERVER, name="coder", model="scripted/demo")
    for text, found in (("upp", [support]), ("demo", [coder]), (coder.public_id, [coder]), ("nothing", [])):
        keys = [row.pk for row in boss.get(LIST, {"q": text}).context["cl"].result_list]
        assert keys == [agent.key for agent in found]


def test_a_link_with_a_key_leads_to_the_public_id(boss: Browser) -> None:
    agent = make_agent(SERVER)
    assert boss.get(f"{LIST}{agent.key}/change/").headers["Location"] == change_url(agent)


@pytest.mark.parametrize(
    "wrong",
    ["nonsense", "9" * 30, "0", ids.public(Kind.TURN, 5), "..%2f"],
    ids=["no id", "digits", "zero", "of a turn", "a path"],
)
def test_a_wrong_id_leads_back(boss: Browser, wrong: str) -> None:
    answer = boss.get(f"{LIST}{wrong}/change/", follow=True)
    assert "Perhaps it was deleted" in words(answer.content.decode())


# ------------------------------------------------------------------------------------------- rights


ALL = ("view_agent", "add_agent", "change_agent", "delete_agent")


def test_staff_see_what_their_actor_sees(staff: Callable[..., Browser], make_user: Callable[..., Actor]) -> None:
    friend, stranger = make_user("friend", teams=["red"]), make_user("stranger", teams=["blue"])
    seen, unseen = make_agent(friend, name="seen"), make_agent(stranger, name="unseen")
    rita = staff("rita", *ALL, teams=["red"])
    assert "unseen" not in rita.read(LIST)
    assert "Perhaps it was deleted" in words(rita.get(change_url(unseen), follow=True).content.decode())
    assert rita.post(change_url(seen), given(name="renamed")).status_code == 302
    rita.post(change_url(unseen), given(name="renamed"))
    rita.act(LIST, "delete_selected", unseen.key, post="yes")
    assert agents.get(SERVER, seen.key).name == "renamed"
    assert agents.get(SERVER, unseen.key).name == "unseen"


def test_what_staff_make_is_their_own(staff: Callable[..., Browser]) -> None:
    rita = staff("rita", *ALL, teams=["red"])
    rita.post(ADD, given(name="mine"))
    agent = Agent.objects.unscoped("a test's").select_related("owner", "scope").get()
    assert (str(agent.owner), agent.scope.attributes) == ("rita", {"teams": ["red"]})


def test_staff_without_the_permission_only_look(staff: Callable[..., Browser]) -> None:
    agent = make_agent(SERVER, name="support")
    ruth = staff("ruth", "view_agent", roles=["admin"])
    assert "support" in ruth.read(LIST)
    assert "support" in ruth.read(change_url(agent))
    assert ruth.get(ADD).status_code == 403
    assert ruth.post(change_url(agent), given(name="x")).status_code == 403
    assert ruth.post(f"{LIST}{agent.public_id}/delete/", {"post": "yes"}).status_code == 403
    ruth.act(LIST, "disable", agent.key)
    assert not agents.get(SERVER, agent.key).disabled


def test_a_permission_is_not_enough_without_the_action(staff: Callable[..., Browser]) -> None:
    agent = make_agent(SERVER)
    reader = staff("reader", *ALL, roles=["reader"], teams=["red"])
    assert reader.get(ADD).status_code == 403
    reader.post(f"{LIST}{agent.public_id}/delete/", {"post": "yes"})
    assert agents.get(SERVER, agent.key).key == agent.key
