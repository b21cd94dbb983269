"""Files of prices that others keep, by the command that imports them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from agents.record.models.prices import Price

pytestmark = pytest.mark.django_db

LITELLM: dict[str, Any] = {
    "sample_spec": {"input_cost_per_token": 0, "output_cost_per_token": 0, "mode": "one of: chat, …"},
    "gpt-x": {"input_cost_per_token": 1.5e-07, "output_cost_per_token": 6e-07, "cache_read_input_token_cost": 7.5e-08},
    "think/x": {
        "input_cost_per_token": 1e-06,
        "output_cost_per_token": 2e-06,
        "output_cost_per_reasoning_token": 3e-06,
    },
    "embed-x": {"input_cost_per_token": 2e-08, "output_cost_per_token": 0.0},
    "image-x": {"output_cost_per_image": 0.04},
    "odd-x": {"input_cost_per_token": "free", "output_cost_per_token": True},
    "huge-x": {"input_cost_per_token": 1e300, "output_cost_per_token": -1},
    "list-x": [],
}


def test_litellms_list_is_read(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "model_prices_and_context_window.json"
    file.write_text(json.dumps(LITELLM))
    call_command("prices", str(file))
    call_command("prices", str(file))
    assert capsys.readouterr().out == (
        "3 prices added, 0 were known. 3 models have no price by token.\n"
        "0 prices added, 3 were known. 3 models have no price by token.\n"
    )
    columns = ("model", "input_nano", "output_nano", "cached_nano", "reasoning_nano")
    assert list(Price.objects.order_by("model").values_list(*columns)) == [
        ("embed-x", 20, 0, None, None),
        ("gpt-x", 150, 600, 75, None),
        ("think/x", 1000, 2000, None, 3000),
    ]


@pytest.mark.parametrize("content", ["{}", '{"a": 1}', '{"a": {"b": 1}}', "5", "no", "[" * 100_000, '{"a": NaN}'])
def test_a_file_without_prices_is_refused(content: str, tmp_path: Any) -> None:
    file = tmp_path / "prices.json"
    file.write_text(content)
    with pytest.raises(CommandError):
        call_command("prices", str(file))
    assert not Price.objects.exists()
