"""Secrets of all shapes in every setting that takes one, and endpoints that tell whoever asks all they were sent:
neither answers, nor pages, exports, files and the log have any of them."""

from __future__ import annotations

import json
import random
import string
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, unquote

import pytest

from tests.support.depth import deep
from tests.support.http_endpoint import JSON, Reply, Request, answering
from tests.support.live.caller import Caller, Talk, script
from tests.support.live.mcp_process import check_kept_nowhere
from tests.support.live.process import running

pytestmark = [pytest.mark.server, pytest.mark.slow]

PAGES = (
    "/logs/",
    "/sessions/",
    "/steps/",
    "/responses/",
    "/dashboard/",
    "/agents/",
    "/connect/",
    "/prices/",
    "/import/",
)
SHAPES = (string.ascii_letters + string.digits, string.hexdigits.lower(), string.ascii_letters + "-_.~", "xyz0189-_+/=")


def repeated(request: Request) -> Reply:
    """What an endpoint of any kind says that refuses, and repeats what it was asked with."""
    heard = [unquote(request.path), request.path, *(f"{name}: {value}" for name, value in request.headers.items())]
    error = {"message": f"Not with {' | '.join(heard)}"}
    return Reply(json.dumps({"error": error}, ensure_ascii=False).encode(), 400, JSON)


@pytest.fixture(scope="module")
def teller() -> Iterator[str]:
    """Host and port of one."""
    with answering(repeated) as address:
        yield address.removeprefix("http://")


class Planted:
    """Secrets made up by chance, and the settings they stand in."""

    def __init__(self, seed: int, host: str) -> None:
        self._random, self.all = random.Random(seed), list[str]()
        url, key, query = f"http://{host}/v1", self.secret, self.in_query
        self.settings = {
            "SECRET_KEY": key(50),
            "ID_SECRET": key(50),
            "OPENAI_API_KEY": key(),
            "OPENAI_BASE_URL": url,
            "BRAVE_SEARCH_API_KEY": key(),
            "BRAVE_SEARCH_URL": f"http://{host}",
            "OTLP_EXPORT_ENDPOINT": query(f"http://{host}/otlp", "token"),
            "OTLP_EXPORT_HEADERS": f"authorization=Bearer%20{quote(key())},x-api-key={quote(key())}",
            "MODEL_ENDPOINTS": json.dumps({"one": {"base_url": url, "api_key": key()}}),
            "MCP_SERVERS": json.dumps(
                {
                    "held": {"url": query(url, "apikey"), "headers": {"Authorization": f"Bearer {key()}"}},
                    "other": {"url": query(url, "access_token"), "headers": {"X-Api-Key": key()}},
                }
            ),
        }

    def secret(self, length: int = 0) -> str:
        """Of a shape by chance; one that is remembered."""
        size = length or self._random.choice((12, 20, 40, 120))
        shape = self._random.choice(SHAPES)
        made = "k9" + "".join(self._random.choices(shape, k=size)) + "Z"
        self.all.append(made)
        return made

    def in_query(self, url: str, name: str) -> str:
        return f"{url}?team=support&{name}={quote(self.secret(), safe='')}"


def readable(caller: Caller) -> Iterator[tuple[str, str]]:
    """All that can be read without knowing an id, and of each turn what is told of it."""
    paths = [path for path, does in caller.get("/v1/openapi.json").json["paths"].items() if "get" in does]
    turns = [turn["id"] for turn in caller.get("/v1/logs/turns").json["data"]]
    of_turns = [f"/turns/{turn}/{part}" for turn in turns for part in ("", "events.jsonl")]
    exports = [f"/v1/logs/{level}/export?whole=true" for level in ("turns", "steps", "responses")]
    for path in (*(path for path in paths if "{" not in path), *PAGES, *of_turns, *exports):
        answer = caller.get(path)
        assert answer.status == 200 or not path.startswith(PAGES), (path, answer.body)
        yield path, answer.body.decode()


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("seed", range(deep(1, 12)))
def test_no_secret_that_stands_in_a_setting_can_be_read(seed: int, tmp_path: Path, teller: str) -> None:
    planted = Planted(seed, teller)
    # on data of its own: what another secret has begun is refused
    with running(tmp_path, {**planted.settings, "FETCH_ALLOW_PRIVATE": "true"}) as process:
        caller = Caller(process.port)
        for model in ("one/model", "openai/gpt", "gpt-5"):
            caller.post("/v1/chat/completions", {"model": model, "messages": [{"role": "user", "content": "hello"}]})
            caller.post("/v1/responses", {"model": model, "input": "hello"})
            caller.post("/v1/embeddings", {"model": model, "input": "hello"})
        for group in ("held", "other"):
            answer = caller.get(f"/v1/tools?toolgroup_id={group}")
            assert [secret for secret in planted.all if secret in answer.body.decode()] == []
        talk = Talk(caller, model="scripted/fast", toolgroups=["builtin::websearch"])
        talk.say(script('call web_search {"query": "who?"}', "then", "say Done."))
        caller.post("/v1/tool-runtime/invoke", {"tool_name": "web_search", "kwargs": {"query": "who?"}})
        in_settings = tuple(planted.all)
        url, mine = planted.in_query(f"http://{teller}/v1", "api_key"), planted.secret()
        own = {"toolgroup_id": "mine", "provider_id": "model-context-protocol", "mcp_endpoint": {"uri": url}}
        sent = {"X-LlamaStack-Provider-Data": json.dumps({"mcp_headers": {url: {"X-Api-Key": mine}}})}
        assert caller.post("/v1/toolgroups", own).status == 200
        caller.ask("GET", "/v1/tools?toolgroup_id=mine", headers=sent)

        read = 0
        for path, text in readable(caller):
            read += len(text)
            assert [secret for secret in planted.all if secret in text or quote(secret, safe="") in text] == [], path
        assert read > 100_000
        for secret in (*in_settings, mine):  # an address that somebody registers is kept: it is asked again
            check_kept_nowhere(secret, process)
        assert planted.all[len(in_settings)] not in process.log
        assert "Not with" in caller.get("/v1/logs/turns").body.decode() + process.log
