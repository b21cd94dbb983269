"""An OpenAI-compatible endpoint that is refused, refuses, falls silent or is lost, over a real socket."""

from __future__ import annotations

import asyncio
import logging
import traceback
from collections.abc import Callable
from typing import Any

import pytest

from agents.base.errors import ProviderError
from agents.loop.inference.base import Finish, InferenceRequest, Text
from agents.loop.inference.chat.timeouts import EndpointLimits
from agents.loop.inference.openai_compatible import EndpointConfig, OpenAICompatible

KEY = "sk-very-secret-0123456789"
MESSAGES = [b'{"role":"user","content":"hi"}']
OK = [Text("ok"), Finish("stop")]

Build = Callable[..., Any]


# Tries before the answer begins.


def test_it_asks_three_times_in_all_when_refused() -> None:
    pauses: list[float] = []

    async def note(seconds: float) -> None:
        pauses.append(seconds)

    async def main() -> None:
        server = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        server.close()
        await server.wait_closed()
        model = OpenAICompatible("lab", EndpointConfig(f"http://127.0.0.1:{port}"), sleep=note)
        try:
            async for _ in model.stream(InferenceRequest("m", MESSAGES)):
                pytest.fail("nobody was there to answer")
        finally:
            await model.close()

    with pytest.raises(ProviderError, match="lab could not be reached") as caught:
        asyncio.run(main())
    assert (caught.value.provider, caught.value.upstream_status, caught.value.retryable) == ("lab", None, True)
    assert len(pauses) == 2
    assert all(0.5 <= pause <= 8 for pause in pauses)


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 529])
def test_it_asks_again_when_the_endpoint_is_in_trouble(ask: Build, http: Build, ok: bytes, status: int) -> None:
    outcome = ask([http(b"busy", status=status, kind="text/plain")], [ok])
    assert outcome.chunks == OK
    assert (len(outcome.seen), len(outcome.pauses)) == (2, 1)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422])
def test_it_does_not_repeat_what_cannot_succeed(ask: Build, http: Build, ok: bytes, status: int) -> None:
    outcome = ask([http(b"no", status=status, kind="text/plain")], [ok])
    assert (outcome.error.upstream_status, outcome.error.retryable) == (status, False)
    assert len(outcome.seen) == 1


def test_it_gives_up_after_the_last_try(ask: Build, http: Build) -> None:
    outcome = ask([http(b"still busy", status=503, kind="text/plain")])
    assert str(outcome.error) == "lab answered 503: still busy"
    assert (outcome.error.upstream_status, len(outcome.seen)) == (503, 3)


def test_it_waits_as_long_as_it_is_asked_to(ask: Build, http: Build, ok: bytes) -> None:
    outcome = ask([http(status=429, Retry_After="7")], [http(status=429, retry_after_ms="1500")], [ok])
    assert outcome.pauses == [7.0, 1.5]
    assert outcome.chunks == OK


def test_it_does_not_wait_longer_than_a_minute(ask: Build, http: Build, ok: bytes) -> None:
    outcome = ask([http(status=429, Retry_After="61")], [ok])
    assert (outcome.error.retry_after_s, outcome.pauses) == (61.0, [])


def test_it_does_not_pause_beyond_the_total_time(ask: Build, http: Build, ok: bytes) -> None:
    outcome = ask([http(status=429, Retry_After="30")], [ok], limits=EndpointLimits(total_s=20))
    assert (outcome.error.upstream_status, outcome.pauses) == (429, [])


def test_it_does_not_repeat_when_the_quota_is_used_up(ask: Build, http: Build, ok: bytes) -> None:
    body = b'{"error": {"message": "pay first", "code": "insufficient_quota"}}'
    outcome = ask([http(body, status=429, kind="application/json")], [ok])
    assert (len(outcome.seen), str(outcome.error)) == (1, "lab answered 429: pay first")


def test_it_asks_again_when_dropped_before_an_answer(ask: Build, ok: bytes) -> None:
    assert ask([b""], [ok]).chunks == OK
    assert ask(["reset"], [ok]).chunks == OK


