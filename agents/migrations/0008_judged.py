"""Feedback and tags, folded names, and a search index that knows which part of a record a word is in."""

import agents.base.ids
import agents.base.models.fields
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from agents.base.tokenizer import fold


SQLITE = (
    "ALTER TABLE agents_turn_search RENAME TO agents_turn_search_old",
    "ALTER TABLE agents_step_search RENAME TO agents_step_search_old",
    """
    CREATE VIRTUAL TABLE agents_turn_search USING fts5(
        input, output, problem, metadata, steps, tokenize="ascii tokenchars '_'"
    )
    """,
    """
    CREATE VIRTUAL TABLE agents_step_search USING fts5(
        said, args, result, problem, tokenize="ascii tokenchars '_'"
    )
    """,
    """
    INSERT INTO agents_turn_search(rowid, input, output, problem, metadata, steps)
    SELECT old.rowid, old.input, old.output, '', '',
           COALESCE((SELECT group_concat(found.words, ' \u00b6 ') FROM agents_step AS step
                     JOIN agents_step_search_old AS found ON found.rowid = step.id
                     WHERE step.turn_id = old.rowid), '')
    FROM agents_turn_search_old AS old
    """,
    """
    INSERT INTO agents_step_search(rowid, said, args, result, problem)
    SELECT rowid, words, '', '', '' FROM agents_step_search_old
    """,
    "DROP TABLE agents_turn_search_old",
    "DROP TABLE agents_step_search_old",
)
TURN_PARTS = ("input", "output", "problem", "metadata", "steps")
STEP_PARTS = ("said", "args", "result", "problem")


def _table(name, parts):
    """A text as it is and as a vector for each part, and one index over all of them."""
    texts = ", ".join(f"{part} text NOT NULL DEFAULT ''" for part in parts)
    vectors = ", ".join(f"{part}_words tsvector NOT NULL DEFAULT ''" for part in parts)
    return (
        f"CREATE TABLE {name} (id bigint PRIMARY KEY, {texts}, {vectors})",
        f"CREATE INDEX {name}_parts ON {name} USING gin ({', '.join(f'{part}_words' for part in parts)})",
    )


POSTGRESQL = (
    "ALTER TABLE agents_turn_search RENAME TO agents_turn_search_old",
    "ALTER TABLE agents_step_search RENAME TO agents_step_search_old",
    *_table("agents_turn_search", TURN_PARTS),
    *_table("agents_step_search", STEP_PARTS),
    """
    INSERT INTO agents_turn_search(id, input, output, input_words, output_words)
    SELECT id, input, output, ts_filter(words, '{a}'), ts_filter(words, '{b}') FROM agents_turn_search_old
    """,
    """
    INSERT INTO agents_step_search(id, said_words) SELECT id, words FROM agents_step_search_old
    """,
    "DROP TABLE agents_turn_search_old",
    "DROP TABLE agents_step_search_old",
)


def rebuild(apps, schema_editor):
    """What was indexed stays found by its words; ``manage.py logs reindex`` makes the parts anew."""
    for sql in SQLITE if schema_editor.connection.vendor == "sqlite" else POSTGRESQL:
        schema_editor.execute(sql)


def fold_names(apps, schema_editor):
    terms = apps.get_model("agents", "Term").objects
    changed = []
    for term in terms.all().iterator():
        term.folded = fold(term.value)[:1000]
        changed.append(term)
    terms.bulk_update(changed, ["folded"], batch_size=500)
    sessions = apps.get_model("agents", "Session").all_objects.exclude(name="")
    for key, name in sessions.values_list("pk", "name"):
        sessions.filter(pk=key).update(folded=fold(name))


