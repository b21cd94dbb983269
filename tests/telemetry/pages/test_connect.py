"""The page on which an agent elsewhere is connected: lines that fit this server, and whether something came."""

from __future__ import annotations

import ast
import html
import json
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from agents.base import ids
from agents.base.access import Actor
from agents.base.store import changes, feed_cursor, keys
from agents.telemetry.pages.connect_guides import ServerAddress, guides
from tests import sdks
from tests.support.builders import make_turn
from tests.support.pages.external_turns import tell, turn
from tests.support.pages.markup import elements, unsafe, words
from tests.support.pages.turn_page import get
from tests.telemetry.reading import reports

pytestmark = pytest.mark.django_db
BASE = "http://testserver"
WAYS = [guide.name for guide in guides(ServerAddress(BASE, ""))]


@pytest.fixture
def me(db: None) -> Actor:
    return keys.local()


def blocks(page: str) -> list[tuple[str, str]]:
    """Return the title and the code of each block that can be copied."""
    figures = re.findall(r"<figcaption><span>(.*?)</span>.*?<code>(.*?)</code></pre>", page, re.DOTALL)
    return [(html.unescape(title), html.unescape(code)) for title, code in figures]


def snippets(page: str) -> str:
    """All that can be copied."""
    return "\n".join(code for _title, code in blocks(page))


@pytest.mark.parametrize("way", WAYS)
def test_every_way_has_lines_with_this_servers_address(client: Client, me: Actor, way: str) -> None:
    page = get(client, f"/connect/?with={way}")
    assert unsafe(page) == []
    copied = snippets(page)
    assert copied
    assert way == "files" or BASE in copied
    assert "ask_" not in page  # nobody asks for a key here
    [cursor] = [element["data-cursor"] for element in elements(page, "div") if "data-connect" in element]
    assert [
        element["href"] for element in elements(page, "a") if "aria-current" in element and "with=" in element["href"]
    ] == [f"?with={way}&since={cursor}"]
    assert cursor in get(client, f"/connect/?with={way}&since={cursor}")


@pytest.mark.parametrize("way", [way for way in WAYS if way != "files"])
def test_lines_have_a_place_for_a_key_where_one_is_asked_for(
    client: Client, me: Actor, settings: Any, way: str
) -> None:
    from agents.base.models.people import User

    settings.REQUIRE_LOGIN = True
    client.force_login(User.objects.get(username=me.name))
    page = get(client, f"/connect/?with={way}")
    assert "ask_…" in snippets(page)
    assert 'href="/keys/?may=ingest"' in page


def test_a_key_from_there_may_only_report(client: Client, me: Actor) -> None:
    chosen = [box["value"] for box in elements(get(client, "/keys/?may=ingest"), "input") if "checked" in box]
    assert chosen == ["ingest"]
    chosen = [box["value"] for box in elements(get(client, "/keys/?may=<b>"), "input") if "checked" in box]
    assert chosen == ["read", "run"]


def test_what_nobody_knows_is_the_first_way(client: Client, me: Actor) -> None:
    assert words(get(client, "/connect/?with=<b>&since=x")) == words(get(client, "/connect/"))


def test_the_first_span_is_json_of_otlp(client: Client, me: Actor) -> None:
    """The command as a shell reads it, sent by a client of our own."""
    [first_span] = [code for _title, code in blocks(get(client, "/connect/")) if code.startswith("NOW=")]
    command = f"curl() {{ cat; }}\n{first_span}"
    body = subprocess.run(["sh", "-c", command], capture_output=True, check=True, timeout=20).stdout
    answer = client.post("/v1/traces", json.loads(body), content_type="application/json")
    assert answer.status_code == 200
    row = turn(me)
    assert (row.agent_name, row.input_preview, row.output_preview) == ("hello", "Hello!", "Hello to you.")


@pytest.mark.parametrize("asks_for_key", [False, True])
def test_files_of_settings_can_be_read(client: Client, me: Actor, settings: Any, asks_for_key: bool) -> None:
    from agents.base.models.people import User

    settings.REQUIRE_LOGIN = asks_for_key
    client.force_login(User.objects.get(username=me.name))
    by_name = {way: blocks(get(client, f"/connect/?with={way}")) for way in WAYS}
    otel = tomllib.loads(by_name["codex"][0][1])["otel"]
    assert otel["trace_exporter"]["otlp-http"]["endpoint"] == f"{BASE}/v1/traces"
    assert ("headers" in otel["exporter"]["otlp-http"]) is asks_for_key
    assert json.loads(by_name["gemini-cli"][0][1])["telemetry"]["otlpEndpoint"] == BASE
    for code in (code for way in WAYS for title, code in by_name[way] if title.startswith("Python")):
        compile(code, "copied", "exec")


def test_code_is_copied_as_it_is_written(client: Client, me: Actor) -> None:
    """Quotes, angle brackets and ampersands of code and sentences are text."""
    assert "enrichSpan: () => ({ 'gen_ai.conversation.id': conversationId })," in snippets(
        get(client, "/connect/?with=vercel-ai")
    )
    page = get(client, "/connect/")
    assert "-d @- &lt;&lt;END\n{&#34;resourceSpans&#34;" in page
    assert "-d @- <<END\n" in snippets(page)
    assert 'agent.run(…, conversation_id="conversation-1")' in words(get(client, "/connect/?with=pydantic-ai"))