def test_it_asks_again_when_cut_before_the_first_event(ask: Build, http: Build, ok: bytes) -> None:
    for cut in ([http()], [http(), "reset"], [http(b": wait\n\n"), "reset"], [http(kind="application/json"), "reset"]):
        outcome = ask(cut, [ok])
        assert (outcome.chunks, outcome.error, len(outcome.seen)) == (OK, None, 2), cut
        assert len(outcome.pauses) == 1


def test_cuts_and_refusals_share_the_tries(ask: Build, http: Build) -> None:
    outcome = ask([http(b"busy", status=503)], [http()])
    assert (outcome.error.code, len(outcome.seen), len(outcome.pauses)) == ("cut", 3, 2)


@pytest.mark.parametrize("way", ["document", "payloads"])
def test_what_is_handed_on_is_asked_for_again_too(way: str, serve: Build, http: Build, sse: Build) -> None:
    answer = http(b"{}", kind="application/json") if way == "document" else http(sse("{}", "[DONE]"))

    async def main() -> tuple[list[bytes], int]:
        async with serve([http(), "reset"], [answer]) as (url, upstream):
            model = OpenAICompatible("lab", EndpointConfig(url), sleep=lambda _: asyncio.sleep(0))
            try:
                if way == "document":
                    return [await model.document("/x", b"{}", model="m")], len(upstream.seen)
                return [one async for one in model.payloads("/x", b"{}", model="m")], len(upstream.seen)
            finally:
                await model.close()

    assert asyncio.run(main()) == ([b"{}"], 2)


def test_it_does_not_ask_again_once_the_answer_began(ask: Build, http: Build, sse: Build, delta: Build) -> None:
    outcome = ask([http(sse(delta("a")))])
    assert outcome.chunks == [Text("a")]
    assert (outcome.error.code, len(outcome.seen)) == ("cut", 1)


def test_it_says_what_it_repeats_in_the_log_but_no_payload(
    ask: Build, http: Build, ok: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG, logger="agents"):
        ask([http(f"do not log {KEY}".encode(), status=503, kind="text/plain")], [ok], api_key=KEY)
    (record,) = [each for each in caplog.records if each.name.startswith("agents")]
    assert "endpoint=lab try=1 status=503" in record.getMessage()
    assert "do not log" not in caplog.text
    assert KEY not in caplog.text


# What an endpoint says that it will not do.


def test_it_reads_the_message_of_an_error(ask: Build, http: Build) -> None:
    body = b'{"error": {"message": "bad key", "type": "invalid_request_error", "code": "invalid_api_key"}}'
    outcome = ask([http(body, status=401, kind="application/json", x_request_id="req_9")])
    assert str(outcome.error) == "lab answered 401: bad key (request req_9)"
    assert outcome.error.code == "provider_error"


@pytest.mark.parametrize(
    ("status", "body", "code"),
    [
        (404, b'{"error": {"message": "nope", "code": "model_not_found"}}', "model_not_found"),
        (400, b'{"error": {"message": "nope", "code": "model_not_found"}}', "model_not_found"),
        (404, b'{"object": "error", "message": "The model `m` does not exist.", "code": 404}', "model_not_found"),
        (404, b'{"error": "model \\"m\\" not found, try pulling it first"}', "model_not_found"),
        (404, b'{"detail": "Not Found"}', "provider_error"),
        (404, b"404 page not found", "provider_error"),
        (400, b'{"error": {"message": "the model is tired"}}', "provider_error"),
    ],
)
def test_it_tells_an_unknown_model_from_a_wrong_url(
    ask: Build, http: Build, status: int, body: bytes, code: str
) -> None:
    outcome = ask([http(body, status=status)], request=InferenceRequest("quux", MESSAGES))
    assert (outcome.error.code, outcome.error.upstream_status) == (code, status)


def test_it_quotes_no_more_than_500_characters(ask: Build, http: Build) -> None:
    outcome = ask([http(b"x" * 2**20, status=400, kind="text/plain")])
    assert str(outcome.error) == "lab answered 400: " + "x" * 500 + "…"


