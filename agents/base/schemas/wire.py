"""The base of all wire types, and the scalar types they share."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Annotated, Any, Generic, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    PlainSerializer,
)
from pydantic.json_schema import DEFAULT_REF_TEMPLATE, GenerateJsonSchema, JsonSchemaMode, JsonSchemaValue
from pydantic_core import CoreSchema, core_schema, to_json

from agents.base import ids
from agents.base.timestamps import to_us

T = TypeVar("T")

JSON = Any
"""Raw JSON as decoded: the one place where ``Any`` is allowed."""


@dataclass(frozen=True, slots=True)
class null_is:
    """Replace null by a field's default: clients write out every field they know."""

    default: object

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_before_validator_function(self._filled, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        described = handler(schema)
        return described if handler.mode == "serialization" else {"anyOf": [described, {"type": "null"}]}

    def _filled(self, value: Any) -> Any:
        return self.default if value is None else value


@dataclass(frozen=True, slots=True)
class at_most:
    """Refuse values of more than so many KiB as JSON: they are sent in lists without pages."""

    kib: int

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self._checked, handler(source))

    def _checked(self, value: Any) -> Any:
        if len(to_json(value)) > self.kib * 1024:
            raise ValueError(f"must not take more than {self.kib} KiB as JSON")
        return value


SmallJson = Annotated[dict[str, Any], at_most(16)]
"""A value of the caller's own that lists show."""

_NO_SCHEMAS = frozenset({"serialization", "metadata", "default"})
"""Parts of a schema that hold no schemas, or none of input."""


def exact(schema: Any) -> Any:
    """Make a schema of Pydantic's core strict about booleans and numbers."""
    match schema:
        case {"type": "bool"}:
            return {**schema, "strict": True}
        case {"type": "int"}:
            return core_schema.no_info_before_validator_function(_integral, {**schema, "strict": True})
        case {"type": "float"}:
            return {**schema, "strict": True}
        case dict():
            return {name: inner if name in _NO_SCHEMAS else exact(inner) for name, inner in schema.items()}
        case list():
            return [exact(inner) for inner in schema]
        case tuple():
            return tuple(exact(inner) for inner in schema)
        case _:
            return schema


def _integral(value: Any) -> Any:
    """Turn a float like 5.0 into an int: JSON has one kind of number."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


class RequestSchemaGenerator(GenerateJsonSchema):
    """Generates JSON schemas that state all rules of input: the discriminator of a union is required, though a lone
    value may do without, and an integer has at most 64 bits."""

    def generate(self, schema: CoreSchema, mode: JsonSchemaMode = "validation") -> JsonSchemaValue:
        json_schema = super().generate(schema, mode)
        if mode == "validation":
            _require_discriminators(json_schema, json_schema.get("$defs", {}))
        return json_schema

    def int_schema(self, schema: core_schema.IntSchema) -> JsonSchemaValue:
        json_schema = super().int_schema(schema)
        if self.mode == "validation":
            if "exclusiveMinimum" not in json_schema:
                json_schema.setdefault("minimum", -(2**63))
            if "exclusiveMaximum" not in json_schema:
                json_schema.setdefault("maximum", 2**63 - 1)
        return json_schema


def _require_discriminators(node: Any, types: dict[str, Any]) -> None:
    if isinstance(node, list):
        for inner in node:
            _require_discriminators(inner, types)
    elif isinstance(node, dict):
        if isinstance(node.get("discriminator"), dict):
            property_name = node["discriminator"]["propertyName"]
            for ref in node["discriminator"]["mapping"].values():
                kind = types[ref.rpartition("/")[2]]
                kind["required"] = list(dict.fromkeys([*kind.get("required", ()), property_name]))
        for inner in node.values():
            _require_discriminators(inner, types)


class Wire(BaseModel):
    """A frozen value on the wire. Unknown fields of a request are ignored (newer clients must
    not break), and non-finite numbers refused; a boolean or a number of another type (``0`` for false, ``"5"``)
    is refused as well, as the description says. What validates a type is made when it is first used: of hundreds of
    types that takes a tenth of a start, and ten megabytes."""

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False, defer_build=True)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        schema = handler(source)
        return schema if cls.model_config.get("extra") == "forbid" else exact(schema)

    @classmethod
    def model_json_schema(
        cls,
        by_alias: bool | None = None,
        ref_template: str = DEFAULT_REF_TEMPLATE,
        schema_generator: type[GenerateJsonSchema] = RequestSchemaGenerator,
        mode: JsonSchemaMode = "validation",
        **options: Any,
    ) -> dict[str, Any]:
        return super().model_json_schema(by_alias, ref_template, schema_generator, mode, **options)


class WireOutput(Wire):
    """A value that only we send: an undeclared field is a bug of ours."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


def iso(at_us: int) -> str:
    """Microseconds since 1970 as ISO-8601 UTC with six decimals and a ``Z``."""
    seconds, micros = divmod(at_us, 1_000_000)
    return f"{_second(seconds)}.{micros:06d}Z"


@lru_cache(maxsize=8192)
def _second(seconds: int) -> str:
    """Format a second, cached: the timestamps of a session lie close together, and formatting is slow."""
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}"


def _parse_timestamp(value: Any) -> Any:
    """Parse a timestamp: microseconds as they are, ISO-8601 text or a datetime converted. Without a zone it is UTC."""
    if isinstance(value, str):
        value = datetime.fromisoformat(value)
    if isinstance(value, datetime):
        return to_us(value if value.tzinfo else value.replace(tzinfo=UTC))
    return value


Timestamp = Annotated[
    int,
    BeforeValidator(_parse_timestamp, json_schema_input_type=int | str),
    PlainSerializer(iso, return_type=str, when_used="json"),
]
"""A timestamp: microseconds since 1970 inside, ISO-8601 UTC in JSON."""


def _key_of(kind: ids.Kind) -> Any:
    def read(value: Any) -> Any:
        if isinstance(value, str):
            key = ids.parse(kind, value)
            if key is None:
                raise ValueError(f"not the id of a {kind.name.lower()}")
            return key
        return value

    def write(key: int) -> str:
        return ids.public(kind, key)

    return Annotated[
        int,
        BeforeValidator(read, json_schema_input_type=str),
        PlainSerializer(write, return_type=str, when_used="json"),
    ]


AgentKey = _key_of(ids.Kind.AGENT)
SessionKey = _key_of(ids.Kind.SESSION)
TurnKey = _key_of(ids.Kind.TURN)
StepKey = _key_of(ids.Kind.STEP)


class DataList(Wire, Generic[T]):
    data: list[T]
