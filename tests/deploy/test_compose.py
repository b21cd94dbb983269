"""The compose files hang together, and their processes may do no more than they need."""

from __future__ import annotations

from typing import Any

import pytest

from tests import ROOT
from tests.deploy import reading

SERVICES = [(name, service) for name in reading.COMPOSE_FILES for service in reading.compose(name)["services"]]


@pytest.fixture(params=SERVICES, ids=lambda pair: f"{pair[0]}:{pair[1]}")
def service(request: pytest.FixtureRequest) -> dict[str, Any]:
    name, service = request.param
    content: dict[str, Any] = reading.compose(name)["services"][service]
    return content


@pytest.mark.parametrize("name", reading.COMPOSE_FILES)
def test_processes_of_ours_write_to_data_and_tmp_alone(name: str) -> None:
    user, group = reading.last("USER").split(":")
    for service in reading.own_services(name).values():
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]
        assert "privileged" not in service
        folders = {entry.split(":")[0]: entry for entry in service["tmpfs"]}
        assert "/tmp" in folders
        mounted = [entry for entry in service.get("volumes", []) if entry == "data:/data"]
        assert mounted or f"uid={user},gid={group}" in folders["/data"]


def test_images_have_versions(service: dict[str, Any]) -> None:
    image = service["image"]
    if "build" not in service:
        version = image.partition(":")[2]
        assert version
        assert not version.startswith("latest")


@pytest.mark.parametrize("name", reading.COMPOSE_FILES)
def test_what_services_refer_to_is_there(name: str) -> None:
    content = reading.compose(name)
    for service in content["services"].values():
        for entry in service.get("volumes", []):
            source = entry.split(":")[0]
            assert (ROOT / source).exists() if source.startswith("./") else source in content["volumes"]
        assert set(service.get("secrets", [])) <= content.get("secrets", {}).keys()
        assert set(service.get("depends_on", [])) <= content["services"].keys()
        mounted = {f"/run/secrets/{secret}" for secret in service.get("secrets", [])}
        assert {v for k, v in service.get("environment", {}).items() if k.endswith("_FILE")} <= mounted


def test_tables_are_made_before_anybody_uses_them() -> None:
    services = reading.own_services("compose.scale.yaml")
    assert services.keys() == {"migrate", "web", "run", "ingest"}
    for name, service in services.items():
        if name != "migrate":
            assert service["environment"]["MIGRATE"] == "false"
            assert service["depends_on"]["migrate"] == {"condition": "service_completed_successfully"}
    assert services["migrate"]["restart"] == "no"


def test_only_the_proxy_is_reached_from_outside() -> None:
    services = reading.compose("compose.scale.yaml")["services"]
    assert [name for name, service in services.items() if "ports" in service] == ["proxy"]
    assert "name web\n" in (ROOT / "deploy" / "Caddyfile").read_text()


def test_postgres_has_room_for_the_processes() -> None:
    services = reading.compose("compose.scale.yaml")["services"]
    room = int(services["postgres"]["command"][-1].removeprefix("max_connections="))
    assert room >= 9 * (16 + 14)  # MAX_CONNECTIONS and what a process takes besides: docs/operations
