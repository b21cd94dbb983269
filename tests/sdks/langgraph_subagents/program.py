"""An agent of LangGraph that has another agent as its tool, with OpenInference's instrumentation: the one that is asked
passes the question on, the other knows the weather."""

import os
import sys

from langchain.agents import create_agent
from langchain_core.tools import ToolException, tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from openinference.instrumentation.langchain import LangChainInstrumentor
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
trace.set_tracer_provider(provider)
LangChainInstrumentor().instrument(tracer_provider=provider)
model = ChatOpenAI(model=os.environ["MODEL"])


@tool
def look_up(city: str) -> str:
    """The weather in a city."""
    if city == "Atlantis":
        raise ToolException("The final answer: there is no weather of Atlantis.")
    return "The final word: about 18 degrees and clear."


look_up.handle_tool_error = True
meteorologist = create_agent(model, [look_up], system_prompt="You know the weather.", name="meteorologist")


@tool
def get_weather(city: str) -> str:
    """Ask somebody who knows the weather in a city."""
    script = f'!script\ncall look_up {{"city": "{city}"}}\nthen\nsay Looked up {city}.'
    found = meteorologist.invoke({"messages": [("user", script)]})
    result = found["messages"][-2]
    if result.status == "error":
        raise ToolException(result.content)
    return result.content


get_weather.handle_tool_error = True
agent = create_agent(
    model, [get_weather], system_prompt="Be brief.", name="weather_agent", checkpointer=InMemorySaver()
)
for asked in (os.environ["FIRST"], os.environ["SECOND"]):
    found = agent.invoke({"messages": [("user", asked)]}, {"configurable": {"thread_id": "travel-talk"}})
    sys.stdout.write(found["messages"][-1].content + "\n")
provider.shutdown()
