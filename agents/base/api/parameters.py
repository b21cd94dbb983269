"""Query parameters that several routes share, for the API description."""

from __future__ import annotations

from drf_spectacular.utils import OpenApiParameter

QUERY = OpenApiParameter(
    "q",
    str,
    description="Which ones, in the language of queries; what has no meaning in it is refused, with the place.",
)
ZONE = OpenApiParameter("tz", str, description="The name of a time zone, such as Europe/Oslo, in which days begin.")
ORDER = OpenApiParameter("order", str, enum=["asc", "desc"])
AFTER = OpenApiParameter("after", str, description="The id of one of those that are listed. Not together with before.")
BEFORE = OpenApiParameter("before", str, description="The id of one of those that are listed. Not together with after.")

AFTER_ALONE = OpenApiParameter("after", str, description="The id of one of those that are listed.")


def number(name: str, maximum: int = 999_999) -> OpenApiParameter:
    """Describe a parameter that is a whole number from 1."""
    return OpenApiParameter(name, {"type": "integer", "minimum": 1, "maximum": maximum})


def names(name: str, description: str) -> OpenApiParameter:
    """Describe a parameter that is a comma-separated list of names."""
    return OpenApiParameter(name, str, description=f"{description}, with commas between them.")


def flag(name: str) -> OpenApiParameter:
    return OpenApiParameter(name, bool)


LIMIT = number("limit")
