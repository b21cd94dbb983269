"""An agent of LlamaIndex, with OpenInference's instrumentation."""

import asyncio
import os
import sys

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.workflow import Context
from llama_index.llms.openai_like import OpenAILike
from openinference.instrumentation import TracerProvider, using_session
from openinference.instrumentation.llama_index import LlamaIndexInstrumentor
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace.export import BatchSpanProcessor

provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
LlamaIndexInstrumentor().instrument(tracer_provider=provider)


def get_weather(city: str) -> str:
    """The weather in a city."""
    if city == "Atlantis":
        raise LookupError("The final answer: there is no weather of Atlantis.")
    return "The final word: about 18 degrees and clear."


model = OpenAILike(
    os.environ["MODEL"],
    api_base=os.environ["OPENAI_BASE_URL"],
    api_key=os.environ["OPENAI_API_KEY"],
    is_chat_model=True,
    is_function_calling_model=True,
    additional_kwargs={"stream_options": {"include_usage": True}},
)
agent = FunctionAgent(name="weather_agent", llm=model, tools=[get_weather], system_prompt="Be brief.")


async def talk():
    context = Context(agent)
    for asked in (os.environ["FIRST"], os.environ["SECOND"]):
        sys.stdout.write(f"{await agent.run(asked, ctx=context)}\n")


with using_session("travel-talk"):
    asyncio.run(talk())
provider.shutdown()
