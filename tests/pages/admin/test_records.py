"""Sessions, turns, steps, legs, items and changes in the admin: found, linked, read-only."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from agents.base import ids
from agents.base.access import Actor, system
from agents.base.ids import Kind
from agents.base.store import changes
from agents.record.models.agents import Session
from agents.record.models.turns import Item, Response, Step, Turn
from agents.uikit.admin import row_limits
from tests.conftest import START_US, Clock
from tests.fixtures.admin import Browser
from tests.loop.play import LOOKUP
from tests.support.builders import Recorded, make_agent, make_session, make_turn
from tests.support.pages.logged_turns import Worked, log_turn
from tests.support.pages.logged_turns import make_session as logged_session
from tests.support.pages.markup import elements, words

pytestmark = pytest.mark.django_db

SERVER = system("the tests")
ADMIN = "/admin/agents/"
TABLES: dict[str, Any] = {"session": Session, "turn": Turn, "step": Step, "response": Response, "item": Item}
HOSTILE = "</script><img src=x onerror=alert(1)>\"'&\u202e"


@pytest.fixture
def made(db: None) -> Recorded:
    return make_turn(SERVER, 'say I look it up.\ncall lookup {"query": "x"}', client_tools=[LOOKUP])


def first_key(table: str) -> int:
    key: int = TABLES[table].all_objects.order_by("pk").values_list("pk", flat=True)[0]
    return key


def public(table: str, key: int) -> str:
    return ids.public(Kind[table.upper()], key)


def url(table: str, key: int) -> str:
    return f"{ADMIN}{table}/{public(table, key)}/change/"


def listed(browser: Browser, table: str, **params: str) -> list[int]:
    answer = browser.get(f"{ADMIN}{table}/", params)
    assert answer.status_code == 200
    return [row.pk for row in answer.context["cl"].result_list]


# ------------------------------------------------------------------------------------------ reading


@pytest.mark.parametrize("table", TABLES)
def test_a_record_is_listed_and_shown_under_its_public_id(boss: Browser, made: Recorded, table: str) -> None:
    path = url(table, first_key(table))
    assert path in [each.get("href") for each in elements(boss.read(f"{ADMIN}{table}/"), "a")]
    assert public(table, first_key(table)) in words(boss.read(path))


def test_no_page_shows_a_key(boss: Browser, made: Recorded, settings: Any) -> None:
    """A number of 63 bits would be rounded by a script, and cut up by thousands."""
    settings.USE_THOUSAND_SEPARATOR = True
    paths = [f"{ADMIN}{table}/" for table in (*TABLES, "change", "agent")]
    for path in [*paths, *(url(table, first_key(table)) for table in TABLES)]:
        text = re.sub(
            r'name="_selected_action"[^>]*value="\d+"|value="\d+"[^>]*name="_selected_action"', "", boss.read(path)
        )
        text = re.sub(r'href="[^"]*/(history|delete)/"', "", text)
        assert re.findall(r"\b\d{16,}\b|\b\d{1,3}(?:,\d{3}){5,}\b", text) == [], path


@pytest.mark.parametrize("table", TABLES)
def test_nothing_can_be_added_or_changed(boss: Browser, made: Recorded, table: str) -> None:
    before = list(TABLES[table].all_objects.order_by("pk").values())
    assert boss.get(f"{ADMIN}{table}/add/").status_code == 403
    assert boss.post(url(table, first_key(table)), {"name": "x", "status": "5"}).status_code == 403
    if table != "session":
        assert boss.post(url(table, first_key(table)).replace("change", "delete"), {"post": "yes"}).status_code == 403
        boss.act(f"{ADMIN}{table}/", "delete_selected", first_key(table), post="yes")
    assert list(TABLES[table].all_objects.order_by("pk").values()) == before


def test_a_turn_leads_to_all_around_it(boss: Browser, made: Recorded) -> None:
    found = {each.get("href", "") for each in elements(boss.read(url("turn", made.turn)), "a")}
    assert url("session", made.session) in found
    assert f"{ADMIN}agent/{made.agent.public_id}/change/" in found
    assert f"/turns/{made.public_id}/" in found
    for table in ("step", "response", "item"):
        path = f"{ADMIN}{table}/?turn={made.public_id}"
        assert path in found
        assert len(listed(boss, table, turn=made.public_id)) == TABLES[table].all_objects.filter(turn=made.turn).count()


def test_a_session_and_a_step_lead_back(boss: Browser, made: Recorded) -> None:
    session = {each.get("href", "") for each in elements(boss.read(url("session", made.session)), "a")}
    assert f"{ADMIN}turn/?session={public('session', made.session)}" in session
    assert f"/sessions/{public('session', made.session)}/" in session
    step = {each.get("href", "") for each in elements(boss.read(url("step", first_key("step"))), "a")}
    assert url("turn", made.turn) in step


def test_a_turn_shows_what_was_said_and_used(boss: Browser, made: Recorded) -> None:
    read = words(boss.read(url("turn", made.turn)))
    assert "I look it up." in read
    assert "Status: awaiting input" in read
    assert re.search(r"\d+ in, \d+ of them cached", read)
    assert re.search(r"Started: \d+ \w+ 20\d\d, \d\d:\d\d:\d\d UTC", read)


def test_a_step_shows_its_content(boss: Browser, made: Recorded) -> None:
    texts = [words(boss.read(url("step", step.pk))) for step in Step.all_objects.filter(turn=made.turn)]
    assert any('"query": "x"' in text for text in texts)


def test_a_step_shows_every_field_that_queries_ask_for(boss: Browser, made: Recorded) -> None:
    """Those without a cell of their own are listed with the name that queries use."""
    step = next(step for step in Step.objects.unscoped("test").order_by("pk") if step.finish_id)
    page = words(boss.read(url("step", step.pk)))
    assert f"Further values Finish: {step.finish}" in page


def test_a_long_body_is_cut_with_a_word_about_it(boss: Browser, db: None) -> None:
    turn = make_turn(SERVER, f"say {'long ' * 30_000}")
    read = boss.read(url("step", first_key("step")))
    assert "The beginning; the turn's own page has all of it." in words(read)
    assert len(read) < 100_000
    assert "The beginning" in words(boss.read(url("turn", turn.turn)))


def test_hostile_text_stays_text(boss: Browser, db: None) -> None:
    agent = make_agent(SERVER, name=HOSTILE)
    turn = make_turn(SERVER, f"say {HOSTILE}", agent=agent, session=make_session(SERVER, agent, HOSTILE))
    for table in TABLES:
        assert HOSTILE not in boss.read(f"{ADMIN}{table}/")
        assert HOSTILE not in boss.read(url(table, first_key(table)))
    assert "onerror=alert(1)" in words(boss.read(url("turn", turn.turn)))
    boss.read(f"{ADMIN}session/{public('session', turn.session)}/delete/")


# ------------------------------------------------------------------------------------------- finding


def test_a_turn_is_found_by_any_id_around_it(boss: Browser, made: Recorded) -> None:
    make_turn(SERVER)
    for text in (made.public_id, made.public_id.upper(), public("session", made.session), made.agent.public_id):
        assert listed(boss, "turn", q=text) == [made.turn]
    assert listed(boss, "turn", q=ids.public(Kind.TURN, made.turn + 1)) == []


def test_a_turn_is_found_by_words_and_terms(boss: Browser, db: None) -> None:
    session = logged_session(SERVER)
    kettle = ids.parse(Kind.TURN, log_turn(SERVER, session, "the blue kettle leaks"))
    other = ids.parse(Kind.TURN, log_turn(SERVER, session, "hello", "Bonjour", status="failed", error="it broke"))
    assert listed(boss, "turn", q="kettle") == [kettle]
    assert listed(boss, "turn", q="bonjour") == [other]
    assert listed(boss, "turn", q="teapot") == []
    assert listed(boss, "turn", q="status:failed") == [other]
    assert listed(boss, "turn", q="tokens:>1 kettle") == [kettle]


@pytest.mark.parametrize("wrong", ["colour:red", "status:(", "(" * 500, '"', "\u202e", "%00", "a" * 5000])
def test_a_query_that_cannot_be_read_is_no_error_of_ours(boss: Browser, wrong: str) -> None:
    assert boss.get(f"{ADMIN}turn/", {"q": wrong}).status_code == 200


def test_a_session_is_found_by_a_part_of_its_name(boss: Browser, db: None) -> None:
    agent = make_agent(SERVER)
    refund, _ = make_session(SERVER, agent, "refund-8841"), make_session(SERVER, agent, "other")
    assert listed(boss, "session", q="8841") == [refund]
    assert listed(boss, "session", q=public("session", refund)) == [refund]


def test_a_change_is_found_by_its_record(boss: Browser, made: Recorded) -> None:
    read = words(boss.read(f"{ADMIN}change/?q={made.public_id}"))
    assert made.public_id in read
    assert public("session", made.session) not in read
    assert "0 changes" in words(boss.read(f"{ADMIN}change/?q=nonsense"))


# ----------------------------------------------------------------------------------------- filtering


def test_a_time_is_a_range_of_keys(boss: Browser, clock: Clock) -> None:
    old = ids.parse(Kind.TURN, log_turn(SERVER, logged_session(SERVER), "old"))
    clock.pass_s(2 * 86_400)
    new = ids.parse(Kind.TURN, log_turn(SERVER, logged_session(SERVER), "new"))
    assert clock.now_us > START_US
    assert listed(boss, "turn", since="24h") == [new]
    assert listed(boss, "turn", since="7d") == [new, old]
    assert listed(boss, "turn", since="x") == [new, old]


@pytest.fixture
def two(db: None) -> tuple[int, int]:
    """A completed turn of one model, and a failed one with a tool."""
    session = logged_session(SERVER)
    done = ids.parse(Kind.TURN, log_turn(SERVER, session, "one"))
    failed = ids.parse(
        Kind.TURN, log_turn(SERVER, session, "two", steps=[Worked(tool="search")], status="failed", error="x")
    )
    assert done is not None
    assert failed is not None
    return done, failed


def test_turns_are_filtered(boss: Browser, two: tuple[int, int]) -> None:
    done, failed = two
    agent = Turn.all_objects.get(pk=done).agent_id
    assert agent is not None
    assert listed(boss, "turn", status="failed") == [failed]
    assert listed(boss, "turn", model="llama-3.3-70b") == [failed, done]
    assert listed(boss, "turn", model="unknown") == []
    assert listed(boss, "turn", agent=public("agent", agent)) == [failed, done]
    assert listed(boss, "turn", source="native", api="agents", status="completed") == [done]
    assert listed(boss, "turn", source="otlp") == []
    assert listed(boss, "turn", session="nonsense") == []
    assert listed(boss, "turn", status="nonsense") == []


def test_steps_and_legs_are_filtered(boss: Browser, two: tuple[int, int]) -> None:
    _, failed = two
    tool = Step.all_objects.get(turn=failed).pk
    assert listed(boss, "step", type="tool_execution") == listed(boss, "step", tool="search") == [tool]
    assert listed(boss, "step", status="completed", turn=public("turn", failed)) == [tool]
    assert len(listed(boss, "response", status="completed")) == 1


def test_a_field_of_another_table_is_no_filter(boss: Browser, made: Recorded) -> None:
    for name in ("session__name__startswith", "owner__password__startswith", "_connector", "body__metadata__a"):
        assert boss.get(f"{ADMIN}turn/", {name: "x"}).status_code in {302, 400}


# ----------------------------------------------------------------------------------------------- size


def statements(browser: Browser, path: str) -> list[str]:
    with CaptureQueriesContext(connection) as captured:
        assert browser.get(path).status_code == 200
    return [query["sql"] for query in captured.captured_queries if "agents_" in query["sql"]]


@pytest.mark.parametrize("table", TABLES)
def test_a_list_costs_the_same_for_any_number_of_rows(boss: Browser, made: Recorded, table: str) -> None:
    few = len(statements(boss, f"{ADMIN}{table}/"))
    for _ in range(3):
        make_turn(SERVER, agent=made.agent)
    assert len(statements(boss, f"{ADMIN}{table}/")) <= few


@pytest.mark.parametrize("table", [*TABLES, "change"])
def test_a_list_joins_nothing_and_counts_no_further_than_its_cap(boss: Browser, made: Recorded, table: str) -> None:
    asked = statements(boss, f"{ADMIN}{table}/")
    assert not [sql for sql in asked if " JOIN " in sql and f'FROM "agents_{table}"' in sql]
    counts = [sql for sql in asked if sql.startswith("SELECT COUNT(")]
    assert counts
    assert all(f"LIMIT {row_limits.MAX_COUNTED + 1}" in sql for sql in counts)


def test_a_list_reads_no_bodies(boss: Browser, made: Recorded) -> None:
    for table in ("turn", "step", "item", "response"):
        read = " ".join(statements(boss, f"{ADMIN}{table}/"))
        assert not re.search(r'"(input_messages|output_message|request|config)"', read)
        assert '"agents_item"."body"' not in read
        assert '"agents_stepdetail"' not in read


def test_what_no_index_serves_looks_at_the_newest_rows(
    boss: Browser, made: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    newer = make_turn(SERVER, agent=made.agent)
    monkeypatch.setattr(row_limits, "MAX_SCANNED", 1)
    assert listed(boss, "turn", source="native") == [newer.turn]
    assert listed(boss, "turn", source="native", since="30d") == [newer.turn, made.turn]
    assert listed(boss, "turn", status="completed")[-1:] != []
    assert listed(boss, "session", q="a session") == [newer.session]


def test_a_count_beyond_the_cap_is_told_as_such(boss: Browser, made: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    make_turn(SERVER, agent=made.agent)
    assert "2 turns" in words(boss.read(f"{ADMIN}turn/"))
    monkeypatch.setattr(row_limits, "MAX_COUNTED", 1)
    assert "more than 10,000 turn" in words(boss.read(f"{ADMIN}turn/"))


# ------------------------------------------------------------------------------------------- deleting


def test_sessions_are_deleted_through_the_store(boss: Browser, made: Recorded) -> None:
    other = make_turn(SERVER, agent=made.agent)
    before = changes.latest()
    answer = boss.act(f"{ADMIN}session/", "delete_selected", made.session, post="yes")
    assert "Successfully deleted 1 session." in words(answer.content.decode())
    assert list(Turn.all_objects.values_list("pk", flat=True)) == [other.turn]
    assert not Item.all_objects.filter(session=made.session).exists()
    assert changes.latest() > before


def test_a_running_session_stays(boss: Browser, db: None) -> None:
    busy = make_turn(SERVER, upto=2)
    path = url("session", busy.session).replace("change", "delete")
    assert "cancel it first" in words(boss.post(path, {"post": "yes"}, follow=True).content.decode())
    assert Session.all_objects.filter(pk=busy.session).exists()


# --------------------------------------------------------------------------------------------- rights


def of(turn: Recorded, table: str) -> set[int]:
    """The keys of a turn's records."""
    if table in {"session", "turn"}:
        return {turn.session if table == "session" else turn.turn}
    return set(TABLES[table].all_objects.filter(turn=turn.turn).values_list("pk", flat=True))


