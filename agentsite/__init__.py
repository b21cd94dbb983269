"""The Django project: settings, the URL table, the ASGI application. No domain words here."""
