"""An agent of smolagents, with OpenInference's instrumentation."""

import os
import sys

from openinference.instrumentation import using_session
from openinference.instrumentation.smolagents import SmolagentsInstrumentor
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from smolagents import OpenAIServerModel, ToolCallingAgent, tool

provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
trace.set_tracer_provider(provider)
SmolagentsInstrumentor().instrument(tracer_provider=provider)


@tool
def get_weather(city: str) -> str:
    """The weather in a city.

    Args:
        city: the city's name
    """
    if city == "Atlantis":
        raise LookupError("The final answer: there is no weather of Atlantis.")
    return "The final word: about 18 degrees and clear."


model = OpenAIServerModel(model_id=os.environ["MODEL"])
agent = ToolCallingAgent(
    tools=[get_weather],
    model=model,
    name="weather_agent",
    description="Knows the weather.",
    max_steps=4,
    verbosity_level=0,
)
with using_session("travel-talk"):
    for place, asked in enumerate((os.environ["FIRST"], os.environ["SECOND"])):
        sys.stdout.write(f"{agent.run(asked, reset=not place)}\n")
provider.shutdown()
