"""An agent of Haystack, with OpenInference's instrumentation."""

import os
import sys

from haystack.components.agents import Agent
from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.dataclasses import ChatMessage
from haystack.tools import tool
from openinference.instrumentation import TracerProvider, using_session
from openinference.instrumentation.haystack import HaystackInstrumentor
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace.export import BatchSpanProcessor

provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
HaystackInstrumentor().instrument(tracer_provider=provider)


@tool
def get_weather(city: str) -> str:
    """The weather in a city."""
    if city == "Atlantis":
        raise LookupError("The final answer: there is no weather of Atlantis.")
    return "The final word: about 18 degrees and clear."


agent = Agent(
    chat_generator=OpenAIChatGenerator(model=os.environ["MODEL"]),
    tools=[get_weather],
    system_prompt="Be brief.",
)
messages = []
with using_session("travel-talk"):
    for asked in (os.environ["FIRST"], os.environ["SECOND"]):
        found = agent.run(messages=[*messages, ChatMessage.from_user(asked)])
        messages = [message for message in found["messages"] if not message.is_from("system")]
        sys.stdout.write(f"{found['last_message'].text}\n")
provider.shutdown()
