"""Reads the Dockerfile, the compose files, the chart and the unit, and tells which settings there are."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from tests import ROOT

CHART = ROOT / "deploy" / "helm" / "turnlog"
UNIT = ROOT / "deploy" / "systemd" / "turnlog.service"
COMPOSE_FILES = ("compose.yaml", "compose.scale.yaml")

_READ = re.compile(r'env\.(\w+)\(\s*"([A-Z_]+)"(?:, (\d+))?')
_WITH_FILE = {"secret", "mapping"}


class Instruction(NamedTuple):
    name: str
    text: str


def setting_names() -> set[str]:
    """Every environment variable that the server reads, with NAME_FILE where a secret may be in a file."""
    found = _READ.findall((ROOT / "agentsite" / "settings.py").read_text())
    return {name for _, name, _ in found} | {f"{name}_FILE" for kind, name, _ in found if kind in _WITH_FILE}


def default_number(name: str) -> int:
    """The default of a setting that is a whole number."""
    found = _READ.findall((ROOT / "agentsite" / "settings.py").read_text())
    return next(int(number) for _, setting, number in found if setting == name and number)


def dockerfile() -> list[Instruction]:
    lines = [line for line in (ROOT / "Dockerfile").read_text().splitlines() if not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\n\s*", "", "\n".join(lines))
    return [Instruction(*line.split(maxsplit=1)) for line in joined.splitlines() if line.strip()]


def last(name: str) -> str:
    """What the last instruction of this name says: of the stage that becomes the image."""
    return [instruction.text for instruction in dockerfile() if instruction.name == name][-1]


def healthcheck() -> list[str]:
    """The command of the image's health check."""
    command: list[str] = json.loads(last("HEALTHCHECK").partition("CMD ")[2])
    return command


def image_environment() -> dict[str, str]:
    return dict(re.findall(r'(\w+)=("[^"]*"|\S+)', last("ENV")))


def compose(name: str) -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load((ROOT / name).read_text())
    return content


def own_services(name: str) -> dict[str, dict[str, Any]]:
    """The services of a compose file that are processes of ours."""
    return {service: content for service, content in compose(name)["services"].items() if "build" in content}


def templates() -> dict[str, str]:
    return {path.name: path.read_text() for path in sorted((CHART / "templates").iterdir())}


def values() -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load((CHART / "values.yaml").read_text())
    return content


def values_schema() -> dict[str, Any]:
    content: dict[str, Any] = json.loads((CHART / "values.schema.json").read_text())
    return content


def unit() -> list[tuple[str, str]]:
    """Keys and values of the unit, in their order; those that are commented out as examples are among them."""
    return re.findall(r"^#?(\w+)=(.*)$", UNIT.read_text(), re.MULTILINE)


def code_of(page: Path) -> str:
    """The code of a page: its blocks of commands, and what stands in its sentences."""
    text = page.read_text()
    blocks = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
    spans = re.findall(r"`([^`]+)`", re.sub(r"```.*?```", "", text, flags=re.DOTALL))
    return "\n".join(blocks + spans)
