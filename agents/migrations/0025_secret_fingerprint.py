from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("agents", "0024_traceparent"),
    ]

    operations = [
        migrations.CreateModel(
            name="SecretFingerprint",
            fields=[
                ("name", models.CharField(max_length=40, primary_key=True, serialize=False)),
                ("digest", models.BinaryField(max_length=16)),
            ],
        ),
    ]
