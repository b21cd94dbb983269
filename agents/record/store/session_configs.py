"""Sessions whose turns run with a configuration of their own, instead of what their agent says when they begin."""

from __future__ import annotations

from dataclasses import replace

from agents.base import ids
from agents.base.access import Actor
from agents.base.models.changes import ChangeKind
from agents.base.store import changes
from agents.base.store.writer import writer
from agents.record.models.agents import Session
from agents.record.schemas.agents import AgentConfig
from agents.record.store import agents, sessions
from agents.record.store.sessions import NewSession


def create(
    actor: Actor, new: NewSession, *, inline: AgentConfig | None = None, changed: AgentConfig | None = None
) -> None:
    """Store a new session. With an ``inline`` configuration its agent is a new one under the key that it names, for
    this session alone; with a ``changed`` one its turns run with that instead of its agent's."""

    def job() -> None:
        session = new
        if inline is not None and new.agent is not None:
            agents.add(actor, new.agent, inline, unlisted=True)
        elif changed is not None and new.agent is not None:
            session = replace(new, revision=agents.add_revision_of_session(actor, new.agent, changed))
        sessions.add(actor, session)

    writer.write(job)


def change(actor: Actor, session: int, agent: int | None, config: AgentConfig) -> None:
    """Give the later turns of a session another configuration than that of its ``agent``, which stays as it is. A
    session without one gets one of its own. The caller has checked the right to."""

    def job() -> None:
        rows = Session.objects.unscoped("checked by the caller").filter(pk=session)
        if agent is None:
            key = ids.new_key()
            agents.add(actor, key, config, unlisted=True)
            rows.update(agent_id=key)
        else:
            rows.update(revision_id=agents.add_revision_of_session(actor, agent, config))
        changes.note(ChangeKind.SESSION, session)

    writer.write(job)
