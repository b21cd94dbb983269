"""Types of tags in requests."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StringConstraints

from agents.base.schemas.wire import Wire

MAX_NAME = 100
"""Most characters of a tag, and of a score's name."""


MAX_TAGS = 50
"""Most tags, or scores, of one request."""


# control characters are refused: nobody could type them in a query
Name = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_NAME, pattern=r"^[^\x00-\x1f\x7f-\x9f]*$"),
]


class TagNames(Wire):
    """Tags to put on a record, or to take away."""

    tags: Annotated[list[Name], Field(min_length=1, max_length=MAX_TAGS)]
