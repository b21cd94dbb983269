"""A turn of which nothing is changed is replayed: what comes before the step costs no token, and from there on the
model is sent the same bytes. Tried on turns that are put together at random."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

from agents.base.store import keys
from tests.forks.runner.forking import Stage, listening_service, shape
from tests.forks.runner.random_turns import RandomTurn
from tests.support.inprocess import open_database

pytestmark = pytest.mark.slow

BATCHES, IN_A_BATCH = 20, 50


@pytest.fixture
def stage(django_db_setup: None, django_db_blocker: Any) -> Iterator[Stage]:
    with open_database(django_db_blocker), listening_service() as (service, model):
        yield Stage(keys.local(), service, model)


@pytest.mark.parametrize("batch", range(BATCHES))
def test_a_model_is_sent_the_same_bytes_and_nothing_is_asked_twice(stage: Stage, batch: int) -> None:
    for number in range(IN_A_BATCH):
        made = RandomTurn(random.Random(f"{batch} {number}"))
        turn = made.play(stage)
        source, sent = stage.turn(turn), stage.model.take()
        assert source.status in ("completed", "failed"), str(made)
        for step in {0, made.choose.randrange(len(source.steps)), len(source.steps) - 1}:
            replayed = stage.turn(stage.fork(turn, step + 1))
            before = sum(1 for one in source.steps[:step] if one.type == "inference")
            where = f"turn {number} of {batch}, from step {step + 1}: {made}"
            assert stage.model.take() == sent[before:], where
            assert shape(replayed) == shape(source), where
            assert (replayed.status, replayed.output_message) == (source.status, source.output_message), where
            assert all(not one.usage.output_tokens for one in replayed.steps[:step]), where
