"""An agent of Agno, with OpenInference's instrumentation; its answers are streamed."""

import os
import sys

from agno.agent import Agent
from agno.db.in_memory import InMemoryDb
from agno.models.openai import OpenAIChat
from openinference.instrumentation import TracerProvider
from openinference.instrumentation.agno import AgnoInstrumentor
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace.export import BatchSpanProcessor

provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
AgnoInstrumentor().instrument(tracer_provider=provider)


def get_weather(city: str) -> str:
    """The weather in a city."""
    if city == "Atlantis":
        raise LookupError("The final answer: there is no weather of Atlantis.")
    return "The final word: about 18 degrees and clear."


agent = Agent(
    name="weather_agent",
    model=OpenAIChat(id=os.environ["MODEL"]),
    tools=[get_weather],
    instructions="Be brief.",
    db=InMemoryDb(),
    add_history_to_context=True,
    telemetry=False,
)
for asked in (os.environ["FIRST"], os.environ["SECOND"]):
    words = [event.content for event in agent.run(asked, session_id="travel-talk", stream=True) if event.content]
    sys.stdout.write(f"{''.join(words)}\n")
provider.shutdown()
