"""A program for a venv of its own: runs of the openai-agents SDK, as JSON on its output.

Arguments: the server's URL, and that of an MCP server it is to call.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Coroutine
from typing import Any

from openai import AsyncOpenAI

from agents import (
    Agent,
    HostedMCPTool,
    ModelSettings,
    OpenAIConversationsSession,
    OpenAIResponsesModel,
    Runner,
    function_tool,
    set_tracing_disabled,
)

MODEL = "scripted/fast"


def script(*lines: str) -> str:
    return "\n".join(["!script", *lines])


@function_tool
def get_weather(city: str) -> str:
    """The weather somewhere."""
    return f"sunny in {city}"


WEATHER = script('call get_weather {"city": "Paris"}', 'call get_weather {"city": "Rome"}', "then", "say It is sunny.")


def kinds(items: list[Any]) -> list[str]:
    return [item.type for item in items]


async def tools(model: OpenAIResponsesModel, _: AsyncOpenAI) -> Any:
    agent = Agent(name="helper", instructions="Be brief.", model=model, tools=[get_weather])
    result = await Runner.run(agent, WEATHER)
    outputs = [item.output for item in result.new_items if item.type == "tool_call_output_item"]
    usage = result.context_wrapper.usage
    return {
        "said": result.final_output,
        "kinds": kinds(result.new_items),
        "outputs": outputs,
        "requests": usage.requests,
        "tokens": usage.output_tokens,
        "last": result.last_response_id,
    }


async def one_at_a_time(model: OpenAIResponsesModel, _: AsyncOpenAI) -> Any:
    settings = ModelSettings(temperature=0.5, parallel_tool_calls=False, tool_choice="required", max_tokens=100)
    agent = Agent(name="helper", model=model, tools=[get_weather], model_settings=settings)
    result = await Runner.run(agent, WEATHER)
    return {"said": result.final_output, "kinds": kinds(result.new_items)}


async def handoff(model: OpenAIResponsesModel, _: AsyncOpenAI) -> Any:
    french = Agent(name="french", instructions="Speak French.", model=model)
    first = Agent(name="first", instructions="Hand over.", model=model, handoffs=[french])
    result = await Runner.run(first, script("call transfer_to_french {}", "then", "say Bonjour."))
    return {"said": result.final_output, "agent": result.last_agent.name, "kinds": kinds(result.new_items)}


async def streaming(model: OpenAIResponsesModel, _: AsyncOpenAI) -> Any:
    agent = Agent(name="helper", model=model, tools=[get_weather])
    result = Runner.run_streamed(agent, WEATHER)
    typed, named = "", []
    async for event in result.stream_events():
        if event.type == "raw_response_event" and event.data.type == "response.output_text.delta":
            typed += event.data.delta
        elif event.type == "run_item_stream_event":
            named.append(event.name)
    return {"typed": typed, "named": named, "said": result.final_output}


async def session(model: OpenAIResponsesModel, client: AsyncOpenAI) -> Any:
    agent = Agent(name="helper", model=model, tools=[get_weather])
    talk = OpenAIConversationsSession(openai_client=client)
    first = await Runner.run(agent, script("think Hm.", "say My name is Ana."), session=talk)
    second = await Runner.run(agent, WEATHER, session=talk)
    items = await talk.get_items()
    latest = await talk.get_items(limit=2)
    popped = await talk.pop_item()
    left = len(await talk.get_items())
    third = await Runner.run(agent, script("say Still here."), session=talk)
    await talk.clear_session()
    return {
        "said": [first.final_output, second.final_output, third.final_output],
        "kinds": [item.get("type", "message") for item in items],
        "latest": [item.get("type", "message") for item in latest],
        "popped": popped["content"][0]["text"] if popped else None,
        "left": [len(items), left],
    }


async def hosted_mcp(model: OpenAIResponsesModel, _: AsyncOpenAI) -> Any:
    """The server calls an MCP server itself."""
    lab = {"type": "mcp", "server_label": "lab", "server_url": sys.argv[2], "require_approval": "never"}
    agent = Agent(name="helper", model=model, tools=[HostedMCPTool(tool_config=lab)])
    asked = script('call get_boiling_point {"liquid_name": "polyjuice"}', "then", "say Minus one hundred.")
    result = await Runner.run(agent, asked)
    return {"said": result.final_output, "output": [item.type for item in result.raw_responses[0].output]}


async def server_state(model: OpenAIResponsesModel, client: AsyncOpenAI) -> Any:
    """The server remembers: by the last response, and by a conversation."""
    agent = Agent(name="helper", model=model, tools=[get_weather])
    chained = await Runner.run(agent, WEATHER, auto_previous_response_id=True)
    made = await client.conversations.create()
    kept = await Runner.run(agent, WEATHER, conversation_id=made.id)
    items = [item.type async for item in client.conversations.items.list(made.id, order="asc")]
    return {"said": [chained.final_output, kept.final_output], "items": items}


PARTS: list[Callable[[OpenAIResponsesModel, AsyncOpenAI], Coroutine[Any, Any, Any]]] = [
    tools,
    one_at_a_time,
    handoff,
    streaming,
    session,
    hosted_mcp,
    server_state,
]


async def main(url: str) -> dict[str, Any]:
    set_tracing_disabled(True)
    async with AsyncOpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client:
        model = OpenAIResponsesModel(model=MODEL, openai_client=client)
        return {part.__name__: await part(model, client) for part in PARTS}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(asyncio.run(main(sys.argv[1]))))
