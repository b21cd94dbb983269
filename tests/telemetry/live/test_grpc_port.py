"""Starting and stopping a server that speaks gRPC: whoever is being answered is answered to the end, and what keeps it
from listening is said before anything is done."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from grpc import StatusCode

from tests import ROOT
from tests.support.live import issuer as issuers
from tests.support.live.grpc_sender import connected, outcome, report
from tests.support.live.issuer import Issuer
from tests.support.live.process import ServerProcess, eventually
from tests.support.postgresql import free_port
from tests.telemetry.reading import reports

pytestmark = pytest.mark.server


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    with issuers.serving() as serving:
        yield serving
        serving.open.set()


def is_taken(port: int) -> bool:
    with socket.socket() as asking:
        return asking.connect_ex(("127.0.0.1", port)) == 0


# ----------------------------------------------------------------------------------------------- stop


def test_a_running_call_ends_and_no_other_begins(start_server: Callable[..., ServerProcess], issuer: Issuer) -> None:
    issuer.people["of ann"] = {"sub": "ann"}
    port, provider = free_port(), json.dumps({"type": "custom", "url": f"{issuer.base}/custom"})
    server = start_server(OTLP_GRPC_PORT=str(port), AUTH_PROVIDER=provider, DRAIN_SECONDS="60")
    issuer.open.clear()
    with connected(port, authorization="Bearer of ann") as sender:
        running = sender.begin(report(*reports.turn(1)))
        eventually(lambda: issuer.asked)
        server.terminate()
        eventually(lambda: not is_taken(port))
        with connected(port, authorization="Bearer of ann") as late:
            assert late.send(b"").code == StatusCode.UNAVAILABLE
        assert not running.done()
        issuer.open.set()
        assert outcome(running).code == StatusCode.OK
        assert server.wait() == 0

        server.start(server.port)  # on the same ports
        assert eventually(lambda: sender.send(b"").code == StatusCode.OK)


def test_a_call_whose_message_does_not_come_is_cut_off(start_server: Callable[..., ServerProcess]) -> None:
    port, comes = free_port(), threading.Event()
    server = start_server(OTLP_GRPC_PORT=str(port), DRAIN_SECONDS="1")

    def messages() -> Iterator[bytes]:
        comes.wait(60)
        yield b""

    with connected(port) as sender:
        open_call = sender.begin_stream(messages())
        assert sender.send(b"").code == StatusCode.OK  # it came behind the other, over the same connection
        server.terminate()
        assert server.wait(30) == 0
        assert outcome(open_call).code in (StatusCode.UNAVAILABLE, StatusCode.CANCELLED)
        comes.set()


def test_a_sender_waits_for_a_provider_that_is_away(start_server: Callable[..., ServerProcess]) -> None:
    port = free_port()
    provider = json.dumps({"type": "custom", "url": f"http://127.0.0.1:{free_port()}/custom"})
    start_server(OTLP_GRPC_PORT=str(port), AUTH_PROVIDER=provider)
    with connected(port, authorization="Bearer of ann") as sender:
        told = sender.send(b"")
    assert told.code == StatusCode.UNAVAILABLE
    assert told.retry_after_s


# ---------------------------------------------------------------------------------------------- start


def refusal(folder: Path, **environment: str) -> str:
    """What a server says that does not start."""
    server = ServerProcess(folder, environment)
    line = [sys.executable, "manage.py", "serve", "--port", "0", "--no-demo"]
    result = subprocess.run(
        line, cwd=ROOT, env=server.environment, capture_output=True, text=True, check=False, timeout=60
    )
    assert result.returncode == 1
    assert "Traceback" not in result.stderr
    assert not (folder / "data" / "agents.sqlite3").exists()  # nothing was done yet
    return result.stderr


def test_a_port_that_is_taken_is_told(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = str(listening.getsockname()[1])
        told = refusal(tmp_path, OTLP_GRPC_PORT=port)
    assert f"Cannot listen on 127.0.0.1:{port}: Address already in use. Set OTLP_GRPC_PORT to another." in told


@pytest.mark.parametrize(
    ("module", "reason"),
    [
        ("raise ImportError('it is not here')", "OTLP_GRPC_PORT needs grpcio, which is an extra: pip install"),
        ("__version__ = '1.83.2'", "OTLP_GRPC_PORT needs grpcio 1.84 or later, not 1.83.2: pip install"),
    ],
)
def test_grpcio_that_is_missing_or_old_is_told(tmp_path: Path, module: str, reason: str) -> None:
    (tmp_path / "grpc.py").write_text(module)
    told = refusal(tmp_path, OTLP_GRPC_PORT=str(free_port()), PYTHONPATH=str(tmp_path))
    assert reason in told
    assert "turnlog[grpc]" in told


def test_a_server_without_telemetry_is_told(tmp_path: Path) -> None:
    told = refusal(tmp_path, OTLP_GRPC_PORT=str(free_port()), INSTALLED_SUBJECTS="identity")
    assert "OTLP_GRPC_PORT needs the subject telemetry" in told


def test_without_the_setting_grpcio_is_not_imported(tmp_path: Path, start_server: Callable[..., ServerProcess]) -> None:
    (tmp_path / "grpc.py").write_text("raise ImportError('nobody needs it')")
    server = start_server(PYTHONPATH=str(tmp_path))
    assert "gRPC" not in server.log
