"""The model endpoint of the load client: it says what its model's name promises."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from bench.client import Api
from bench.endpoint import Endpoint, Message, rounds_done
from bench.faults import Broken, Missing
from bench.models import answer, plan_of

TOOL = {
    "type": "function",
    "function": {"name": "look", "parameters": {"properties": {"n": {"type": "integer"}}, "required": ["n"]}},
}


def asked(model: str, **more: Any) -> dict[str, Any]:
    return {"model": model, "messages": [{"role": "user", "content": "hi"}], **more}


def test_it_streams_every_token_and_completes(against: Callable[..., Any]) -> None:
    async def use(api: Api) -> tuple[int, int]:
        timing = await api.completion(api.base, "lab/fake-30-b7-c8")
        return timing.tokens, timing.events

    # besides the tokens: the role, the reason it finished, the end
    assert against(Endpoint().app(), use) == (30, 33)


def test_it_answers_at_once_with_the_same_text(against: Callable[..., Any]) -> None:
    async def use(api: Api) -> Any:
        return await api.ask("POST", f"{api.base}/v1/chat/completions", asked("fake-3"))

    whole = against(Endpoint().app(), use)

    assert whole["choices"][0]["message"]["content"] == answer("fake-3") == "t000 t001 t002 "
    assert whole["usage"]["completion_tokens"] == 3


def test_it_calls_the_first_tool_with_what_it_requires(against: Callable[..., Any]) -> None:
    async def use(api: Api) -> Any:
        return await api.ask("POST", f"{api.base}/v1/chat/completions", asked("fake-tool-5-x2", tools=[TOOL]))

    choice = against(Endpoint().app(), use)["choices"][0]

    assert choice["finish_reason"] == "tool_calls"
    assert [call["function"] for call in choice["message"]["tool_calls"]] == 2 * [
        {"name": "look", "arguments": '{"n": 7}'}
    ]


def test_it_notes_when_a_paced_token_left(against: Callable[..., Any]) -> None:
    async def use(api: Api) -> Any:
        await api.completion(api.base, "fake-4-d1")
        return await api.ask("GET", f"{api.base}/written")

    written = against(Endpoint().app(), use)

    assert len(written) == 4
    assert written == sorted(written)


@pytest.mark.parametrize(
    ("roles", "rounds"),
    [("u", 0), ("uct", 1), ("uctct", 2), ("uctau", 0), ("ut", 1)],
)
def test_it_counts_rounds_since_the_last_question(roles: str, rounds: int) -> None:
    kinds = {
        "u": Message("user"),
        "c": Message("assistant", [msgspec.Raw(b"{}")]),
        "a": Message("assistant"),
        "t": Message("tool"),
    }

    assert rounds_done([kinds[role] for role in roles]) == rounds


@pytest.mark.parametrize("model", ["gpt-5", "fake", "fake-200-z9", "fake-tools"])
def test_it_has_no_other_models(model: str, against: Callable[..., Any]) -> None:
    async def use(api: Api) -> Any:
        return await api.ask("POST", f"{api.base}/v1/chat/completions", asked(model))

    with pytest.raises(Missing, match="404"):
        against(Endpoint().app(), use)


def test_it_refuses_what_is_no_request(against: Callable[..., Any]) -> None:
    async def use(api: Api) -> Any:
        return await api.ask("POST", f"{api.base}/v1/chat/completions", {"model": 7})

    with pytest.raises(Broken, match="400"):
        against(Endpoint().app(), use)


def test_it_reads_all_options_of_a_name() -> None:
    plan = plan_of("fake-tool-200-d5-f300-c16-b10-x2-r3")

    assert (plan.tokens, plan.calls_tools, plan.delay_s, plan.first_s) == (200, True, 0.005, 0.3)
    assert (plan.width, plan.batch, plan.calls, plan.rounds) == (16, 10, 2, 3)
