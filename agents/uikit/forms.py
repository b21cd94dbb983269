"""Values of forms on pages, read by the types of the API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from django.utils.translation import gettext as _
from pydantic import BaseModel, ValidationError

from agents.base.errors import InvalidRequest

B = TypeVar("B", bound=BaseModel)


def parsed(model: type[B], values: Mapping[str, Any], refusals: Mapping[str, str]) -> B:
    """Parse the values of a form. Raises InvalidRequest in the reader's language: ``refusals`` are what is said where
    the value of a field is refused."""
    try:
        return model.model_validate(values)
    except ValidationError as error:
        field = str(error.errors()[0]["loc"][0])
        raise InvalidRequest(_(refusals[field]), param=field) from None
