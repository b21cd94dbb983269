"""The routes of OpenAI's Agents API, apart from those of saved agents, which it shares with Llama Stack's. They stand
before the others: ``sessions`` would be an agent's id there."""

from __future__ import annotations

from agents.base.api.routes import Route
from agents.openai_agents.api import absent, history, sessions, subagents

_SESSION = "agents/sessions/<str:session_id>"
_SUBAGENT = f"{_SESSION}/subagents/<str:subagent_id>"
SESSIONS: list[Route] = [
    ("agents/sessions", sessions.AgentSessions),
    (_SESSION, sessions.AgentSession),
    (f"{_SESSION}/events", sessions.AgentSessionEvents),
    (f"{_SESSION}/items", history.AgentSessionItems),
    (f"{_SESSION}/turns", history.AgentTurns),
    (f"{_SESSION}/turns/<str:turn_id>", history.AgentTurn),
    (f"{_SESSION}/turns/<str:turn_id>/items", history.AgentTurnItems),
    (f"{_SESSION}/traces", history.AgentTraces),
    (f"{_SESSION}/subagents", subagents.Subagents),
    (_SUBAGENT, subagents.Subagent),
    (f"{_SUBAGENT}/items", subagents.SubagentItems),
    (f"{_SUBAGENT}/turns", subagents.SubagentTurns),
    (f"{_SUBAGENT}/turns/<str:turn_id>", subagents.SubagentTurn),
    (f"{_SUBAGENT}/turns/<str:turn_id>/items", subagents.SubagentTurnItems),
    (f"{_SESSION}/artifacts", history.Artifacts),
    (f"{_SESSION}/artifacts/<path:rest>", history.Artifact),
    ("agents/environments", absent.NoEnvironments),
    ("agents/environments/<path:rest>", absent.NoEnvironments),
    ("vaults", absent.NoVaults),
    ("vaults/<path:rest>", absent.NoVaults),
]
NO_AUTOMATIONS: list[Route] = [
    ("agents/automations", absent.NoAutomations),
    ("agents/automations/<path:rest>", absent.NoAutomations),
]
"""What stands there on a server without the subject ``automations``."""
