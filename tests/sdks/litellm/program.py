"""A loop of one's own around LiteLLM, with its own callback for OpenTelemetry; a span by the conventions of
OpenTelemetry names the agent and the session."""

import json
import os
import sys

import litellm
from litellm.litellm_core_utils.thread_pool_executor import executor
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
trace.set_tracer_provider(provider)
litellm.callbacks = ["otel"]
tracer = trace.get_tracer("weather-app")
TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather in a city.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
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


def result_of(call):
    try:
        return get_weather(**json.loads(call.function.arguments))
    except LookupError as error:
        return f"Error: {error}"


def answer(text):
    messages.append({"role": "user", "content": text})
    with tracer.start_as_current_span("invoke_agent weather_agent", attributes=AGENT):
        while True:
            reply = litellm.completion(model=f"openai/{os.environ['MODEL']}", messages=messages, tools=[TOOL])
            message = reply.choices[0].message
            messages.append(message.model_dump(exclude_none=True))
            if not message.tool_calls:
                return message.content
            for call in message.tool_calls:
                messages.append({"role": "tool", "tool_call_id": call.id, "content": result_of(call)})


messages = [{"role": "system", "content": "Be brief."}]
for asked in (os.environ["FIRST"], os.environ["SECOND"]):
    sys.stdout.write(f"{answer(asked)}\n")
executor.shutdown()  # what is called back with the last answer
provider.shutdown()
