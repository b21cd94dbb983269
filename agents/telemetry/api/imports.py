"""``/v1/imports``: files of what agents did elsewhere, imported in the background of the request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO, cast, get_args

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from agents.base import ids
from agents.base.access import Actor
from agents.base.api.forms import FORM, read_form
from agents.base.api.views import ApiView, answer
from agents.base.errors import InvalidRequest, TooLarge
from agents.loop.current_service import service
from agents.telemetry.reading.detect_format import FileFormat
from agents.telemetry.runner import import_queue
from agents.telemetry.schemas.imports import ImportForm, ImportObject, ImportReport, SkippedLine, TurnCounts
from agents.telemetry.store import import_files, import_jobs
from agents.telemetry.store.add_file import AUTO_FORMAT
from agents.telemetry.store.import_jobs import ImportRecord, NewImport
from agents.telemetry.store.importer import ImportResult

FORMATS: tuple[str, ...] = (AUTO_FORMAT, *get_args(FileFormat))
MAX_NAME_LENGTH = 300


def start_import(actor: Actor, fields: Mapping[str, Any], files: Sequence[UploadedFile[Any]]) -> ImportRecord:
    """Store an import of these files and start it in the background. Raises InvalidRequest, TooLarge, RateLimited."""
    if not files:
        raise InvalidRequest("file: a file is needed, with a name.", param="file")
    size = sum(file.size or 0 for file in files)
    if size > settings.MAX_UPLOAD_MB * 2**20:
        message = f"file: more than {settings.MAX_UPLOAD_MB} MiB. `turnlog logs import` takes files of any size."
        raise TooLarge(message, param="file")
    format_, agent, session = (_field(fields, name) for name in ("format", "agent", "session"))
    names = tuple(map(_file_name, files))
    new = NewImport(_display_name(files), size, format_, agent, session, names)
    if new.format not in FORMATS:
        raise InvalidRequest(f"format: one of {', '.join(FORMATS)}.", param="format")
    import_queue.check_room(actor)
    key = ids.new_key()
    import_files.store(key, [cast(BinaryIO, file) for file in files])
    record = import_jobs.create(actor, new, key)
    import_queue.start(service().runner, actor, record)
    return record


def _file_name(file: UploadedFile[Any]) -> str:
    return (file.name or "file").replace("\0", "")


def _display_name(files: Sequence[UploadedFile[Any]]) -> str:
    name = _file_name(files[0])[:200]
    return name if len(files) == 1 else f"{name} + {len(files) - 1}"


def _field(fields: Mapping[str, Any], name: str) -> str:
    value = str(fields.get(name) or "").replace("\0", "").strip()
    if len(value) > MAX_NAME_LENGTH:
        raise InvalidRequest(f"{name}: at most {MAX_NAME_LENGTH} characters.", param=name)
    return value or (AUTO_FORMAT if name == "format" else "")


def import_object(record: ImportRecord) -> ImportObject:
    """An import as an object of the API."""
    return ImportObject(
        id=record.public_id,
        state=cast(Any, record.state),
        name=record.name,
        format=record.format,
        agent=record.agent or None,
        session=record.session or None,
        bytes=record.size,
        error=record.error or None,
        created_at=record.created_at,
        updated_at=record.updated_at,
        report=_report_object(record.report),
    )


def _report_object(report: ImportResult) -> ImportReport:
    return ImportReport(
        files=report.files,
        lines=report.lines,
        bytes=report.size,
        spans=report.spans,
        ignored=report.ignored,
        turns=TurnCounts(new=report.new, known=report.known, changed=report.changed),
        skipped=[SkippedLine(file=name, line=line or None, reason=reason) for name, line, reason in report.skipped],
        reasons=dict(report.reasons),
        sessions=report.sessions,
    )


class ImportList(ApiView):
    """Creates an import: the response has its id, under which its progress and result can be read."""

    takes = "upload"
    actions = {"post": "ingest"}

    @extend_schema(operation_id="create_import", request={FORM: ImportForm}, responses={202: ImportObject})
    def post(self, request: Request) -> HttpResponseBase:
        fields, files = read_form(request._request)
        return answer(import_object(start_import(self.actor, fields, files.getlist("file"))), 202)


class ImportDetail(ApiView):
    """The progress and the result of an import of the caller's own."""

    actions = {"get": "ingest"}

    @extend_schema(operation_id="get_import", responses=ImportObject)
    def get(self, request: Request, import_id: str) -> HttpResponseBase:
        return answer(import_object(import_jobs.get(self.actor, import_id)))


ROUTES: list[tuple[str, type[ApiView]]] = [("imports", ImportList), ("imports/<str:import_id>", ImportDetail)]
