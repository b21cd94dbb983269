"""Steps of a turn, built from its nodes in reading order: each before those below it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agents.record.schemas.content import text_of
from agents.record.schemas.events import ErrorInfo, InferenceDetail, ToolDetail
from agents.record.schemas.origins import INFERRED_PREFIX
from agents.telemetry.reading import kinds
from agents.telemetry.reading.call_linking import CallLinks, InferredToolRun, node_id
from agents.telemetry.reading.coerce import MAX_INT64
from agents.telemetry.reading.details import detail_of, inferred_tool_detail
from agents.telemetry.reading.facts import SpanFacts
from agents.telemetry.reading.failures import failure_of
from agents.telemetry.reading.records import ExternalStatus, ExternalStep
from agents.telemetry.reading.sanitize import MAX_NAME_CHARS
from agents.telemetry.reading.tree import SpanNode


def steps_of(
    nodes: Sequence[SpanNode], hidden_tops: frozenset[tuple[str, str]], linked: CallLinks, agent: str
) -> list[ExternalStep]:
    """Build all steps of a turn. ``nodes`` have each parent before its children; ``hidden_tops`` are the ids of those
    that are the turn itself. ``agent`` is the agent of steps that name no other."""
    runs = _by_model(linked.inferred)
    ancestry = _Ancestry(hidden_tops, agent)
    steps: list[ExternalStep] = []
    for node in nodes:
        parent, step_agent = ancestry.of(node)
        if node_id(node) not in hidden_tops:
            steps.append(_step(node, linked, parent, step_agent))
        for run in runs.get(node_id(node), ()):
            steps.append(_inferred_tool_step(run, parent, step_agent))
    return steps


class _Ancestry:
    """The nearest step and the nearest agent above each node."""

    def __init__(self, tops: frozenset[tuple[str, str]], agent: str) -> None:
        self.tops = tops
        self.agent = agent
        self.seen: dict[tuple[str, str], tuple[str, str]] = {}

    def of(self, node: SpanNode) -> tuple[str, str]:
        """Return the id of the step above and the agent of this node; parents are asked for before their children."""
        key = node_id(node)
        parent_node = node.parent
        parent, agent = "", ""
        if parent_node is not None:
            parent_id = node_id(parent_node)
            parent, agent = self.seen.get(parent_id, ("", ""))
            parent = parent if parent_id in self.tops else parent_node.span.id
        agent = (node.facts.name or agent) if node.kind == kinds.AGENT else (node.facts.agent or agent)
        self.seen[key] = (parent, agent)
        return parent, agent or node.facts.agent or self.agent


def _by_model(runs: list[InferredToolRun]) -> dict[tuple[str, str], list[InferredToolRun]]:
    by_model: dict[tuple[str, str], list[InferredToolRun]] = {}
    for run in runs:
        by_model.setdefault(node_id(run.model_node), []).append(run)
    return by_model


def microseconds(ns: int) -> int | None:
    """Convert nanoseconds to microseconds; None where there are none or too many."""
    return ns // 1000 if 0 < ns <= MAX_INT64 else None


def status_of(node: SpanNode, error: ErrorInfo | None) -> ExternalStatus:
    if error is not None:
        return "failed"
    if node.facts.interrupted:
        return "interrupted"
    return "completed" if node.span.end_ns else "in_progress"


def _step(node: SpanNode, linked: CallLinks, parent: str, agent: str) -> ExternalStep:
    span, facts = node.span, node.facts
    error = failure_of(span, facts)
    is_model = facts.kind == kinds.LLM
    spends = is_model or _embeds(node)
    detail, status = detail_of(node, linked.calls.get(node_id(node)), failed=error is not None), status_of(node, error)
    started, ended = microseconds(span.start_ns), microseconds(span.end_ns)
    if started is not None and ended is not None and ended < started:
        ended = None
    return ExternalStep(
        id=span.id,
        trace=span.trace,
        type=kinds.STEP_TYPES.get(facts.kind, "other"),
        kind=(facts.sender_kind if facts.kind in kinds.STEP_TYPES else facts.kind)[:60],
        name=_name(node)[:MAX_NAME_CHARS],
        detail=detail,
        status=status,
        parent=parent,
        started_us=started,
        ended_us=ended,
        ttft_us=facts.ttft_us if is_model else None,
        model=facts.model[:MAX_NAME_CHARS],
        provider=facts.provider[:MAX_NAME_CHARS] if is_model else "",
        usage=facts.usage if spends else None,
        cost_nano=facts.cost_nano if spends else None,
        error=error,
        agent=agent[:MAX_NAME_CHARS],
        hidden=status == "completed" and is_hidden(facts, detail),
    )


def _embeds(node: SpanNode) -> bool:
    """Whether this is an embedding, and not only a span around another that reports the same one."""
    return node.kind == kinds.EMBEDDING and all(child.kind != kinds.EMBEDDING for child in node.children)


def _name(node: SpanNode) -> str:
    """Name a step as our own are: the tool, the model, the touchpoint; others as their sender does."""
    facts = node.facts
    match facts.kind:
        case kinds.LLM:
            return facts.model or node.span.name
        case kinds.TOOL:
            return facts.tool or node.span.name
        case kinds.GUARDRAIL:
            return facts.tool or node.span.name
        case kinds.AGENT | kinds.WORKFLOW:
            return facts.name or node.span.name
        case _:
            return facts.label or node.span.name


def is_hidden(facts: SpanFacts, detail: object) -> bool:
    """Whether the text of a model or a tool was not captured: an ended one always has some."""
    if isinstance(detail, InferenceDetail):
        answer = detail.model_response
        return not (
            text_of(answer.content) or answer.tool_calls or detail.reasoning or isinstance(answer.content, list)
        )
    if isinstance(detail, ToolDetail):
        return facts.arguments is None and facts.result is None
    return False


def _inferred_tool_step(run: InferredToolRun, parent: str, agent: str) -> ExternalStep:
    detail = inferred_tool_detail(run.call, run.answer)
    time_us = microseconds(run.model_node.span.end_ns)
    return ExternalStep(
        id=INFERRED_PREFIX + (run.call.id or run.fallback_id)[:MAX_NAME_CHARS],
        trace=run.model_node.span.trace,
        type="tool_execution",
        kind=kinds.TOOL,
        name=run.call.name[:MAX_NAME_CHARS],
        detail=detail,
        status="completed",
        parent=parent,
        started_us=time_us,
        ended_us=time_us,
        agent=agent[:MAX_NAME_CHARS],
        is_inferred=True,
        hidden=not detail.tool_responses,
    )


def walk_trees(roots: Sequence[SpanNode]) -> Iterator[SpanNode]:
    """Iterate over all nodes of several trees, each before its children."""
    for root in roots:
        yield from root.walk()


def inferred_model_step(top: SpanNode, agent: str) -> ExternalStep:
    """Build a step for the model calls of a turn that no span reports, so that their usage counts."""
    return ExternalStep(
        id=INFERRED_PREFIX + top.span.id,
        trace=top.span.trace,
        type="inference",
        kind=kinds.LLM,
        name=(top.facts.model or top.span.name)[:MAX_NAME_CHARS],
        detail=detail_of(SpanNode(top.span, _as_model(top.facts)), None, failed=False),
        status="completed" if top.span.end_ns else "in_progress",
        model=top.facts.model[:MAX_NAME_CHARS],
        provider=top.facts.provider[:MAX_NAME_CHARS],
        usage=top.facts.usage,
        cost_nano=top.facts.cost_nano,
        agent=agent[:MAX_NAME_CHARS],
        is_inferred=True,
    )


def _as_model(facts: SpanFacts) -> SpanFacts:
    return SpanFacts(kind=kinds.LLM, output_messages=facts.output_messages, model=facts.model, finish=facts.finish)
