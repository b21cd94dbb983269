"""A password validator beyond Django's own."""

from __future__ import annotations

import re
from typing import Any

from django.contrib.auth.password_validation import UserAttributeSimilarityValidator
from django.core.exceptions import ValidationError

MIN_OTHER_CHARACTERS = 7
"""Characters that a password must have besides its user's names."""
MIN_NAME_LENGTH = 3
"""Characters of a name that is searched for: shorter ones occur in many words."""


class NameSimilarityValidator(UserAttributeSimilarityValidator):
    """Refuses passwords that consist mostly of the user's names. Django's comparison misses a short name that is
    repeated or followed by digits, because the lengths differ too much."""

    def validate(self, password: str, user: Any = None) -> None:
        super().validate(password, user)
        for attribute in self.user_attributes:
            if len(_without(password, getattr(user, attribute, None))) < MIN_OTHER_CHARACTERS:
                name = user._meta.get_field(attribute).verbose_name
                raise ValidationError(
                    self.get_error_message(), code="password_too_similar", params={"verbose_name": name}
                )


def _without(password: str, value: object) -> str:
    """Return the password without the value's parts, or unchanged if the value has none."""
    parts = [part for part in re.split(r"\W+", str(value or "").casefold()) if len(part) >= MIN_NAME_LENGTH]
    remaining = password.casefold()
    for part in sorted(parts, key=len, reverse=True):
        remaining = remaining.replace(part, "")
    return remaining if parts else password
