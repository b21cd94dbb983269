"""``/v1/imports``: files of what agents did elsewhere, taken in behind the request that brought them."""

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
from agents.telemetry.store.import_jobs import AUTO, ImportRecord, NewImport
from agents.telemetry.store.importer import Report

FORMATS: tuple[str, ...] = (AUTO, *get_args(FileFormat))
LONGEST_NAME = 300


def begin(actor: Actor, fields: Mapping[str, Any], files: Sequence[UploadedFile[Any]]) -> ImportRecord:
    """Write down an import of these files and start it; returns at once. Raises InvalidRequest, TooLarge,
    RateLimited."""
    if not files:
        raise InvalidRequest("file: a file is needed, with a name.", param="file")
    size = sum(file.size or 0 for file in files)
    if size > settings.MAX_UPLOAD_MB * 2**20:
        words = f"file: more than {settings.MAX_UPLOAD_MB} MiB. `manage.py logs import` takes files of any size."
        raise TooLarge(words, param="file")
    new = NewImport(_called(files), size, *(_field(fields, name) for name in ("format", "agent", "session")))
    if new.format not in FORMATS:
        raise InvalidRequest(f"format: one of {', '.join(FORMATS)}.", param="format")
    import_queue.check_room(actor)
    kept = import_files.keep(ids.new_key(), [(file.name or "file", cast(BinaryIO, file)) for file in files])
    try:
        record = import_jobs.create(actor, new, kept.key)
        import_queue.start(service().runner, actor, record, kept)
    except BaseException:
        kept.drop()
        raise
    return record


def _called(files: Sequence[UploadedFile[Any]]) -> str:
    name = (files[0].name or "file").replace("\0", "")[:200]
    return name if len(files) == 1 else f"{name} + {len(files) - 1}"


def _field(fields: Mapping[str, Any], name: str) -> str:
    value = str(fields.get(name) or "").replace("\0", "").strip()
    if len(value) > LONGEST_NAME:
        raise InvalidRequest(f"{name}: at most {LONGEST_NAME} characters.", param=name)
    return value or (AUTO if name == "format" else "")


def shown(record: ImportRecord) -> ImportObject:
    """An import as the API tells of it."""
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
        report=_report(record.report),
    )


def _report(report: Report) -> ImportReport:
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
    """A new import: the answer tells its id, under which is told what came of it."""

    actions = {"post": "ingest"}

    @extend_schema(operation_id="create_import", request={FORM: ImportForm}, responses={202: ImportObject})
    def post(self, request: Request) -> HttpResponseBase:
        fields, files = read_form(request._request)
        return answer(shown(begin(self.actor, fields, files.getlist("file"))), 202)


class ImportDetail(ApiView):
    """How far an import of one's own is, and what came of it."""

    actions = {"get": "ingest"}

    @extend_schema(operation_id="get_import", responses=ImportObject)
    def get(self, request: Request, import_id: str) -> HttpResponseBase:
        return answer(shown(import_jobs.get(self.actor, import_id)))


ROUTES: list[tuple[str, type[ApiView]]] = [("imports", ImportList), ("imports/<str:import_id>", ImportDetail)]
