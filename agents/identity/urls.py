"""Where identity is reached."""

from __future__ import annotations

from django.urls import URLPattern, path

from agents.base.api.routes import Routes
from agents.base.lazy_import import LazyModule

accounts = LazyModule("agents.identity.pages.accounts")
keys = LazyModule("agents.identity.pages.keys")

API = Routes()
PAGES: list[URLPattern] = [
    path("keys/", keys.key_list, name="keys"),
    path("keys/<str:key_id>/revoke/", keys.revoke, name="key-revoke"),
    path("login/", accounts.login_page, name="login"),
    path("logout/", accounts.log_out, name="logout"),
    path("account/password/", accounts.password, name="account-password"),
    path("welcome/<str:token>", accounts.welcome, name="welcome"),
]
