"""Live servers for the tests: one that all share, one of a test's own, and who talks to them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from openai import OpenAI

from tests import model_lab
from tests.model_lab import ModelLab
from tests.server import held_model
from tests.server.caller import Caller
from tests.server.held_model import HeldModel
from tests.server.process import ServerProcess, first_data, running


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy of this machine has no business between a test and its server."""
    monkeypatch.setenv("NO_PROXY", "*")


@pytest.fixture(scope="session")
def held() -> Iterator[HeldModel]:
    """The model whose answers a test holds: ``held/held`` on every server here."""
    with held_model.serving() as model:
        yield model


@pytest.fixture(scope="session")
def data() -> Path:
    """What a new server finds, so that it need not make its tables."""
    return first_data()


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory, data: Path, held: HeldModel) -> Iterator[ServerProcess]:
    """A server that all tests share; they make agents of their own."""
    folder = tmp_path_factory.mktemp("server")
    with running(folder, {"FETCH_ALLOW_PRIVATE": "true", **held.environment}, data=data) as process:
        yield process


@pytest.fixture(scope="session")
def lab() -> Iterator[ModelLab]:
    """The endpoint that judges: ``lab/…`` on the guarded server."""
    with model_lab.serving() as serving:
        yield serving


@pytest.fixture(scope="session")
def guarded(tmp_path_factory: pytest.TempPathFactory, data: Path, lab: ModelLab) -> Iterator[ServerProcess]:
    """A server with shields of every kind in its settings, and a model that hands on what it gets."""
    environment = {
        "DEFAULT_ENDPOINT": "scripted",
        "MODEL_ENDPOINTS": json.dumps({"lab": {"base_url": lab.url}}),
        "SHIELDS": json.dumps(SHIELDS),
    }
    folder = tmp_path_factory.mktemp("guarded")
    with running(folder, environment, data=data) as process:
        yield process


SHIELDS = {
    "guard": {"provider": "llama-guard", "model": "lab/guard-3"},
    "moderated": {"provider": "moderation", "model": "lab/omni"},
    "mute": {"provider": "llama-guard", "model": "lab/mute"},
    "polite": {
        "provider": "rules",
        "rules": [
            {"name": "swearing", "keywords": ["damn"], "level": "warn", "message": "Mind your words."},
            {"name": "leak", "pattern": "sk-[a-z0-9]{8}", "touchpoints": ["assistant-output"]},
        ],
    },
}


@pytest.fixture(scope="session")
def mortal(tmp_path_factory: pytest.TempPathFactory, data: Path, held: HeldModel) -> Iterator[ServerProcess]:
    """A server that is stopped and killed by one test after the other."""
    environment = {"DRAIN_SECONDS": "3", **held.environment}
    with running(tmp_path_factory.mktemp("mortal"), environment, data=data) as process:
        yield process


@pytest.fixture
def own_server(mortal: ServerProcess) -> ServerProcess:
    """A server that a test may stop and kill. It drains for three seconds."""
    if not mortal.is_ready():
        mortal.kill()
        mortal.start()
    return mortal


@pytest.fixture
def start_server(tmp_path: Path, data: Path, held: HeldModel) -> Iterator[Callable[..., ServerProcess]]:
    """Starts servers of a test's own, with what is said of their environment."""
    with ExitStack() as stack:

        def start(**environment: str) -> ServerProcess:
            folder = tmp_path / f"server-{len(list(tmp_path.iterdir()))}"
            folder.mkdir()
            return stack.enter_context(running(folder, {**held.environment, **environment}, data=data))

        yield start


@pytest.fixture
def caller(server: ServerProcess) -> Caller:
    """A plain caller of the shared server."""
    return Caller(server.port)


@pytest.fixture
def openai_client(server: ServerProcess) -> Iterator[OpenAI]:
    """OpenAI's client of the shared server; it does not repeat what fails."""
    with OpenAI(base_url=f"{server.base}/v1", api_key="none", max_retries=0) as client:
        yield client