def test_it_does_not_read_an_endless_error(serve: Build, http: Build) -> None:
    async def main() -> None:
        async with serve([http(b"x" * 2**16, status=400), *[b"y" * 2**20] * 32]) as (url, upstream):
            model = OpenAICompatible("lab", EndpointConfig(url))
            with pytest.raises(ProviderError, match="answered 400: xxx"):
                await anext(model.stream(InferenceRequest("m", MESSAGES)))
            await asyncio.wait_for(upstream.left.wait(), 5)
            assert not upstream.answered.is_set()
            await model.close()

    asyncio.run(main())


def test_it_does_not_follow_redirects(ask: Build, http: Build) -> None:
    outcome = ask([http(status=307, Location="http://127.0.0.1:9/v1/chat/completions")])
    assert "redirects are not followed" in str(outcome.error)
    assert (outcome.error.upstream_status, len(outcome.seen)) == (307, 1)


def test_it_says_that_a_web_page_is_no_answer(ask: Build, http: Build) -> None:
    outcome = ask([http(b"<h1>Welcome</h1>", kind="text/html; charset=utf-8")])
    assert str(outcome.error) == "lab answered with a web page; check its base URL"


@pytest.mark.parametrize(
    "noise", [b"\x00\xff\n\n", b"HTTP/9.9 9999999 \r\n\r\n", b"HTTP/1.1 200 OK\r\nA: " + b"x" * 2**17]
)
def test_it_survives_what_is_not_http(ask: Build, noise: bytes) -> None:
    outcome = ask([noise])
    assert isinstance(outcome.error, ProviderError)
    assert len(str(outcome.error)) < 600


def test_it_never_tells_its_key(ask: Build, http: Build) -> None:
    echoed = f'{{"error": {{"message": "{"x" * 490} {KEY} is wrong"}}}}'.encode()
    answers = [
        http(echoed, status=401, kind="application/json"),
        http(echoed, status=400, kind="application/json", x_request_id=KEY),
        http(echoed, kind="application/json"),
        http(f"data: {KEY}\n\n".encode()),
        f"HTTP/1.1 {KEY}\r\n\r\n".encode(),
    ]
    for answer in answers:
        error = ask([answer], api_key=KEY).error
        told = "".join(traceback.format_exception(error)) + repr(error) + repr(vars(error))
        assert KEY[:10] not in told
        assert error.__suppress_context__ or error.__context__ is None
    assert KEY not in repr(OpenAICompatible("lab", EndpointConfig("http://127.0.0.1/v1", KEY)))


# Silence.


def test_it_gives_up_when_nothing_begins(ask: Build) -> None:
    outcome = ask(["hang"], limits=EndpointLimits(first_token_s=0.02))
    assert (outcome.error.code, len(outcome.seen)) == ("timeout", 1)
    assert str(outcome.error) == "lab sent no token within 0.02 s"


def test_it_does_not_take_comments_and_roles_for_tokens(ask: Build, http: Build, sse: Build, delta: Build) -> None:
    body = b": PROCESSING\n\n" + sse(delta("", role="assistant"))
    outcome = ask([http(body), "hang"], limits=EndpointLimits(first_token_s=0.02, idle_s=60))
    assert str(outcome.error) == "lab sent no token within 0.02 s"


def test_it_gives_up_a_stream_that_falls_silent(ask: Build, http: Build, sse: Build, delta: Build) -> None:
    outcome = ask([http(sse(delta("a"))), "hang"], limits=EndpointLimits(idle_s=0.02))
    assert outcome.chunks == [Text("a")]
    assert (outcome.error.code, str(outcome.error)) == ("timeout", "lab fell silent for 0.02 s")


def test_it_gives_up_a_stream_that_never_ends(ask: Build, http: Build, sse: Build, delta: Build) -> None:
    endless = [http(), *[sse(delta("a"))] * 10, "hang"]
    outcome = ask(endless, limits=EndpointLimits(total_s=0.15))
    assert outcome.chunks == [Text("a")] * 10
    assert (outcome.error.code, str(outcome.error)) == ("timeout", "lab did not finish within 0.15 s")


