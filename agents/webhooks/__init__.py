"""Webhooks: that a turn or a response has ended, or a turn waits, is sent to the URLs that its owner has registered."""
