"""Shields: kinds of them, registering them, running them, moderation."""
