"""Reading an upload: a file, with what is said of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest
from django.utils.datastructures import MultiValueDictKeyError
from pydantic import ValidationError

from agents.base.api.forms import check_size, read_form
from agents.base.api.negotiation import invalid
from agents.base.errors import InvalidRequest
from agents.knowledge.schemas.files import FileForm


@dataclass(frozen=True, slots=True)
class UploadedForm:
    """A file and what was said of it."""

    form: FileForm
    filename: str
    mime_type: str
    file: UploadedFile[Any]

    def blocks(self, size: int) -> Iterator[bytes]:
        """The content in pieces of that many bytes; the last may be shorter."""
        return blocks_of(self.file, size)


def blocks_of(file: UploadedFile[Any], size: int) -> Iterator[bytes]:
    """The content of a file in pieces of that many bytes; the last may be shorter."""
    file.seek(0)
    while data := file.read(size):
        yield data


def read_part(request: HttpRequest) -> UploadedFile[Any]:
    """A part of a file from the form of a request. Raises UnsupportedMedia, TooLarge, InvalidRequest."""
    _, files = read_form(request)
    try:
        part: UploadedFile[Any] = files["data"]
    except MultiValueDictKeyError:
        raise InvalidRequest("data: a part of the file is needed.", param="data") from None
    check_size(part)
    if not part.size:
        raise InvalidRequest("data: the part is empty.", param="data")
    return part


def read_upload(request: HttpRequest) -> UploadedForm:
    """The form of a request. Raises UnsupportedMedia, TooLarge, InvalidRequest naming the field."""
    fields, files = read_form(request)
    try:
        file = files["file"]
    except MultiValueDictKeyError:
        raise InvalidRequest("file: a file is needed, with a name.", param="file") from None
    check_size(file)
    return UploadedForm(_form(fields), file.name or "file", file.content_type or "", file)


def _form(fields: Any) -> FileForm:
    repeated = next((name for name in FileForm.model_fields if len(fields.getlist(name)) > 1), None)
    if repeated:
        raise InvalidRequest(f"{repeated}: given more than once.", param=repeated)
    values: dict[str, Any] = {name: fields[name] for name in FileForm.model_fields if fields.get(name)}
    if "expires_after" in values:
        values["expires_after"] = _object(values["expires_after"])
    anchor, seconds = (fields.get(f"expires_after[{part}]") for part in ("anchor", "seconds"))
    if anchor or seconds:  # a form has texts only
        is_number = bool(seconds) and seconds.isascii() and seconds.isdecimal() and len(seconds) < 10
        values["expires_after"] = {"anchor": anchor, "seconds": int(seconds) if is_number else seconds}
    try:
        return FileForm.model_validate(values)
    except ValidationError as error:
        raise invalid(error) from error


def _object(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError) as error:
        raise InvalidRequest("expires_after: not JSON.", param="expires_after") from error
