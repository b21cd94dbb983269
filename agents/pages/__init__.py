"""Pages of the record: agents, sessions, turns, steps, values, and the dashboard."""
