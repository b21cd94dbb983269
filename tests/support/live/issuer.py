"""An issuer of tokens on this machine: its published keys, its introspection, an endpoint of its own."""

from __future__ import annotations

import base64
import json
import threading
import time
import urllib.parse
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import RSAAlgorithm

from tests.support.http_endpoint import Reply, Request, answering, json_reply

CLIENT, SECRET = "the-server", "its secret"


class Issuer:
    """``people`` by opaque token: the claims that introspection tells; a token taken away is inactive.
    ``asked`` holds what it was asked, newest last. It answers while it is ``open``."""

    def __init__(self) -> None:
        self.people: dict[str, dict[str, Any]] = {}
        self.asked: list[tuple[str, Any]] = []
        self.broken = False
        self.open = threading.Event()
        self.open.set()
        self.base = ""
        self._key = rsa.generate_private_key(public_exponent=65537, key_size=2048)

    def token(self, subject: str, *, key: Any = None, algorithm: str = "RS256", **claims: Any) -> str:
        """A signed token, good for ten minutes unless the claims say otherwise."""
        now = int(time.time())
        whole = {"sub": subject, "aud": "llama-stack", "iss": self.base, "exp": now + 600, **claims}
        whole = {name: value for name, value in whole.items() if value is not None}
        return jwt.encode(whole, key or self._key, algorithm=algorithm, headers={"kid": "one"})

    @property
    def keys(self) -> dict[str, Any]:
        return {"keys": [{**json.loads(RSAAlgorithm.to_jwk(self._key.public_key())), "kid": "one", "use": "sig"}]}

    def answer(self, path: str, body: bytes, authorization: str) -> tuple[int, Any]:
        if self.broken:
            return 500, {}
        match path:
            case "/keys":
                return 200, self.keys
            case "/introspect":
                return self._introspect(body, authorization)
            case _:
                return self._custom(json.loads(body))

    def _introspect(self, body: bytes, authorization: str) -> tuple[int, Any]:
        form = dict(urllib.parse.parse_qsl(body.decode()))
        self.asked.append(("/introspect", form))
        if authorization != "Basic " + base64.b64encode(f"{CLIENT}:{SECRET}".encode()).decode():
            return 401, {}
        found = self.people.get(form["token"])
        return 200, {"active": True, **found} if found else {"active": False}

    def _custom(self, question: Any) -> tuple[int, Any]:
        self.asked.append(("/custom", question))
        self.open.wait(30)
        found = self.people.get(question["api_key"])
        if found is None:
            return 401, {"message": "who is that?"}
        return 200, {"principal": found["sub"], "attributes": {"teams": found.get("groups", [])}}


@contextmanager
def serving() -> Iterator[Issuer]:
    """An issuer that listens."""
    issuer = Issuer()

    def answer(request: Request) -> Reply:
        status, value = issuer.answer(request.path, request.body, request.headers.get("Authorization", ""))
        return json_reply(value, status)

    with answering(answer) as issuer.base:
        yield issuer
