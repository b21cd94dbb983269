"""An agent of AutoGen, with OpenInference's instrumentations of it and of the client by which it asks its model."""

import asyncio
import os
import sys

from autogen_agentchat.agents import AssistantAgent
from autogen_ext.models.openai import OpenAIChatCompletionClient
from openinference.instrumentation import TracerProvider, using_session
from openinference.instrumentation.autogen_agentchat import AutogenAgentChatInstrumentor
from openinference.instrumentation.openai import OpenAIInstrumentor
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace.export import BatchSpanProcessor

provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
AutogenAgentChatInstrumentor().instrument(tracer_provider=provider)
OpenAIInstrumentor().instrument(tracer_provider=provider)


async def get_weather(city: str) -> str:
    """The weather in a city."""
    if city == "Atlantis":
        raise LookupError("The final answer: there is no weather of Atlantis.")
    return "The final word: about 18 degrees and clear."


ABILITIES = {
    "vision": False,
    "function_calling": True,
    "json_output": True,
    "structured_output": True,
    "family": "unknown",
}
agent = AssistantAgent(
    "weather_agent",
    OpenAIChatCompletionClient(model=os.environ["MODEL"], model_info=ABILITIES),
    tools=[get_weather],
    system_message="Be brief.",
    reflect_on_tool_use=True,
)


async def talk():
    for asked in (os.environ["FIRST"], os.environ["SECOND"]):
        result = await agent.run(task=asked)
        sys.stdout.write(f"{result.messages[-1].content}\n")


with using_session("travel-talk"):
    asyncio.run(talk())
provider.shutdown()
