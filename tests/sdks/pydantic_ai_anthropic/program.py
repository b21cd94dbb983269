"""An agent of Pydantic AI that asks Anthropic's API, with its own instrumentation; its answers are streamed."""

import asyncio
import os
import sys

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from pydantic_ai import Agent, ModelRetry

provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
trace.set_tracer_provider(provider)
Agent.instrument_all()

agent = Agent(f"anthropic:{os.environ['MODEL']}", name="weather_agent", instructions="Be brief.", retries=2)


@agent.tool_plain
def get_weather(city: str) -> str:
    """The weather in a city."""
    if city == "Atlantis":
        raise ModelRetry("The final answer: there is no weather of Atlantis.")
    return "The final word: about 18 degrees and clear."


async def talk():
    history = None
    for asked in (os.environ["FIRST"], os.environ["SECOND"]):
        async with agent.run_stream(asked, message_history=history, conversation_id="travel-talk") as result:
            sys.stdout.write(f"{await result.get_output()}\n")
            history = result.all_messages()


asyncio.run(talk())
provider.shutdown()
