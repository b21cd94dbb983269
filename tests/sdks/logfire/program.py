"""An agent of Pydantic AI, whose instrumentation Logfire sets up."""

import os
import sys

import logfire
from pydantic_ai import Agent, ModelRetry

logfire.configure(send_to_logfire=False)
logfire.instrument_pydantic_ai()

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
