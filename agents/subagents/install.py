"""How sub-agents join the server: a group of tools whose arguments say which agents a model may call."""

from __future__ import annotations

from agents.base.lazy_import import LazyFunction
from agents.loop.extensions import extensions
from agents.record.store import ending_hooks


def install() -> None:
    extensions.groups_by_args["builtin::agents"] = LazyFunction("agents.subagents.runner.agent_tools.make_tools")
    ending_hooks.add("subagents", LazyFunction("agents.subagents.runner.stopping.stop_below"))
