"""Agents and their revisions: create, read, list, revise, disable, delete."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from django.db.models import Count, QuerySet

from agents.base import ids
from agents.base.access import Action, Actor
from agents.base.errors import Conflict, InvalidRequest, NotFound
from agents.base.models.changes import ChangeKind
from agents.base.store import changes, keyset, portions, scopes
from agents.base.store.keyset import Bounds
from agents.base.store.portions import Sized
from agents.base.store.sql import Select, VisibleRow
from agents.base.store.writer import writer
from agents.base.timestamps import to_datetime, to_us
from agents.record.models.agents import Agent, AgentRevision, Session
from agents.record.models.choices import EXTERNAL, Source
from agents.record.models.turns import Turn
from agents.record.schemas.agents import AgentConfig, AgentObject
from agents.record.schemas.content import ToolDef
from agents.record.store import removal


@dataclass(frozen=True, slots=True)
class AgentRecord:
    """An agent with its current configuration, as other modules read it."""

    key: int
    name: str
    model: str
    config: AgentConfig
    revision: int
    revision_number: int
    created_at: int
    disabled: bool
    source: Source = Source.NATIVE
    updated_at: int = 0
    unlisted: bool = False

    @property
    def is_external(self) -> bool:
        """Tell whether it runs elsewhere: its turns are reported here, and it takes no requests."""
        return self.source in EXTERNAL

    @property
    def public_id(self) -> str:
        return ids.public(ids.Kind.AGENT, self.key)

    def as_object(self) -> AgentObject:
        config = self.config
        if config.openai is not None:
            config = config.model_copy(update={"openai": config.openai.shown})
        return AgentObject(agent_id=self.key, agent_config=config, created_at=self.created_at)


MAX_CACHED = 32 * 1024
"""Largest configuration that is cached, in characters."""


def _config(revision: int, text: str) -> AgentConfig:
    return _cached_config(revision, text) if len(text) <= MAX_CACHED else AgentConfig.model_validate_json(text)


@lru_cache(maxsize=512)
def _cached_config(revision: int, text: str) -> AgentConfig:
    """Parse a configuration, cached: revisions never change. The text is in the key in case a revision's key is
    reused."""
    return AgentConfig.model_validate_json(text)


def _record(agent: Agent) -> AgentRecord:
    revision = agent.revision
    if revision is None:
        raise NotFound(f"Agent '{ids.public(ids.Kind.AGENT, agent.pk)}' has no configuration, not found.")
    return AgentRecord(
        key=agent.pk,
        name=agent.name,
        model=agent.model,
        config=_config(revision.pk, revision.config),
        revision=revision.pk,
        revision_number=revision.number,
        created_at=to_us(agent.created_at),
        disabled=agent.disabled_at is not None,
        source=Source(agent.source),
        updated_at=to_us(agent.updated_at),
        unlisted=agent.unlisted,
    )


def key_of(public_id: str) -> int:
    """Return the key of an agent's public id. Raises NotFound."""
    key = ids.parse_spelled(ids.Kind.AGENT, public_id)
    if key is None:
        raise NotFound(f"Agent '{public_id[:80]}' not found.")
    return key


def create(actor: Actor, config: AgentConfig, source: Source = Source.NATIVE) -> int:
    """Store a new agent; returns its key."""
    key = ids.new_key()
    writer.write(lambda: add(actor, key, config, source))
    return key


def add(actor: Actor, key: int, config: AgentConfig, source: Source = Source.NATIVE, *, unlisted: bool = False) -> None:
    """Store a new agent in the caller's transaction; one that is ``unlisted`` is for one session alone."""
    now = to_datetime(ids.now_us())
    agent = Agent(
        id=key,
        name=config.name or "",
        model=config.model,
        owner_id=actor.user_id,
        scope_id=scopes.scope_for(actor),
        source=source,
        created_at=now,
        updated_at=now,
        unlisted=unlisted,
    )
    agent.save(force_insert=True)
    _add_revision(agent, actor, config, number=1)


