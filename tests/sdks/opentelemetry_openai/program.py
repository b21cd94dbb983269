"""A loop of one's own around the openai client, with OpenTelemetry's instrumentation of that client."""

import json
import os
import sys

from openai import OpenAI
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.instrumentation.genai.openai import OpenAIInstrumentor
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
trace.set_tracer_provider(provider)
OpenAIInstrumentor().instrument()

client = OpenAI()
TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather in a city.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}


def get_weather(city):
    if city == "Atlantis":
        raise LookupError("The final answer: there is no weather of Atlantis.")
    return "The final word: about 18 degrees and clear."


def result_of(call):
    try:
        return get_weather(**json.loads(call.function.arguments))
    except LookupError as error:
        return f"Error: {error}"


def answer(messages):
    while True:
        reply = client.chat.completions.create(model=os.environ["MODEL"], messages=messages, tools=[TOOL])
        message = reply.choices[0].message
        messages.append(message.model_dump(exclude_none=True))
        if not message.tool_calls:
            return message.content
        for call in message.tool_calls:
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result_of(call)})


history = [{"role": "system", "content": "Be brief."}]
for asked in (os.environ["FIRST"], os.environ["SECOND"]):
    history.append({"role": "user", "content": asked})
    sys.stdout.write(f"{answer(history)}\n")
provider.shutdown()
