"""An agent of LangChain that asks Anthropic's API, with OpenInference's instrumentation; its answers are streamed."""

import os
import sys

from langchain.agents import create_agent
from langchain_anthropic import ChatAnthropic
from langchain_core.tools import ToolException, tool
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


@tool
def get_weather(city: str) -> str:
    """The weather in a city."""
    if city == "Atlantis":
        raise ToolException("The final answer: there is no weather of Atlantis.")
    return "The final word: about 18 degrees and clear."


get_weather.handle_tool_error = True
agent = create_agent(
    ChatAnthropic(model=os.environ["MODEL"], max_tokens=1000, streaming=True),
    [get_weather],
    system_prompt="Be brief.",
    name="weather_agent",
    checkpointer=InMemorySaver(),
)
for asked in (os.environ["FIRST"], os.environ["SECOND"]):
    found = agent.invoke({"messages": [("user", asked)]}, {"configurable": {"thread_id": "travel-talk"}})
    sys.stdout.write(found["messages"][-1].text + "\n")
provider.shutdown()