def _add_revision(agent: Agent, actor: Actor, config: AgentConfig, number: int) -> None:
    revision = AgentRevision(
        id=ids.new_key(),
        agent_id=agent.pk,  # the agent itself would make a reference cycle, which keeps megabytes of configuration
        number=number,
        config=config.model_dump_json(exclude_none=True),
        author_id=actor.user_id,
        created_at=to_datetime(ids.now_us()),
    )
    revision.save(force_insert=True)
    agent.revision, agent.name, agent.model = revision, config.name or "", config.model
    agent.updated_at = revision.created_at
    agent.save(update_fields=["revision", "name", "model", "updated_at"])
    changes.note(ChangeKind.AGENT, agent.pk)


def revise(actor: Actor, key: int, config: AgentConfig, *, expected: int | None = None) -> None:
    """Give an agent a new configuration, as its next revision. Turns keep the one they ran with. Raises Conflict where
    the number of its present revision is not the ``expected`` one: someone else has changed it since."""
    get(actor, key, "manage")

    def job() -> None:
        agent = Agent.objects.unscoped("checked above").select_related("revision").get(pk=key)
        if expected is not None and agent.revision and agent.revision.number != expected:
            raise Conflict("Someone else has changed this agent meanwhile.", code="agent_changed")
        if agent.revision and agent.revision.config == config.model_dump_json(exclude_none=True):
            return
        _add_revision(agent, actor, config, number=_next_number(key))

    writer.write(job)


def _next_number(agent: int) -> int:
    rows = AgentRevision.objects.filter(agent_id=agent).order_by("-number")
    last: int | None = rows.values_list("number", flat=True).first()
    return (last or 0) + 1


def add_revision_of_session(actor: Actor, agent: int, config: AgentConfig) -> int:
    """Store a configuration that only one session of an agent has, in the caller's transaction; returns its key."""
    key = ids.new_key()
    AgentRevision(
        id=key,
        agent_id=agent,
        number=_next_number(agent),
        config=config.model_dump_json(exclude_none=True),
        author_id=actor.user_id,
        created_at=to_datetime(ids.now_us()),
        of_session=True,
    ).save(force_insert=True)
    return key


def at_revision(record: AgentRecord, revision: int | None) -> AgentRecord:
    """Return an agent as it is at one of its revisions; None, and one that is gone, is the present one."""
    if revision in (None, record.revision):
        return record
    row = _REVISION.first(revision)
    if row is None:
        return record
    config = _config(revision or 0, row[1])
    changes = {"config": config, "revision": revision, "revision_number": row[0], "model": config.model}
    return replace(record, **changes)


def set_disabled(actor: Actor, key: int, disabled: bool) -> None:
    """Disable or enable an agent. A disabled one keeps its record and takes no new turns."""
    get(actor, key, "manage")
    disabled_at = to_datetime(ids.now_us()) if disabled else None

    def job() -> None:
        Agent.objects.unscoped("checked above").filter(pk=key).update(disabled_at=disabled_at)
        changes.note(ChangeKind.AGENT, key)

    writer.write(job)


def get(actor: Actor, key: int, action: Action = "read") -> AgentRecord:
    """Return an agent. Raises NotFound, also for one the actor may not see."""
    row = _ROW.get(actor, key, action)
    revision = _REVISION.first(row[3]) if row else None
    if row is None or revision is None:
        raise NotFound(f"Agent '{ids.public(ids.Kind.AGENT, key)}' not found.")
    return AgentRecord(
        key=key,
        name=row[1],
        model=row[2],
        config=_config(row[3], revision[1]),
        revision=row[3],
        revision_number=revision[0],
        created_at=row[4],
        disabled=row[5] is not None,
        source=Source(row[6]),
        updated_at=row[7],
        unlisted=bool(row[8]),
    )


_ROW = VisibleRow(Agent, "id name model revision_id created_at disabled_at source updated_at unlisted")
_REVISION = Select(AgentRevision, "number config", "id = %s")


