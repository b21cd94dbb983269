"""The page of a turn with its views (reader, timeline, raw) and its forms."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST

from agents.base import ids
from agents.base.errors import QuerySyntax
from agents.base.store import feed_cursor
from agents.logs.pages import turn_summary
from agents.logs.schemas.rows import TurnRow
from agents.logs.store import adjacent_turns
from agents.pages import (
    called_turns,
    chosen_step,
    code_samples,
    curl,
    external,
    external_steps,
    fragments,
    inbox,
    raw_view,
    speakers,
    step_details,
    turn_actions,
    turn_messages,
    turn_page_data,
    turn_responses,
    turn_search,
)
from agents.pages.code_samples import CodeSample
from agents.pages.page_hooks import hooks
from agents.pages.turn_messages import TurnMessages
from agents.pages.turn_page_data import VIEWS, TurnPageData
from agents.query import parser
from agents.record.schemas.turns import ItemSnapshot, StepSnapshot
from agents.record.store import agents, sessions, step_pages, turns
from agents.uikit.access import PageRequest, page
from agents.uikit.http_responses import turn_reply
from agents.uikit.links import at, base_url
from agents.uikit.navigation import waiting_badge

__all__ = ["VIEWS"]

MAX_MARKDOWN_CHARS = 40_000
"""Characters of Markdown rendered for one page, the last answers first; the others stay as written."""


@page("read")
def turn_page(request: PageRequest, turn_id: str) -> HttpResponse:
    # read first: a change while the page is built is then sent again rather than missed
    feed_position = feed_cursor.newest(request.actor)
    turn_data = turn_page_data.load(request.actor, turn_id, turn_page_data.read_params(request.GET))
    row, target, view = turn_data.row, turn_data.target, turn_data.page_params.view
    about = turn_data.about
    context = {
        "view": view,
        "turn_id": turn_id,
        "row": row,
        "title": title(row),
        "session_id": ids.public(ids.Kind.SESSION, turn_data.turn.session),
        "agent_id": ids.public(ids.Kind.AGENT, row.agent_id) if row.agent_id else "",
        "speaker": row.agent_name or row.model,
        "facts": fragments.turn_facts(turn_data.turn, row, turn_data.marks, turn_data.calls),
        "side": fragments.turn_side(turn_data, _chosen(turn_data)),
        "judge_url": at(f"/turns/{turn_id}/judged/"),
        "about": about,
        "can_run": "run" in request.actor.actions and about is None,
        "final": turn_data.is_final,
        "cursor": turn_data.turn.next_seq - 1 if about is None else feed_position,
        # by the status that was read with the cursor: a turn that ended since is followed to its end
        "live": not turn_data.is_final and turn_data.is_last,
        "finding": turn_data.finding,
        "search_text": turn_data.page_params.find,
        "url_suffix": _query_string(request, "find", "q", "step"),
        "step_anchor": "" if turn_data.page_params.step is None else f"#step-{turn_data.page_params.step}",
        "list_url_suffix": _query_string(request, "q"),
        **(_spans if view == "raw" and about else _VIEWS[view])(turn_data),
        **fragments.paging(turn_data),
        **_adjacent_turns(request, turn_data),
        "turn_url": f"{base_url(request)}/turns/{turn_id}/",
        "commands": _code_samples(request, turn_data),
        "caller": called_turns.caller_of(request.actor, turn_data.turn.key),
        "fork_url": fork_url(turn_data),
        "lineage": hooks.lineage(request.actor, turn_data.turn.key),
        "say_url": at(f"/turns/{turn_id}/say/") if target.agent is None else "",
    }
    is_over = view == "reader" and context["final"] and context["can_run"]
    context["may_continue"] = is_over and _may_continue(turn_data)
    return render(request, "pages/turn.html", context)


def _query_string(request: HttpRequest, *names: str) -> str:
    """Some parameters of the URL, to be appended to another query string."""
    values = {name: request.GET[name] for name in names if name in request.GET}
    return f"&{urlencode(values)}" if values else ""


def title(row: TurnRow) -> str:
    return " ".join(row.input_preview.split())[:120]


def _adjacent_turns(request: HttpRequest, turn_data: TurnPageData) -> dict[str, Any]:
    """Links to the previous and next turn, in the session and in the list that the reader came from."""
    in_session = adjacent_turns.in_session(turn_data.actor, turn_data.turn.session, turn_data.turn.key)
    context: dict[str, Any] = {
        "session_before": _link(in_session.before),
        "session_after": _link(in_session.after),
        "in_list": False,
        "list_query": "",
        "list_older": "",
        "list_newer": "",
    }
    if "q" not in request.GET:
        return context
    text = request.GET["q"].strip()
    try:
        query = parser.parse(text, now_us=ids.now_us())
        in_list = adjacent_turns.in_list(turn_data.actor, query, turn_data.turn.key)
    except QuerySyntax:
        return context  # the list reports the error; here the query only says where the reader came from
    return context | {
        "list_query": text,
        "in_list": True,
        "list_older": _link(in_list.before),
        "list_newer": _link(in_list.after),
    }


def _link(key: int | None) -> str:
    return at(f"/turns/{ids.public(ids.Kind.TURN, key)}/") if key is not None else ""


# ------------------------------------------------------------------------------------------- the views


def reader(page: TurnPageData) -> dict[str, Any]:
    """The messages and steps of a page as HTML."""
    message_page = turn_messages.message_page(page.turn.input_messages, page.page_params.message)
    inputs = turn_responses.inputs(
        [response.record for response in page.responses if response.number > 1 or message_page.is_whole]
    )
    messages = _input_messages(page, inputs, message_page) if page.start == 0 else []
    placed = sorted([*_thread(page, inputs), *_takeovers(page)], key=lambda item: item.position)
    cards = [*_fold_quiet(placed), *_answer(page)]
    if page.finding is not None:
        phrases = page.finding.phrases
        messages = [str(turn_search.mark_matches(html, phrases)) for html in messages]
        cards = [str(turn_search.mark_matches(html, phrases)) for html in cards]
    return {"messages_html": messages, "steps_html": cards, **_message_paging(page, message_page)}


def _message_paging(page: TurnPageData, shown: TurnMessages) -> dict[str, Any]:
    """The range of input messages on the page, and the query strings of those before and after."""
    before = max(shown.first - turn_messages.PAGE_MESSAGES, 0)
    return {
        "message_page": None if shown.is_whole or page.start else shown,
        "messages_before": page.messages_query(before) if shown.first else "",
        "messages_after": page.messages_query(shown.end) if shown.end < shown.total else "",
    }


def _input_messages(page: TurnPageData, inputs: Mapping[int, Sequence[ItemSnapshot]], shown: TurnMessages) -> list[str]:
    """The shown input messages of the turn as HTML."""
    url = f"{turn_summary.turn_url(page.turn)}value/"
    records = [response.record for response in page.responses if response.number == 1 and shown.is_whole]
    roles = turn_responses.message_roles(shown.messages, inputs[records[0].key] if records else ())
    numbered = enumerate(zip(shown.messages, roles, strict=True), start=shown.first)
    messages = [fragments.turn_message(message, str(index), url, role) for index, (message, role) in numbered]
    return messages or ([fragments.hidden_message()] if page.about and page.about.is_hidden else [])


def fork_url(page: TurnPageData) -> str:
    """Where the turn is forked from the first step of the page; empty while it runs, and of one from elsewhere."""
    steps = () if page.about is not None or page.row.status in turn_summary.LIVE else page.steps
    step = next((step for step in steps if not step.foreign), None)
    return hooks.fork_url(page.turn, step) if step else ""


@dataclass(frozen=True, slots=True)
class _Placed:
    """HTML with its position among the steps: between them, and by time where several stand between the same ones;
    ``quiet`` is its step, if that is a line."""

    position: tuple[float, int]
    html: str
    quiet: StepSnapshot | None = None


def _fold_quiet(placed: Iterable[_Placed]) -> Iterator[str]:
    """The HTML of each, with several quiet steps in a row as one line."""
    for is_quiet, group in groupby(placed, key=lambda item: item.quiet is not None):
        row = list(group)
        steps = [item.quiet for item in row if item.quiet is not None]
        htmls = [item.html for item in row]
        yield from [fragments.quiet_steps(htmls, steps)] if is_quiet and len(steps) > 1 else htmls


def _thread(page: TurnPageData, inputs: Mapping[int, Sequence[ItemSnapshot]]) -> Iterator[_Placed]:
    """The steps, and the start of each later response."""
    rendered = rendered_steps(page.steps)
    feedback = hooks.step_feedback(page.actor, page.turn.session, page.turn.key)
    is_foreign = page.about is not None
    depths = step_pages.depths(page.steps) if is_foreign else {}
    foreign = external_steps.speakers(page.steps, page.row.agent_name) if is_foreign else {}
    agents = speakers.of_turn(page.row)
    names = {step.key: foreign.get(step.key) or agents.of(step) for step in page.steps}
    repeating = speakers.repeating(page.steps, lambda step: names[step.key])
    for step in page.steps:
        context = fragments.CardContext(
            speaker=names[step.key],
            feedback_html=feedback.get(step.key, ""),
            depth=depths.get(step.key, 0),
            speaks_again=step.key in repeating,
            rendered=step.key in rendered,
            recovery=page.recovery,
            calls=page.calls,
            unfolded=page.finding is not None,
        )
        html = fragments.step_card(page.turn, step, context, chosen_step.streamed_text(page.turn.key, step))
        yield _Placed((step.number, 0), html, step if context.is_quiet(step) else None)
    for response in page.responses:
        if response.number > 1 and page.start <= response.record.first_step <= page.start + len(page.steps):
            head = fragments.response_head(page.turn, response, inputs[response.record.key])
            yield _Placed((response.record.first_step - 0.5, response.record.created_at), head)


def _takeovers(page: TurnPageData) -> Iterator[_Placed]:
    """Where the turn was taken over, among the steps of the page."""
    lines = list(page.recovery.lines(page.steps))
    if not lines:
        return
    steps = page.steps
    following = step_pages.steps(page.turn.key, steps[-1].number + 1, 1) if steps else ()
    for line in lines:
        is_earlier = line.after_step < 0 and bool(steps) and steps[0].number > 0
        if not is_earlier and not (following and following[0].started_at < line.at):
            yield _Placed((line.number, line.at), fragments.takeover_line(line))


def _answer(page: TurnPageData) -> list[str]:
    """The answer of an external turn, if none of its steps contains it."""
    if page.about is None or not page.is_last or external.is_answered(page.turn):
        return []
    message = step_details.message(page.turn.output_message) or step_details.StoredMessage()
    return [fragments.turn_answer(message, f"{turn_summary.turn_url(page.turn)}value/", page.row.agent_name)]


def rendered_steps(steps: Sequence[StepSnapshot]) -> set[int]:
    """Keys of the inferences whose Markdown a page renders."""
    remaining, chosen = MAX_MARKDOWN_CHARS, set()
    for step in reversed(steps):
        if step.type == "inference" and step.detail and remaining > 0:
            remaining -= min(len(step.detail), 20_000)
            chosen.add(step.key)
    return chosen


def _timeline(page: TurnPageData) -> dict[str, Any]:
    return {"timeline": fragments.turn_timeline(page)}


def _raw(page: TurnPageData) -> dict[str, Any]:
    first = min(page.page_params.start or 0, max(page.turn.next_seq - 1, 0)) // raw_view.PAGE_SIZE * raw_view.PAGE_SIZE
    raw_responses = [(response, raw_view.response(response.record)) for response in page.responses]
    return {
        "turn_json": raw_view.turn_as_json(page.turn, has_all_steps=page.has_all_steps),
        "lines": raw_view.lines(page.turn, first),
        "first_event": first,
        "last_event": min(first + raw_view.PAGE_SIZE, page.turn.next_seq) - 1,
        "last_event_of_all": page.turn.next_seq - 1,
        "events_before": page.query(max(first - raw_view.PAGE_SIZE, 0)) if first else "",
        "events_after": page.query(first + raw_view.PAGE_SIZE)
        if first + raw_view.PAGE_SIZE < page.turn.next_seq
        else "",
        "events_url": f"{turn_summary.turn_url(page.turn)}events.jsonl",
        "responses": raw_responses,
    }


def _spans(page: TurnPageData) -> dict[str, Any]:
    """The raw view of an external turn, which has spans instead of events."""
    first = min(page.page_params.start or 0, raw_view.LAST_PAGE) // raw_view.PAGE_SIZE * raw_view.PAGE_SIZE
    lines, total = hooks.span_lines(page.turn, first)
    return {
        "turn_json": raw_view.turn_as_json(page.turn, has_all_steps=page.has_all_steps),
        "responses": (),
        "spans": lines,
        "spans_url": f"{turn_summary.turn_url(page.turn)}spans.jsonl" if hooks.has_spans else "",
        "first_span": first + 1,
        "last_span": first + len(lines),
        "span_total": total,
        "spans_before": page.query(max(first - raw_view.PAGE_SIZE, 0)) if first else "",
        "spans_after": page.query(first + raw_view.PAGE_SIZE) if first + raw_view.PAGE_SIZE < total else "",
    }


_VIEWS = {"reader": reader, "timeline": _timeline, "raw": _raw}


@page("read")
def turn_parts(request: PageRequest, turn_id: str) -> HttpResponse:
    """The parts that change while a turn runs, other than the steps: facts, side column, timeline, what was called;
    with ``?only=step`` nothing but the chosen step."""
    turn_data = turn_page_data.load(request.actor, turn_id, turn_page_data.read_params(request.GET))
    if request.GET.get("only") == "step":
        return HttpResponse(chosen_step.chosen_html(turn_data))
    facts = fragments.turn_facts(turn_data.turn, turn_data.row, turn_data.marks, turn_data.calls)
    parts = [facts, fragments.turn_side(turn_data, _chosen(turn_data))]
    more = (
        [fragments.turn_timeline(turn_data)]
        if turn_data.page_params.view == "timeline"
        else fragments.called_parts(turn_data)
    )
    return HttpResponse([*parts, *more, waiting_badge(request.actor)])


def _chosen(page: TurnPageData) -> str:
    return chosen_step.chosen_html(page) if page.page_params.view == "timeline" else ""


def _may_continue(page: TurnPageData) -> bool:
    """Whether the turn can be continued: with an agent if the session ends here and the agent is enabled; a response
    can always be continued, if only as a branch."""
    if page.target.agent is None:
        return bool(page.responses) and page.responses[-1].record.is_last
    session = sessions.get(page.actor, page.turn.session)
    return session.last_turn == page.turn.key and not agents.get(page.actor, page.target.agent).disabled


def _code_samples(request: PageRequest, page: TurnPageData) -> list[CodeSample]:
    """Code samples that repeat the turn or continue it; none for an external turn."""
    if page.about is not None:
        return []
    target = curl.CurlTarget(
        base_url=base_url(request),
        agent=ids.public(ids.Kind.AGENT, page.target.agent) if page.target.agent else "",
        session=ids.public(ids.Kind.SESSION, page.turn.session),
        with_key=settings.REQUIRE_LOGIN,
    )
    if page.responses:
        return code_samples.response_samples(target, page.turn, [response.record for response in page.responses])
    return (
        code_samples.agent_samples(target, page.turn, page.target, page.row.session_name) if page.target.agent else []
    )


# ------------------------------------------------------------------------------------------- acting


def _posted(request: PageRequest) -> dict[str, str]:
    return {name: str(text) for name, text in request.POST.items()}


def _answered(request: PageRequest, turn_id: str) -> HttpResponse:
    """Lead back to where the form was: to the turn's page, or to the inbox, of which it names the parameters."""
    if "inbox" in request.POST:
        return redirect(inbox.inbox_url(inbox.read_params(QueryDict(request.POST["inbox"]).dict())))
    return turn_reply(request, turn_id)


@page("run")
@require_POST
def answer(request: PageRequest, turn_id: str) -> HttpResponse:
    """Answer the pending calls of a turn."""
    turn_actions.answer(request.actor, turns.key_of(turn_id), _posted(request))
    return _answered(request, turn_id)


@page("run")
@require_POST
def decide(request: PageRequest, turn_id: str) -> HttpResponse:
    """Decide what became of the calls of a turn whose process was lost."""
    turn_actions.decide(request.actor, turns.key_of(turn_id), _posted(request))
    return _answered(request, turn_id)


@page("run")
@require_POST
def say(request: PageRequest, turn_id: str) -> HttpResponse:
    """Continue from the last response of a turn; redirects to the new turn."""
    return turn_reply(
        request, turn_actions.continue_turn(request.actor, turns.key_of(turn_id), request.POST.get("text", ""))
    )


@page("run")
@require_POST
def cancel(request: PageRequest, turn_id: str) -> HttpResponse:
    turn_actions.cancel(request.actor, turns.key_of(turn_id))
    return turn_reply(request, turn_id)
