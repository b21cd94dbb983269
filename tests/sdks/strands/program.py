"""An agent of Strands Agents, with its own spans and OpenTelemetry's exporter."""

import os
import sys

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from strands import Agent, tool
from strands.models.openai import OpenAIModel

provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
trace.set_tracer_provider(provider)


@tool
def get_weather(city: str) -> str:
    """The weather in a city."""
    if city == "Atlantis":
        raise LookupError("The final answer: there is no weather of Atlantis.")
    return "The final word: about 18 degrees and clear."


agent = Agent(
    name="weather_agent",
    model=OpenAIModel(model_id=os.environ["MODEL"]),
    tools=[get_weather],
    system_prompt="Be brief.",
    callback_handler=None,
    trace_attributes={"session.id": "travel-talk"},
)
for asked in (os.environ["FIRST"], os.environ["SECOND"]):
    sys.stdout.write(f"{agent(asked)}\n")
provider.shutdown()
