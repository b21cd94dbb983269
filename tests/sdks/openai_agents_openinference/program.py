"""An agent of OpenAI's Agents SDK, with OpenInference's instrumentation in place of the SDK's own tracing."""

import os
import sys

from openai import AsyncOpenAI
from openinference.instrumentation import using_session
from openinference.instrumentation.openai_agents import OpenAIAgentsInstrumentor
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from agents import Agent, OpenAIResponsesModel, Runner, SQLiteSession, function_tool

provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
trace.set_tracer_provider(provider)
OpenAIAgentsInstrumentor().instrument()


@function_tool
def get_weather(city: str) -> str:
    """The weather in a city."""
    if city == "Atlantis":
        raise LookupError("The final answer: there is no weather of Atlantis.")
    return "The final word: about 18 degrees and clear."


model = OpenAIResponsesModel(os.environ["MODEL"], AsyncOpenAI())
agent = Agent(name="Weather agent", instructions="Be brief.", tools=[get_weather], model=model)
session = SQLiteSession("travel-talk")
with using_session("travel-talk"):
    for asked in (os.environ["FIRST"], os.environ["SECOND"]):
        sys.stdout.write(f"{Runner.run_sync(agent, asked, session=session).final_output}\n")
provider.shutdown()