def listing(actor: Actor, *, start: int = 0, limit: int = 100) -> tuple[list[AgentRecord], bool]:
    """List agents, newest first, and tell whether there are more; fewer than ``limit`` where they are large."""
    sized, has_more = page(actor, start=start, limit=limit)
    return list(records(sized)), has_more


def page(actor: Actor, *, start: int = 0, limit: int = 100) -> tuple[list[Sized[int]], bool]:
    """List agents as their keys and sizes, and tell whether there are more."""
    rows = _listed(actor).filter(revision__isnull=False).order_by("-id")
    keys = list(rows.values_list("pk", "revision_id")[start : start + limit + 1])
    sizes = portions.sizes(AgentRevision, "config", [revision for _, revision in keys])
    return portions.page(((key, size) for (key, _), size in zip(keys, sizes, strict=False)), limit)


def _listed(actor: Actor) -> QuerySet[Agent]:
    """Return the agents that lists show an actor: not those that are there for their sessions alone."""
    rows: QuerySet[Agent] = Agent.objects.visible_to(actor).filter(unlisted=False)
    return rows


def page_from(actor: Actor, bounds: Bounds) -> tuple[list[AgentRecord], bool]:
    """List agents behind one of them, and tell whether there are more; fewer than asked for where they are large."""
    rows, has_more = keyset.page(_listed(actor).filter(revision__isnull=False), bounds, "pk", "revision_id")
    sizes = portions.sizes(AgentRevision, "config", [revision for _, revision in rows])
    keys = ((key, size) for (key, _), size in zip(rows, sizes, strict=False))
    sized, has_more = keyset.cut(list(keys), bounds, has_more)
    return list(records(sized)), has_more


def visible(actor: Actor, keys: Iterable[int], action: Action = "read") -> dict[int, AgentRecord]:
    """Read agents by their keys, those that the actor may see. One query."""
    rows = Agent.objects.visible_to(actor, action).filter(pk__in=set(keys), revision__isnull=False)
    return {agent.pk: _record(agent) for agent in rows.select_related("revision")}


def records(sized: Iterable[Sized[int]]) -> Iterator[AgentRecord]:
    """Yield the agents of a page in its order, read in groups."""
    for keys in portions.groups(sized):
        rows = Agent.objects.unscoped("keys checked").select_related("revision").in_bulk(keys)
        for key in keys:
            if key in rows and rows[key].revision_id:
                yield _record(rows.pop(key))


def with_session_counts(actor: Actor, records: list[AgentRecord]) -> dict[int, int]:
    """Count the sessions of each of these agents that the actor may see."""
    keys = [record.key for record in records]
    rows = Session.objects.visible_to(actor).filter(agent_id__in=keys).values_list("agent_id")
    return dict(rows.annotate(total=Count("*")))


def names(actor: Actor) -> list[tuple[str, str]]:
    """List (name, public id) of the agents an actor may see, for choices; at most 500."""
    rows = _listed(actor).order_by("name", "id").values_list("name", "model", "pk")[:500]
    return [(name or model, ids.public(ids.Kind.AGENT, pk)) for name, model, pk in rows]


MAX_NAMESAKES, MAX_NAMES = 20, 500
"""Agents of one name, and of all names, that are looked at."""


def runnable(actor: Actor) -> list[tuple[str, str]]:
    """List (name, public id) of the agents that take turns, among those the actor may see, newest first."""
    rows = _taking_turns(Agent.objects.visible_to(actor)).values_list("name", "pk")[:MAX_NAMES]
    return [(name, ids.public(ids.Kind.AGENT, key)) for name, key in rows]


def _taking_turns(rows: Any) -> Any:
    return rows.filter(revision__isnull=False, disabled_at__isnull=True).exclude(source__in=EXTERNAL).order_by("-id")


