"""Agents that ask each other, and one that hands over to another.

    python examples/handover.py

The front desk asks the order desk and the weather desk at once, each in a turn of its own, and hands the customer over
to the delivery desk, which answers in the same turn. The page of the turn shows the tree.
"""

import json
import logging
import os
import sys

from llama_stack_client import LlamaStackClient
from llama_stack_client.types.shared_params.agent_config import AgentConfig, Toolgroup
from llama_stack_client.types.shared_params.user_message import UserMessage

SERVER = os.environ.get("TURNLOG_URL", "http://localhost:8321").rstrip("/")
MODEL = os.environ.get("TURNLOG_MODEL", "scripted/demo")
QUESTION = "Will order 8841 still reach me in Hamburg today?"
ASKED = {"order_desk": "Where is order 8841?", "weather_desk": "What is the weather in Hamburg?"}
# what the built-in model does in place of thinking: a script of the front desk and the delivery desk
SCRIPT = f"""\
!script
think Where the parcel is, and what the roads are like, others know.
{"".join(f"call {desk} {json.dumps({'input': question})}" + chr(10) for desk, question in ASKED.items())}then
say I hand you over to my colleague of the delivery desk.
call transfer_to_delivery_desk {{"reason": "The customer asks for a time of delivery."}}
then
say The delivery desk here: your parcel is near you, and the weather is no trouble.
say You have it **by six this evening**."""


def make_agent(client: LlamaStackClient, name: str, instructions: str, *toolgroups: Toolgroup) -> str:
    """Make an agent; returns its id."""
    config: AgentConfig = {
        "name": name,
        "model": MODEL,
        "instructions": instructions,
        "toolgroups": list(toolgroups),
        "enable_session_persistence": True,
    }
    return client.agents.create(agent_config=config).agent_id


def main() -> None:
    logging.getLogger("httpx").setLevel(logging.WARNING)  # the client would show every request
    client = LlamaStackClient(base_url=SERVER)
    orders = make_agent(client, "order desk", "You know where every order is.", "builtin::demo/lookup_order")
    weather = make_agent(client, "weather desk", "You know the weather.", "builtin::demo/get_weather")
    delivery = make_agent(client, "delivery desk", "You tell customers when their parcels come.")
    colleagues = [{"agent": orders}, {"agent": weather}, {"agent": delivery, "hand_over": True}]
    front = make_agent(
        client,
        "front desk",
        "Find out what the customer needs. Ask the other desks, and hand over to the delivery desk for times.",
        {"name": "builtin::agents", "args": {"agents": colleagues}},
    )
    session = client.agents.session.create(front, session_name="A parcel for Hamburg").session_id
    texts = [QUESTION, SCRIPT] if MODEL.startswith("scripted/") else [QUESTION]
    print(f"Customer: {QUESTION}\n")
    turn = client.agents.turn.create(
        session, agent_id=front, messages=[UserMessage(role="user", content=text) for text in texts]
    )
    if turn.output_message is None:
        sys.exit("The turn failed.")
    print(f"{turn.output_message.content}\n\nIn the log: {SERVER}/turns/{turn.turn_id}/")


if __name__ == "__main__":
    main()
