"""OpenAI's Agents SDK: over WebSocket, with a session that compacts itself, with MCP calls to approve, and without."""

import os

import checks
from checks import script
from openai import AsyncOpenAI
from pydantic import BaseModel

from agents import (
    Agent,
    HostedMCPTool,
    ModelSettings,
    OpenAIResponsesCompactionSession,
    Runner,
    SQLiteSession,
    function_tool,
    responses_websocket_session,
    set_tracing_disabled,
)

MODEL, GPT_MODEL = os.environ["MODEL"], os.environ["GPT_MODEL"]
ROUNDS = script(
    "think Let me see.",
    'call get_weather {"city": "Paris"}',
    'call get_weather {"city": "Rome"}',
    "then",
    'call get_weather {"city": "Oslo"}',
    "then",
    "say Sunny in all three.",
)
BOIL = script('call get_boiling_point {"liquid_name": "polyjuice"}', "then", "say Minus one hundred.")


class Forecast(BaseModel):
    city: str
    degrees: int


@function_tool
def get_weather(city: str) -> str:
    """The weather in a city."""
    return f"Sunny in {city}."


def agent(**more):
    return Agent(**{"name": "forecaster", "instructions": "Be brief.", "model": GPT_MODEL, **more})


def outputs(result):
    return [item.output for item in result.new_items if item.type == "tool_call_output_item"]


WEATHER = ["Sunny in Paris.", "Sunny in Rome.", "Sunny in Oslo."]


async def tools():
    result = await Runner.run(agent(tools=[get_weather]), ROUNDS)
    assert outputs(result) == WEATHER
    assert result.final_output == "Sunny in all three."
    assert result.context_wrapper.usage.requests == 3


async def streaming():
    result = Runner.run_streamed(agent(tools=[get_weather]), ROUNDS)
    assert await typed(result) == result.final_output == "Sunny in all three."
    assert outputs(result) == WEATHER


async def typed(result):
    """The words of a streamed run, as they came."""
    words = ""
    async for event in result.stream_events():
        if event.type == "raw_response_event" and event.data.type == "response.output_text.delta":
            words += event.data.delta
    return words


async def structured_output():
    result = await Runner.run(agent(output_type=Forecast), "Tomorrow in Rome?")
    assert isinstance(result.final_output, Forecast)


async def several_turns():
    session = SQLiteSession("talk")
    await Runner.run(agent(tools=[get_weather]), ROUNDS, session=session)
    result = await Runner.run(agent(tools=[get_weather]), "And what was that?", session=session)
    assert "And what was that?" in result.final_output
    chained = await Runner.run(agent(), "My name is Ana.", auto_previous_response_id=True)
    again = await Runner.run(agent(), script("say Ana."), previous_response_id=chained.last_response_id)
    assert again.final_output == "Ana."


async def unstored_reasoning():
    settings = ModelSettings(store=False, response_include=["reasoning.encrypted_content"])
    session = SQLiteSession("unstored")
    asked = agent(tools=[get_weather], model_settings=settings)
    first = await Runner.run(asked, ROUNDS, session=session)
    sealed = [item.raw_item.encrypted_content for item in first.new_items if item.type == "reasoning_item"]
    assert sealed, first.new_items
    assert all(sealed), sealed
    second = await Runner.run(asked, script("say Next."), session=session)
    assert second.final_output == "Next."


async def websocket_session():
    async with responses_websocket_session() as socket:
        first = socket.run_streamed(agent(tools=[get_weather]), ROUNDS)
        assert await typed(first) == "Sunny in all three."
        assert outputs(first) == WEATHER
        second = await socket.run(agent(), script("say Still here."), previous_response_id=first.last_response_id)
        assert second.final_output == "Still here."
        third = await socket.run(agent(output_type=Forecast), "Tomorrow in Rome?")
        assert isinstance(third.final_output, Forecast)


async def unstored_websocket_session():
    settings = ModelSettings(store=False)
    async with responses_websocket_session() as socket:
        asked = agent(tools=[get_weather], model_settings=settings)
        first = await socket.run(asked, ROUNDS)
        second = await socket.run(asked, script("say Still here."), previous_response_id=first.last_response_id)
        assert second.final_output == "Still here."


async def compaction_session():
    for mode in ("input", "previous_response_id", "auto"):
        kept = SQLiteSession(f"compacted-{mode}")
        session = OpenAIResponsesCompactionSession(
            f"compacted-{mode}",
            kept,
            client=AsyncOpenAI(),
            model=GPT_MODEL,
            compaction_mode=mode,
            should_trigger_compaction=lambda found: len(found["compaction_candidate_items"]) >= 7,
        )
        result = await Runner.run(agent(tools=[get_weather]), ROUNDS, session=session)
        assert result.final_output == "Sunny in all three."
        types = [item.get("type", "message") for item in await kept.get_items()]
        assert types == ["message", "compaction"], types
        after = await Runner.run(agent(), script("say It goes on."), session=session)
        assert after.final_output == "It goes on."


async def hosted_mcp():
    result = await Runner.run(agent(tools=[lab("never")]), BOIL)
    assert result.final_output == "Minus one hundred."
    assert [item.type for item in result.raw_responses[0].output] == ["mcp_list_tools", "mcp_call", "message"]


async def hosted_mcp_approval():
    asked = []

    def approve(request):
        asked.append((request.data.name, request.data.arguments))
        return {"approve": True}

    def refuse(request):
        return {"approve": False, "reason": "not today"}

    result = await Runner.run(agent(tools=[lab("always", approve)]), BOIL, max_turns=4)
    assert result.final_output == "Minus one hundred."
    assert [name for name, _ in asked] == ["get_boiling_point"], asked
    calls = [one for response in result.raw_responses for one in response.output if one.type == "mcp_call"]
    assert [(call.name, call.output, call.error) for call in calls] == [("get_boiling_point", "-100", None)], calls
    refused = await Runner.run(agent(tools=[lab("always", refuse)]), BOIL, max_turns=4)
    assert not [one for response in refused.raw_responses for one in response.output if one.type == "mcp_call"]


async def hosted_mcp_interruption():
    """A run that stops for a person, and goes on with what that person says."""
    asked = agent(tools=[lab("always")])
    result = await Runner.run(asked, BOIL)
    assert len(result.interruptions) == 1, result.new_items
    state = result.to_state()
    state.approve(result.interruptions[0])
    result = await Runner.run(asked, state)
    assert not result.interruptions
    assert result.final_output == "Minus one hundred."


def lab(approval, decide=None):
    config = {
        "type": "mcp",
        "server_label": "lab",
        "server_url": os.environ["MCP_SERVER"],
        "require_approval": approval,
    }
    return HostedMCPTool(tool_config=config, on_approval_request=decide)


async def handing_over():
    french = agent(name="french", instructions="Speak French.")
    result = await Runner.run(agent(handoffs=[french]), script("call transfer_to_french {}", "then", "say Bonjour."))
    assert (result.final_output, result.last_agent.name) == ("Bonjour.", "french")


set_tracing_disabled(True)
checks.run(
    tools,
    streaming,
    structured_output,
    several_turns,
    unstored_reasoning,
    websocket_session,
    unstored_websocket_session,
    compaction_session,
    hosted_mcp,
    hosted_mcp_approval,
    hosted_mcp_interruption,
    handing_over,
)
