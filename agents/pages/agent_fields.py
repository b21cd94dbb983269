"""The fields of the form of an agent: what they show of a configuration, and the configuration that they make."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
from django.http import QueryDict
from django.utils.translation import gettext as _
from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError
from pydantic import ValidationError

from agents.loop.tool_groups import group_args, group_name
from agents.record.schemas.agents import AgentConfig, AgentToolGroup, ToolGroupWithArgs
from agents.record.schemas.content import JsonSchemaFormat, SamplingParams, ToolDef, TopKStrategy, TopPStrategy

MAX_NAME = 300
MAX_DIGITS = 12
"""Characters of a number in a field: more is a mistake."""
JSON = dict[str, Any]
RESUMES = {"": None, "true": True, "false": False}
"""What happens to turns whose process is lost, by the value of the field."""
_LISTS = ("toolgroups", "input_shields", "output_shields")


@dataclass(slots=True)
class ToolFields:
    """The fields of a client tool. ``was`` is the name that it had: settings without a field are kept by it."""

    name: str = ""
    description: str = ""
    schema: str = ""
    was: str = ""

    @property
    def is_empty(self) -> bool:
        return not (self.name or self.description or self.schema)


@dataclass(slots=True)
class ConfigFields:
    """What stands in the form: texts by their names, chosen names by their list, client tools, ``persists``."""

    texts: dict[str, str]
    chosen: dict[str, list[str]]
    tools: list[ToolFields]
    persists: bool = False


@dataclass(slots=True)
class Draft:
    """What a form makes: a configuration, or what is wrong by field. Fields of tools are ``tool-0-schema``."""

    config: AgentConfig | None = None
    errors: dict[str, str] = field(default_factory=dict)


# ------------------------------------------------------------------------------------------------ shown


def of_config(config: AgentConfig) -> ConfigFields:
    """Return the fields that show a configuration."""
    texts = {
        "name": config.name or "",
        "model": config.model,
        "other_model": "",
        "instructions": config.instructions,
        "tool_choice": config.tool_config.tool_choice if config.tool_config else "auto",
        "max_infer_iters": str(config.max_infer_iters),
        "resume_runs": next(text for text, value in RESUMES.items() if value is config.resume_runs),
        "response_schema": _schema_text(config),
        **_sampling_texts(config.sampling_params),
    }
    chosen = {
        "toolgroups": [group_name(group) for group in config.toolgroups],
        "input_shields": list(config.input_shields),
        "output_shields": list(config.output_shields),
    }
    return ConfigFields(texts, chosen, [_tool_fields(tool) for tool in config.client_tools], bool(_persists(config)))


def _persists(config: AgentConfig) -> bool:
    return config.enable_session_persistence


def _schema_text(config: AgentConfig) -> str:
    answer = config.response_format
    return _json_text(answer.json_schema) if isinstance(answer, JsonSchemaFormat) else ""


def _sampling_texts(sampling: SamplingParams) -> dict[str, str]:
    strategy = sampling.strategy
    top_p = strategy if isinstance(strategy, TopPStrategy) else None
    return {
        "strategy": strategy.type,
        "temperature": _number_text(top_p.temperature if top_p else None),
        "top_p": _number_text(top_p.top_p if top_p else None),
        "top_k": str(strategy.top_k) if isinstance(strategy, TopKStrategy) else "",
        "max_tokens": str(sampling.max_tokens or ""),
        "repetition_penalty": _number_text(sampling.repetition_penalty),
    }


def _number_text(value: float | None) -> str:
    return "" if value is None else f"{value:g}" if float(f"{value:g}") == value else repr(value)


def _tool_fields(tool: ToolDef) -> ToolFields:
    schema = _json_text(tool.input_schema) if tool.input_schema is not None else ""
    return ToolFields(tool.name, tool.description or "", schema, tool.name)


def _json_text(value: JSON) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()


def of_post(post: QueryDict, shown: ConfigFields) -> ConfigFields:
    """Return the fields as they were sent. What a shorter form does not have is as it was ``shown``; where it is
    ``complete``, boxes that are not sent are not checked."""
    texts = {name: _text(post.get(name, value)) for name, value in shown.texts.items()}
    texts = {name: value if name == "instructions" else value.strip() for name, value in texts.items()}
    if texts["other_model"]:
        texts["model"], texts["other_model"] = texts["other_model"], ""
    if "complete" not in post:
        return ConfigFields(texts, shown.chosen, shown.tools, shown.persists)
    chosen = {name: list(dict.fromkeys(map(_text, post.getlist(name)))) for name in _LISTS}
    return ConfigFields(texts, chosen, _sent_tools(post), "persists" in post)


def _text(value: str) -> str:
    """Browsers send lines with CR LF; no table of ours takes NUL."""
    return value.replace("\r\n", "\n").replace("\0", "")


def _sent_tools(post: QueryDict) -> list[ToolFields]:
    columns = [list(map(_text, post.getlist(f"tool_{name}"))) for name in ("name", "description", "schema", "was")]
    removed = set(post.getlist("tool_remove"))
    rows = [ToolFields(name.strip(), *texts) for name, *texts in zip(*columns, strict=False)]
    return [row for number, row in enumerate(rows) if str(number) not in removed and not row.is_empty]


# ------------------------------------------------------------------------------------------------- drafts


def draft(fields: ConfigFields, base: AgentConfig) -> Draft:
    """Return the configuration that the fields make of ``base``; what they do not show is as it is there."""
    result, texts = Draft(), fields.texts
    for name in ("name", "model"):
        if len(texts[name]) > MAX_NAME:
            result.errors[name] = _("At most %(most)s characters; it has %(length)s.") % {
                "most": MAX_NAME,
                "length": len(texts[name]),
            }
    if not texts["model"]:
        result.errors["model"] = _("Choose a model.")
    values: JSON = {
        **base.model_dump(mode="json"),
        "name": texts["name"] or None,
        "model": texts["model"],
        "instructions": _unless_same(texts["instructions"], base.instructions),
        "toolgroups": _groups(fields.chosen["toolgroups"], base.toolgroups),
        "input_shields": fields.chosen["input_shields"],
        "output_shields": fields.chosen["output_shields"],
        "client_tools": _client_tools(fields.tools, base.client_tools, result.errors),
        "sampling_params": _sampling(texts, base.sampling_params, result.errors),
        "response_format": _response_format(texts["response_schema"], base, result.errors),
        "max_infer_iters": _number(texts, "max_infer_iters", result.errors, whole=True) or 10,
        "enable_session_persistence": fields.persists,
        "resume_runs": RESUMES.get(texts["resume_runs"]),
        **_tool_choice(texts["tool_choice"] or "auto", base),
    }
    if not result.errors:
        try:
            result.config = AgentConfig.model_validate(values)
        except ValidationError as error:
            result.errors.update(_explained(error))
    return result


def _unless_same(text: str, stored: str) -> str:
    return stored if text == _text(stored) else text


def _groups(chosen: Sequence[str], stored: Sequence[AgentToolGroup]) -> list[Any]:
    """Return the chosen groups, those that were stored as they were and in their order. One that is taken as a whole
    has all its tools, so that they are not named again."""
    by_name, args = {group_name(group): group for group in stored}, group_args(stored)
    entire = {name for name in chosen if "/" not in name}
    wanted = [name for name in chosen if "/" not in name or name.partition("/")[0] not in entire]
    ordered = [*(name for name in by_name if name in wanted), *(name for name in wanted if name not in by_name)]
    groups = [by_name.get(name) or _new_group(name, args.get(name.partition("/")[0], {})) for name in ordered]
    return [group if isinstance(group, str) else group.model_dump() for group in groups]


def _new_group(name: str, args: Any) -> AgentToolGroup:
    return ToolGroupWithArgs(name=name, args=dict(args)) if args else name


def _tool_choice(choice: str, base: AgentConfig) -> JSON:
    """Return the choice where it is kept; the deprecated field must agree with it."""
    config = base.tool_config.model_dump() if base.tool_config else {}
    return {"tool_config": {**config, "tool_choice": choice}, "tool_choice": base.tool_choice and choice}


def _client_tools(tools: Sequence[ToolFields], stored: Sequence[ToolDef], errors: dict[str, str]) -> list[JSON]:
    by_name = {tool.name: tool.model_dump(mode="json") for tool in stored}
    result, names = [], set()
    for number, tool in enumerate(tools):
        if not tool.name or len(tool.name) > 200:
            errors[f"tool-{number}-name"] = _("A name of 1 to 200 characters is needed.")
        elif tool.name in names:
            errors[f"tool-{number}-name"] = _("Another tool has this name.")
        names.add(tool.name)
        before = by_name.get(tool.was, {})
        schema = _schema(tool.schema, f"tool-{number}-schema", errors)
        description = _unless_same(tool.description, before.get("description") or "") or None
        result.append({**before, "name": tool.name, "description": description, "input_schema": schema})
    return result


def _schema(text: str, name: str, errors: dict[str, str]) -> JSON | None:
    """Return the JSON Schema of a field, None where it is empty or wrong."""
    if not text.strip():
        return None
    try:
        schema = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        errors[name] = _("This is no JSON: %(reason)s.") % {"reason": str(error).rstrip(".")}
        return None
    if not isinstance(schema, dict):
        errors[name] = _("A JSON Schema is an object: it begins with { and ends with }.")
        return None
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        path = ".".join(map(str, error.absolute_path))
        errors[name] = _("This is no JSON Schema: %(reason)s") % {"reason": f"{path}: {error.message}"[:300]}
        return None
    return schema


def _response_format(text: str, base: AgentConfig, errors: dict[str, str]) -> Any:
    stored = base.response_format
    if text.strip() == _schema_text(base).strip():  # a grammar too, which the field does not show
        return stored and stored.model_dump(mode="json")
    schema = _schema(text, "response_schema", errors)
    return schema and {"type": "json_schema", "json_schema": schema}


def _sampling(texts: dict[str, str], base: SamplingParams, errors: dict[str, str]) -> JSON:
    strategy: JSON = {"type": texts["strategy"]}
    if texts["strategy"] == "top_p":
        strategy |= {name: _number(texts, name, errors) for name in ("temperature", "top_p")}
    elif texts["strategy"] == "top_k":
        strategy["top_k"] = _number(texts, "top_k", errors, whole=True)
        if strategy["top_k"] is None and "top_k" not in errors:
            errors["top_k"] = _("Say among how many tokens to choose.")
    return {
        **base.model_dump(mode="json"),
        "strategy": strategy,
        "max_tokens": _number(texts, "max_tokens", errors, whole=True) or 0,
        "repetition_penalty": _number(texts, "repetition_penalty", errors),
    }


def _number(texts: dict[str, str], name: str, errors: dict[str, str], *, whole: bool = False) -> float | None:
    text = texts[name]
    if not text:
        return None
    try:
        if len(text) > MAX_DIGITS + 12 * (not whole):
            raise ValueError(text)
        return int(text) if whole else float(text)
    except ValueError:
        errors[name] = _("A whole number is needed.") if whole else _("A number is needed, like 0.7.")
        return None


_PLACES = {"max_infer_iters", "temperature", "top_p", "top_k", "max_tokens", "repetition_penalty", "strategy"}


def _explained(error: ValidationError) -> dict[str, str]:
    """Return what is wrong by field: at the innermost part of the configuration that has one."""
    errors: dict[str, str] = {}
    for mistake in error.errors(include_url=False, include_input=False, include_context=False):
        path = [str(part) for part in mistake["loc"]] or ["form"]
        part_name = next((part for part in reversed(path) if part in _PLACES), path[0])
        errors.setdefault(part_name, f"{mistake['msg']}.")
    return errors
