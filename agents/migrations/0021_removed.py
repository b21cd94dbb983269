from django.db import migrations, models
from django.db.models import Q

import agents.base.models.fields


class Migration(migrations.Migration):
    dependencies = [
        ("agents", "0020_due_by_sender"),
    ]

    operations = [
        migrations.AddField("agent", "removed_at", agents.base.models.fields.MomentField(blank=True, editable=False, null=True)),
        migrations.AddField("session", "removed_at", agents.base.models.fields.MomentField(blank=True, editable=False, null=True)),
        migrations.AddIndex(
            "agent",
            models.Index(fields=["removed_at"], name="agent_removed", condition=Q(removed_at__isnull=False)),
        ),
        migrations.AddIndex(
            "session",
            models.Index(fields=["removed_at"], name="session_removed", condition=Q(removed_at__isnull=False)),
        ),
    ]
