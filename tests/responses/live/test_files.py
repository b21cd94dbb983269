"""Files and images in the input of a response, and in a conversation's items."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

import openai
import pytest
from openai import OpenAI

from tests.support.live.process import ServerProcess
from tests.support.pdf import make_pdf

pytestmark = pytest.mark.server

MODEL = "scripted/fast"


@pytest.fixture
def client(server: ServerProcess) -> Iterator[OpenAI]:
    with OpenAI(base_url=f"{server.base}/v1", api_key="none", max_retries=0) as client:
        yield client


@pytest.fixture
def file(client: OpenAI) -> str:
    return client.files.create(file=("kettles.txt", b"The kettle is blue."), purpose="user_data").id


def asked(**part: Any) -> Any:
    return [{"role": "user", "content": [{"type": "input_text", "text": "What colour?"}, part]}]


def test_a_file_is_read_for_the_model_and_kept_as_it_came(client: OpenAI, file: str) -> None:
    response = client.responses.create(model=MODEL, input=asked(type="input_file", file_id=file))

    assert "The kettle is blue." in response.output_text
    assert "File kettles.txt" in response.output_text
    [item] = client.responses.input_items.list(response.id)
    assert item.type == "message"
    content: list[Any] = [*item.content]
    assert [part.type for part in content] == ["input_text", "input_file"]
    assert content[1].file_id == file


def test_what_was_read_is_there_in_the_next_response(client: OpenAI, file: str) -> None:
    first = client.responses.create(model=MODEL, input=asked(type="input_file", file_id=file))
    second = client.responses.create(model=MODEL, input="And now?", previous_response_id=first.id)
    assert "File kettles.txt" in second.output_text, "the scripted model quotes the first message"


def test_a_document_comes_as_data_too(client: OpenAI) -> None:
    data = base64.b64encode(make_pdf()).decode()
    for given in (f"data:application/pdf;base64,{data}", data):
        part = {"type": "input_file", "filename": "kettles.pdf", "file_data": given}
        assert "Hello from a PDF" in client.responses.create(model=MODEL, input=asked(**part)).output_text


@pytest.mark.parametrize(
    ("part", "words"),
    [
        ({"type": "input_file"}, "file_id, file_data and file_url"),
        ({"type": "input_file", "filename": "x.pdf", "file_data": "data:application/pdf;base64,AAAA"}, "no PDF"),
        ({"type": "input_file", "file_url": "http://169.254.169.254/latest"}, "refused"),
        ({"type": "input_file", "file_url": "file:///etc/passwd"}, "refused"),
        ({"type": "input_image", "image_url": "file:///etc/passwd"}, "image"),
    ],
)
def test_what_cannot_be_read_is_refused(client: OpenAI, part: dict[str, Any], words: str) -> None:
    with pytest.raises(openai.BadRequestError, match=words):
        client.responses.create(model=MODEL, input=asked(**part))


def test_a_file_that_is_not_there_is_not_found(client: OpenAI, file: str) -> None:
    with pytest.raises(openai.NotFoundError, match="file-0"):
        client.responses.create(model=MODEL, input=asked(type="input_file", file_id="file-0"))
    with pytest.raises(openai.BadRequestError, match="no image"):
        client.responses.create(model=MODEL, input=asked(type="input_image", file_id=file))


def test_a_file_in_a_conversation_is_told_to_the_model(client: OpenAI, file: str) -> None:
    items = asked(type="input_file", file_id=file)
    talk = client.conversations.create(items=items)
    response = client.responses.create(model=MODEL, input="What colour?", conversation=talk.id)
    assert "File kettles.txt" in response.output_text
    with pytest.raises(openai.NotFoundError):
        client.conversations.items.create(talk.id, items=asked(type="input_file", file_id="file-0"))
