"""What the base of all wire types takes for a value of a type, and what it says that it takes."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from pydantic import TypeAdapter, ValidationError

from agents.base.schemas.wire import Timestamp, Wire, WireOutput, null_is


class Inner(Wire):
    on: bool = False


class Given(Wire):
    flag: bool = False
    count: int = 0
    share: float = 0.0
    maybe: bool | None = None
    many: list[int] = []
    inner: list[Inner] = []
    kind: int | str = 0
    at: Timestamp = 0
    filled: Annotated[list[str], null_is(())] = []


@pytest.mark.parametrize(
    "body",
    [
        {"flag": 0},
        {"flag": "true"},
        {"flag": 1.0},
        {"maybe": 1},
        {"count": True},
        {"count": "5"},
        {"count": 1.5},
        {"share": "0.5"},
        {"share": False},
        {"many": [1, False]},
        {"inner": [{"on": "yes"}]},
    ],
)
def test_a_value_of_another_type_is_refused(body: dict[str, Any]) -> None:
    """As the description says, and as official clients send it."""
    with pytest.raises(ValidationError):
        Given.model_validate(body)


@pytest.mark.parametrize(
    ("body", "name", "value"),
    [
        ({"flag": True}, "flag", True),
        ({"count": 5.0}, "count", 5),  # JSON knows one kind of number
        ({"share": 1}, "share", 1.0),
        ({"kind": "5"}, "kind", "5"),
        ({"at": "2026-01-01T00:00:00Z"}, "at", 1_767_225_600_000_000),
        ({"filled": None}, "filled", []),
        ({"maybe": None}, "maybe", None),
        ({"inner": [{"on": True}]}, "inner", [Inner(on=True)]),
    ],
)
def test_a_value_of_the_type_is_taken(body: dict[str, Any], name: str, value: Any) -> None:
    found = getattr(Given.model_validate(body), name)
    assert (found, type(found)) == (value, type(value))


def test_what_is_taken_for_null_is_described() -> None:
    filled = Given.model_json_schema()["properties"]["filled"]
    assert {"type": "null"} in filled["anyOf"]
    assert "anyOf" not in Given.model_json_schema(mode="serialization")["properties"]["filled"]


def test_what_we_send_is_ours() -> None:
    """Nobody else's values are in it, so that a count of a database may stand for a flag."""

    class Told(WireOutput):
        flag: bool

    assert Told(flag=1).flag is True


def test_unions_find_their_type() -> None:
    adapter: TypeAdapter[Any] = TypeAdapter(list[Given])
    assert adapter.validate_python([{"kind": 7}])[0].kind == 7
