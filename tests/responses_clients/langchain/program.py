"""LangChain's ChatOpenAI with the Responses API, alone and in an agent."""

import os

import checks
from checks import script
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from pydantic import BaseModel

ROUNDS = script(
    "think Let me see.",
    'call get_weather {"city": "Paris"}',
    'call get_weather {"city": "Rome"}',
    "then",
    'call get_weather {"city": "Oslo"}',
    "then",
    "say Sunny in all three.",
)
WEATHER = ["Sunny in Paris.", "Sunny in Rome.", "Sunny in Oslo."]


class Forecast(BaseModel):
    """A forecast."""

    city: str
    degrees: int


@tool
def get_weather(city: str) -> str:
    """The weather in a city."""
    return f"Sunny in {city}."


def model(**more):
    return ChatOpenAI(model=os.environ["MODEL"], use_responses_api=True, max_retries=0, **more)


def results(state):
    return [message.content for message in state["messages"] if isinstance(message, ToolMessage)]


def asked(words, before=()):
    return {"messages": [*before, HumanMessage(words)]}


def tools():
    state = create_agent(model(), [get_weather]).invoke(asked(ROUNDS))
    assert results(state) == WEATHER
    assert state["messages"][-1].text == "Sunny in all three."
    assert state["messages"][-1].usage_metadata["output_tokens"] > 0


def streaming():
    words = ""
    for chunk, _ in create_agent(model(), [get_weather]).stream(asked(ROUNDS), stream_mode="messages"):
        if chunk.type == "AIMessageChunk":
            words += chunk.text
    assert words == "Sunny in all three."


def structured_output():
    for method in ("json_schema", "function_calling"):
        found = model().with_structured_output(Forecast, method=method).invoke("Tomorrow in Rome?")
        assert isinstance(found, Forecast), (method, found)


def several_turns():
    agent = create_agent(model(), [get_weather])
    first = agent.invoke(asked(ROUNDS))
    second = agent.invoke(asked(script("say Again."), first["messages"]))
    assert second["messages"][-1].text == "Again."


def previous_response():
    chain = model(use_previous_response_id=True)
    agent = create_agent(chain, [get_weather])
    first = agent.invoke(asked(ROUNDS))
    second = agent.invoke(asked(script("say Again."), first["messages"]))
    assert second["messages"][-1].text == "Again."


def unstored_reasoning():
    kept = {"store": False, "include": ["reasoning.encrypted_content"], "reasoning": {"summary": "auto"}}
    for version in ("v0", "responses/v1", "v1"):
        agent = create_agent(model(output_version=version, **kept), [get_weather])
        first = agent.invoke(asked(ROUNDS))
        assert first["messages"][-1].text == "Sunny in all three."
        second = agent.invoke(asked(script("say Again."), first["messages"]))
        assert second["messages"][-1].text == "Again."


def hosted_mcp():
    lab = {"type": "mcp", "server_label": "lab", "server_url": os.environ["MCP_SERVER"], "require_approval": "never"}
    words = script('call get_boiling_point {"liquid_name": "polyjuice"}', "then", "say Minus one hundred.")
    answer = model(output_version="responses/v1").bind_tools([lab]).invoke(words)
    assert answer.text == "Minus one hundred."
    assert [block["type"] for block in answer.content] == ["mcp_list_tools", "mcp_call", "text"], answer.content


checks.run(tools, streaming, structured_output, several_turns, previous_response, unstored_reasoning, hosted_mcp)
