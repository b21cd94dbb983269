"""The cards of steps that are none of the loop's own kinds: those of external agents, lists of tools, and any other."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from agents.pages import blocks, citations, external_steps, step_details, step_values
from agents.pages.blocks import NamedText
from agents.record.schemas.events import TOOLS_LEFT_OUT, USER_INPUT
from agents.record.schemas.turns import StepSnapshot
from agents.uikit import format
from agents.uikit.elements import type_label

if TYPE_CHECKING:  # which chooses these cards
    from agents.pages.step_cards import StepCard


def other_card(base: StepCard, step: StepSnapshot) -> StepCard:
    detail = step_details.read_detail(step, step_details.StoredOther)
    if detail and detail.kind == citations.TOOL_LIST_KIND:
        return _tool_list_card(base, step, detail)
    if detail and step.foreign:
        return _external_card(base, step, detail)
    if detail and detail.kind == TOOLS_LEFT_OUT:
        return replace(base, title=_("tools left out"), note=step_details.left_out(detail))
    if detail and detail.kind == USER_INPUT:
        said = NamedText("data", step_details.heard(detail))
        return replace(base, title=_("sent while the turn ran"), body=(blocks.plain_block(said),))
    return replace(
        base,
        title=(detail.kind if detail else "") or step.name or _("other"),
        code=True,
        note=step.name if detail and detail.kind and step.name != detail.kind else "",
        body=tuple(blocks.data_block(value) for value in step_values.other(step) if value.text != "{}"),
    )


def _external_card(base: StepCard, step: StepSnapshot, detail: step_details.StoredOther) -> StepCard:
    """The card of an external step: a hand-off shows both agents, agents and groups their name, any other step its
    kind."""
    kind_label, has_label = external_steps.kind_label(detail.kind), detail.kind in external_steps.KINDS
    body = [blocks.data_block(value, external_steps.label(value.name)) for value in step_values.other(step)]
    visible_blocks = tuple(block for block in body if str(block.html) != "{}")
    agent_names = external_steps.handoff_agents(detail) if detail.kind == "handoff" else None
    if agent_names is not None:
        return replace(base, title=format.capitalize(kind_label), note=" → ".join(agent_names))
    if detail.kind == "agent" or detail.kind in external_steps.GROUPING_KINDS:
        return replace(
            base,
            title=step.name,
            note=kind_label,
            body=visible_blocks,
            is_line=detail.kind in external_steps.GROUPING_KINDS,
        )
    return replace(
        base,
        title=format.capitalize(kind_label) if has_label else kind_label,
        code=not has_label,
        note=step.name,
        body=visible_blocks,
    )


def plain_card(base: StepCard, step: StepSnapshot) -> StepCard:
    """The card of a type of step without a look of its own: its detail as it is."""
    body = tuple(map(blocks.data_block, step_values.step_texts(step)))
    return replace(base, title=format.capitalize(type_label(step.type)), note=step.name, body=body)


def _tool_list_card(base: StepCard, step: StepSnapshot, detail: step_details.StoredOther) -> StepCard:
    """The card of an MCP server's list of tools."""
    tools = citations.tool_list_blocks(detail)
    count = ngettext("%(count)d tool", "%(count)d tools", len(tools)) % {"count": len(tools)}
    return replace(
        base,
        title=_("Tools of %(label)s") % {"label": step.name},
        note="" if base.status == "failed" or tools else count,
        folded=tools,
        folded_label=count,
    )
