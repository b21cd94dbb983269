"""Prices of reasoning, and their end."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("agents", "0012_views"),
    ]

    operations = [
        migrations.AddField(
            model_name="price",
            name="reasoning_nano",
            field=models.BigIntegerField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="price",
            name="closes",
            field=models.BooleanField(default=False),
        ),
    ]
