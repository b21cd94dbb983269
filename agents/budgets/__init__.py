"""Budgets: limits of what inferences may spend, made and shown. The loop keeps to them (`agents.loop.spending`)."""
