"""LangSmith's runs as spans: multipart, batches, single calls, and what belongs to one run."""

from __future__ import annotations

from typing import Any

import pytest

from agents.base.errors import InvalidRequest
from agents.telemetry.reading import langsmith
from agents.telemetry.reading.merging import merge
from agents.telemetry.reading.spans import SpanEvent
from tests.telemetry.reading import captures

RUN = "01a1f860-ac68-72a5-9f65-ff69297651e1"
TOP = "11a1f860-ac68-72a5-9f65-ff69297651e1"
TYPE = "multipart/form-data; boundary=capture"


def sent(*parts: tuple[str, Any]) -> bytes:
    return captures.multipart([{"name": name, "json": value} for name, value in parts])


def test_it_reads_the_parts_of_a_run_as_one_span() -> None:
    run = {"id": RUN, "trace_id": TOP, "parent_run_id": TOP, "name": "ChatOpenAI", "run_type": "llm"}
    times = {"start_time": "2026-11-20T09:54:07.592176+00:00", "end_time": None}
    events = [{"name": "new_token", "time": "2026-11-20T09:54:08+00:00", "kwargs": {"token": "It"}}]
    body = sent(
        (f"post.{RUN}", {**run, **times}),
        (f"post.{RUN}.inputs", {"messages": ["hello"]}),
        (f"post.{RUN}.events", events),
        (f"post.{RUN}.error", "ValueError('no')Traceback"),
        ("feedback.1", {"score": 1}),
    )
    decoded = langsmith.from_multipart(body, TYPE)
    (span,) = decoded.spans
    assert (span.trace, span.id, span.parent, span.name, span.format) == (TOP, RUN, TOP, "ChatOpenAI", "langsmith")
    assert span.attributes == {"run_type": "llm", "inputs": {"messages": ["hello"]}}
    assert span.events == [
        SpanEvent(name="new_token", at_ns=1_795_168_448_000_000_000, attributes={"kwargs": {"token": "It"}})
    ]
    assert (span.failed, span.message, span.end_ns) == (True, "ValueError('no')Traceback", 0)
    assert decoded.ignored == 1


def test_a_post_and_its_patch_are_one_span_in_any_order() -> None:
    post = {"id": RUN, "trace_id": TOP, "name": "agent", "inputs": {"q": 1}, "start_time": "2026-11-20T09:54:07Z"}
    patch = {"id": RUN, "dotted_order": f"20261120T095407592176Z{TOP}.20261120T095407592176Z{RUN}", "outputs": {"a": 2}}
    first, second = langsmith.from_batch({"post": [post], "patch": [{**patch, "end_time": 1_795_168_448_000}]}).spans
    one = merge(first, second)
    assert one == merge(second, first)
    assert (one.trace, one.name, one.end_ns) == (TOP, "agent", 1_795_168_448_000_000_000)
    assert one.attributes["inputs"] == {"q": 1}
    assert one.attributes["outputs"] == {"a": 2}


def test_it_reads_one_run_with_the_id_of_its_address() -> None:
    (span,) = langsmith.from_run({"outputs": {}}, RUN).spans
    assert (span.trace, span.id) == (RUN, RUN)


def test_it_keeps_attachments_as_base64() -> None:
    part = b'--b\r\nContent-Disposition: form-data; name="%b"\r\nContent-Type: %b\r\n\r\n%b\r\n'
    body = part % (b"post.run-1", b"application/json", b'{"id": "run-1"}')
    body += part % (b"attachment.run-1.photo", b"image/png; length=4", b"\x00\r\n\xff") + b"--b--\r\n"
    (span,) = langsmith.from_multipart(body, 'multipart/form-data; boundary="b"').spans
    assert span.attributes["attachments"] == {"photo": {"mime_type": "image/png", "base64": "AA0K/w=="}}


@pytest.mark.parametrize(("name", "runs"), [("langsmith__two-turns", 14), ("langsmith__tool-error", 5)])
def test_it_reads_the_captures(name: str, runs: int) -> None:
    spans = captures.spans(name)
    ids = {span.id for span in spans}
    assert len(spans) == len(ids) == runs
    assert all(span.parent in ids for span in spans if span.parent)
    assert {span.trace for span in spans} == {span.id for span in spans if not span.parent}


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"", TYPE),
        (sent((f"post.{RUN}", {})), "application/json"),
        (sent((f"post.{RUN}", {}))[:-12], TYPE),
        (sent((f"post.{RUN}", [])), TYPE),
        (b'--capture\r\nContent-Disposition: form-data; name="post.1"\r\n\r\n{\r\n--capture--', TYPE),
    ],
)
def test_it_refuses_a_body_that_is_cut_or_none(body: bytes, kind: str) -> None:
    with pytest.raises(InvalidRequest):
        langsmith.from_multipart(body, kind)


@pytest.mark.parametrize("body", [[], {"runs": []}, {"post": {}}, {"post": [1]}, {"post": [{"name": "no id"}]}])
def test_it_refuses_what_is_no_batch(body: Any) -> None:
    with pytest.raises(InvalidRequest):
        langsmith.from_batch(body)
