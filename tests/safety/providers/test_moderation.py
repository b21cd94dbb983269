"""Shields that ask an endpoint's ``/moderations``."""

from __future__ import annotations

import pytest

from agents.base.errors import InvalidRequest, ProviderError
from tests.safety.providers.conftest import Judge
from tests.support.model_lab import ModelLab


def test_it_asks_about_the_side_that_spoke_last(judge: Judge, lab: ModelLab) -> None:
    assert judge("moderation", "a bomb for the moderation", "No.", "Fine then.", resource="lab/omni") is not None
    body = lab.sent("/moderations", "for the moderation")
    assert body == {"model": "omni", "input": ["a bomb for the moderation", "Fine then."]}
    assert judge("moderation", "a bomb", "No.", resource="lab/omni") is None


def test_what_is_flagged_is_a_violation(judge: Judge) -> None:
    found = judge("moderation", "her address and a bomb", resource="lab/omni")
    assert found is not None
    assert found.violation_level == "error"
    assert found.metadata["violation_type"] == "privacy,violence"
    assert found.metadata["category_scores"] == {"privacy": 0.5, "violence": 0.9}


def test_excluded_categories_are_not_minded(judge: Judge) -> None:
    assert judge("moderation", "her address", resource="lab/omni", excluded_categories=["privacy"]) is None
    assert judge("moderation", "address, bomb", resource="lab/omni", excluded_categories=["privacy"]) is not None


def test_fewer_verdicts_than_texts_have_let_nothing_pass(judge: Judge) -> None:
    with pytest.raises(ProviderError, match="no verdict on 1 texts"):
        judge("moderation", "Hello", resource="lab/mute")


def test_an_endpoint_without_moderations_is_refused(judge: Judge) -> None:
    with pytest.raises(InvalidRequest, match="'scripted' has no /moderations") as caught:
        judge("moderation", "Hello", resource="scripted/fast")
    assert caught.value.param == "provider_shield_id"
