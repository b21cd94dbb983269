"""A password hasher that counts its work."""

from __future__ import annotations

from typing import Any, ClassVar

from django.contrib.auth.hashers import MD5PasswordHasher


class Counting(MD5PasswordHasher):
    """``seen`` gets a line for each password hashed."""

    algorithm = "counting"
    seen: ClassVar[list[str]] = []

    def encode(self, password: Any, salt: Any, iterations: int | None = None) -> str:
        type(self).seen.append("hashed")
        return str(super().encode(password, salt))
