"""Indexes of what is rare in lists: turns for a user, steps that did not complete."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("agents", "0013_prices"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="step",
            index=models.Index(
                condition=models.Q(("status", 4), _negated=True), fields=["status", "id"], name="step_status"
            ),
        ),
        migrations.AddIndex(
            model_name="turn",
            index=models.Index(
                condition=models.Q(("end_user__isnull", False)), fields=["end_user", "id"], name="turn_user"
            ),
        ),
    ]
