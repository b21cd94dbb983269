"""The channel of a process that is alone, and what every channel refuses."""

from __future__ import annotations

import asyncio

import pytest

from agents.base.messaging.channel import NoMessageChannel


def test_a_process_alone_has_a_channel_that_sends_nothing() -> None:
    async def flow() -> None:
        alone = NoMessageChannel("alone")
        await alone.start()
        alone.send("news", "x")
        assert not alone.is_working
        await alone.stop()

    asyncio.run(flow())


@pytest.mark.parametrize("bad", ["x" * 33, "a\nb"])
def test_a_name_that_cannot_be_sent_is_refused(bad: str) -> None:
    with pytest.raises(ValueError, match="32 characters"):
        NoMessageChannel(bad)
