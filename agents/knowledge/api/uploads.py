"""Reading an upload: the one kind of request that is a form instead of JSON.

The form is parsed by Django, which puts the file on disk as it reads.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec
from django.conf import settings
from django.core.exceptions import BadRequest, RequestDataTooBig, SuspiciousOperation
from django.core.files.uploadedfile import UploadedFile
from django.core.files.uploadhandler import TemporaryFileUploadHandler
from django.http import HttpRequest
from django.http.multipartparser import MultiPartParserError
from django.utils.datastructures import MultiValueDictKeyError
from pydantic import ValidationError

from agents.base.api.negotiation import invalid
from agents.base.errors import InvalidRequest, TooLarge, UnsupportedMedia
from agents.knowledge.schemas.files import FileForm

FORM = "multipart/form-data"


@dataclass(frozen=True, slots=True)
class Upload:
    """A file and what was said of it."""

    form: FileForm
    filename: str
    mime_type: str
    file: UploadedFile[Any]

    def blocks(self, size: int) -> Iterator[bytes]:
        """The content in pieces of that many bytes; the last may be shorter."""
        self.file.seek(0)
        while data := self.file.read(size):
            yield data


def read_upload(request: HttpRequest) -> Upload:
    """The form of a request. Raises UnsupportedMedia, TooLarge, InvalidRequest naming the field."""
    fields, files = read_form(request)
    try:
        file = files["file"]
    except MultiValueDictKeyError:
        raise InvalidRequest("file: a file is needed, with a name.", param="file") from None
    check_size(file)
    return Upload(_form(fields), file.name or "file", file.content_type or "", file)


def read_form(request: HttpRequest) -> tuple[Any, Any]:
    """The fields and the files of a form. Raises UnsupportedMedia, TooLarge, InvalidRequest."""
    if request.content_type != FORM:
        raise UnsupportedMedia(f"Content-Type must be {FORM}, not {(request.content_type or '')[:80] or 'absent'}.")
    return _parsed(request)


def check_size(file: UploadedFile[Any]) -> None:
    """Raises TooLarge."""
    if (file.size or 0) > settings.MAX_UPLOAD_MB * 2**20:
        raise TooLarge(f"file: it is larger than {settings.MAX_UPLOAD_MB} MiB.", param="file")


def _parsed(request: HttpRequest) -> tuple[Any, Any]:
    # always on disk: many small files together are large, too
    handler = TemporaryFileUploadHandler(request)
    request.upload_handlers = [handler]
    try:
        return request.POST, request.FILES
    except RequestDataTooBig as error:
        _close(handler)
        raise TooLarge("The form's fields beside the file are larger than this server takes.") from error
    except (MultiPartParserError, SuspiciousOperation, BadRequest, UnicodeError) as error:
        _close(handler)
        raise InvalidRequest(f"The form cannot be read: {error}", code="invalid_form") from error


def _close(handler: TemporaryFileUploadHandler) -> None:
    """Close the file that was being read: Django closes those that are complete."""
    begun = getattr(handler, "file", None)
    if begun is not None:
        begun.close()


def _form(fields: Any) -> FileForm:
    twice = next((name for name in FileForm.model_fields if len(fields.getlist(name)) > 1), None)
    if twice:
        raise InvalidRequest(f"{twice}: given more than once.", param=twice)
    given: dict[str, Any] = {name: fields[name] for name in FileForm.model_fields if fields.get(name)}
    if "expires_after" in given:
        given["expires_after"] = _object(given["expires_after"])
    anchor, seconds = (fields.get(f"expires_after[{part}]") for part in ("anchor", "seconds"))
    if anchor or seconds:  # a form has texts only
        is_whole = bool(seconds) and seconds.isascii() and seconds.isdecimal() and len(seconds) < 10
        given["expires_after"] = {"anchor": anchor, "seconds": int(seconds) if is_whole else seconds}
    try:
        return FileForm.model_validate(given)
    except ValidationError as error:
        raise invalid(error) from error


def _object(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError) as error:
        raise InvalidRequest("expires_after: not JSON.", param="expires_after") from error
