"""Reads forms with files: the only requests whose body is no JSON.

It is parsed by Django, which puts files on disk as it reads.
"""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.exceptions import BadRequest, RequestDataTooBig, SuspiciousOperation
from django.core.files.uploadedfile import UploadedFile
from django.core.files.uploadhandler import TemporaryFileUploadHandler
from django.http import HttpRequest
from django.http.multipartparser import MultiPartParserError

from agents.base.api import request_bodies
from agents.base.errors import InvalidRequest, TooLarge, UnsupportedMedia

FORM = "multipart/form-data"


def read_form(request: HttpRequest) -> tuple[Any, Any]:
    """Return the fields and the files of a form. Raises UnsupportedMedia, TooLarge, InvalidRequest."""
    if request.content_type != FORM:
        raise UnsupportedMedia(f"Content-Type must be {FORM}, not {(request.content_type or '')[:80] or 'absent'}.")
    if request_bodies.encoding_of(request) != "identity":
        raise UnsupportedMedia("A form with files is read as it is, without Content-Encoding.")
    return _parsed(request)


def check_size(file: UploadedFile[Any]) -> None:
    """Raise TooLarge for a file above the limit of the settings."""
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
    file = getattr(handler, "file", None)
    if file is not None:
        file.close()
