"""The ASGI application: HTTP to Django on request threads, WebSocket to the app's routing."""

from __future__ import annotations

import os

import django
from channels.routing import ProtocolTypeRouter

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agentsite.settings")
django.setup(set_prefix=False)

from agents.server.routing import websocket  # noqa: E402 - it imports tables, which need the setup above
from agentsite.http_handler import RequestThreadHandler  # noqa: E402 - it needs the setup above, too
from agentsite.url_prefix import below_prefix  # noqa: E402 - it reads the settings

application = below_prefix(ProtocolTypeRouter({"http": RequestThreadHandler(), "websocket": websocket}))
