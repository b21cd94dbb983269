"""An agent of OpenAI's Agents SDK, with the tracing that is built into it."""

import os
import sys

from agents.tracing.processors import BackendSpanExporter, BatchTraceProcessor
from openai import AsyncOpenAI

from agents import (
    Agent,
    OpenAIChatCompletionsModel,
    RunConfig,
    Runner,
    SQLiteSession,
    flush_traces,
    function_tool,
    set_trace_processors,
)

# no variable of the environment says where its traces go: these lines do
exporter = BackendSpanExporter(endpoint=f"{os.environ['SERVER']}/v1/traces/ingest", api_key="none")
set_trace_processors([BatchTraceProcessor(exporter)])


@function_tool
def get_weather(city: str) -> str:
    """The weather in a city."""
    if city == "Atlantis":
        raise LookupError("The final answer: there is no weather of Atlantis.")
    return "The final word: about 18 degrees and clear."


model = OpenAIChatCompletionsModel(os.environ["MODEL"], AsyncOpenAI())
agent = Agent(name="Weather agent", instructions="Be brief.", tools=[get_weather], model=model)
session = SQLiteSession("travel-talk")
for asked in (os.environ["FIRST"], os.environ["SECOND"]):
    result = Runner.run_sync(agent, asked, session=session, run_config=RunConfig(group_id="travel-talk"))
    sys.stdout.write(f"{result.final_output}\n")
flush_traces()
