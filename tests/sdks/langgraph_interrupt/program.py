"""A graph of LangGraph that asks a person and waits, with OpenInference's instrumentation: a node interrupts the graph,
and what is typed then resumes it."""

import os
import sys

from langchain_core.tools import ToolException, tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Command, interrupt
from openinference.instrumentation.langchain import LangChainInstrumentor
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
trace.set_tracer_provider(provider)
LangChainInstrumentor().instrument(tracer_provider=provider)


@tool
def get_weather(city: str) -> str:
    """The weather in a city."""
    if city == "Atlantis":
        raise ToolException("The final answer: there is no weather of Atlantis.")
    return "The final word: about 18 degrees and clear."


get_weather.handle_tool_error = True
model = ChatOpenAI(model=os.environ["MODEL"]).bind_tools([get_weather])


def answer(state: MessagesState) -> MessagesState:
    return {"messages": [model.invoke([("system", "Be brief."), *state["messages"]])]}


def ask(state: MessagesState) -> MessagesState:
    return {"messages": [("user", interrupt({"question": "And which other city?", "asked": 1}))]}


def after_answer(state: MessagesState) -> str:
    if state["messages"][-1].tool_calls:
        return "tools"
    return END if sum(message.type == "human" for message in state["messages"]) > 1 else "ask"


builder = StateGraph(MessagesState)
builder.add_node("answer", answer)
builder.add_node("tools", ToolNode([get_weather]))
builder.add_node("ask", ask)
builder.add_edge(START, "answer")
builder.add_conditional_edges("answer", after_answer, ["tools", "ask", END])
builder.add_edge("tools", "answer")
builder.add_edge("ask", "answer")
graph = builder.compile(checkpointer=InMemorySaver(), name="weather_agent")

thread = {"configurable": {"thread_id": "travel-talk"}}
found = graph.invoke({"messages": [("user", os.environ["FIRST"])]}, thread)
sys.stdout.write(found["__interrupt__"][0].value["question"] + "\n")
found = graph.invoke(Command(resume=sys.stdin.read()), thread)
sys.stdout.write(found["messages"][-1].content + "\n")
provider.shutdown()
