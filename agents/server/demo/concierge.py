"""Scenes of a client of OpenAI's Responses API, in conversations."""

from __future__ import annotations

from agents.server.demo.scenes import Role, Scene, tool_def

CONCIERGE = Role(
    "concierge",
    {
        "name": "concierge",
        "model": "scripted/demo",
        "instructions": "You plan visits to the shop. Be short.",
        "client_tools": [tool_def("find_slot", "Find a free quarter of an hour", day="str")],
    },
    {
        "visit-in-march": [
            Scene(
                "Could I come by on Thursday to see the blue kettles?",
                """
                wait 300ms
                call find_slot {"day": "Thursday"}
                then
                wait 300ms
                say Yes: **Thursday at 10:15**. Shall I put it down?
                """,
                answers=["10:15"],
            ),
            Scene(
                "Please do. How long will it take?",
                """
                wait 400ms
                think They ask for the length of a visit, which I know: a quarter of an hour.
                say It is down. A visit takes a quarter of an hour; the kettles are left of the door.
                """,
            ),
        ],
        "opening-hours": [
            Scene(
                "When are you open on Sundays?",
                """
                wait 200ms
                say On Sundays we are closed, but for the first one in
                length
                """,
            ),
        ],
    },
    responds=True,
)
