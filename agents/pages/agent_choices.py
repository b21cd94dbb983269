"""What there is to choose from in the form of an agent: models, groups of tools with their tools, shields."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agents.base.access import Actor
from agents.base.errors import InvalidRequest, NotFound, Unavailable
from agents.base.run_sync import run_on_loop
from agents.loop import model_names, prepare, toolset
from agents.loop.current_service import service
from agents.loop.extensions import extensions
from agents.loop.inference.registry import SCRIPTED, ModelCatalogue
from agents.loop.provider_set import Providers
from agents.loop.tool_groups import group_name
from agents.pages.agent_fields import ConfigFields
from agents.record.schemas.agents import AgentConfig
from agents.record.store import agents

BUILT_IN = "scripted/demo"
LONGEST_WAIT_S = 3.0
"""How long the form waits for an endpoint's list of models, which is kept for a while. It has a field for others."""


@dataclass(frozen=True, slots=True)
class ToolChoice:
    """A tool of a group: ``value`` is what the configuration calls it."""

    value: str
    name: str
    description: str
    checked: bool


@dataclass(frozen=True, slots=True)
class GroupChoice:
    """A group of tools. ``note`` says why its server cannot be asked; one that is not ``is_offered`` is kept all the
    same while it is checked."""

    name: str
    tools: Sequence[ToolChoice]
    checked: bool
    note: str = ""
    is_offered: bool = True


@dataclass(frozen=True, slots=True)
class ShieldChoice:
    name: str
    is_offered: bool
    input: bool
    output: bool


@dataclass(frozen=True, slots=True)
class Choices:
    """All of them for one form."""

    models: Sequence[str]
    is_model_gone: bool
    """The endpoint of the form's model answers, and does not have it."""
    groups: Sequence[GroupChoice]
    shields: Sequence[ShieldChoice]


def choices(actor: Actor, fields: ConfigFields) -> Choices:
    """Return what an actor may choose from, with what the fields have."""
    providers, present = _providers(), fields.texts["model"]
    models = {BUILT_IN, *agents.models(actor), present} - {""}
    is_gone = False
    if providers is not None:
        catalogue = run_on_loop(providers.endpoints.all_models(LONGEST_WAIT_S))
        offered = [*model_names.listing(actor), *catalogue.models]
        models |= {model.id for model in offered if model.kind == "llm"}
        is_gone = bool(present) and _is_gone(providers, actor, present, catalogue)
    return Choices(sorted(models), is_gone, _groups(providers, actor, fields), _shields(providers, actor, fields))


def _is_gone(providers: Providers, actor: Actor, name: str, catalogue: ModelCatalogue) -> bool:
    try:
        endpoint, model = model_names.resolve(providers, actor, name)
    except NotFound:
        return True
    offered = {each.id for each in catalogue.models if each.id.startswith(f"{endpoint.name}/")}
    return bool(offered) and endpoint.name != SCRIPTED and f"{endpoint.name}/{model}" not in offered


def _providers() -> Providers | None:
    """Return the providers of this process; None where no turns run in it, and nothing is known of them."""
    try:
        return service().providers
    except Unavailable:
        return None


def _groups(providers: Providers | None, actor: Actor, fields: ConfigFields) -> list[GroupChoice]:
    chosen = fields.chosen["toolgroups"]
    listed = toolset.listing(providers, actor, "manage") if providers else []
    argued = [*providers.retrievers, *extensions.groups_by_args] if providers else []
    tools = {group.name: [tool.definition for tool in group.tools] for group in listed}
    notes = {group.name: group.note for group in listed}
    names = dict.fromkeys([*tools, *argued, *(name.partition("/")[0] for name in chosen)])
    rows_of_groups = []
    for name in names:
        descriptions = {tool.name: tool.description or "" for tool in tools.get(name, ())}
        missing = [item.partition("/")[2] for item in chosen if item.startswith(f"{name}/")]
        descriptions |= {tool: "" for tool in missing if tool not in descriptions}
        rows = [
            ToolChoice(f"{name}/{tool}", tool, text, f"{name}/{tool}" in chosen) for tool, text in descriptions.items()
        ]
        is_offered = providers is None or name in tools or name in argued
        rows_of_groups.append(GroupChoice(name, rows, name in chosen, notes.get(name, ""), is_offered))
    return rows_of_groups


def _shields(providers: Providers | None, actor: Actor, fields: ConfigFields) -> list[ShieldChoice]:
    on_input, on_output = fields.chosen["input_shields"], fields.chosen["output_shields"]
    listed = extensions.list_shields(providers, actor, "manage") if providers else ()
    names = dict.fromkeys([*listed, *on_input, *on_output])
    return [
        ShieldChoice(name, providers is None or name in listed, name in on_input, name in on_output) for name in names
    ]


def wrong_names(actor: Actor, config: AgentConfig, base: AgentConfig) -> dict[str, str]:
    """Return what is wrong with the names of tools and shields, by field. What ``base`` has is not asked about: an
    agent can be changed while one of its servers does not answer, or is gone."""
    providers = _providers()
    if providers is None:
        return {}
    had = {group_name(group) for group in base.toolgroups}
    groups = toolset.listing(providers, actor, "manage")
    answering = {group.name for group in groups if group.tools} | {*providers.retrievers, *extensions.groups_by_args}
    shields = set(extensions.list_shields(providers, actor, "manage"))
    choice = config.tool_config and config.tool_config.tool_choice
    is_unchanged = base.tool_config is not None and choice == base.tool_config.tool_choice
    checked = config.model_copy(
        update={
            "toolgroups": [
                group
                for group in config.toolgroups
                if group_name(group) not in had or group_name(group).partition("/")[0] in answering
            ],
            "input_shields": [
                name for name in config.input_shields if name in shields or name not in base.input_shields
            ],
            "output_shields": [
                name for name in config.output_shields if name in shields or name not in base.output_shields
            ],
            "tool_config": None if is_unchanged else config.tool_config,
            "openai": None,  # it has no field here: it is as it was
        }
    )
    try:
        prepare.check_config(providers, actor, checked)
    except InvalidRequest as error:
        return {error.param or "form": error.message}
    return {}
