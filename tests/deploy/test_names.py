"""Settings, commands, ports and versions that the files around the server name are those of the server."""

from __future__ import annotations

import re

import pytest
import yaml
from django.core.management import get_commands
from django.urls import resolve

import turnlog
from tests import ROOT
from tests.deploy import reading

OF_THE_SYSTEM = {"PATH", "PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED"}
OF_COMPOSE = {"TURNLOG_IMAGE"}
GUIDE = ROOT / "docs" / "deploy.md"


def test_the_image_sets_settings_that_exist() -> None:
    assert reading.image_environment().keys() - OF_THE_SYSTEM <= reading.setting_names()


@pytest.mark.parametrize("name", reading.COMPOSE_FILES)
def test_compose_sets_settings_that_exist(name: str) -> None:
    used = {key for service in reading.own_services(name).values() for key in service["environment"]}
    asked = set(re.findall(r"\$\{(\w+)", (ROOT / name).read_text()))
    assert used
    assert (used | asked) - OF_COMPOSE <= reading.setting_names()


def test_the_unit_sets_settings_that_exist() -> None:
    lines = [value for key, value in reading.unit() if key == "Environment"]
    used = {name for line in lines for name in re.findall(r"(\w+)=", line)}
    assert "DATA_DIR" in used
    assert used - OF_THE_SYSTEM <= reading.setting_names()


def test_the_chart_sets_settings_that_exist_and_nobody_else_may_set_them() -> None:
    helpers = reading.templates()["_helpers.tpl"]
    set_here = set(re.findall(r"- name: ([A-Z_]+)$", helpers, re.MULTILINE)) - {"POD_IP"}
    reserved = set(reading.values_schema()["definitions"]["settings"]["propertyNames"]["not"]["enum"])
    assert {"PUBLIC_URL", "DATABASE_URL", "MIGRATE"} <= set_here
    assert set_here | reserved <= reading.setting_names()
    assert set_here - {"ALLOWED_HOSTS", "DEMO"} <= reserved  # these two take what the operator says


def test_commands_exist() -> None:
    started = [
        service["command"]
        for name in reading.COMPOSE_FILES
        for service in reading.own_services(name).values()
        if "command" in service
    ]
    chart = reading.templates()
    started += [
        re.findall(r'"([^"]+)"', line) for line in re.findall(r'"command" \(list ([^)]*)\)', chart["deployments.yaml"])
    ]
    started += [yaml.safe_load(line) for line in re.findall(r"^ +args: (\[.*\])$", chart["migrate.yaml"], re.MULTILINE)]
    started += [yaml.safe_load(reading.last("CMD"))]
    started += [value.split()[1:] for key, value in reading.unit() if key == "ExecStart"]
    assert {command[0] for command in started} == {"serve", "migrate"}
    roles = {command[-1] for command in started if "--only" in command}
    assert roles == {"web", "run", "ingest"}


def test_the_guide_names_commands_and_settings_that_exist() -> None:
    code = reading.code_of(GUIDE)
    named = set(re.findall(r"\bturnlog ([a-z_]+)(?![\w/.-])", code)) - {"turnlog"}
    assert {"backup", "restore", "admin_link", "copy_to_postgres"} <= named
    assert named <= get_commands().keys()
    settings = set(re.findall(r"\b([A-Z]+(?:_[A-Z]+)+)(?==|$)", code, re.MULTILINE))
    assert settings
    assert settings - OF_COMPOSE <= reading.setting_names()


def test_files_that_the_guide_names_exist() -> None:
    named = re.findall(r"(?<![\w/.])((?:deploy|docs)/[\w./-]*\w)", GUIDE.read_text())
    assert named
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_the_port_is_the_servers() -> None:
    port = str(reading.default_number("PORT"))
    assert reading.last("EXPOSE") == port
    assert f"or {port})" in reading.healthcheck()[-1]
    chart = "".join(reading.templates().values())
    assert set(re.findall(r"(?:containerPort|[^a-zA-Z]port): (\d+)", chart)) == {port}
    assert f"port {port}\n" in (ROOT / "deploy" / "Caddyfile").read_text()
    published = [entry for service in reading.own_services("compose.yaml").values() for entry in service["ports"]]
    assert published == [f"127.0.0.1:{port}:{port}"]


def test_probes_ask_for_routes_that_exist() -> None:
    chart = "".join(reading.templates().values())
    asked = set(re.findall(r"\bpath: (/\w+)", chart)) - {"/data"}
    assert asked == {"/healthz", "/readyz", "/metrics"}
    assert all(resolve(path) for path in asked)
    assert "'/healthz'" in reading.healthcheck()[-1]


def test_one_version() -> None:
    chart = yaml.safe_load((reading.CHART / "Chart.yaml").read_text())
    assert chart["appVersion"] == turnlog.__version__
    assert f"VERSION={turnlog.__version__}" in [each.text for each in reading.dockerfile() if each.name == "ARG"]


def test_a_stop_has_the_time_it_takes() -> None:
    drain = reading.default_number("DRAIN_SECONDS")
    values = reading.values()
    assert values["drainSeconds"] == drain
    assert (
        "terminationGracePeriodSeconds: {{ add $root.Values.stopDelaySeconds $root.Values.drainSeconds 20 }}"
        in (reading.templates()["_helpers.tpl"])
    )
    graces = [
        service["stop_grace_period"]
        for name in reading.COMPOSE_FILES
        for service in reading.own_services(name).values()
    ]
    graces += [value for key, value in reading.unit() if key == "TimeoutStopSec"]
    assert all(int(grace.removesuffix("s")) > drain + 10 for grace in graces)
