"""Builds the run of a response again, for a process that takes it over."""

from __future__ import annotations

from agents.loop.takeover import RebuiltRun, StoredRun
from agents.record.schemas.chat import paired_history
from agents.record.store import history, turns
from agents.responses.runner import agent_runs, earlier_tools
from agents.responses.runner.requests import ResponseRequest
from agents.responses.runner.response_run import response_run
from agents.responses.schemas.requests import CreateResponse
from agents.responses.store import responses


def rebuilt_run(stored: StoredRun) -> RebuiltRun:
    """Build the run of a turn's last response from its stored request. Raises AgentsError."""
    record = responses.of_turn_number(stored.actor, stored.turn, stored.response.number)
    body = CreateResponse.model_validate(responses.filled_request(record))
    agent = agent_runs.of_turn(stored.service, stored.actor, turns.target(stored.actor, stored.turn, action="run"))
    tools = earlier_tools.of_response(record)
    request = ResponseRequest(stored.actor, body, b"", None, {}, agent=agent, earlier_tools=tools)
    messages = turns.input_messages(stored.turn)
    run = response_run(stored.service, request, stored.turn, record.session, messages)
    answered = [message.call_id for message in messages if message.role == "tool"]
    return RebuiltRun(run, paired_history(history.before_turn(stored.turn), answered))
