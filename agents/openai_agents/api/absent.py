"""What this server has not: environments, automations, vaults. Their routes say so by name."""

from __future__ import annotations

from typing import NoReturn

from rest_framework.request import Request

from agents.base.errors import InvalidRequest
from agents.openai_agents.api.base import Undescribed


class Absent(Undescribed):
    """A route for which this server has nothing."""

    actions = {"get": "read", "post": "run", "delete": "run"}
    what = ""

    def _refuse(self) -> NoReturn:
        message = (
            f"This server has no {self.what}. Its agents have tools of this server, of MCP servers and of clients."
        )
        raise InvalidRequest(message, code="unsupported_resource")

    def get(self, request: Request, rest: str = "") -> NoReturn:
        self._refuse()

    def post(self, request: Request, rest: str = "") -> NoReturn:
        self._refuse()

    def delete(self, request: Request, rest: str = "") -> NoReturn:
        self._refuse()


class NoEnvironments(Absent):
    what = "environments"


class NoAutomations(Absent):
    what = "automations"


class NoVaults(Absent):
    what = "vaults"
