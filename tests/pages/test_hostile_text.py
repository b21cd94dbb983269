"""Whatever a model, a tool, a person or a program wrote stays text, in every field, on every page.

Each page is read as a browser would read it and compared with the same page of harmless words: no
element, attribute, handler or link may stand on it that was not there before.
"""

from __future__ import annotations

import itertools
import logging
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html.parser import HTMLParser
from itertools import count
from typing import Any
from urllib.parse import quote

import pytest
from django.test import Client

from agents.base import ids
from agents.base.access import Actor
from agents.base.models.people import User
from agents.base.store import keys
from agents.base.store.writer import writer
from agents.record.models.turns import Step, Turn
from agents.record.schemas.agents import AgentConfig
from agents.record.schemas.content import (
    CompletionMessage,
    ImageData,
    ImageItem,
    SafetyViolation,
    TextItem,
    ToolCall,
    ToolDef,
    ToolParameter,
    ToolResponse,
    ToolResponseMessage,
    Url,
    UserMessage,
)
from agents.record.schemas.events import (
    ErrorInfo,
    InferenceDetail,
    MemoryDetail,
    OtherDetail,
    ShieldDetail,
    StepEnded,
    StepStarted,
    ToolDetail,
    TurnEnded,
    TurnStarted,
)
from agents.record.store import agents, recorder, sessions, start_turn
from agents.record.store.new_responses import NewResponse
from agents.record.store.recorder import TurnRef
from agents.record.store.start_turn import NewTurn
from tests.support.depth import deep
from tests.support.inprocess import collect_static, inline_service
from tests.support.pages.markup import VOID, words
from tests.support.pages.script_payloads import PAYLOADS, mixed

HARMLESS = tuple(f"harmless words {number}" for number in range(len(PAYLOADS)))
MARKDOWN = "# h\n\n- *a* **b** ~~c~~ `d` [e](https://example.org) ![f](https://example.org/x.png)\n\n> g\n\n1. h\n\n"
MARKDOWN += "```python\nprint(1)\n```\n\n| i | j |\n|---|---|\n| k | l |\n\n---\n\n#### m\n\n###### n\n\nl1  \nl2"
PER_TURN = 12
"""Payloads in one turn: a page of more would be cut."""


@pytest.fixture(autouse=True)
def _pages(db: None) -> Iterator[None]:
    collect_static()
    logger = logging.getLogger("django.request")
    logger.setLevel(logging.CRITICAL)
    yield
    logger.setLevel(logging.NOTSET)


# ------------------------------------------------------------------------------------------- the rows


@dataclass(frozen=True)
class Rows:
    """Pages about rows that hold these texts."""

    agents: Sequence[str]
    sessions: Sequence[str]
    turns: Sequence[str]


def store(actor: Actor, texts: Sequence[str]) -> Rows:
    """Rows with every text in every field that anyone but us fills."""
    made = [_agent(actor, text) for text in texts]
    named = [sessions.create(actor, agent=agent, name=text[:500]) for agent, text in zip(made, texts, strict=True)]
    for text in texts:
        keys.create(actor, name=text.strip()[:100] or "blank", actions=["read"])
    told = [_turn(actor, session, [text]) for session, text in zip(named, texts, strict=True)]
    batches = [texts[start : start + PER_TURN] for start in range(0, len(texts), PER_TURN)]
    told += [_turn(actor, named[0], batch) for batch in batches]
    return Rows(
        [f"/agents/{ids.public(ids.Kind.AGENT, key)}/" for key in made],
        [f"/sessions/{ids.public(ids.Kind.SESSION, key)}/" for key in named],
        [f"/turns/{ids.public(ids.Kind.TURN, key)}/" for key in told],
    )


def _agent(actor: Actor, text: str) -> int:
    tool = ToolDef(
        name=text[:200],
        description=text,
        parameters=[ToolParameter(name=text, parameter_type=text, description=text, default=text)],
        metadata={text: text},
    )
    schema = ToolDef(name="schema", input_schema={"type": text, "properties": {text: {"type": text, "enum": [text]}}})
    config = AgentConfig(
        model=text[:300],
        instructions=text,
        name=text[:300],
        client_tools=[tool, schema],
        toolgroups=[text],
        input_shields=[text],
        output_shields=[text],
    )
    return agents.create(actor, config)


