"""What the tests of the admin lean on: a superuser, staff with some rights, pages as text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.test import Client

from agents.base.access import Actor
from agents.base.models.people import User
from tests.inprocess import collect_static
from tests.ui.markup import unsafe


@pytest.fixture(scope="session", autouse=True)
def _static_files() -> None:
    """Pages name static files by their content: as before the server starts, they are collected."""
    collect_static()


CATALOGUE = '<script src="/admin/jsi18n/"></script>'
"""Django's translations for its scripts: from our own server, if not from a file."""


class Browser(Client):
    """Reads pages of the admin, and refuses what a strict policy would."""

    def read(self, path: str, status: int = 200) -> str:
        answer = self.get(path)
        assert (answer.status_code, path) == (status, path)
        text: str = answer.content.decode()
        assert unsafe(text.replace(CATALOGUE, "")) == []
        return text

    def act(self, path: str, action: str, *keys: int, **more: Any) -> Any:
        """Choose an action for records of a list."""
        return self.post(path, {"action": action, "_selected_action": [str(key) for key in keys], **more}, follow=True)


def entered(user: User) -> Browser:
    browser = Browser()
    browser.force_login(user)
    return browser


@pytest.fixture
def boss(db: None) -> Browser:
    """A superuser without any role in the product."""
    return entered(User.objects.create_superuser("boss", password="correct horse battery"))


@pytest.fixture
def staff(make_user: Callable[..., Actor]) -> Callable[..., Browser]:
    """Staff with these permissions of the admin, and attributes in the product."""

    def make(name: str, *permissions: str, **attributes: list[str]) -> Browser:
        make_user(name, **attributes)
        user = User.objects.get(username=name)
        user.is_staff = True
        user.save()
        found = Permission.objects.filter(codename__in=permissions, content_type__app_label="agents")
        assert found.count() == len(permissions)
        user.user_permissions.set(found)
        return entered(user)

    return make
