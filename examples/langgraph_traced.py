"""A program of LangGraph, with two nodes and a tool, whose runs are traced into the log.

    python examples/langgraph_traced.py

LangSmith's own tracer is sent here by its variables, and the graph knows nothing of the log. The model is a fake of
langchain-core, which needs no key; put another one in its place.
"""

import os
import time
import uuid

import requests
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langchain_core.tracers.langchain import wait_for_all_tracers
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode

SERVER = os.environ.get("TURNLOG_URL", "http://localhost:8321").rstrip("/")
# a program of your own gets these from its environment
TRACING = {
    "LANGSMITH_TRACING": "true",
    "LANGSMITH_ENDPOINT": f"{SERVER}/langsmith",
    "LANGSMITH_API_KEY": "any",
    "LANGSMITH_PROJECT": "examples",
}
QUESTION = "What should I pack for Hamburg?"
CALL = {"name": "get_weather", "args": {"city": "Hamburg"}, "id": "call_1", "type": "tool_call"}
ANSWERS = [AIMessage("", tool_calls=[CALL]), AIMessage("An umbrella: it rains in Hamburg, at 9 degrees.")]
MODEL = GenericFakeChatModel(messages=iter(ANSWERS))


@tool
def get_weather(city: str) -> str:
    """The weather in a city."""
    return f"Rain in {city}, 9 degrees."


def plan(state: MessagesState) -> dict[str, list[AIMessage]]:
    """Let the model call the tool, or answer."""
    return {"messages": [MODEL.invoke(state["messages"])]}


def next_node(state: MessagesState) -> str:
    return "tools" if state["messages"][-1].tool_calls else END


def turn_of(session: str) -> str:
    """The id of the turn in a session, which is there a moment after it was reported."""
    asked = {"q": f'session:="{session}" status:completed', "limit": "1"}
    for _ in range(50):
        if turns := requests.get(f"{SERVER}/v1/logs/turns", asked, timeout=30).json()["data"]:
            return str(turns[0]["id"])
        time.sleep(0.2)  # reports are made into turns behind the answer to them
    raise TimeoutError("the turn did not arrive in the log")


def main() -> None:
    os.environ |= TRACING
    graph = StateGraph(MessagesState)
    graph.add_node("plan", plan)
    graph.add_node("tools", ToolNode([get_weather]))
    graph.add_edge(START, "plan")
    graph.add_conditional_edges("plan", next_node, ["tools", END])
    graph.add_edge("tools", "plan")
    planner = graph.compile(name="trip planner")

    # the session in the log is the thread; lc_agent_name is what create_agent() of langchain sets as well
    thread = f"A weekend in Hamburg ({uuid.uuid4().hex[:6]})"
    config = {"configurable": {"thread_id": thread}, "metadata": {"lc_agent_name": "trip planner"}}
    found = planner.invoke({"messages": [("user", QUESTION)]}, config)
    print(f"{QUESTION}\n{found['messages'][-1].content}")
    wait_for_all_tracers()
    print(f"\nIn the log: {SERVER}/turns/{turn_of(thread)}/")


if __name__ == "__main__":
    main()
