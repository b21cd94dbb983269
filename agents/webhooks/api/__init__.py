"""REST: the endpoints of webhooks, the types of their events, and what was sent."""