VIEW = tuple(f"view_{table}" for table in TABLES)


@pytest.mark.parametrize("table", TABLES)
def test_staff_see_what_their_actor_sees(
    staff: Callable[..., Browser], make_user: Callable[..., Actor], table: str
) -> None:
    mine, theirs = make_turn(make_user("friend", teams=["red"])), make_turn(make_user("stranger", teams=["blue"]))
    rita = staff("rita", *VIEW, teams=["red"])
    assert set(listed(rita, table)) == of(mine, table)
    assert rita.get(url(table, of(theirs, table).pop())).status_code == 302
    assert rita.get(url(table, listed(rita, table)[0])).status_code == 200


def test_staff_without_a_permission_see_nothing(staff: Callable[..., Browser], made: Recorded) -> None:
    ruth = staff("ruth", roles=["admin"])
    for table in (*TABLES, "change", "agent", "apikey", "user"):
        assert ruth.get(f"{ADMIN}{table}/").status_code == 403
    assert "You don’t have permission to view or edit anything." in words(ruth.read("/admin/"))


def test_staff_who_may_not_run_delete_no_sessions(
    staff: Callable[..., Browser], make_user: Callable[..., Actor]
) -> None:
    turn = make_turn(make_user("friend", teams=["red"]))
    path = url("session", turn.session).replace("change", "delete")
    reader = staff("reader", "view_session", "delete_session", teams=["red"], roles=["reader"])
    assert reader.post(path, {"post": "yes"}).status_code == 403
    runner = staff("runner", "view_session", "delete_session", teams=["red"])
    assert runner.post(path, {"post": "yes"}).headers["Location"] == f"{ADMIN}session/"
    assert not Session.all_objects.exists()


def test_the_change_feed_is_for_superusers(staff: Callable[..., Browser], made: Recorded) -> None:
    assert staff("rita", "view_change", roles=["admin"]).get(f"{ADMIN}change/").status_code == 403
