"""The forms of log lines: text for people, JSON for programs. Secrets are redacted in both."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime
from typing import Any

from agents.base import log_context, redaction


class LineFormatter(logging.Formatter):
    """Formats log records, tracebacks included, with all secrets redacted."""

    def format(self, record: logging.LogRecord) -> str:
        return redaction.redact(super().format(record))


class JsonFormatter(logging.Formatter):
    """One object a line: ``time``, ``level``, ``logger``, ``message``; ``request_id``, ``turn_id``, ``trace_id`` and
    ``caller`` as far as they are known; ``exception`` with its traceback; what the record has as ``fields``."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            **log_context.fields(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        if record.stack_info:
            line["stack"] = self.formatStack(record.stack_info)
        # before it is JSON, where a secret with a quotation mark would look different
        return json.dumps(redaction.redact_json(line), ensure_ascii=False, default=str)
