from django.db import migrations, models
from django.db.models import F, Q


class Migration(migrations.Migration):
    dependencies = [
        ("agents", "0019_lease_epoch"),
    ]

    operations = [
        migrations.RemoveIndex("trace", "trace_due"),
        migrations.AddIndex(
            "trace",
            models.Index(fields=["owner", "updated_at"], name="trace_due", condition=Q(arrived__gt=F("projected"))),
        ),
    ]
