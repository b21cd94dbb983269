"""The routes that Llama Stack's and OpenAI's Agents APIs share: which of the two is asked, the request says.

``OpenAI-Beta: agents=v1`` is OpenAI's. Without the header a body that creates an agent is OpenAI's where it has a
``model`` of its own and no ``agent_config``, and an update is OpenAI's, as Llama Stack has none; everything else is
Llama Stack's, and described in its words.
"""

from __future__ import annotations

from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from agents.base.api.negotiation import read_json
from agents.llama_stack import api as llama_stack
from agents.openai_agents.api import agents as openai
from agents.openai_agents.api.base import is_openai, with_code
from agents.openai_agents.schemas.agents import UpdateSavedAgent
from agents.openai_agents.schemas.objects import SavedAgent


class SharedAgentList(llama_stack.AgentList):
    def post(self, request: Request) -> HttpResponseBase:
        if not self._is_openai(request):
            return super().post(request)
        with with_code():
            return openai.create(self)

    @staticmethod
    def _is_openai(request: Request) -> bool:
        if is_openai(request._request):
            return True
        body = read_json(request._request)
        return isinstance(body, dict) and "agent_config" not in body and isinstance(body.get("model"), str)

    def get(self, request: Request) -> HttpResponseBase:
        if not is_openai(request._request):
            return super().get(request)
        with with_code():
            return openai.listing(self)


class SharedAgentDetail(llama_stack.AgentDetail):
    actions = {"get": "read", "post": "manage", "delete": "manage"}

    def get(self, request: Request, agent_id: str) -> HttpResponseBase:
        if not is_openai(request._request):
            return super().get(request, agent_id)
        with with_code():
            return openai.retrieve(self, agent_id)

    @extend_schema(operation_id="update_agent", request=UpdateSavedAgent, responses=SavedAgent)
    def post(self, request: Request, agent_id: str) -> HttpResponseBase:
        with with_code():
            return openai.update(self, agent_id)

    def delete(self, request: Request, agent_id: str) -> HttpResponseBase:
        if not is_openai(request._request):
            return super().delete(request, agent_id)
        with with_code():
            return openai.delete(self, agent_id)


def _describe() -> None:
    """Describe the shared operations as Llama Stack's: the description knows one form of each."""
    for shared, own, methods in (
        (SharedAgentList, llama_stack.AgentList, ("get", "post")),
        (SharedAgentDetail, llama_stack.AgentDetail, ("get", "delete")),
    ):
        for method in methods:
            getattr(shared, method).kwargs = getattr(own, method).kwargs


_describe()
