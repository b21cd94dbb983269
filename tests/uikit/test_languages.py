"""The pages in every language: complete, with the numbers of drawings and addresses as they were."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser

import pytest
from django.test import Client
from django.utils import translation
from django.utils.translation.trans_real import DjangoTranslation

from agents.base import ids
from agents.base.access import Actor
from agents.base.ids import Kind
from agents.base.store import keys
from agents.logs.schemas.rows import TurnRow
from agents.logs.store import turn_log
from agents.query.parser import read
from agents.server.socket import fragments as shown
from agents.server.socket import lists
from agents.server.socket.guard import language_of
from agents.server.socket.lists import ListFormat
from agents.uikit import elements as marks
from agents.uikit import format
from tests.conftest import Clock
from tests.support.builders import make_turn
from tests.support.cases import sparing
from tests.support.pages.logged_turns import Worked, log_turn, make_session
from tests.support.pages.markup import elements, unsafe

SAID = "⟦said⟧"
"""What people and models say in these tests: marked as the translations are."""
languages = pytest.mark.parametrize("language", ["en", "de", "fr"])


@pytest.fixture
def me(db: None) -> Actor:
    return keys.local()


@pytest.fixture
def rows(me: Actor, clock: Clock) -> list[TurnRow]:
    """Turns of every outcome, an hour apart."""
    session = make_session(me, agent=SAID, name=SAID)
    for status in ("completed", "failed", "cancelled"):
        log_turn(me, session, SAID, SAID, steps=[Worked(ms=9_500), Worked(SAID, 400)], status=status, error=SAID)
        clock.pass_s(3_600)
    return turn_log.turns_page(me, read("", now_us=ids.now_us())).rows


@pytest.fixture
def paths(me: Actor, rows: list[TurnRow]) -> list[str]:
    """A page of every kind, with something on it."""
    turn, session = f"/turns/{_id(Kind.TURN, rows)}/", f"/sessions/{_id(Kind.SESSION, rows)}/"
    agent = f"/agents/{_id(Kind.AGENT, rows)}/"
    return [
        *("/", "/dashboard/", "/logs/", "/sessions/", "/steps/", "/responses/", f"/logs/?q=no{SAID}", "/logs/numbers/"),
        *(turn, f"{turn}?view=timeline", f"{turn}?view=raw", f"{turn}peek/", f"{turn}judged/"),
        f"/turns/{make_turn(me, f'say {SAID}').public_id}/fork/",
        *(session, "/agents/", agent, f"{agent}revisions/", f"{agent}numbers/"),
        *("/turns/compare/", "/keys/", "/docs/api/", "/login/", "/prices/", "/health/"),
    ]


def _id(kind: Kind, rows: list[TurnRow]) -> str:
    """The public id of the turn that failed, of its session, or of its agent."""
    keys = {Kind.TURN: rows[1].id, Kind.SESSION: rows[1].session_id, Kind.AGENT: rows[1].agent_id}
    return ids.public(kind, keys[kind] or 0)


def page(client: Client, path: str, language: str) -> str:
    answer = client.get(path, headers={"Accept-Language": language})
    assert answer.status_code == 200, path
    text: str = answer.content.decode()
    return text


# --------------------------------------------------------------------------------------------- pages


@pytest.mark.parametrize("language", sparing(["en", "de", "fr"], "de"))
def test_every_page_is_whole(language: str, client: Client, paths: list[str]) -> None:
    for path in paths:
        found = page(client, path, language)
        assert unsafe(found) == [], path
        if "<html" in found:
            assert elements(found, "html")[0]["lang"] == language
            assert ("Skip to the content" in found) == (language == "en")


NUMBERS = {
    *(
        "x",
        "y",
        "x1",
        "x2",
        "y1",
        "y2",
        "width",
        "height",
        "cx",
        "cy",
        "r",
        "rx",
        "d",
        "points",
        "viewBox",
        "transform",
    ),
    *(
        "href",
        "value",
        "datetime",
        "max",
        "min",
        "step",
        "data-from",
        "data-to",
        "data-low",
        "data-high",
        "data-elapsed",
    ),
}


@pytest.mark.parametrize("language", sparing(["de", "fr"], "fr"))
def test_numbers_for_programs_are_the_same_in_all_languages(language: str, client: Client, paths: list[str]) -> None:
    """Drawings, addresses, moments, values of forms."""
    seen = 0
    for path in paths:
        english, other = (_told_to_programs(page(client, path, each)) for each in ("en", language))
        assert english == other, path
        seen += len(english)
    assert seen > 1_000


def _told_to_programs(text: str) -> list[tuple[str, str]]:
    told = [(name, value) for each in elements(text) for name, value in each.items() if name in NUMBERS]
    return [(name, value) for name, value in told if re.search(r"\d", value) and not _is_fresh(value)]


def _is_fresh(value: str) -> bool:
    """A token of a form: another in each answer."""
    return len(value) == 64 and value.isalnum()


class _Words(HTMLParser):
    """What is read of a page and is neither marked nor a number. Code, ids, moments and what somebody
    said in code are nobody's words."""

    APART = frozenset({"script", "style", "code", "pre", "bdi", "kbd", "time", "textarea", "samp"})

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.depth, self.within, self.found = 0, 0, set[str]()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.depth += tag in self.APART
        for name, value in attrs:
            if name in {"title", "aria-label", "placeholder", "alt"} and not self.depth:
                self._look(value or "")

    def handle_endtag(self, tag: str) -> None:
        self.depth -= tag in self.APART

    def handle_data(self, data: str) -> None:
        if not self.depth:
            self._look(data)
        self.within += data.count("⟦") - data.count("⟧")

    def _look(self, text: str) -> None:
        if not self.within and "⟦" not in text and re.search(r"[^\W\d_]{3}", text):
            self.found.add(text.strip())