def runnable_by_name(actor: Actor, name: str) -> list[str]:
    """List the public ids of the agents of this name that take turns of the actor, newest first."""
    rows = _taking_turns(Agent.objects.visible_to(actor, "run").filter(name=name))
    keys = rows.values_list("pk", flat=True)[:MAX_NAMESAKES]
    return [ids.public(ids.Kind.AGENT, key) for key in keys]


def models(actor: Actor) -> list[str]:
    """List the models of the newest 500 agents an actor may see, sorted."""
    return sorted(set(Agent.objects.visible_to(actor).order_by("-id").values_list("model", flat=True)[:500]))


def delete(actor: Actor, key: int) -> None:
    """Delete an agent with everything below it, in short jobs; it is invisible from the first one on. Raises NotFound;
    Conflict while a turn runs."""
    get(actor, key, "manage")
    removal.remove_agent(key)


def retire(actor: Actor, key: int) -> None:
    """Delete an agent, but keep it, unlisted, while it has sessions: these go on. Raises NotFound."""
    get(actor, key, "manage")

    def job() -> bool:
        if not Session.objects.unscoped("whether there are any").filter(agent_id=key).exists():
            return False
        Agent.objects.unscoped("checked above").filter(pk=key).update(unlisted=True)
        changes.note(ChangeKind.AGENT, key)
        return True

    if not writer.write(job):
        removal.remove_agent(key)


def remove_unused(key: int) -> None:
    """Delete an unlisted agent that has no sessions any more. The caller has checked the rights."""
    rows = Agent.objects.unscoped("its session was deleted").filter(pk=key, unlisted=True)
    if rows.exists() and not Session.objects.unscoped("whether there are any").filter(agent_id=key).exists():
        removal.remove_agent(key)


def check_here(record: AgentRecord) -> None:
    """Raise InvalidRequest for an agent that runs elsewhere."""
    if record.is_external:
        raise InvalidRequest("This agent runs elsewhere: what it does is reported here; ask it there.", code="foreign")


def check_enabled(record: AgentRecord) -> None:
    """Raise InvalidRequest when the agent takes no turns."""
    check_here(record)
    if record.disabled:
        raise InvalidRequest(f"Agent '{record.public_id}' is disabled.", code="agent_disabled")


@dataclass(frozen=True, slots=True)
class Revision:
    """A configuration that an agent had from ``created_at`` on (microseconds); ``author`` is empty where it is
    unknown."""

    number: int
    created_at: int
    author: str
    config: AgentConfig


def revisions(actor: Actor, key: int, limit: int = 50) -> list[Revision]:
    """List the newest revisions of an agent, newest first. Raises NotFound."""
    get(actor, key)
    rows = AgentRevision.objects.filter(agent_id=key, of_session=False).order_by("-number")
    columns = rows.values_list("number", "created_at", "author__username", "pk", "config")[:limit]
    return [Revision(number, to_us(at), author or "", _config(pk, text)) for number, at, author, pk, text in columns]


def client_tools_of(turn: int) -> list[ToolDef]:
    """Return the client's tools of a turn's agent. The caller has checked that the turn is visible."""
    config = config_of_turn(turn)
    return config.client_tools if config else []


def config_of_turn(turn: int) -> AgentConfig | None:
    """Return the configuration that a turn's agent runs it with; None where it has no agent. The caller has checked
    that the turn is visible, or is the server itself."""
    rows = Turn.objects.unscoped("the turn was read").filter(pk=turn)
    row = rows.values_list("revision_id", "revision__config").first()
    return _config(*row) if row and row[0] else None


def revision_config(actor: Actor, key: int, revision: int, action: Action = "read") -> AgentConfig:
    """Return the configuration of one revision of an agent the actor may see. Raises NotFound."""
    agent = get(actor, key, action)
    if agent.revision == revision:
        return agent.config
    row = _REVISION_OF.first(revision, key)
    if row is None:
        raise NotFound("This revision of the agent was not found.")
    return _config(revision, row[0])


_REVISION_OF = Select(AgentRevision, "config", "id = %s AND agent_id = %s")
