"""How many files of the product an addition touches: each is made in a copy of the project, where it works."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.additions.scratch import Scratch

pytestmark = pytest.mark.slow


@pytest.fixture
def scratch(tmp_path: Path) -> Scratch:
    return Scratch(tmp_path)


def test_a_query_field_touches_three_files(scratch: Scratch) -> None:
    scratch.replace(
        "agents/record/models/turns.py",
        ("    iterations = models", "    started_hour = models.SmallIntegerField(default=0)\n    iterations = models"),
    )
    scratch.replace(
        "agents/record/store/turn_rows.py",
        ("TURN_COLUMNS} iterations leg_count", "TURN_COLUMNS} started_hour iterations leg_count"),
        (
            "draft.totals.columns(), draft",
            "draft.totals.columns(), draft.state.started_us // 3_600_000_000 % 24, draft",
        ),
    )
    scratch.replace(
        "agents/record/catalogue.py",
        (
            '    RecordField("ended", ',
            '    RecordField("hour", "number", at("turn"), "hour of the day it began in, UTC",\n'
            '        ">=18", "begun at hour {}", unit="count", columns=_on("turn", "started_hour")),\n'
            '    RecordField("ended", ',
        ),
    )
    scratch.migrate()
    scratch.check("check_query_field.py")
    assert len(scratch.touched) == 3


def test_a_type_of_step_touches_five_files(scratch: Scratch) -> None:
    scratch.replace(
        "agents/record/models/choices.py",
        ('    OTHER = 5, "other"', '    OTHER = 5, "other"\n    PLANNING = 6, "planning"'),
    )
    scratch.replace(
        "agents/record/schemas/events.py",
        ('"memory_retrieval", "other"]', '"memory_retrieval", "other", "planning"]'),
        (
            "StepDetail = InferenceDetail",
            "class PlanDetail(_Detail):\n    tasks: list[str]\n\n\nStepDetail = InferenceDetail",
        ),
        ("MemoryDetail | OtherDetail\n", "MemoryDetail | OtherDetail | PlanDetail\n"),
        ('    "other": OtherDetail,', '    "other": OtherDetail,\n    "planning": PlanDetail,'),
    )
    scratch.replace(
        "agents/uikit/elements.py",
        (
            '    "other": gettext_noop("other"),',
            '    "other": gettext_noop("other"),\n    "planning": gettext_noop("plan"),',
        ),
    )
    scratch.replace(
        "agents/pages/step_values.py",
        (
            "def _any(",
            "class _Plan(msgspec.Struct):\n    tasks: list[str] = []\n\n\n"
            "def plan(step: StepSnapshot) -> list[NamedText]:\n"
            "    detail = step_details.read_detail(step, _Plan) or _Plan()\n"
            '    return [NamedText("tasks", "; ".join(detail.tasks))]\n\n\ndef _any(',
        ),
        ('    "other": other,', '    "other": other,\n    "planning": plan,'),
    )
    scratch.replace(
        "agents/pages/step_cards.py",
        (
            "        case _:\n            return plain_card(base, step)",
            '        case "planning":\n            return replace(plain_card(base, step), title=_("Planned"))\n'
            "        case _:\n            return plain_card(base, step)",
        ),
    )
    scratch.migrate()
    scratch.check("check_step_type.py")
    assert len(scratch.touched) == 5


def test_a_page_touches_three_files(scratch: Scratch) -> None:
    scratch.add(
        "agents/telemetry/pages/senders.py",
        '"""The page of programs that sent logs."""\n\nfrom django.http import HttpResponse\n'
        "from django.shortcuts import render\n\n"
        "from agents.uikit.access import PageRequest, page\n\n\n"
        '@page("read")\ndef senders(request: PageRequest) -> HttpResponse:\n'
        '    return render(request, "telemetry/senders.html", {"senders": ["the one"]})\n',
    )
    scratch.replace(
        "agents/telemetry/urls.py",
        (
            "PAGES: list[URLPattern] = [\n",
            'PAGES: list[URLPattern] = [\n    path("senders/", senders.senders, name="senders"),\n',
        ),
        (
            'unmatched = LazyModule("agents.telemetry.pages.unmatched")\n',
            'senders = LazyModule("agents.telemetry.pages.senders")\n'
            'unmatched = LazyModule("agents.telemetry.pages.unmatched")\n',
        ),
    )
    scratch.add(
        "templates/telemetry/senders.html",
        '{% extends "uikit/base.html" %}\n{% block title %}Senders{% endblock %}\n'
        "{% block content %}<h1>Senders</h1>{% for sender in senders %}<p>{{ sender }}</p>{% endfor %}{% endblock %}\n",
    )
    scratch.check("check_page.py")
    assert len(scratch.touched) == 3


def test_a_dialect_of_telemetry_touches_three_files(scratch: Scratch) -> None:
    scratch.add(
        "agents/telemetry/reading/dialects/acme.py",
        '"""Acme marks its spans by ``acme.kind``."""\n\nfrom agents.telemetry.reading import kinds\n'
        "from agents.telemetry.reading.dialects.reader import EVERY, Dialect\n\n"
        'DIALECT = Dialect(\n    sender_kind="acme.kind",\n    kinds={"agent": kinds.AGENT, "generation": kinds.LLM},\n'
        '    facts={\n        EVERY: {"agent": "acme.agent.name"},\n'
        '        kinds.LLM: {"model": "acme.model", "output_messages": "acme.answer"},\n    },\n)\n',
    )
    scratch.replace(
        "agents/telemetry/reading/dialects/__init__.py",
        ("import (\n    ag2,", "import (\n    acme,\n    ag2,"),
        ("        langfuse,\n        openinference,", "        acme,\n        langfuse,\n        openinference,"),
    )
    scratch.add(
        "templates/telemetry/connect/acme.html",
        '{% from "telemetry/connect/_parts.html" import snippet %}\n{% set order = 99 %}\n{% set title = "Acme" %}\n'
        '{% set about = "Spans of Acme, by OTLP." %}\n'
        '{% call snippet("Shell") %}acme --endpoint {{ server.base }}{% endcall %}\n',
    )
    scratch.check("check_dialect.py")
    assert len(scratch.touched) == 3


def test_a_table_under_a_turn_touches_three_files(scratch: Scratch) -> None:
    scratch.add(
        "agents/record/models/notes.py",
        '"""Notes on turns."""\n\nfrom django.db import models\n\n'
        "from agents.base.models.fields import KeyField, ShortText\nfrom agents.record.models.turns import Turn\n\n\n"
        "class TurnNote(models.Model):\n    id = KeyField()\n"
        '    turn = models.ForeignKey(Turn, on_delete=models.CASCADE, related_name="+")\n'
        "    text = ShortText(max_length=200)\n\n    def __str__(self) -> str:\n        return self.text\n",
    )
    scratch.replace(
        "agents/models.py",
        (
            "from agents.record.models.prices import Price\n",
            "from agents.record.models.notes import TurnNote\nfrom agents.record.models.prices import Price\n",
        ),
        ('    "TurnStatus",\n', '    "TurnNote",\n    "TurnStatus",\n'),
    )
    scratch.add(
        "agents/record/store/notes.py",
        '"""Writes notes on turns."""\n\nfrom agents.record.models.notes import TurnNote\n\n\n'
        "def add(turn: int, text: str) -> None:\n    TurnNote.objects.create(turn_id=turn, text=text)\n",
    )
    scratch.migrate()
    scratch.check("check_table.py")
    assert len(scratch.touched) == 3
