"""An agent of Pydantic AI, with its own instrumentation and OpenTelemetry's exporter."""

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

agent = Agent(f"openai-chat:{os.environ['MODEL']}", name="weather_agent", instructions="Be brief.", retries=2)


@agent.tool_plain
def get_weather(city: str) -> str:
    """The weather in a city."""
    if city == "Atlantis":
        raise ModelRetry("The final answer: there is no weather of Atlantis.")
    return "The final word: about 18 degrees and clear."


history = None
for asked in (os.environ["FIRST"], os.environ["SECOND"]):
    result = agent.run_sync(asked, message_history=history, conversation_id="travel-talk")
    history = result.all_messages()
    sys.stdout.write(f"{result.output}\n")
provider.shutdown()