NO_WORDS = re.compile(
    r"""Deutsch | Français | English            # languages, by their own names
    | local | agents | native | llama-3\.3-70b | scripted/fast | auto | greedy | top_[pk] | temperature
    | Help\.                                    # an agent's instructions
    | read | run | ingest | manage              # words of the wire
    | OpenAI | Anthropic | Google | Mistral | DeepSeek | xAI | Groq | Together  # providers
    | [a-z][\w./-]*[-/\d][\w./-]*(,\ [\w./-]+)*  # names of models
    | UTC | CSV | JSONL | Parquet | curl | Python | p\d\d | Turnlog(\ [\d.]+)?  # names
    | [\w ]+\.jsonl? | (turn|step)\.\w+ | delta\ text
    | \d\d\ Nov\..* | \d+\.\ Nov\..*            # days, and what a chart says of them
    """,
    re.VERBOSE,
)


@pytest.fixture
def marked(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """All that goes through gettext stands in brackets."""
    one, many = DjangoTranslation.gettext, DjangoTranslation.ngettext
    monkeypatch.setattr(DjangoTranslation, "gettext", lambda self, words: f"⟦{one(self, words)}⟧")
    monkeypatch.setattr(DjangoTranslation, "ngettext", lambda self, *words: f"⟦{many(self, *words)}⟧")
    marks.translation.cache_clear()
    yield
    marks.translation.cache_clear()


def test_no_words_stand_outside_of_the_catalogues(client: Client, paths: list[str], marked: None) -> None:
    """A new text that does not go through gettext is found here."""
    left = {}
    for path in paths:
        words = _Words()
        words.feed(page(client, path, "de"))
        assert words.within == 0, path
        if unmarked := {each for each in words.found if not NO_WORDS.fullmatch(each)}:
            left[path] = unmarked
    assert left == {}


# ------------------------------------------------------------------------------------------- choosing


def test_the_choice_goes_before_the_browsers_wish(client: Client, paths: list[str]) -> None:
    here = "/logs/?q=status%3Afailed"
    page(client, "/logs/", "de")
    answer = client.post(
        "/language/", {"language": "fr", "back": "true"}, headers={"Referer": f"http://testserver{here}"}
    )
    assert (answer.status_code, answer.headers["Location"]) == (302, f"http://testserver{here}")
    cookie = answer.cookies["language"]
    assert (cookie.value, cookie["samesite"], cookie["httponly"], cookie["max-age"]) == ("fr", "Lax", True, 31_536_000)
    assert elements(page(client, "/logs/", "de"), "html")[0]["lang"] == "fr"


@pytest.mark.parametrize(
    ("wanted", "given"),
    [
        ("de", "de"),
        ("de-AT, en;q=0.5", "de"),
        ("fr-CA", "fr"),
        ("ja, fr;q=0.3", "fr"),
        ("ja", "en"),
        ("", "en"),
        ("x" * 900, "en"),
    ],
)
def test_the_browsers_wish_is_met_where_it_can_be(client: Client, db: None, wanted: str, given: str) -> None:
    answer = client.get("/login/", headers={"Accept-Language": wanted})
    assert answer.headers["Content-Language"] == given
    assert {"Accept-Language", "Cookie"} <= set(answer.headers["Vary"].split(", "))


@pytest.mark.parametrize(
    ("referer", "form"),
    [
        ("https://elsewhere.example/", {"back": "true"}),
        ("//elsewhere.example/", {"back": "true"}),
        ("javascript:alert(1)", {"back": "true"}),
        ("", {"back": "true"}),
        ("http://testserver/logs/act/", {}),  # the answer to a form
    ],
)
def test_a_choice_leads_nowhere_else(client: Client, db: None, referer: str, form: dict[str, str]) -> None:
    answer = client.post("/language/", {"language": "de", **form}, headers={"Referer": referer})
    assert (answer.status_code, answer.headers["Location"]) == (302, "/logs/")


@pytest.mark.parametrize("language", ["", "ja", "de-AT", "⟦"])
def test_a_language_that_is_not_spoken_is_refused(client: Client, db: None, language: str) -> None:
    answer = client.post("/language/", {"language": language, "back": "true"})
    assert answer.status_code == 400
    assert "language" not in answer.cookies


@pytest.mark.parametrize(
    ("path", "status"), [("/v1/agents/nothing", 404), ("/v1/logs/turns?q=((", 400), ("/healthz", 200)]
)
def test_the_api_speaks_english_to_everyone(client: Client, db: None, path: str, status: int) -> None:
    plain = client.get(path)
    client.cookies["language"] = "de"
    page(client, "/login/", "fr")
    asked = client.get(path, headers={"Accept-Language": "fr"})
    assert (asked.status_code, plain.status_code) == (status, status)
    assert "Content-Language" not in asked.headers
    assert "Accept-Language" not in asked.headers.get("Vary", "")
    assert re.sub(r'"request_id":"\w+"', "", asked.content.decode()) == re.sub(
        r'"request_id":"\w+"', "", plain.content.decode()
    )


# ------------------------------------------------------------------------------------------- live rows


def test_live_rows_are_in_the_language_of_their_page(rows: list[TurnRow]) -> None:
    query = read("", now_us=ids.now_us())
    english, german = (lists.formatted(rows, ListFormat("turns", True, each), query)[1]["html"] for each in ("", "de"))
    assert "failed</span>" in english
    assert "gescheitert</span>" in german
    assert lists.formatted(rows, ListFormat("turns", False), query)[1]["row"]
    assert translation.get_language() == "en"


def test_live_cards_are_in_the_language_of_their_page(me: Actor, rows: list[TurnRow]) -> None:
    [told] = shown.turn_events(me, rows[1].id, [{"type": "turn.ended"}], "de")
    assert "gescheitert" in told["html"]


@pytest.mark.parametrize(
    ("headers", "language"),
    [
        ([], "en"),
        ([(b"accept-language", b"de-CH,de;q=0.9")], "de"),
        ([(b"accept-language", b"de"), (b"cookie", b"a=b; language=fr")], "fr"),
        ([(b"cookie", b"language=nonsense\xff")], "en"),
    ],
)
def test_a_socket_has_the_language_of_its_page(headers: list[tuple[bytes, bytes]], language: str) -> None:
    assert language_of({"headers": headers}) == language


# --------------------------------------------------------------------------------------------- numbers


@pytest.mark.parametrize(
    ("language", "shown"),
    [
        (
            "en",
            ["1,204", "4.2 M", "1.3 B", "1.9 s", "440 ms", "1 s", "$0.011", "<$0.001", "$1,009.81", "2.1 %", "20 Nov"],
        ),
        (
            "de",
            [
                "1.204",
                "4,2 Mio.",
                "1,3 Mrd.",
                "1,9 s",
                "440 ms",
                "1 s",
                "0,011 $",
                "<0,001 $",
                "1.009,81 $",
                "2,1 %",
                "20. Nov.",
            ],
        ),
        (
            "fr",
            [
                "1 204",
                "4,2 M",
                "1,3 Md",
                "1,9 s",
                "440 ms",
                "1 s",
                "0,011 $",
                "<0,001 $",
                "1 009,81 $",
                "2,1 %",
                "20 nov.",
            ],
        ),
    ],
)
def test_numbers_are_written_as_the_language_does(language: str, shown: list[str]) -> None:
    with translation.override(language):
        told = [
            *(format.count(1_204), format.count(4_200_000), format.count(1_300_000_000)),
            *(format.duration(1_900), format.duration(440), format.scale_duration(1_000)),
            *(format.cost(0.011), format.cost(0.0001), format.cost(1_009.81)),
            *(format.percent(21, 1_000), format.day(1_795_184_000_000_000)),
        ]
    assert [re.sub("[\N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}]", " ", each) for each in told] == shown


@languages
def test_moments_for_programs_are_written_in_one_way(language: str) -> None:
    with translation.override(language):
        assert format.iso(1_795_184_000_000_000) == "2026-11-20T14:13:20.000Z"
        assert format.clock(1_795_184_000_000_000) == "14:13:20"
