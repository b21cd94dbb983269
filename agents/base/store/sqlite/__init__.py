"""Our engine for SQLite; Django imports ``base``."""

ENGINE = "agents.base.store.sqlite"