def _turn(actor: Actor, session: int, texts: Sequence[str]) -> int:
    at, key, first = ids.now_us(), ids.new_key(), texts[0]
    images = [ImageItem(image=ImageData(url=Url(uri=text))) for text in texts]
    asked = [UserMessage(content=[TextItem(text=text) for text in texts], context=text) for text in texts[:3]]
    answered = ToolResponseMessage(call_id=first, content=first)
    opening = TurnStarted(seq=0, at=at, model=first, input_messages=[*asked, UserMessage(content=[*images]), answered])
    new = NewTurn(
        key=key,
        session=session,
        agent=None,
        revision=None,
        model=first,
        provider=first,
        messages=opening.input_messages,
        request="{}",
        response=NewResponse(ids.new_key(), b"{}"),
        queued=False,
        end_user=first,
    )
    start_turn.open_turn(actor, new, [opening], owner="test")
    numbers = count(1)
    events: list[Any] = [event for place, text in enumerate(texts) for event in _steps(numbers, at, place, text)]
    final = CompletionMessage(content=MARKDOWN + "\n\n".join(texts), stop_reason="end_of_turn")
    error = ErrorInfo(type=first, message="\n".join(texts), provider=first)
    events.append(TurnEnded(seq=next(numbers), at=at, status="failed", output_message=final, error=error, reason=first))
    writer.write(lambda: recorder.record(TurnRef(key, session), events))
    return key


def _steps(numbers: Iterator[int], at: int, place: int, text: str) -> Iterator[Any]:
    call = ToolCall(call_id=text, tool_name=text, arguments={text: text, "n": [text]}, arguments_json=f'{{"{text}')
    answer = ToolResponse(call_id=text, tool_name=text, content=text, metadata={text: text})
    said = CompletionMessage(content=f"{MARKDOWN}\n\n{text}", stop_reason="end_of_turn", tool_calls=[call])
    violation = SafetyViolation(violation_level="error", user_message=text, metadata={text: text})
    details: dict[Any, Any] = {
        "inference": InferenceDetail(model_response=said, model=text, finish_reason=text, reasoning=text),
        "tool_execution": ToolDetail(tool_calls=[call], tool_responses=[answer]),
        "shield_call": ShieldDetail(touchpoint="user-input", shields=[text], violation=violation),
        "memory_retrieval": MemoryDetail(
            vector_db_ids=text, inserted_context=text, query=text, chunks=[{text: text, "content": text}]
        ),
        "other": OtherDetail(kind=text, data={text: text}),
    }
    for index, (kind, detail) in enumerate(details.items()):
        number, key = place * len(details) + index, ids.new_key()
        yield StepStarted(seq=next(numbers), at=at, step=key, number=number, round=place, step_type=kind, name=text)
        error = ErrorInfo(type=text, message=text, provider=text) if kind in {"tool_execution", "other"} else None
        yield StepEnded(
            seq=next(numbers),
            at=at,
            step=key,
            step_type=kind,
            name=text,
            status="failed" if error else "completed",
            started_at=at,
            detail=detail,
            error=error,
        )


# ------------------------------------------------------------------------------------------ the looks


