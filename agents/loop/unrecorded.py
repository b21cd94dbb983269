"""What a run calls where it is not recorded, and nobody has said anything else."""

from __future__ import annotations


async def return_at_once() -> None:
    """Wait for nothing: nothing is stored."""


async def no_input() -> None:
    """Read nothing: nobody can send anything to a run that is not recorded."""


async def no_budgets() -> None:
    """Check nothing: nobody has said whose budgets the run has to keep to."""
