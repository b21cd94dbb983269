"""An agent of Semantic Kernel, with its own diagnostics: the words are in logs beside the spans."""

import asyncio
import logging
import os
import sys

from opentelemetry import trace
from opentelemetry._logs import set_logger_provider
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk._logs import LoggerProvider, LoggingHandler
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from semantic_kernel.agents import ChatCompletionAgent
from semantic_kernel.connectors.ai.open_ai import OpenAIChatCompletion
from semantic_kernel.functions import kernel_function

provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
trace.set_tracer_provider(provider)
logs = LoggerProvider()
logs.add_log_record_processor(BatchLogRecordProcessor(OTLPLogExporter()))
set_logger_provider(logs)
handler = LoggingHandler(logger_provider=logs)
handler.addFilter(logging.Filter("semantic_kernel"))
logging.getLogger().addHandler(handler)
logging.getLogger().setLevel(logging.INFO)


class Weather:
    @kernel_function(name="get_weather")
    def get_weather(self, city: str) -> str:
        """The weather in a city."""
        if city == "Atlantis":
            raise LookupError("The final answer: there is no weather of Atlantis.")
        return "The final word: about 18 degrees and clear."


agent = ChatCompletionAgent(
    service=OpenAIChatCompletion(ai_model_id=os.environ["MODEL"]),
    name="weather_agent",
    instructions="Be brief.",
    plugins=[Weather()],
)


async def talk():
    thread = None
    for asked in (os.environ["FIRST"], os.environ["SECOND"]):
        reply = await agent.get_response(asked, thread=thread)
        thread = reply.thread
        sys.stdout.write(f"{reply.content}\n")


asyncio.run(talk())
provider.shutdown()
logs.shutdown()
