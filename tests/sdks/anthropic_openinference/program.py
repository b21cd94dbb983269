"""A loop of one's own around Anthropic's client, within spans of OpenInference, whose instrumentation reports the
client's calls; the first call of each turn is streamed."""

import os
import sys

from anthropic import Anthropic
from openinference.instrumentation import TracerProvider, using_session
from openinference.instrumentation.anthropic import AnthropicInstrumentor
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace.export import BatchSpanProcessor

provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
AnthropicInstrumentor().instrument(tracer_provider=provider)
tracer = provider.get_tracer("weather-app")

client = Anthropic()
REQUEST = {
    "model": os.environ["MODEL"],
    "max_tokens": 1000,
    "system": "Be brief.",
    "tools": [
        {
            "name": "get_weather",
            "description": "The weather in a city.",
            "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
        }
    ],
}


@tracer.tool(name="get_weather")
def get_weather(city):
    if city == "Atlantis":
        raise LookupError("The final answer: there is no weather of Atlantis.")
    return "The final word: about 18 degrees and clear."


def result_of(call):
    given = {"type": "tool_result", "tool_use_id": call.id}
    try:
        return {**given, "content": get_weather(**call.input)}
    except LookupError as error:
        return {**given, "content": f"Error: {error}", "is_error": True}


@tracer.agent(name="weather_agent")
def answer(text):
    messages.append({"role": "user", "content": text})
    with client.messages.stream(messages=messages, **REQUEST) as stream:
        reply = stream.get_final_message()
    while reply.stop_reason == "tool_use":
        messages.append({"role": "assistant", "content": reply.content})
        results = [result_of(block) for block in reply.content if block.type == "tool_use"]
        messages.append({"role": "user", "content": results})
        reply = client.messages.create(messages=messages, **REQUEST)
    messages.append({"role": "assistant", "content": reply.content})
    return reply.content[0].text


messages = []
with using_session("travel-talk"):
    for asked in (os.environ["FIRST"], os.environ["SECOND"]):
        sys.stdout.write(f"{answer(asked)}\n")
provider.shutdown()
