"""An agent of AG2, with its own middleware for OpenTelemetry."""

import asyncio
import os
import sys

from ag2 import Agent, tool
from ag2.config import OpenAIConfig
from ag2.middleware.builtin.telemetry import TelemetryMiddleware
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
trace.set_tracer_provider(provider)
# the middleware has no sessions: this names one
session = {"gen_ai.conversation.id": "travel-talk"}
telemetry = TelemetryMiddleware(agent_name="weather_agent", span_attributes=session)


@tool
def get_weather(city: str) -> str:
    """The weather in a city."""
    if city == "Atlantis":
        raise LookupError("The final answer: there is no weather of Atlantis.")
    return "The final word: about 18 degrees and clear."


agent = Agent(
    "weather_agent",
    prompt="Be brief.",
    config=OpenAIConfig(os.environ["MODEL"], streaming=True),
    tools=[get_weather],
    middleware=[telemetry],
)


async def talk():
    reply = await agent.ask(os.environ["FIRST"])
    sys.stdout.write(f"{reply.body}\n")
    reply = await reply.ask(os.environ["SECOND"])
    sys.stdout.write(f"{reply.body}\n")


asyncio.run(talk())
provider.shutdown()
