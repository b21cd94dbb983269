"""An agent of Microsoft's Agent Framework, with its own spans and OpenTelemetry's exporter."""

import asyncio
import os
import sys

from agent_framework import Agent, observability
from agent_framework.openai import OpenAIChatCompletionClient
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
trace.set_tracer_provider(provider)
observability.enable_instrumentation(enable_sensitive_data=True)
tracer = trace.get_tracer("weather-app")


async def answer(agent, text, session):
    with tracer.start_as_current_span("turn", attributes={"gen_ai.conversation.id": "travel-talk"}):
        return await agent.run(text, session=session)


def get_weather(city: str) -> str:
    """The weather in a city."""
    if city == "Atlantis":
        raise LookupError("The final answer: there is no weather of Atlantis.")
    return "The final word: about 18 degrees and clear."


async def talk():
    client = OpenAIChatCompletionClient(model=os.environ["MODEL"])
    agent = Agent(client, "Be brief.", name="weather_agent", tools=[get_weather])
    session = agent.create_session()
    for asked in (os.environ["FIRST"], os.environ["SECOND"]):
        sys.stdout.write(f"{(await answer(agent, asked, session)).text}\n")


asyncio.run(talk())
provider.shutdown()