class Reader(HTMLParser):
    """Every element and (element, attribute) of a page with their numbers, and what is wrong with it
    whatever the words were: things left open, scripts, handlers, links that run."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.seen: Counter[tuple[str, str]] = Counter()
        self.wrong: list[str] = []
        self._open: list[str] = []
        self.feed(page)
        self.close()
        self.wrong += [f"<{tag}> left open" for tag in self._open]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.update([(tag, ""), *((tag, name) for name, _ in attrs)])
        if tag not in VOID:
            self._open.append(tag)
        given = {name: value or "" for name, value in attrs}
        self.wrong += [f"{tag} {name}" for name in given if name.startswith("on") or name in {"style", "srcdoc"}]
        if tag == "script" and not given.get("src", "").startswith("/static/"):
            self.wrong.append("a script in the page")
        if tag == "img" and not given.get("src", "").startswith(("data:image/", "/static/")):
            self.wrong.append(f"an image from {given.get('src')}")
        if tag == "a":
            self._look_at_link(given.get("href", ""), given.get("rel", ""))

    def _look_at_link(self, target: str, rel: str) -> None:
        ours = not target or (target.startswith(("/", "?", "#")) and not target.startswith(("//", "/\\")))
        if not ours and not target.startswith(("http://", "https://", "mailto:")):
            self.wrong.append(f"a link to {target[:80]}")
        if not ours and "noopener" not in rel:
            self.wrong.append(f"a link without rel: {target[:80]}")

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID and (not self._open or self._open.pop() != tag):
            self.wrong.append(f"</{tag}> closes something else")

    def handle_comment(self, data: str) -> None:
        self.seen["a comment", ""] += 1

    def handle_decl(self, decl: str) -> None:
        self.seen["a declaration", decl.lower()] += 1

    def unknown_decl(self, data: str) -> None:
        self.seen["a declaration", data] += 1

    def handle_pi(self, data: str) -> None:
        self.seen["an instruction", data] += 1


def known(client: Client, pages: Sequence[str]) -> set[tuple[str, str]]:
    """What stands on the same pages when the words are harmless."""
    found: set[tuple[str, str]] = set()
    for path in pages:
        response = client.get(path)
        assert response.status_code == 200, path
        found |= set(Reader(response.content.decode()).seen)
    return found


def wrong(page: str | Reader, allowed: set[tuple[str, str]]) -> list[str]:
    """What a page may not hold, or holds though harmless words do not make it."""
    reader = Reader(page) if isinstance(page, str) else page
    return [*reader.wrong, *(f"new: {tag} {name}" for tag, name in set(reader.seen) - allowed)]


VIEWS = ("", "?view=timeline", "?view=raw")


@pytest.fixture
def allowed(admin: Actor) -> set[tuple[str, str]]:
    """Elements and attributes of all pages of harmless words, and what a link in Markdown may be."""
    rows = store(admin, HARMLESS[:PER_TURN])
    client = as_user(admin)
    pages = [*rows.agents[:2], *rows.sessions[:2], *(f"{path}{view}" for path in rows.turns[-2:] for view in VIEWS)]
    lists = ["/logs/", "/sessions/", "/steps/", "/responses/", "/logs/?q=status:failed", "/logs/?q=status:queued"]
    found = known(client, [*pages, *lists, "/logs/?q=started:2026-01-01..2026-12-31", "/agents/", "/inbox/", "/keys/"])
    client.cookies["tz"] = "UTC"  # what a browser with JavaScript gets
    found |= known(client, lists)
    # a search that marks words, an error, a picture: on pages of other tests harmless too
    return found | {("mark", ""), ("img", "src"), ("img", "alt"), ("img", ""), ("a", "rel"), ("ol", "start")}


def as_user(actor: Actor) -> Client:
    assert actor.user_id is not None
    client = Client(raise_request_exception=False)
    client.force_login(User.objects.get(pk=actor.user_id))
    return client


LOGS = ("/logs/", "/logs/?q=status:failed", "/logs/?q=alert", "/sessions/", "/steps/", "/responses/", "/logs/numbers/")
LISTS = (*LOGS, "/agents/", "/agents/?start=50", "/inbox/", "/keys/")
ONCE = ("script", "style", "base", "meta", "link", "main", "body")


def bad_pages(admin: Actor, allowed: set[tuple[str, str]], texts: Sequence[str]) -> tuple[Rows, list[str]]:
    """Rows with these texts, and what is wrong with their pages and with the lists."""
    client = as_user(admin)
    before = {path: Reader(client.get(path).content.decode()).seen for path in LISTS}
    rows, bad = store(admin, texts), []
    batches = rows.turns[len(texts) :]
    paths = [
        *rows.agents,
        *rows.sessions,
        *(f"{path}{view}" for path in batches for view in VIEWS),
        *LISTS,
    ]
    for path in paths:
        response = client.get(path)
        page = Reader(response.content.decode())
        found = [str(response.status_code)] if response.status_code != 200 else wrong(page, allowed)
        if path in before:
            found += [tag for tag in ONCE if page.seen[tag, ""] != before[path][tag, ""]]
        if found:
            bad.append(f"{path}: {found[:4]}")
    return rows, bad


@pytest.mark.corpus
def test_hostile_text_makes_nothing_on_any_page(admin: Actor, allowed: set[tuple[str, str]]) -> None:
    rows, bad = bad_pages(admin, allowed, PAYLOADS)
    assert not bad, "\n".join(bad)
    client = as_user(admin)
    for path, payload in zip(rows.agents, PAYLOADS, strict=True):
        if (
            payload.isprintable() and len(payload) % 4 == 0
        ):  # safe is not enough: what somebody wrote is to be seen, not eaten
            assert " ".join(payload.split()) in words(client.get(path).content.decode()), payload


@pytest.mark.corpus
@pytest.mark.parametrize("seed", range(deep(2, 30)))
def test_nor_does_what_is_put_together_by_chance(seed: int, admin: Actor, allowed: set[tuple[str, str]]) -> None:
    """Each text in every field, and twelve of them on one page."""
    chance = random.Random(seed)
    _, bad = bad_pages(admin, allowed, [mixed(chance) for _ in range(PER_TURN * 2)])
    assert not bad, "\n".join(bad)


def test_whole_values_are_never_pages(admin: Actor) -> None:
    rows, client = store(admin, PAYLOADS[:PER_TURN]), as_user(admin)
    turn = rows.turns[-1]
    steps = Step.objects.unscoped("test").filter(turn=Turn.objects.unscoped("test").order_by("-pk").first())
    paths = [f"{turn}turn.json", f"{turn}events.jsonl", f"{turn}value/?part=input-0", f"{turn}value/?part=answer"]
    paths += [f"{turn}steps/{ids.public(ids.Kind.STEP, key)}/value/" for key in steps.values_list("pk", flat=True)]
    for path in paths:
        response = client.get(path)
        assert response.status_code == 200, path
        assert response.headers["Content-Type"].startswith(("text/plain", "application/json"))
        assert response.headers["X-Content-Type-Options"] == "nosniff"
        assert response.headers["Content-Security-Policy"] == "default-src 'none'; sandbox"


# -------------------------------------------------------------------------------------- what is echoed


PLACES = ("q", "tz", "after", "view", "from", "start", "next", "path", "cookie", "referer")


@pytest.mark.corpus
def test_what_a_request_says_is_echoed_as_text(admin: Actor, allowed: set[tuple[str, str]]) -> None:
    client = as_user(admin)
    turn = store(admin, HARMLESS[:1]).turns[0]
    asked = [client.get("/logs/", {"q": query}) for query in ("((", "nowhere", "status:failed harmless")]
    refused = [*asked, client.get("/nothing"), STRANGER.get("/login/?next=/logs/")]
    base = allowed.union(*(Reader(answer.content.decode()).seen for answer in refused))
    for where, payload in itertools.product(PLACES, PAYLOADS[:: deep(4, 1)]):
        for response in _ask(client, where, payload, turn):
            page = response.content.decode()
            assert response.status_code < 500, (where, payload)
            if response.headers["Content-Type"].startswith("text/html") and page:
                assert not wrong(page, base), (where, payload, wrong(page, base))
            location = response.headers.get("Location", "/")
            assert location.startswith(("/", "?")), location
            assert not location.startswith("//"), location


STRANGER = Client(raise_request_exception=False)


def _ask(client: Client, where: str, payload: str, turn: str) -> Iterator[Any]:
    asked: dict[str, str] = {where: payload}
    match where:
        case "path":
            for kind in ("turns", "sessions", "agents"):
                yield client.get(f"/{kind}/{quoted(payload)}/")
        case "cookie":
            client.cookies["tz"] = payload.encode("ascii", "ignore").decode()
            yield client.get("/logs/")
        case "referer":
            yield client.get("/nothing", headers={"Referer": quoted(payload), "Accept-Language": quoted(payload)})
        case "next":
            yield STRANGER.get("/login/", {"next": payload})
        case "view" | "from":
            yield client.get(turn, asked)
        case "start":
            yield client.get("/agents/", asked)
        case _:
            yield client.get("/logs/", asked)


def quoted(payload: str) -> str:
    return quote(payload, safe="")


# --------------------------------------------------------------------------------------------- forms


@pytest.mark.django_db(transaction=True)
def test_what_a_form_brings_is_stored_readable(admin: Actor) -> None:
    """Forms are a door of their own: NUL and all come in by them too."""
    with inline_service():
        client = as_user(admin)
        for payload in (*PAYLOADS[::4], "a\x00b", "\x00", "x" * 100_000):
            made = client.post(
                "/agents/new/", {"name": payload[:300], "model": "scripted/fast", "instructions": payload}
            )
            assert made.status_code in {302, 400}, payload[:80]
            if made.status_code == 302:
                tried = client.post(f"{made.headers['Location']}try/", {"text": payload})
                assert tried.status_code in {302, 400}, (payload[:80], tried.content[:300])
                if tried.status_code == 302:
                    assert client.get(tried.headers["Location"]).status_code == 200
                assert client.get(made.headers["Location"]).status_code == 200
            assert client.post("/keys/", {"name": payload[:100], "actions": ["read"]}).status_code in {201, 400}
        for path in ("/logs/", "/agents/", "/keys/", "/v1/agents?limit=-1", "/v1/logs/turns?limit=1000"):
            assert client.get(path).status_code == 200
