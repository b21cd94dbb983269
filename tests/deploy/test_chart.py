"""The chart's values are those that its templates use and its schema knows; the unit is hardened.

Templates are not rendered here: that takes Helm.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest
import yaml

from tests.deploy import reading


def leaves(value: Any, path: str = "") -> Iterator[str]:
    """The paths of values that have nothing below them."""
    if isinstance(value, dict) and value:
        for name, below in value.items():
            yield from leaves(below, f"{path}.{name}".lstrip("."))
    else:
        yield path


def used() -> set[str]:
    """The paths of values that the templates name."""
    return set(re.findall(r"\.Values\.([A-Za-z.]*[A-Za-z])", "".join(reading.templates().values())))


def is_within(path: str, above: set[str]) -> bool:
    return any(path == each or path.startswith(f"{each}.") for each in above)


def test_every_value_is_used() -> None:
    assert [path for path in leaves(reading.values()) if not is_within(path, used())] == []


def test_every_value_that_is_used_exists() -> None:
    there = set(leaves(reading.values()))
    assert [
        path for path in used() if not (is_within(path, there) or any(each.startswith(f"{path}.") for each in there))
    ] == []


def test_the_values_are_those_of_the_schema() -> None:
    schema, values = reading.values_schema(), reading.values()
    jsonschema.Draft7Validator.check_schema(schema)
    jsonschema.validate(values, schema)
    assert schema["properties"].keys() - {"global"} == values.keys()
    for name, part in schema["properties"].items():
        known = part.get("properties") or _definition(schema, part).get("properties")
        if known and name != "global":
            assert known.keys() == values[name].keys()


def _definition(schema: dict[str, Any], part: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = schema["definitions"].get(part.get("$ref", "").rpartition("/")[2], {})
    return found


@pytest.mark.parametrize(
    "wrong",
    [
        {"unknown": {}},
        {"web": {"replicas": 0}},
        {"single": {"replicas": 2}},
        {"settings": {"DATA_DIR": "/elsewhere"}},
        {"secrets": {"DATABASE_URL": "postgres://h/n"}},
        {"database": {"url": "mysql://h/n"}},
        {"publicUrl": "turnlog.example.org"},
        {"persistence": {"size": "20"}},
    ],
    ids=str,
)
def test_the_schema_refuses(wrong: dict[str, Any]) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**reading.values(), **wrong}, reading.values_schema())


def test_pods_have_the_rights_of_the_image() -> None:
    helpers = reading.templates()["_helpers.tpl"]
    user, group = reading.last("USER").split(":")
    for line in (
        "runAsNonRoot: true",
        f"runAsUser: {user}",
        f"runAsGroup: {group}",
        f"fsGroup: {group}",
        "fsGroupChangePolicy: OnRootMismatch",
        "allowPrivilegeEscalation: false",
        "readOnlyRootFilesystem: true",
        "capabilities: {drop: [ALL]}",
    ):
        assert f"{line}\n" in helpers
    mounted = re.findall(r"mountPath: (\S+)\}", helpers)
    assert mounted == [reading.last("VOLUME"), "/tmp"]


def test_templates_close_what_they_open() -> None:
    for name, text in reading.templates().items():
        actions = re.findall(r"\{\{-? *(\w+)", text)
        opened = sum(actions.count(word) for word in ("if", "with", "range", "define"))
        assert opened == actions.count("end"), name


def test_included_templates_are_defined() -> None:
    text = "".join(reading.templates().values())
    assert set(re.findall(r'include "([^"]+)"', text)) == set(re.findall(r'define "([^"]+)"', text))


def test_the_chart_can_be_read() -> None:
    chart = yaml.safe_load((reading.CHART / "Chart.yaml").read_text())
    assert chart["apiVersion"] == "v2"
    assert chart["name"] == reading.CHART.name


def test_the_unit_may_do_little_and_writes_where_its_data_is() -> None:
    unit = dict(reading.unit())
    folder = next(value for key, value in reading.unit() if key == "Environment" and "DATA_DIR" in value)
    assert f"DATA_DIR=/var/lib/{unit['StateDirectory']} " in folder
    hardened = {
        "DynamicUser": "yes",
        "NoNewPrivileges": "yes",
        "ProtectSystem": "strict",
        "ProtectHome": "yes",
        "PrivateTmp": "yes",
        "RestrictNamespaces": "yes",
        "CapabilityBoundingSet": "",
        "StateDirectoryMode": "0700",
        "Type": "exec",
        "Restart": "on-failure",
        "EnvironmentFile": "-/etc/turnlog.env",
    }
    assert {key: unit[key] for key in hardened} == hardened
