"""Nodes of a turn as its steps, in the order in which they are read: each before what lies below it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agents.record.schemas.content import text_of
from agents.record.schemas.events import ErrorInfo, InferenceDetail, ToolDetail
from agents.telemetry.reading import kinds
from agents.telemetry.reading.call_linking import CallLinks, InferredToolRun, node_id
from agents.telemetry.reading.coerce import MAX_INT64
from agents.telemetry.reading.details import detail_of, inferred_tool_detail
from agents.telemetry.reading.facts import SpanFacts
from agents.telemetry.reading.failures import failure_of
from agents.telemetry.reading.records import ExternalStatus, ExternalStep
from agents.telemetry.reading.sanitize import MAX_NAME_CHARS
from agents.telemetry.reading.tree import SpanNode

INFERRED_PREFIX = "made:"
"""Begins the id of a step that no span tells of; what follows is the call's id."""


def steps_of(
    nodes: Sequence[SpanNode], hidden_tops: frozenset[tuple[str, str]], linked: CallLinks, agent: str
) -> list[ExternalStep]:
    """All steps of a turn. ``nodes`` have each parent before its children; ``hidden_tops`` are the ids of those that
    are the turn itself. ``agent`` did what no other is named for."""
    made = _by_model(linked.inferred)
    places = _Places(hidden_tops, agent)
    found: list[ExternalStep] = []
    for node in nodes:
        parent, who = places.of(node)
        if node_id(node) not in hidden_tops:
            found.append(_step(node, linked, parent, who))
        for one in made.get(node_id(node), ()):
            found.append(_made(one, parent, who))
    return found


class _Places:
    """Where nodes lie: the nearest step above, and the nearest agent."""

    def __init__(self, tops: frozenset[tuple[str, str]], agent: str) -> None:
        self.tops = tops
        self.agent = agent
        self.seen: dict[tuple[str, str], tuple[str, str]] = {}

    def of(self, node: SpanNode) -> tuple[str, str]:
        """The id of the step above and who did this; parents are asked for before their children."""
        key = node_id(node)
        above = node.parent
        parent, who = "", ""
        if above is not None:
            at = node_id(above)
            parent, who = self.seen.get(at, ("", ""))
            parent = parent if at in self.tops else above.span.id
        who = (node.facts.name or who) if node.kind == kinds.AGENT else (who or node.facts.agent)
        self.seen[key] = (parent, who)
        return parent, who or node.facts.agent or self.agent


def _by_model(made: list[InferredToolRun]) -> dict[tuple[str, str], list[InferredToolRun]]:
    found: dict[tuple[str, str], list[InferredToolRun]] = {}
    for one in made:
        found.setdefault(node_id(one.model_node), []).append(one)
    return found


def microseconds(ns: int) -> int | None:
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
    detail = detail_of(node, linked.calls.get(node_id(node)), failed=error is not None)
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
        status=status_of(node, error),
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
        hidden=error is None and bool(span.end_ns) and is_hidden(facts, detail),
    )


def _embeds(node: SpanNode) -> bool:
    """Whether this is an embedding, and not only a span around another that tells of the same one."""
    return node.kind == kinds.EMBEDDING and all(child.kind != kinds.EMBEDDING for child in node.children)


def _name(node: SpanNode) -> str:
    """As in our own steps: the tool, the model, the touchpoint; of others what their sender calls them."""
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
    """Whether the words of a model or a tool were not captured: an ended one always has some."""
    if isinstance(detail, InferenceDetail):
        answer = detail.model_response
        return not (
            text_of(answer.content) or answer.tool_calls or detail.reasoning or isinstance(answer.content, list)
        )
    if isinstance(detail, ToolDetail):
        return facts.arguments is None and facts.result is None
    return False


def _made(made: InferredToolRun, parent: str, agent: str) -> ExternalStep:
    detail = inferred_tool_detail(made.call, made.answer)
    moment = microseconds(made.model_node.span.end_ns)
    return ExternalStep(
        id=INFERRED_PREFIX + made.call.id[:MAX_NAME_CHARS],
        trace=made.model_node.span.trace,
        type="tool_execution",
        kind=kinds.TOOL,
        name=made.call.name[:MAX_NAME_CHARS],
        detail=detail,
        status="completed",
        parent=parent,
        started_us=moment,
        ended_us=moment,
        agent=agent[:MAX_NAME_CHARS],
        is_inferred=True,
        hidden=not detail.tool_responses,
    )


def walk_trees(roots: Sequence[SpanNode]) -> Iterator[SpanNode]:
    """All nodes of several trees, each before its children."""
    for root in roots:
        yield from root.walk()


def inferred_model_step(top: SpanNode, agent: str) -> ExternalStep:
    """Stands for the models' calls of a turn of which no span tells, so that what they used counts."""
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
