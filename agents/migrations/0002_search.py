"""The search index: FTS5 on SQLite, stored tsvectors on PostgreSQL (see agents.record.store.search)."""

from django.db import migrations

# our words come separated by blanks; this tokeniser leaves everything beyond ASCII alone, where
# unicode61 would cut words of scripts with combining marks
SQLITE = (
    """
    CREATE VIRTUAL TABLE agents_turn_search USING fts5(
        input, output, tokenize="ascii tokenchars '_'"
    )
    """,
    """
    CREATE VIRTUAL TABLE agents_step_search USING fts5(
        words, turn_id UNINDEXED, tokenize="ascii tokenchars '_'"
    )
    """,
)
POSTGRESQL = (
    """
    CREATE TABLE agents_turn_search (
        id bigint PRIMARY KEY, input text NOT NULL, output text NOT NULL, words tsvector NOT NULL
    )
    """,
    "CREATE INDEX agents_turn_search_words ON agents_turn_search USING gin (words)",
    """
    CREATE TABLE agents_step_search (
        id bigint PRIMARY KEY, turn_id bigint NOT NULL, words tsvector NOT NULL
    )
    """,
    "CREATE INDEX agents_step_search_words ON agents_step_search USING gin (words)",
)


def create(apps, schema_editor):
    for sql in SQLITE if schema_editor.connection.vendor == "sqlite" else POSTGRESQL:
        schema_editor.execute(sql)


def drop(apps, schema_editor):
    for table in ("agents_turn_search", "agents_step_search"):
        schema_editor.execute(f"DROP TABLE {table}")


class Migration(migrations.Migration):
    dependencies = [("agents", "0001_tables")]
    operations = [migrations.RunPython(create, drop)]
