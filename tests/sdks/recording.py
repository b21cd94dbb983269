"""What an SDK sent, as a capture that ``tests.telemetry.reading.captures`` reads: a proxy stands between its program
and the server, and keeps the telemetry. What tells of the machine is left out."""

from __future__ import annotations

import base64
import contextlib
import gzip
import http.client
import json
import re
import sys
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from google.protobuf.json_format import MessageToDict
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests import ROOT
from tests.support.live.process import ServerProcess

_TELEMETRY = re.compile(r"/(traces|logs|traces/ingest)$|^/langsmith/runs")
_MACHINE = re.compile(r"^(host|process|os|container)\.")
_IDS = ("traceId", "spanId", "parentSpanId")
_UNPACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.decompress,
    "deflate": zlib.decompress,
    "identity": bytes,
}
_OF_CONNECTION = ("connection", "keep-alive", "transfer-encoding", "content-length", "date", "server")
"""Headers of the way, not of what is sent on it."""


@dataclass(frozen=True)
class Sent:
    path: str
    content_type: str
    encoding: str
    data: bytes

    @property
    def is_telemetry(self) -> bool:
        return bool(_TELEMETRY.search(self.path))

    def line(self) -> str:
        """The request as a capture has it, on one line."""
        kind = self.content_type.partition(";")[0].strip()
        whole = {"path": self.path, "content_type": kind, "body": _without_machine(self._body(kind))}
        line = json.dumps(whole, ensure_ascii=False, separators=(",", ":"))
        for path in (str(ROOT), sys.prefix, sys.base_prefix, str(Path.home())):
            line = line.replace(path, "/app")
        return line

    def _body(self, kind: str) -> Any:
        data = _UNPACKERS[self.encoding](self.data)
        if kind == "multipart/form-data":
            return _parts(b"Content-Type: %b\r\n\r\n%b" % (self.content_type.encode(), data))
        if kind != "application/x-protobuf":
            return json.loads(data)
        message = ExportLogsServiceRequest() if self.path.endswith("/logs") else ExportTraceServiceRequest()
        message.ParseFromString(data)
        return _with_hex_ids(MessageToDict(message, use_integers_for_enums=True))


@dataclass
class Recording:
    """What passed the proxy, in order."""

    sent: list[Sent] = field(default_factory=list)

    def write(self, path: Path) -> int:
        """Write the telemetry as a capture; returns the number of requests."""
        lines = [one.line() for one in self.sent if one.is_telemetry]
        path.write_text("".join(f"{line}\n" for line in lines))
        return len(lines)


@contextmanager
def recording(server: ServerProcess) -> Iterator[Recording]:
    """While the block lasts, ``server.port`` is that of a proxy in front of it."""
    own_port, recorded = server.port, Recording()

    class Handler(_Handler):
        port, sent = own_port, recorded.sent

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as proxy:
        thread = threading.Thread(target=proxy.serve_forever, name="recorder", daemon=True)
        thread.start()
        server.port = proxy.server_address[1]
        try:
            yield recorded
        finally:
            server.port = own_port
            proxy.shutdown()
            thread.join(10)


class _Handler(BaseHTTPRequestHandler):
    """Passes each request on, and its answer back as it comes."""

    port: int
    sent: list[Sent]

    def _pass_on(self) -> None:
        data = self._data()
        headers = {name: value for name, value in self.headers.items() if name.lower() not in _OF_CONNECTION}
        kind, encoding = self.headers.get("Content-Type", ""), self.headers.get("Content-Encoding", "identity")
        self.sent.append(Sent(self.path, kind, encoding, data))
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        with contextlib.closing(connection):
            connection.request(self.command, self.path, data, headers)
            answer = connection.getresponse()
            self.send_response_only(answer.status, answer.reason)
            for name, value in answer.getheaders():
                if name.lower() not in _OF_CONNECTION:
                    self.send_header(name, value)
            self.end_headers()
            while part := answer.read1(65536):
                self.wfile.write(part)

    do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = _pass_on

    def _data(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        parts = []
        while size := int(self.rfile.readline().partition(b";")[0], 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: the table of the command is what is read."""


def _parts(message: bytes) -> list[dict[str, Any]]:
    """The parts of a form, each of which is JSON, as `captures.multipart` takes them."""
    found = []
    for part in message_from_bytes(message).walk():
        if not part.is_multipart():
            data = part.get_payload(decode=True)
            assert isinstance(data, bytes), part
            found.append({"name": part.get_param("name", header="content-disposition"), "json": json.loads(data)})
    return found


def _with_hex_ids(value: Any) -> Any:
    """OTLP/JSON of what protobuf's own JSON says, whose bytes are base64."""
    if isinstance(value, list):
        return [_with_hex_ids(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {key: base64.b64decode(inner).hex() if key in _IDS else _with_hex_ids(inner) for key, inner in value.items()}


def _without_machine(body: Any) -> Any:
    """The body without those attributes of its resources that tell of the machine."""
    if not isinstance(body, dict):
        return body
    for group in [*body.get("resourceSpans", []), *body.get("resourceLogs", [])]:
        resource = group.get("resource", {})
        kept = [pair for pair in resource.get("attributes", []) if not _MACHINE.match(pair["key"])]
        resource["attributes"] = kept
    return body
