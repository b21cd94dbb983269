"""By which name a model is recorded: one for each model, however it was asked for."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.test import Client

from agents.base.store import keys
from agents.base.store.registered import Registration
from agents.loop.store.registered_models import registered_models
from tests.support.inprocess import inline_service


@pytest.fixture
def _served(transactional_db: None) -> Iterator[None]:
    with inline_service():
        yield


@pytest.mark.usefixtures("_served")
def test_a_model_of_the_default_endpoint_is_recorded_by_its_name_in_the_list(client: Client) -> None:
    registered_models.add(keys.local(), Registration("alias", "scripted", "fast", {}))
    asked = {name: _asked(client, name) for name in ("fast", "scripted/fast", "alias")}
    assert asked == {"fast": "scripted/fast", "scripted/fast": "scripted/fast", "alias": "alias"}
    steps = client.get("/v1/logs/steps?q=type:inference").json()["data"]
    assert sorted({step["name"] for step in steps}) == ["alias", "scripted/fast"]


@pytest.mark.usefixtures("_served")
@pytest.mark.parametrize("name", ["fast", "scripted/fast"])
def test_responses_are_listed_by_either_name_of_their_model(client: Client, name: str) -> None:
    registered_models.add(keys.local(), Registration("alias", "scripted", "fast", {}))
    for model in ("fast", "scripted/fast", "alias"):
        _asked(client, model)
    listed = client.get("/v1/responses", {"model": name}).json()["data"]
    assert sorted(response["model"] for response in listed) == ["fast", "scripted/fast"]


def _asked(client: Client, model: str) -> str:
    """The model that is recorded of a response of that model."""
    body = {"model": model, "input": "!script\nsay Hello."}
    response = client.post("/v1/responses", body, content_type="application/json").json()
    assert response["model"] == model, "its client is told the name that it asked by"
    row = client.get(f"/v1/logs/responses?q=response:{response['id']}").json()["data"][0]
    return str(row["model"])
