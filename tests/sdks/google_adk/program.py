"""An agent of Google's Agent Development Kit that asks its model through LiteLLM, with its own telemetry."""

import asyncio
import os
import sys

from google.adk.agents import Agent
from google.adk.models.lite_llm import LiteLlm
from google.adk.runners import InMemoryRunner
from google.adk.telemetry.setup import maybe_set_otel_providers
from google.genai.types import Part, UserContent
from opentelemetry import trace

maybe_set_otel_providers()


def get_weather(city: str) -> str:
    """The weather in a city."""
    if city == "Atlantis":
        raise LookupError("The final answer: there is no weather of Atlantis.")
    return "The final word: about 18 degrees and clear."


def told(tool, args, tool_context, error):
    return {"error": str(error)}


agent = Agent(
    name="weather_agent",
    model=LiteLlm(f"openai/{os.environ['MODEL']}"),
    instruction="Be brief.",
    tools=[get_weather],
    on_tool_error_callback=told,
)


async def talk():
    runner = InMemoryRunner(agent, app_name="weather-app")
    await runner.session_service.create_session(app_name="weather-app", user_id="user-42", session_id="travel-talk")
    for asked in (os.environ["FIRST"], os.environ["SECOND"]):
        message = UserContent([Part(text=asked)])
        async for event in runner.run_async(user_id="user-42", session_id="travel-talk", new_message=message):
            if event.is_final_response():
                sys.stdout.write(f"{event.content.parts[0].text}\n")


asyncio.run(talk())
trace.get_tracer_provider().shutdown()
