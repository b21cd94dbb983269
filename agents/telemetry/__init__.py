"""Telemetry: the logs of agents that run elsewhere become turns and steps, and our turns are exported as spans."""
