"""The page on which a turn is forked from one of its steps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from pydantic import ValidationError

from agents.base import ids
from agents.base.access import Actor
from agents.base.errors import AgentsError, InvalidRequest, NotFound
from agents.forks.runner import fork
from agents.forks.runner.fork import ForkRequest
from agents.forks.schemas.forks import ForkTurn
from agents.forks.store import comparison_input
from agents.logs.pages import turn_summary
from agents.logs.store import turn_log
from agents.loop.current_service import service
from agents.record.schemas import step_texts
from agents.record.schemas.turns import StepSnapshot, TurnSnapshot
from agents.record.store import agents, read_turns, step_pages, turns
from agents.uikit.access import PageRequest, page
from agents.uikit.elements import type_label
from agents.uikit.http_responses import turn_reply

STRATEGIES = ("greedy", "top_p", "top_k")
MAX_FIELD_CHARS = 200_000
"""Characters of a text that stand in the form; a longer one is kept unless it is written anew."""

Form = dict[str, str]


@dataclass(frozen=True, slots=True)
class ForkChoice:
    """A turn with the step it is to be forked from, and the form as it is filled in before anything is
    changed. ``left_empty`` are fields that are too long for it."""

    turn: TurnSnapshot
    step: StepSnapshot
    form: Form
    empty_fields: frozenset[str] = field(default_factory=frozenset)


@page("run")
def fork_page(request: PageRequest, turn_id: str) -> HttpResponse:
    """The form, and what became of it: leads to the new turn, or says what is wrong beside what was entered."""
    choice = _choice(request.actor, turn_id, request.GET.get("step", "") or request.POST.get("step", ""))
    if request.method != "POST":
        return _render(request, choice, choice.form)
    posted = {name: str(text).replace("\r\n", "\n") for name, text in request.POST.items()}
    try:
        body = _read(choice, posted)
        started = fork.begin(service(), ForkRequest(request.actor, choice.turn.key, body))
    except NotFound:
        raise
    except AgentsError as error:
        return _render(request, choice, {**choice.form, **posted}, error)
    return turn_reply(request, ids.public(ids.Kind.TURN, started.turn))


def _choice(actor: Actor, turn_id: str, step_id: str) -> ForkChoice:
    key = turns.key_of(turn_id)
    fork.check(actor, key)
    head = read_turns.head(actor, key, "run")
    step = _step(head, step_id)
    form, empty_fields = _initial_form(actor, head, step)
    return ForkChoice(head, step, form, empty_fields)


def _step(turn: TurnSnapshot, step_id: str) -> StepSnapshot:
    """The step that is asked for, else the first. Raises NotFound."""
    key = ids.parse(ids.Kind.STEP, step_id)
    number = int(step_id) - 1 if step_id.isdecimal() and len(step_id) < 8 else 0
    steps = step_pages.steps_by_key(turn.key, [key]) if key is not None else step_pages.steps(turn.key, number, 1)
    if not steps or (key is None and step_id and not step_id.isdecimal()):
        raise NotFound(f"Step '{step_id[:80]}' not found.")
    return steps[0]


# ------------------------------------------------------------------------------------------ the form


def _initial_form(actor: Actor, turn: TurnSnapshot, step: StepSnapshot) -> tuple[Form, frozenset[str]]:
    """The fields as the turn has them; those that are too long are left empty."""
    parameters = comparison_input.parameters(actor, turn.key)
    form = {
        "model": turn.model,
        "instructions": str(parameters.get("instructions") or ""),
        "tools": "recorded",
        **_sampling(parameters),
    }
    if fork.takes_result(step):
        form["tool_result"] = _result(step)
    if not step.number:
        form["input"] = _question(turn)
    too_long = {name for name, text in form.items() if len(text) > MAX_FIELD_CHARS}
    too_long |= {"tool_result"} if step.cuts and "tool_result" in form else set()
    return {name: "" if name in too_long else text for name, text in form.items()}, frozenset(too_long)


def _sampling(parameters: Mapping[str, Any]) -> Form:
    """The parameters of sampling, those of an agent or those of a response."""
    params = parameters.get("sampling_params")
    if isinstance(params, dict):
        strategy = params.get("strategy") or {}
        values = {"strategy": strategy.get("type"), **strategy, "max_tokens": params.get("max_tokens") or ""}
    else:
        values = {"strategy": "top_p", **parameters, "max_tokens": parameters.get("max_output_tokens")}
    names = ("strategy", "temperature", "top_p", "top_k", "max_tokens")
    return {name: "" if values.get(name) is None else str(values[name]) for name in names}


def _result(step: StepSnapshot) -> str:
    answers = step_texts.detail_of(step).get("tool_responses") or [{}]
    return step_texts.content_text(answers[0].get("content"))


def _question(turn: TurnSnapshot) -> str:
    return step_texts.last_user_text(turn.input_messages)


def _read(choice: ForkChoice, posted: Form) -> ForkTurn:
    """What is asked for: only what differs from how the form was. Raises InvalidRequest."""
    form = {**choice.form, **posted}
    changed = {name: form[name] for name in choice.form if form[name] != choice.form[name]}
    changes: dict[str, Any] = {
        name: changed[name] for name in ("model", "instructions", "tool_result", "input") if name in changed
    }
    if changed.keys() & {"strategy", "temperature", "top_p", "top_k", "max_tokens"}:
        changes["sampling_params"] = _sampling_params(form)
    body = {"step": ids.public(ids.Kind.STEP, choice.step.key), "changes": changes, "tools": form["tools"]}
    try:
        return ForkTurn.model_validate(body)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        path = ".".join(str(part) for part in first["loc"])
        raise InvalidRequest(f"{path}: {first['msg']}.", param=path) from error


def _sampling_params(form: Form) -> dict[str, Any]:
    strategy: dict[str, Any] = {"type": form["strategy"]}
    names = {"top_p": ("temperature", "top_p"), "top_k": ("top_k",)}.get(form["strategy"], ())
    strategy |= {name: _number(name, form[name]) for name in names}
    return {"strategy": strategy, "max_tokens": _number("max_tokens", form["max_tokens"]) or 0}


def _number(name: str, text: str) -> float | None:
    if not text.strip():
        return None
    try:
        number = float(text.strip().replace(",", "."))
    except ValueError:
        raise InvalidRequest(f"{name}: '{text[:40]}' is no number.", param=name) from None
    return int(number) if number.is_integer() else number


def _render(request: PageRequest, choice: ForkChoice, form: Form, error: AgentsError | None = None) -> HttpResponse:
    turn, step = choice.turn, choice.step
    rows = turn_log.turn_rows(request.actor, [turn.key])
    context = {
        "turn_id": ids.public(ids.Kind.TURN, turn.key),
        "row": rows[0] if rows else None,
        "step": step,
        "step_id": ids.public(ids.Kind.STEP, step.key),
        "place": step.number + 1,
        "step_url": turn_summary.step_url(turn, step.number),
        "type": type_label(step.type),
        "steps": _nearby_steps(turn, step),
        "form": form,
        "left_empty": choice.empty_fields,
        "asks_result": "tool_result" in choice.form,
        "asks_input": "input" in choice.form,
        "strategies": STRATEGIES,
        "models": sorted({*agents.models(request.actor), turn.model}),
        "error": error,
        "field": (error.param or "").rpartition(".")[2] if error else "",
    }
    return render(request, "forks/fork.html", context, status=error.status if error else 200)


def _nearby_steps(turn: TurnSnapshot, step: StepSnapshot) -> list[tuple[int, str, bool]]:
    """The steps near the chosen one, to choose another: place, words, whether it is the one."""
    near = step_pages.steps(turn.key, max(step.number - 50, 0), 101)
    return [
        (
            nearby.number + 1,
            f"{nearby.number + 1}. {type_label(nearby.type)} {nearby.name[:60]}",
            nearby.key == step.key,
        )
        for nearby in near
    ]