@pytest.mark.parametrize("asks_for_key", [False, True])
def test_grpc_is_told_of_only_where_it_is_spoken(client: Client, me: Actor, settings: Any, asks_for_key: bool) -> None:
    from agents.base.models.people import User

    settings.REQUIRE_LOGIN = asks_for_key
    client.force_login(User.objects.get(username=me.name))
    page = get(client, "/connect/")
    assert "gRPC is not spoken here" in words(page)
    assert "PROTOCOL=grpc" not in snippets(page)
    settings.OTLP_GRPC_PORT = 4317
    page = get(client, "/connect/")
    assert unsafe(page) == []
    assert "gRPC is not spoken here" not in words(page)
    [code] = [code for _title, code in blocks(page) if "PROTOCOL=grpc" in code]
    assert "export OTEL_EXPORTER_OTLP_ENDPOINT=http://testserver:4317\n" in code
    assert ("HEADERS=authorization=Bearer%20ask_…\n" in code) is asks_for_key
    settings.PUBLIC_URL = "https://[::1]:8443/turnlog"
    assert "ENDPOINT=http://[::1]:4317\n" in snippets(get(client, "/connect/"))


def test_guides_are_in_the_language_of_the_reader(client: Client, me: Actor) -> None:
    """In any order: what one reader was shown is not kept for the next."""
    sentences = {
        "de": ("Dateien", "Die eigenen OpenTelemetry-Spans."),
        "en": ("Files", "Its own OpenTelemetry spans."),
    }
    for language in ("en", "de", "en"):
        page = words(client.get("/connect/?with=strands", headers={"accept-language": language}).content.decode())
        assert all(sentence in page for sentence in sentences[language]), language


def trials() -> list[tuple[str, str]]:
    """The programs that `tests.sdks` runs, each with the name of the way that it goes."""
    files = (Path(sdks.__file__).parent).glob("*/expected.toml")
    return sorted((str(file.parent), tomllib.loads(file.read_text())["way"]) for file in files)


def test_every_way_of_code_is_tried_with_the_real_thing() -> None:
    untried = {"claude-code", "files"}  # the one speaks to models that are not here, the other sends nothing
    assert {way for _, way in trials()} == {*WAYS} - untried


@pytest.mark.parametrize(("folder", "way"), trials())
def test_what_is_tried_is_what_is_copied(client: Client, me: Actor, folder: str, way: str) -> None:
    """Lines with names or words of one's own are not compared."""
    copied = [code for title, code in blocks(get(client, f"/connect/?with={way}")) if title.startswith("Python")]
    program = Path(folder, "program.py")
    done = program.read_text() if program.exists() else ""
    assert not (copied and done) or any(
        _imports(code) <= _imports(done) and _lines(code) <= _lines(done) for code in copied
    )


def _imports(code: str) -> set[tuple[str, str]]:
    imports = [node for node in ast.parse(code).body if isinstance(node, ast.Import | ast.ImportFrom)]
    return {(getattr(node, "module", None) or "", name.name) for node in imports for name in node.names}


def _lines(code: str) -> set[str]:
    own = ("my-agent", "conversation-1", "Hello!", "...", BASE)
    lines = (line.strip() for line in code.splitlines())
    return {
        line for line in lines if not line.startswith(("import ", "from ")) and not any(name in line for name in own)
    }


# --------------------------------------------------------------------------------------------- waiting


def test_it_waits_until_the_first_turn_has_come(client: Client, me: Actor) -> None:
    tell(me, *reports.turn(1))
    page = get(client, "/connect/")
    assert "Waiting for the first span…" in words(page)
    [panel] = [element for element in elements(page, "div") if "data-connect" in element]
    assert feed_cursor.seq_of(me, panel["data-cursor"]) == changes.latest()
    refresh = next(element["href"] for element in elements(page, "a") if "data-refresh" in element)
    make_turn(me, "say one of ours")
    assert "Waiting for the first span…" in words(get(client, f"/connect/{refresh}"))
    tell(me, *reports.turn(2, "Is it cold?"))
    page = get(client, f"/connect/{refresh}")
    assert "It works: the first turn has arrived." in words(page)
    newest = ids.public(ids.Kind.TURN, turn(me, "cold").id)
    assert f'<a href="/turns/{newest}/">' in page
    assert "No session was named" not in page


def test_it_says_that_no_session_was_named(client: Client, me: Actor) -> None:
    chat: dict[str, Any] = {"gen_ai__operation__name": "invoke_agent", "gen_ai__agent__name": "<b>a</b>"}
    tell(me, reports.span(1, 1, "a", **chat))
    page = get(client, f"/connect/?since={feed_cursor.at(me, 0)}")
    assert "No session was named" in words(page)
    assert unsafe(page) == []


def test_others_turns_are_no_answer(client: Client, me: Actor, make_user: Any, settings: Any) -> None:
    from agents.base.models.people import User

    owner, stranger = make_user("owner", teams=["red"]), make_user("stranger", teams=["green"])
    tell(owner, *reports.turn(1))
    settings.REQUIRE_LOGIN = True
    for who, has_arrived in ((owner, True), (stranger, False)):
        client.force_login(User.objects.get(username=who.name))
        page = get(client, f"/connect/?since={feed_cursor.at(who, 0)}")
        assert ("It works" in page, "Received so far" in page) == (has_arrived, has_arrived)


@pytest.mark.parametrize("page", ["/logs/", "/agents/"])
def test_an_empty_house_leads_there(client: Client, me: Actor, page: str) -> None:
    assert '<a href="/connect/">Connect it</a>' in get(client, page)
