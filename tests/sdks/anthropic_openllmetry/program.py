"""A loop of one's own around Anthropic's client, with OpenLLMetry's instrumentation of that client; spans by the
conventions of OpenTelemetry name the agent, the session and the tool."""

import json
import os
import sys

from anthropic import Anthropic
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.instrumentation.anthropic import AnthropicInstrumentor
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
trace.set_tracer_provider(provider)
AnthropicInstrumentor().instrument()
tracer = trace.get_tracer("weather-app")

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
AGENT = {
    "gen_ai.operation.name": "invoke_agent",
    "gen_ai.agent.name": "weather_agent",
    "gen_ai.conversation.id": "travel-talk",
}


def get_weather(city):
    if city == "Atlantis":
        raise LookupError("The final answer: there is no weather of Atlantis.")
    return "The final word: about 18 degrees and clear."


def called(block):
    asked = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": block.name,
        "gen_ai.tool.call.id": block.id,
        "gen_ai.tool.call.arguments": json.dumps(block.input),
    }
    with tracer.start_as_current_span(f"execute_tool {block.name}", attributes=asked) as span:
        result = get_weather(**block.input)
        span.set_attribute("gen_ai.tool.call.result", result)
        return result


def result_of(block):
    given = {"type": "tool_result", "tool_use_id": block.id}
    try:
        return {**given, "content": called(block)}
    except LookupError as error:
        return {**given, "content": f"Error: {error}", "is_error": True}


def answer(text):
    messages.append({"role": "user", "content": text})
    with tracer.start_as_current_span("invoke_agent weather_agent", attributes=AGENT):
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
for asked in (os.environ["FIRST"], os.environ["SECOND"]):
    sys.stdout.write(f"{answer(asked)}\n")
provider.shutdown()