def test_it_counts_only_its_own_waiting(ask: Build, http: Build, sse: Build, delta: Build) -> None:
    async def dawdle(upstream: Any) -> None:
        await asyncio.sleep(0.12)  # longer than the idle limit, which a busy machine must not reach
        upstream.go.set()

    answer = [http(sse(delta("a"))), "wait", sse(delta("b")), "wait", sse(delta("c"), delta(finish="stop"), "[DONE]")]
    outcome = ask(answer, limits=EndpointLimits(idle_s=0.1), on_chunk=dawdle)
    assert outcome.chunks == [Text("a"), Text("b"), Text("c"), Finish("stop")]


def test_it_waits_for_the_end_of_a_finished_answer_only_briefly(
    ask: Build, http: Build, sse: Build, delta: Build
) -> None:
    outcome = ask([http(sse(delta("a"), delta(finish="stop"))), "hang"], limits=EndpointLimits(tail_s=0.02))
    assert (outcome.chunks, outcome.error) == ([Text("a"), Finish("stop")], None)


def test_it_does_not_wait_for_a_connection_that_is_kept_open_after_done(ask: Build, ok: bytes) -> None:
    assert ask([ok, "hang"]).chunks == OK


# Lost connections.


@pytest.mark.parametrize("headers", [{}, {"Content_Length": "9999"}, {"Transfer_Encoding": "chunked"}])
@pytest.mark.parametrize("end", ["reset", b""])
def test_it_keeps_what_came_before_the_connection_was_lost(
    ask: Build, http: Build, sse: Build, delta: Build, headers: dict[str, str], end: bytes | str
) -> None:
    async def go_on(upstream: Any) -> None:
        upstream.go.set()

    event = sse(delta("a"))
    body = b"%x\r\n%s\r\n" % (len(event), event) if "Transfer_Encoding" in headers else event
    outcome = ask([http(body, **headers), "wait", end], on_chunk=go_on)
    assert outcome.chunks == [Text("a")]
    assert (outcome.error.code, len(outcome.seen)) == ("cut", 1)


def test_it_hands_out_what_had_come_before_the_loss_to_a_slow_reader(
    ask: Build, http: Build, sse: Build, delta: Build
) -> None:
    async def until_all_was_lost(upstream: Any) -> None:
        upstream.go.set()
        await upstream.answered.wait()
        await asyncio.sleep(0.01)

    # A length that is never reached makes the end of the connection an error.
    first = http(sse(delta("a")), Content_Length="9999")
    outcome = ask([first, "wait", sse(delta("b"), delta("c"))], on_chunk=until_all_was_lost)
    assert outcome.chunks == [Text("a"), Text("b"), Text("c")]
    assert outcome.error.code == "cut"


def test_it_takes_a_finished_answer_from_a_connection_that_broke(
    ask: Build, http: Build, sse: Build, delta: Build
) -> None:
    outcome = ask([http(sse(delta("ok"), delta(finish="stop")), Content_Length="9999")])
    assert (outcome.chunks, outcome.error) == (OK, None)


def test_it_survives_a_broken_transfer_encoding(ask: Build, http: Build, sse: Build, delta: Build) -> None:
    async def go_on(upstream: Any) -> None:
        upstream.go.set()

    event = sse(delta("a"))
    begun = http(b"%x\r\n%s\r\n" % (len(event), event), Transfer_Encoding="chunked")
    # aiohttp drops the connection without telling who reads, so it takes the watch to notice.
    outcome = ask([begun, "wait", b"not a length\r\n"], on_chunk=go_on, limits=EndpointLimits(idle_s=0.02))
    assert (outcome.chunks, outcome.error.code) == ([Text("a")], "timeout")


def test_it_hangs_up_when_left_early(serve: Build, http: Build, sse: Build, delta: Build) -> None:
    async def main() -> None:
        async with serve([http(sse(delta("a"))), "hang"]) as (url, upstream):
            model = OpenAICompatible("lab", EndpointConfig(url))
            stream = model.stream(InferenceRequest("m", MESSAGES))
            assert await anext(stream) == Text("a")
            await stream.aclose()  # type: ignore[attr-defined]  # the protocol promises no more than iteration
            await asyncio.wait_for(upstream.left.wait(), 5)
            await model.close()

    asyncio.run(main())
