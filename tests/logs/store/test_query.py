"""Two faces of one query: the SQL of the store and the oracle `matches` choose the same rows, of every
level, for every field and operator."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.db import connection

from agents.base import ids
from agents.base.access import Actor
from agents.logs.store import turn_log
from agents.logs.store.levels.relations import MODELS
from agents.logs.store.query import condition
from agents.query.fields import FIELDS, QueryField
from agents.query.parser import parse
from agents.query.tree import LEVELS, Level
from agents.record.models.agents import Session
from tests.conftest import Clock
from tests.logs.store import oracle
from tests.query.oracle import matches
from tests.support.builders import Recorded
from tests.support.cases import sparing
from tests.support.sample_turns import sample as make_sample

pytestmark = pytest.mark.django_db


@pytest.fixture
def sample(admin: Actor, clock: Clock) -> list[Recorded]:
    return make_sample(admin, clock)


VALUES = {
    "id": [],
    "turn": [],
    "response": [],
    "caller": [],
    "agent": ["support", "ÜBER-agent", "s*"],
    "session": ["REFUND-8841", "refund*", "*8841", "ÜBER*"],
    "user": ["Ana", "a*"],
    "tag": ["VIP", "v*", "straße", "STRASSE"],
    "env": ["prod", "p*d"],
    "key": ["ci"],
    "api": ["agents", "*s"],
    "source": ["native", "demo"],
    "meta": ["Gold", "g*"],
    "prompt": ["pmpt_01a2", "pmpt_01A2@3", "pmpt_*", "*@4"],
    "attachment": ["image", "document"],
    "status": ["failed", "completed", "incomplete", "*complete*", "*ed", "awaiting_input"],
    "is": ["live", "waiting", "undecided", "un*", "truncated", "sanitized", "subagent"],
    "error": ["timed", '"timed out"', "provider_error", "gone", "*pst"],
    "finish": ["end_of_turn", "out_of_tokens", "*of*"],
    "violation": ["error", "cannot", "medical"],
    "type": ["inference", "tool", "shield"],
    "kind": ["handoff"],
    "tool": ["web_search", "*search"],
    "server_side": ["true", "false"],
    "answered_by": ["local", "loc*", "maria"],
    "model": ["scripted/fast", "*fast", "*demo"],
    "provider": ["scripted"],
    "args": ["kettle", "k*", "2", "true", "*ettl*"],
    "result": ["shipped", "ship*", "3"],
    "in": ["refund", '"refund policy"', "*fun"],
    "out": ["way", "青い", "Sor*"],
    "text": ["refund", "kettle", "shipped", "gold", "REFUND policy", "鳥", "ett*", "*ettl", '"way 青"', "out"],
    "rating": ["up", "down"],
    "comment": ["wrong", '"quite wrong"', "qui*", "*ite"],
}
NUMBERS = {"us": ["1ms", "2ms", "1s"], "nano_usd": ["$0.00001", "0"], "count": ["5", "20"], "any": ["0.5", "-1"]}
TIMES = ["-2h", "2026-11-18", "2026-11-19"]
PATHS = {
    "meta": ["tier", "customer.plan", "list", "list.[0]", "list.[*]", "nowhere"],
    "args": ["query", "n", "deep.x", "list.[1]", "list.[*].y", "nowhere"],
    "result": ["state", "items.[*].n", "items", "nowhere"],
    "score": ["helpful", "none"],
}


def terms_of(field: QueryField) -> Iterator[str]:
    """A term for each operator of a field with each sample value."""
    names = [f"{field.name}.{path}" for path in PATHS[field.name]] if field.keyed else [field.name]
    for name in names:
        for op in field.operators:
            if op == "has":
                yield f"has:{name}"
            elif op == "..":
                low, high = numbers_of(field)[0], numbers_of(field)[-1]
                yield from (f"{name}:{min(low, high, key=len)}..", f"{name}:..{high}")
            else:
                sign = "" if op == "contains" or (op == "=" and field.kind not in ("text", "data")) else op
                values = numbers_of(field) if op in (">", ">=", "<", "<=") else VALUES.get(field.name)
                yield from (f"{name}:{sign}{value}" for value in (numbers_of(field) if values is None else values))


def numbers_of(field: QueryField) -> list[str]:
    if field.kind == "time":
        return TIMES
    return NUMBERS["any" if field.kind == "data" else field.unit or "count"]


def differing(actor: Actor, level: Level, texts: list[str], now_us: int) -> dict[str, tuple[set[str], set[str]]]:
    """Queries on which SQL and oracle differ: (only in SQL, only in the oracle)."""
    rows = oracle.rows(level)
    found = {}
    for text in texts:
        query = parse(text, now_us=now_us, level=level)
        expected = {key for key, row in rows.items() if matches(query, row)}
        visible = MODELS[level].objects.visible_to(actor).filter(condition(query, actor))
        got = {oracle.public(level, key) for key in visible.values_list("pk", flat=True)}
        if got != expected:
            found[text] = (got - expected, expected - got)
    return found


@pytest.mark.parametrize("level", sparing(LEVELS, "turn", "step"))
def test_every_field_and_operator_chooses_the_same_rows(
    admin: Actor, sample: list[Recorded], clock: Clock, level: Level
) -> None:
    texts = [text for field in FIELDS.values() for text in terms_of(field)]
    assert len(texts) > 300
    assert differing(admin, level, texts, clock.now_us) == {}


@pytest.mark.parametrize("level", sparing(LEVELS, "turn", "step"))
def test_ids_of_every_level_choose_the_same_rows(
    admin: Actor, sample: list[Recorded], clock: Clock, level: Level
) -> None:
    texts = []
    for name, other in (
        ("id", level),
        ("agent", "agent"),
        ("session", "session"),
        ("turn", "turn"),
        ("caller", "turn"),
        ("response", "response"),
    ):
        some = list(oracle.rows(other))[:2]
        texts += [f"{name}:{sign}{key}" for key in some for sign in ("", "!=")]
    assert differing(admin, level, texts, clock.now_us) == {}


TOGETHER = [
    "",
    "status:(failed OR awaiting_input)",
    "-status:completed",
    "-agent:support",
    "-refund",
    "-has:error",
    "-user:ana",
    "-meta.tier:gold",
    "-cost:>$0.01",
    "refund OR found",
    "(refund OR found) agent:support",
    "NOT (refund OR found)",
    "has:session OR tag:vip",
    "NOT has:session",
    "step(tool:web_search status:failed)",
    "tool:web_search status:failed",
    "no(step)(tool:web_search)",
    "all(step)(status:completed)",
    "step(kettle)",
    "step(duration:>0ms type:tool)",
    "first(step)(type:inference)",
    "last(step)(type:inference)",
    "last(step)(status:failed)",
    "first(turn)(status:failed)",
    "last(turn)(status:failed)",
    "last(turn)(status:completed)",
    "first(response)(status:awaiting_input)",
    "last(response)(status:completed)",
    "turn(status:failed step(tool:web_search))",
    "turn(refund) -turn(status:failed)",
    "session(refund)",
    "session(count(turn)>1)",
    "agent(count(session)>1)",
    "agent(session(turn(status:failed)))",
    "step(agent:support)",
    "step(agent:support tool:web_search)",
    "step(-agent:support)",
    "step(agent:!=support)",
    "step(agent:support -turn(agent:support))",
    "no(step)(agent:support)",
    "count(step: agent:support)>1",
    "first(step)(agent:support)",
    "agent(step(tool:web_search))",
    "agent(count(step: tool:web_search)>1)",
    "agent(count(step)=2)",
    "agent(first(step)(type:inference))",
    "agent(last(step)(type:other))",
    "all(agent)(source:demo)",
    "no(agent)(source:demo)",
    "last(session)(status:failed)",
    "first(session)(count(turn)=1)",
    "response(tool:lookup)",
    "response(count(step)>2)",
    "response(step(tool:lookup) status:awaiting_input)",
    "all(response)(status:completed)",
    "step(response(status:awaiting_input))",
    "count(step)>2",
    "count(step)!=1",
    "count(turn)=1",
    "count(turn)>1",
    "count(response)>=2",
    "count(session)>=1",
    "count(agent)=0",
    "count(agent)<5",
    "count(step: tool:web_search)>=2",
    "count(step: type:tool status:failed)=0",
    "count(turn: status:failed)<1",
    "count(step: kind:none)=0",
    "count(turn: -kind:none)>0",
    "args.query:kettle status:completed",
    "args.query:kettle OR result.state:shipped",
    "-args.query:kettle",
    "step(args.query:kettle duration:>0ms)",
    "rating:down -comment:wrong",
    "score.helpful:>0.5 rating:up",
    "step(rating:down)",
    "session(tag:vip)",
    "turn(tag:vip)",
    "step(tag:slow)",
]


@pytest.mark.parametrize("level", LEVELS)
def test_conditions_together_choose_the_same_rows(
    admin: Actor, sample: list[Recorded], clock: Clock, level: Level
) -> None:
    assert differing(admin, level, TOGETHER, clock.now_us) == {}


def test_the_sample_is_told_apart_by_most_queries(admin: Actor, sample: list[Recorded], clock: Clock) -> None:
    """Guards the tests above: queries that choose everything or nothing prove little."""
    rows = oracle.rows("turn").values()
    telling = 0
    for text in TOGETHER:
        query = parse(text, now_us=clock.now_us)
        telling += 0 < sum(matches(query, row) for row in rows) < len(rows)
    assert telling > len(TOGETHER) * 0.7
    for field in FIELDS.values():
        found = [sum(matches(parse(text, now_us=clock.now_us), row) for row in rows) for text in terms_of(field)]
        assert not found or max(found) > 0, field.name


def test_what_others_own_is_not_counted(admin: Actor, sample: list[Recorded], clock: Clock, make_user: object) -> None:
    """A condition on rows below one that is shared looks at those alone that the reader sees."""
    stranger = make_user("stranger")  # type: ignore[operator]  # a fixture
    query = parse("count(turn)>0", now_us=clock.now_us, level="agent")
    seen = MODELS["agent"].objects.unscoped("test").filter(condition(query, stranger))
    assert list(seen) == []


def test_ids_are_terms_of_their_own(admin: Actor, sample: list[Recorded], clock: Clock) -> None:
    first = sample[0]
    for text in (f"id:{first.public_id}", f"turn:{first.public_id}"):
        found = turn_log.turns_page(admin, parse(text, now_us=clock.now_us)).rows
        assert [row.id for row in found] == [first.turn]
    session = ids.public(ids.Kind.SESSION, first.session)
    found = turn_log.turns_page(admin, parse(f"session:{session}", now_us=clock.now_us)).rows
    assert first.turn in [row.id for row in found]


def test_pages_by_key_hold_every_row_once_in_both_directions(
    admin: Actor, sample: list[Recorded], clock: Clock
) -> None:
    query = parse("api:agents -tag:none", now_us=clock.now_us)
    whole = [row.id for row in turn_log.turns_page(admin, query).rows]
    forth, after = [], None
    while True:
        page = turn_log.turns_page(admin, query, after=after, limit=2)
        forth += [row.id for row in page.rows]
        if not page.has_older:
            break
        after = page.rows[-1].id
    assert forth == whole == sorted(whole, reverse=True)
    page = turn_log.turns_page(admin, query, before=forth[-1], limit=3)
    assert [row.id for row in page.rows] == forth[-4:-1]


def test_counting_reads_what_belongs_to_the_row(admin: Actor) -> None:
    """And not all that fulfils the condition, for each row again."""
    if connection.vendor != "sqlite":
        pytest.skip("PostgreSQL knows how many rows a condition leaves")
    query = parse("count(turn: status:completed)>5", now_us=0, level="session")
    plan = Session.objects.unscoped("test").filter(condition(query, admin)).explain()
    assert "(session_id=?)" in plan
    assert "turn_status" not in plan
