"""A support agent with tools on the server, and one here whose calls somebody has to approve.

    python examples/support_agent.py [--yes]

Asked where an order is, the agent looks it up on the server. Asked for a refund, it calls a function of this program:
its turn waits (``awaiting_input`` in the log) until the question is answered here, and then goes on. With ``--yes`` the
program answers it itself.
"""

import logging
import os
import sys
from typing import Any

from llama_stack_client import LlamaStackClient
from llama_stack_client.lib.agents.agent import Agent
from llama_stack_client.lib.agents.client_tool import client_tool
from llama_stack_client.types import UserMessage

SERVER = os.environ.get("TURNLOG_URL", "http://localhost:8321").rstrip("/")
MODEL = os.environ.get("TURNLOG_MODEL", "scripted/demo")
QUESTIONS = ("Where is order 8841?", "It came broken. Please refund order 8841.")


@client_tool
def refund_order(order: int) -> dict[str, object]:
    """Give a customer the money of an order back, if a person agrees

    :param order: the order's number
    """
    print(f"\n  The agent wants to refund order {order}. Let it? [y/N] ", end="", flush=True)
    if "--yes" in sys.argv[1:]:
        print("y")
    elif sys.stdin.readline().strip().lower() not in ("y", "yes"):
        return {"order": order, "refunded": False, "reason": "a person said no"}
    return {"order": order, "refunded": True, "approved_by": "a person"}


def ask(agent: Agent, session: str, question: str) -> str:
    """Run one turn, and print what the agent says and calls; returns the turn's id."""
    print(f"\nCustomer: {question}\nAgent: ", end="")
    turn = ""
    message = UserMessage(role="user", content=question)
    chunks: Any = agent.create_turn(messages=[message], session_id=session, stream=True)
    for chunk in chunks:
        if error := getattr(chunk, "error", None):
            sys.exit(f"The turn failed: {error}")
        event = chunk.event.payload
        if event.event_type == "turn_start":
            turn = event.turn_id
        elif event.event_type == "step_progress" and event.delta.type == "text":
            print(event.delta.text, end="", flush=True)
        elif event.event_type == "step_complete" and event.step_type == "tool_execution":
            for call in event.step_details.tool_calls:
                print(f"[calls {call.tool_name}]", end=" ")
    print()
    return turn


def main() -> None:
    # the client would show every request, and advises against agent_config, by which alone an agent gets a name
    logging.getLogger().setLevel(logging.ERROR)
    agent = Agent(
        LlamaStackClient(base_url=SERVER),
        agent_config={
            "name": "support agent",
            "model": MODEL,
            "instructions": "You answer the customers of a shop. Look orders up before you say anything about them.",
            "toolgroups": ["builtin::demo"],
            "client_tools": [refund_order.get_tool_definition()],
            "enable_session_persistence": True,
        },
        client_tools=(refund_order,),
    )
    session = agent.create_session("A broken kettle")
    for question in QUESTIONS:
        turn = ask(agent, session, question)
    print(f"\nIn the log: {SERVER}/turns/{turn}/")


if __name__ == "__main__":
    main()
