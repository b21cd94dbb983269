from django.db import migrations, models

from agents.base.models.operations import AddIndexBesideWriters


def _index(name):
    return models.Index(
        fields=["error_message", "id"], name=name, condition=models.Q(error_message__isnull=False)
    )


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("agents", "0046_earlier_error_messages"),
    ]

    operations = [
        AddIndexBesideWriters("turn", _index("turn_message")),
        AddIndexBesideWriters("step", _index("step_message")),
    ]