class Migration(migrations.Migration):
    dependencies = [
        ("agents", "0007_files"),
    ]

    operations = [
        migrations.CreateModel(
            name="Feedback",
            fields=[
                (
                    "id",
                    agents.base.models.fields.KeyField(
                        default=agents.base.ids.new_key, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("rating", models.SmallIntegerField(blank=True, choices=[(1, "up"), (-1, "down")], null=True)),
                ("value", models.FloatField(blank=True, null=True)),
                ("comment", agents.base.models.fields.LongText(blank=True)),
                ("words", agents.base.models.fields.LongText(blank=True, editable=False)),
                ("author_name", agents.base.models.fields.ShortText(blank=True, max_length=200)),
                ("created_at", agents.base.models.fields.MomentField()),
                ("updated_at", agents.base.models.fields.MomentField()),
            ],
        ),
        migrations.CreateModel(
            name="SessionTag",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "term_id", "session_id", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("term_id", models.BigIntegerField()),
                ("session_id", models.BigIntegerField()),
            ],
        ),
        migrations.CreateModel(
            name="StepTag",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "term_id", "step_id", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("term_id", models.BigIntegerField()),
                ("step_id", models.BigIntegerField()),
            ],
        ),
        migrations.AddField(
            model_name="step",
            name="finish",
            field=models.ForeignKey(
                blank=True,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="agents.term",
            ),
        ),
        migrations.AddField(
            model_name="term",
            name="folded",
            field=agents.base.models.fields.ShortText(
                blank=True, help_text="as it is compared: agents.base.tokenizer.fold", max_length=1000
            ),
        ),
        migrations.AddField(
            model_name="turnbody",
            name="attachments",
            field=models.SmallIntegerField(default=0, help_text="a bit mask: 1 images, 2 documents"),
        ),
        migrations.AlterField(
            model_name="term",
            name="kind",
            field=models.SmallIntegerField(
                choices=[
                    (1, "model"),
                    (2, "tool"),
                    (3, "error"),
                    (4, "provider"),
                    (5, "user"),
                    (6, "kind"),
                    (7, "tag"),
                    (8, "meta"),
                    (9, "finish"),
                    (10, "score"),
                ]
            ),
        ),
        migrations.AddIndex(
            model_name="term",
            index=models.Index(fields=["kind", "folded"], name="term_folded"),
        ),
        migrations.AddField(
            model_name="feedback",
            name="author",
            field=models.ForeignKey(
                blank=True,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="feedback",
            name="name",
            field=models.ForeignKey(
                blank=True,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="agents.term",
            ),
        ),
        migrations.AddField(
            model_name="feedback",
            name="session",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="feedback",
                to="agents.session",
            ),
        ),
        migrations.AddField(
            model_name="feedback",
            name="step",
            field=models.ForeignKey(
                blank=True,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="feedback",
                to="agents.step",
            ),
        ),
        migrations.AddField(
            model_name="feedback",
            name="turn",
            field=models.ForeignKey(
                blank=True,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="feedback",
                to="agents.turn",
            ),
        ),
        migrations.AddIndex(
            model_name="sessiontag",
            index=models.Index(fields=["session_id"], name="session_tag_session"),
        ),
        migrations.AddIndex(
            model_name="steptag",
            index=models.Index(fields=["step_id"], name="step_tag_step"),
        ),
        migrations.AddIndex(
            model_name="feedback",
            index=models.Index(
                condition=models.Q(("turn__isnull", False)), fields=["turn", "id"], name="feedback_turn"
            ),
        ),
        migrations.AddIndex(
            model_name="feedback",
            index=models.Index(condition=models.Q(("step__isnull", False)), fields=["step"], name="feedback_step"),
        ),
        migrations.AddIndex(
            model_name="feedback",
            index=models.Index(fields=["session", "id"], name="feedback_session"),
        ),
        migrations.AddIndex(
            model_name="feedback",
            index=models.Index(
                condition=models.Q(("rating__isnull", False)), fields=["rating"], name="feedback_rating"
            ),
        ),
        migrations.AddIndex(
            model_name="feedback",
            index=models.Index(
                condition=models.Q(("name__isnull", False)), fields=["name", "value"], name="feedback_score"
            ),
        ),
        migrations.AddConstraint(
            model_name="feedback",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("name__isnull", True), ("value__isnull", True)),
                    models.Q(("name__isnull", False), ("value__isnull", False)),
                    _connector="OR",
                ),
                name="feedback_name_with_value",
            ),
        ),
        migrations.AddField(
            model_name="session",
            name="folded",
            field=agents.base.models.fields.ShortText(
                blank=True, editable=False, help_text="the name as it is compared", max_length=1600
            ),
        ),
        migrations.AddIndex(
            model_name="session",
            index=models.Index(
                condition=models.Q(("folded", ""), _negated=True), fields=["folded", "id"], name="session_folded"
            ),
        ),
        migrations.RunPython(fold_names, migrations.RunPython.noop),
        migrations.RunPython(rebuild),
    ]
