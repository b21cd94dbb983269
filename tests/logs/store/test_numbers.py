"""Facets, histograms and statistics say what the rows say, whatever is sealed, changed or deleted."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from agents.base.access import Actor
from agents.base.errors import InvalidRequest, Unavailable
from agents.base.models.terms import Term, TermKind
from agents.base.store import changes
from agents.base.store.writer import writer
from agents.base.timestamps import to_us
from agents.logs.models.segments import Segment, SegmentColumn
from agents.logs.schemas.numbers import GroupMeasure, Percentiles, Stats
from agents.logs.store import numbers, segments
from agents.logs.store.query import condition
from agents.query.tree import Query
from agents.record.models.agents import Agent
from agents.record.models.choices import TurnStatus
from agents.record.models.tags import TurnTag
from agents.record.models.turns import Step, Turn
from agents.record.store import deletion
from tests.logs.store.many_turns import DAY_US, STATES, Many, asked

pytestmark = pytest.mark.django_db

TURN_QUERIES = [
    "",
    "status:failed",
    "-status:completed",
    "status:(failed OR cancelled) agent:support",
    "agent:support",
    "-agent:support",
    "model:m*",
    "model:!=m1",
    "-has:error",
    "has:error duration:>1s",
    "duration:>2s cost:>$0.0001",
    "-duration:>2s",
    "-cost:>$0.0001",
    "ttft:<100ms OR tokens:>1k",
    "waited:>20s -has:cost",
    "tokens.in:100..2000",
    "started:2026-11-03..2026-11-05",
    "started:>2026-11-04 -status:completed",
    "tool:search",
    "-tool:search",
    "type:shield",
    "step(tool:search status:failed)",
    "no(step)(status:failed)",
    "all(step)(status:completed)",
    "is:live",
    "user:u1",
    "-user:u1",
    "tag:vip",
    "tag:vip tool:search -status:failed",
    "has:tags",
    "-tag:v*",
    "env:prod -meta.plan:pro",
    'error.message:"order … was not found"',
    'error.message:!="HTTP 503"',
    "-has:error.message status:failed",
    "tag:!=vip",
    "session:session*",
    "session(status:failed)",
    "count(step: tool:search)>1",
    "last(step)(status:failed)",
    "answered",
    "response(model:m1)",
    "api:responses",
    "source:demo OR source:import",
    "finish:out_of_tokens",
    "-finish:violation",
    "(agent:support OR model:m2) -(status:failed tool:search)",
    "id:01a2b3c4-0000-8000-8000-000000000000",
]
STEP_QUERIES = [
    "",
    "status:failed",
    "tool:search",
    "-tool:search",
    "type:inference duration:>1s",
    "agent:support type:tool",
    "agent:support no(turn)(agent:support)",
    "turn(step(agent:support tool:search))",
    "tag:vip status:completed",
    "-agent:support",
    "model:m1 OR tool:search",
    "server_side:false",
    "has:violation",
    "started:2026-11-03..2026-11-05",
]


def rows_of(actor: Actor, query: Query) -> list[Any]:
    """The rows a query accepts, by the rule of the lists."""
    model: Any = {"turn": Turn, "step": Step}[query.level]
    return list(model.objects.visible_to(actor).filter(condition(query, actor)))


def every(actors: list[Actor], texts: list[str], level: Any = "turn") -> Iterator[tuple[Actor, Query, list[Any]]]:
    for actor in actors:
        for text in texts:
            query = asked(text, level)
            yield actor, query, rows_of(actor, query)


def expected(rows: list[Any]) -> dict[str, Any]:
    """What `Stats` must say of rows, counted one by one."""
    labels = Counter(TurnStatus(row.status).label for row in rows)
    costs = [row.cost_nano for row in rows if row.cost_nano is not None]
    return {
        "count": len(rows),
        "completed": labels["completed"],
        "failed": labels["failed"],
        "stopped": labels["cancelled"] + labels["interrupted"],
        "live": labels["queued"] + labels["in_progress"] + labels["awaiting_input"],
        "duration_ms": percentiles([row.duration_us for row in rows]),
        "waited_ms": percentiles([row.waited_us for row in rows]),
        "ttft_ms": percentiles([row.ttft_us for row in rows]),
        "input": sum(row.input_tokens for row in rows),
        "reasoning": sum(row.reasoning_tokens for row in rows),
        "cost_usd": sum(costs) / 1e9 if costs else None,
        "cost_unknown": len(rows) - len(costs),
    }


def percentiles(values: list[int | None]) -> Percentiles:
    ordered = sorted(value for value in values if value is not None)
    if not ordered:
        return Percentiles()
    p50, p95, p99 = (ordered[min(int(share * len(ordered)), len(ordered) - 1)] / 1000 for share in (0.5, 0.95, 0.99))
    return Percentiles(count=len(ordered), p50=p50, p95=p95, p99=p99)


def told(stats: Stats) -> dict[str, Any]:
    own = stats.model_dump(include={"count", "completed", "failed", "stopped", "live", "cost_usd", "cost_unknown"})
    tokens = {"input": stats.tokens.input_tokens, "reasoning": stats.tokens.reasoning_tokens}
    return {**own, **tokens, "duration_ms": stats.duration_ms, "waited_ms": stats.waited_ms, "ttft_ms": stats.ttft_ms}


@pytest.mark.parametrize("many", STATES, indirect=True)
def test_statistics_are_those_of_the_rows(many: Many) -> None:
    for actor, query, rows in every(many.actors, TURN_QUERIES):
        assert told(numbers.stats(actor, query)) == expected(rows), query.text


def test_statistics_of_steps_are_those_of_the_rows(many: Many) -> None:
    for actor, query, rows in every(many.actors, STEP_QUERIES, "step"):
        assert told(numbers.stats(actor, query)) == expected(rows), query.text


def test_a_facet_counts_the_rows_that_have_each_value(many: Many) -> None:
    for actor, query, rows in every(many.actors, ["", "duration:>1s", "user:u1 -has:error", "is:live"]):
        found = {
            facet.field: facet for facet in numbers.facets(actor, query, ["status", "agent", "model", "type", "tool"])
        }
        assert counts(found["status"]) == Counter(row.get_status_display() for row in rows)
        assert counts(found["agent"]) == Counter(row.agent.name for row in rows if row.agent)
        assert counts(found["model"]) == Counter(row.model.value for row in rows if row.model)
        steps = [step for row in rows for step in row.steps.unscoped("test")]
        assert counts(found["type"]) == Counter(
            label for _, label in {(s.turn_id, s.get_type_display()) for s in steps}
        )
        tools = {(step.turn_id, step.tool.value) for step in steps if step.tool}
        assert counts(found["tool"]) == Counter(tool for _, tool in tools)
        assert found["agent"].absent == sum(row.agent is None for row in rows)


def test_steps_count_for_the_agent_that_did_them(many: Many) -> None:
    for actor, query, rows in every(many.actors, ["", "type:inference", "agent:support"], "step"):
        names = {row.pk: agent_of(row) for row in rows}
        groups = numbers.groups(actor, query, ["agent"]).groups
        own = {group.labels[0]: [row for row in rows if names[row.pk] == group.labels[0]] for group in groups}
        assert [told(group.stats) for group in groups] == [expected(own[group.labels[0]]) for group in groups]
        assert sum(map(len, own.values())) == len(rows)
        if "agent" not in query.text:
            [facet] = numbers.facets(actor, query, ["agent"])
            assert counts(facet) == Counter(name for name in names.values() if name)
    others = Step.objects.unscoped("test").exclude(agent_id=None)
    assert any(agent_of(row) != (row.turn.agent and row.turn.agent.name) for row in others)


def agent_of(row: Step) -> str:
    key = row.agent_id or row.turn.agent_id
    return str(Agent.objects.unscoped("test").values_list("name", flat=True).get(pk=key)) if key else ""


def counts(facet: Any) -> Counter[str]:
    assert facet.more == 0
    return Counter({value.label: value.count for value in facet.values})


def test_a_facet_keeps_the_alternatives_of_what_the_query_says_of_its_field(many: Many) -> None:
    admin = many.actors[0]
    [status, model] = numbers.facets(admin, asked("status:failed agent:support"), ["status", "model"])
    assert counts(status) == Counter(row.get_status_display() for row in rows_of(admin, asked("agent:support")))
    assert model.total == len(rows_of(admin, asked("status:failed agent:support")))
    [status] = numbers.facets(admin, asked("-status:failed"), ["status"])
    assert status.total == len(rows_of(admin, asked("")))


def test_a_facet_tells_the_largest_and_how_many_more_there_are(many: Many) -> None:
    admin = many.actors[0]
    [whole] = numbers.facets(admin, asked(""), ["user"])
    [short] = numbers.facets(admin, asked(""), ["user"], limit=2)
    assert short.values == whole.values[:2]
    assert short.more == len(whole.values) - 2


def test_the_buckets_of_a_histogram_hold_every_row_once(many: Many) -> None:
    for actor, query, rows in every(many.actors, TURN_QUERIES):
        buckets, _ = numbers.histogram(actor, query)
        totals = told(numbers.stats(actor, query))
        for outcome in ("completed", "failed", "stopped", "live"):
            assert sum(getattr(bucket, outcome) for bucket in buckets) == totals[outcome]
        assert all(one.to_us == other.from_us for one, other in itertools.pairwise(buckets))
        for bucket in buckets:
            inside = [row for row in rows if bucket.from_us <= to_us(row.started_at) < bucket.to_us]
            assert len(inside) == bucket.completed + bucket.failed + bucket.stopped + bucket.live


def test_a_histogram_has_buckets_people_count_in(many: Many) -> None:
    admin = many.actors[0]
    buckets, width = numbers.histogram(admin, asked("started:2026-11-03..2026-11-04"), buckets=48)
    assert (len(buckets), width) == (48, "1 hour")
    buckets, width = numbers.histogram(admin, asked(""), buckets=4)
    assert width == "1 day"
    assert len(buckets) <= 5


def test_the_sums_of_all_parts_are_those_of_the_whole(many: Many) -> None:
    for actor in many.actors:
        for level, fields in (
            ("turn", ("session", "agent", "day", "status")),
            ("step", ("type", "tool", "agent", "hour")),
        ):
            whole = numbers.stats(actor, asked("", level))
            for field in fields:
                parts = numbers.groups(actor, asked("", level), [field], limit=10_000)
                assert parts.more == 0
                assert added(parts.groups) == amounts(whole), (level, field)
        turns, steps = numbers.stats(actor, asked("")), numbers.stats(actor, asked("", "step"))
        assert (turns.steps, turns.tools) == (steps.steps, steps.tools)
        assert amounts(turns)[3:] == amounts(steps)[3:]


def amounts(stats: Stats) -> list[int]:
    tokens = stats.tokens
    sums = [tokens.input_tokens, tokens.output_tokens, tokens.cached_tokens, tokens.reasoning_tokens]
    return [stats.count, stats.completed, stats.failed, stats.steps, stats.tools, stats.cost_nano, *sums]


def added(groups: list[Any]) -> list[int]:
    return [sum(column) for column in zip(*(amounts(group.stats) for group in groups), strict=True)]


def test_each_group_has_the_statistics_of_its_rows(many: Many) -> None:
    for actor, query, rows in every(many.actors, ["", "-has:error", "tool:search"]):
        found = numbers.groups(actor, query, ["day", "agent"])
        for group in found.groups:
            own = [row for row in rows if in_group(row, group)]
            assert told(group.stats) == expected(own)
        assert sum(group.stats.count for group in found.groups) == len(rows)
        assert [group.from_us for group in found.groups] == sorted(group.from_us or 0 for group in found.groups)


SEVERAL = ["tag", "env", "tool", "meta.plan", "error.message"]


@pytest.mark.parametrize("by", [*([field] for field in SEVERAL), ["tag", "tool"], ["meta.plan", "agent"]])
def test_a_turn_is_in_the_group_of_each_of_its_values(many: Many, by: list[str]) -> None:
    for actor, query, rows in every(many.actors, ["", "tag:vip", "status:failed -tool:search"]):
        expected_groups: dict[tuple[str | None, ...], list[Any]] = {}
        for row in rows:
            for values in itertools.product(*(values_of(row, field) for field in by)):
                expected_groups.setdefault(values, []).append(row)
        found = {tuple(group.values): told(group.stats) for group in numbers.groups(actor, query, by).groups}
        assert found == {values: expected(own) for values, own in expected_groups.items()}


MEASURED: dict[GroupMeasure, Callable[[Stats], float | None]] = {
    "count": lambda stats: stats.count,
    "failed": lambda stats: stats.failed,
    "tokens": lambda stats: stats.tokens.total_tokens,
    "cost": lambda stats: stats.cost_usd,
    "duration": lambda stats: stats.duration_ms.p95,
}


@pytest.mark.parametrize("measure", MEASURED)
@pytest.mark.parametrize("by", [["agent", "day"], ["tag"], ["day"], ["model"]])
def test_a_table_and_its_chart_say_what_the_groups_say(many: Many, by: list[str], measure: GroupMeasure) -> None:
    for actor, query, _rows in every(many.actors, ["", "tag:vip", "status:failed -status:failed"]):
        found = numbers.measured_groups(actor, query, by, measure, limit=3)
        whole = numbers.groups(actor, query, by)
        assert found.total == numbers.stats(actor, query)
        assert found.groups.more == max(len(whole.groups) - 3, 0)
        of_group = MEASURED[measure]
        key = 0 if by[0] != "day" else None
        expected_amounts = Counter(
            (None if key is None else group.values[key], group.from_us or 0, of_group(group.stats))
            for group in whole.groups
        )
        assert Counter((one.value, one.from_us, one.amount) for one in found.amounts) == expected_amounts
        if "day" in by:
            assert found.groups.groups == whole.groups[len(whole.groups) - 3 :] or len(by) > 1
        else:
            largest = sorted((of_group(group.stats) or -1 for group in whole.groups), reverse=True)[:3]
            assert [of_group(group.stats) or -1 for group in found.groups.groups] == pytest.approx(largest)


@pytest.mark.parametrize("field", SEVERAL)
def test_a_facet_counts_each_value_of_a_turn(many: Many, field: str) -> None:
    for actor, query, rows in every(many.actors, ["", "status:failed"]):
        every_value = [value for row in rows for value in values_of(row, field)]
        [facet] = numbers.facets(actor, query, [field])
        assert counts(facet) == Counter(value for value in every_value if value is not None)
        assert facet.absent == every_value.count(None)


def test_the_values_of_a_path_are_counted_without_the_condition_on_it(many: Many) -> None:
    admin = many.actors[0]
    [without] = numbers.facets(admin, asked(""), ["meta.plan"])
    [facet] = numbers.facets(admin, asked("meta.plan:pro"), ["meta.plan"])
    assert counts(facet) == counts(without)


def values_of(row: Any, field: str) -> list[str | None]:
    """The values of a field of a turn; None alone for one that has none."""
    return [*sorted(_texts_of(row, field))] or [None]


def _texts_of(row: Any, field: str) -> set[str]:
    if field == "error.message":
        return {str(row.error_message)} if row.error_message else set()
    if field == "agent":
        return {row.agent.name} if row.agent else set()
    if field == "tool":
        steps = Step.objects.unscoped("test").filter(turn_id=row.pk, tool__isnull=False)
        return {str(step.tool) for step in steps}
    terms = Term.objects.filter(pk__in=TurnTag.objects.filter(turn_id=row.pk).values("term_id"))
    if field == "tag":
        return {term.value for term in terms if term.kind == TermKind.TAG}
    start = f"{field.removeprefix('meta.')}="
    own = (term.value for term in terms if term.kind == TermKind.META and term.value.startswith(start))
    return {value.removeprefix(start) for value in own}


def in_group(row: Any, group: Any) -> bool:
    same_day: bool = group.from_us <= to_us(row.started_at) < group.from_us + DAY_US
    return same_day and (row.agent.name if row.agent else "") == group.labels[1]


def a_completed() -> int:
    return int(Turn.objects.unscoped("test").filter(status=TurnStatus.COMPLETED).values_list("pk", flat=True)[0])


def test_a_change_counts_at_once_in_what_is_sealed(admin: Actor) -> None:
    made = Many(random.Random(1), [admin])
    made.add(40)
    segments.seal_all()
    before = numbers.stats(admin, asked("status:failed")).count
    key = a_completed()
    made.set(key, status=TurnStatus.FAILED)
    assert numbers.stats(admin, asked("status:failed")).count == before + 1
    writer.write(lambda: deletion.delete_turns([key]))
    assert numbers.stats(admin, asked("status:failed")).count == before
    assert numbers.stats(admin, asked("")).count == 39


def test_segments_whose_changes_are_forgotten_are_not_believed(admin: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    made = Many(random.Random(1), [admin])
    made.add(40)
    segments.seal_all()
    key = a_completed()
    made.set(key, status=TurnStatus.FAILED)
    made.add(5)
    monkeypatch.setattr(changes, "MAX_CHANGES", 2)
    writer.write(changes.prune)
    assert numbers.stats(admin, asked("status:failed")).count == len(rows_of(admin, asked("status:failed")))
    segments.seal_all()
    assert numbers.stats(admin, asked("status:failed")).count == len(rows_of(admin, asked("status:failed")))
    assert sum(Segment.objects.filter(live=True).values_list("turns", flat=True)) == 45


def test_segments_without_a_column_that_was_added_later_are_not_read_and_rebuilt(admin: Actor) -> None:
    made = Many(random.Random(1), [admin])
    made.add(40)
    segments.seal_all()
    SegmentColumn.objects.filter(name="turn.ttft_us").delete()  # as a version that did not know it left them
    slow = asked("ttft:>1ms")
    assert numbers.stats(admin, slow).count == len(rows_of(admin, slow)) > 0
    segments.maintain()
    assert SegmentColumn.objects.filter(name="turn.ttft_us", segment__live=True).count() == 1
    assert numbers.stats(admin, slow).count == len(rows_of(admin, slow))


def test_segments_grow_together_and_the_replaced_are_deleted(admin: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segments, "SMALL_TURNS", 10)
    monkeypatch.setattr(segments, "LARGE_TURNS", 40)
    made = Many(random.Random(1), [admin])
    for _ in range(12):
        made.add(10)
        segments.maintain()
    segments.maintain()
    assert list(Segment.objects.order_by("low").values_list("turns", "live")) == [
        (40, True),
        (40, True),
        (10, True),
        (10, True),
        (10, True),
    ]


def test_a_question_that_takes_too_long_ends(admin: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    from agents.logs.store.numbers import snapshot

    Many(random.Random(1), [admin]).add(5)
    monkeypatch.setattr(snapshot, "BUDGET_S", 0.0)
    with pytest.raises(Unavailable, match="time range"):
        numbers.stats(admin, asked(""))


def test_unknown_fields_are_refused_by_name(admin: Actor) -> None:
    with pytest.raises(InvalidRequest, match="nonsense") as refused:
        numbers.facets(admin, asked(""), ["nonsense"])
    assert refused.value.param == "by"
    with pytest.raises(InvalidRequest, match="type"):
        numbers.groups(admin, asked(""), ["type"])
    with pytest.raises(InvalidRequest, match="meta"):
        numbers.groups(admin, asked("", "step"), ["meta.plan"])


def test_who_may_do_nothing_sees_no_numbers(many: Many) -> None:
    nobody = Actor("nobody")
    assert numbers.stats(nobody, asked("")).count == 0
    assert numbers.histogram(nobody, asked("")) == ([], "")


@pytest.mark.django_db(transaction=True)
def test_a_question_sees_one_moment_outside_of_transactions_too(admin: Actor) -> None:
    made = Many(random.Random(1), [admin])
    made.add(30)
    segments.seal_all()
    made.add(10)
    made.change()
    assert told(numbers.stats(admin, asked(""))) == expected(rows_of(admin, asked("")))
    made.change()
    assert told(numbers.stats(admin, asked("tool:search"))) == expected(rows_of(admin, asked("tool:search")))
