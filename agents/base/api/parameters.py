"""What stands in the query of more than one route, as the description of the API says it."""

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
    """A whole number from one."""
    return OpenApiParameter(name, {"type": "integer", "minimum": 1, "maximum": maximum})


def names(name: str, description: str) -> OpenApiParameter:
    """Names with commas between them."""
    return OpenApiParameter(name, str, description=f"{description}, with commas between them.")


def flag(name: str) -> OpenApiParameter:
    return OpenApiParameter(name, bool)


LIMIT = number("limit")
