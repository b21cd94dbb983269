"""What a password may not be, beyond Django's own rules."""

from __future__ import annotations

import re
from typing import Any

from django.contrib.auth.password_validation import UserAttributeSimilarityValidator
from django.core.exceptions import ValidationError

MIN_OTHER_CHARACTERS = 7
"""Characters that a password has besides the names of its user, at least."""
MIN_NAME_LENGTH = 3
"""Characters of a name that is looked for: shorter ones stand in many words."""


class NameSimilarityValidator(UserAttributeSimilarityValidator):
    """Django's comparison misses a short name that is repeated or has a digit behind it: they are too
    different in length."""

    def validate(self, password: str, user: Any = None) -> None:
        super().validate(password, user)
        for attribute in self.user_attributes:
            if len(_without(password, getattr(user, attribute, None))) < MIN_OTHER_CHARACTERS:
                name = user._meta.get_field(attribute).verbose_name
                raise ValidationError(
                    self.get_error_message(), code="password_too_similar", params={"verbose_name": name}
                )


def _without(password: str, value: object) -> str:
    """The password without the value and its parts, or all of it where there is none."""
    parts = [part for part in re.split(r"\W+", str(value or "").casefold()) if len(part) >= MIN_NAME_LENGTH]
    remaining = password.casefold()
    for part in sorted(parts, key=len, reverse=True):
        remaining = remaining.replace(part, "")
    return remaining if parts else password
